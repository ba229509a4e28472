"""The rooms of the house: who may import from whom, and through which door."""

import ast
from pathlib import Path

import pytest

import tensift

ROOT = Path(tensift.__file__).parent
# A package imports from those before it, never from those after it. ARCHITECTURE.md has the map.
LAYERS = (
    "_version",
    "_utils",
    "algebra",
    "graphs",
    "sources",
    "labels",
    "moments",
    "solvers",
    "selection",
    "metrics",
    "stpca",
    "rivals",
    "decomposition",
    "series",
    "datasets",
    "comparison",
    "xarray",
    "plan",
    "plotting",
    "stability",
    "report",
    "paper",
    "cli",
)
MODULES = sorted(ROOT.rglob("*.py"))


def imports_of(path):
    """Every module of tensift that a file imports, with the line; names that are modules too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "tensift":
                    yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} is a relative import"
            if (node.module or "").split(".")[0] != "tensift":
                continue
            yield node.module, node.lineno
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                place = ROOT.joinpath(*full.split(".")[1:])
                if place.with_suffix(".py").exists() or place.is_dir():
                    yield full, node.lineno


def room_of(path):
    return path.relative_to(ROOT).with_suffix("").parts[0]


def test_every_package_has_its_place_in_the_order():
    assert {room_of(path) for path in MODULES} == {*LAYERS, "__init__"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_down_and_through_doors(path):
    own = room_of(path)
    if own == "__init__":
        return
    for module, line in imports_of(path):
        parts = module.split(".")[1:]
        if not parts or parts[0] == own:
            continue
        where = f"{path.relative_to(ROOT)}:{line} imports {module}"
        assert LAYERS.index(parts[0]) < LAYERS.index(own), f"{where}, which is above it"
        assert not any(p.startswith("_") for p in parts[1:]), f"{where}, which is private"


def test_doors_export_what_they_import():
    """A name in ``__all__`` exists, and everything a door imports is in ``__all__``."""
    for path in MODULES:
        if path.name != "__init__.py" or path.parent == ROOT:
            continue
        tree = ast.parse(path.read_text())
        imported = {
            alias.asname or alias.name
            for node in tree.body
            if isinstance(node, ast.ImportFrom) and node.module.startswith("tensift.")
            for alias in node.names
        }
        exported = {
            element.value
            for node in tree.body
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
            for element in node.value.elts
        }
        assert imported - {"load_on_first_use"} <= exported, path


def test_sklearn_private_names_are_in_one_module():
    for path in MODULES:
        if path.name == "sklearn_compat.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sklearn"):
                names = [*node.module.split("."), *(alias.name for alias in node.names)]
                assert not any(n.startswith("_") for n in names), f"{path}:{node.lineno}"
