"""Channel selectors of other libraries: what they do without these libraries."""

import sys

import pytest

import tensift.series


@pytest.mark.parametrize(
    ("name", "library"), [("ChannelSelector", "aeon"), ("SktimeChannelSelector", "sktime")]
)
def test_without_the_library_the_error_says_what_to_install(name, library, monkeypatch):
    for module in [name for name in sys.modules if name.split(".")[0] == library]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, f"tensift.series._{library}", raising=False)
    monkeypatch.delitem(vars(tensift.series), name, raising=False)
    assert name in dir(tensift.series)
    with pytest.raises(ImportError, match=rf"^{name} needs {library}; .* tensift\[{library}\]$"):
        getattr(tensift.series, name)
