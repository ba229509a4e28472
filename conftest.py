"""Which modules have no examples to run here: those that need a package that is not installed."""

from importlib.util import find_spec

collect_ignore = [
    f"src/tensift/series/_{library}.py"
    for library in ("aeon", "sktime")
    if find_spec(library) is None
]
