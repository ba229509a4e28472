"""Which modules have no examples to run here: those that need a package that is not installed."""

from importlib.util import find_spec

_NEEDS = {
    "src/tensift/series/_aeon.py": "aeon",
    "src/tensift/series/_sktime.py": "sktime",
    "src/tensift/xarray/__init__.py": "xarray",
    "src/tensift/xarray/_accessor.py": "xarray",
}
collect_ignore = [file for file, package in _NEEDS.items() if find_spec(package) is None]
