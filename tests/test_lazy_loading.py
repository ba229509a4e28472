"""Rivals and commands load on first use; a broken one does not affect the others."""

import subprocess
import sys

import pytest

from tensift.cli import main
from tensift.cli._commands import COMMANDS

FIT = """
import numpy as np
import tensift
X = np.random.default_rng(0).random((20, 4, 3))
assert tensift.STPCASelector(3, lam=0.1, eta=0.1).fit(X).transform(X).shape == (20, 3)
"""
NO_RIVAL_LOADED = """
import sys
loaded = sorted(name for name in sys.modules if name.startswith("tensift.rivals._"))
assert not loaded, loaded
"""
# The list of all selectors needs every rival; the base class is shared by most of them.
ONE_BROKEN_AFTER_ANOTHER = """
import importlib.abc
import sys
from tensift import rivals

HOMES = dict(rivals._HOMES)
REGISTRY, BASE = "tensift.rivals._registry", "tensift.rivals._vectorised"


class Broken(importlib.abc.MetaPathFinder):
    home = None

    def find_spec(self, name, path=None, target=None):
        if name == self.home:
            raise RuntimeError(f"{name} is broken")


sys.meta_path.insert(0, finder := Broken())
homes = sorted(set(HOMES.values()) - {REGISTRY, BASE})
assert len(homes) > 10
for home in homes:
    for name in [name for name in sys.modules if name.split(".")[0] == "tensift"]:
        del sys.modules[name]
    finder.home = home
    exec(FIT)
    for name in (name for name in HOMES if HOMES[name] not in (home, REGISTRY)):
        cls = getattr(tensift.rivals, name)
        assert cls.__name__ == name and cls.__module__ == HOMES[name]
        if name in ("LaplacianScore", "VarianceSelector", "PivotedCholeskySelector"):
            assert cls(3).fit(X).transform(X).shape == (20, 3)
    for name in (name for name in HOMES if HOMES[name] == home):
        try:
            getattr(tensift.rivals, name)
        except RuntimeError as error:
            assert str(error) == f"{home} is broken"
        else:
            raise AssertionError(f"{name} was imported from a broken module")
"""


def run(script):
    """Run a script in a fresh process."""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr


def test_importing_tensift_and_its_selector_loads_no_rival():
    run("import tensift; tensift.STPCASelector" + NO_RIVAL_LOADED)


def test_a_fit_and_the_package_of_rivals_itself_load_no_rival():
    run(FIT + "tensift.rivals; dir(tensift.rivals)" + NO_RIVAL_LOADED)


def test_a_rival_that_cannot_be_imported_does_not_affect_the_others():
    run(f"FIT = {FIT!r}" + ONE_BROKEN_AFTER_ANOTHER)


def test_help_and_version_load_no_mathematics():
    run(
        "import sys\n"
        "from tensift.cli import main\n"
        "assert main(['--help']) == main(['--version']) == 0\n"
        "loaded = {'numpy', 'scipy', 'sklearn', 'matplotlib', 'pandas'} & set(sys.modules)\n"
        "assert not loaded, loaded\n"
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_is_in_the_file_of_its_name(name, capsys):
    assert main([name, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"usage: tensift {name}")
