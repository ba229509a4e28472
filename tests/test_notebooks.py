"""The notebooks of docs/notebooks: made from pages of the gallery, and they run in a kernel."""

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SPEC = importlib.util.spec_from_file_location(
    "docs_make_notebooks", ROOT / "docs" / "make_notebooks.py"
)
make_notebooks = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(make_notebooks)
FOLDER, NOTEBOOKS = make_notebooks.FOLDER, make_notebooks.NOTEBOOKS


def kept(name):
    return json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))


def texts_of(notebook):
    """What the cells print; numbers may differ in their last digits on another machine."""
    outputs = [one for cell in notebook["cells"] for one in cell.get("outputs", [])]
    return ["".join(one["text"]) for one in outputs if one["output_type"] == "stream"]


def test_every_notebook_is_made_from_a_page():
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == set(NOTEBOOKS)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_cells_are_those_of_the_page(name):
    """Run ``make notebooks`` after a change to the page."""
    found = [(cell["cell_type"], "".join(cell["source"])) for cell in kept(name)["cells"]]
    assert found == make_notebooks.cells_of(name)
    # The code of the cells, one after another, is the code of the page.
    page = (ROOT / "docs" / "gallery" / f"{NOTEBOOKS[name][0]}.py").read_text(encoding="utf-8")
    code = "\n".join(text for kind, text in found if kind == "code")
    left = [line for line in page.split('"""\n', 2)[2].splitlines() if line.strip()]
    assert [line for line in code.splitlines() if line.strip()] == [
        line for line in left if not is_text(line, code)
    ]


def is_text(line, code):
    return line.startswith("#") and line not in code.splitlines()


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebooks_were_run_and_show_pictures(name):
    outputs = [one for cell in kept(name)["cells"] for one in cell.get("outputs", [])]
    assert not any(one["output_type"] == "error" for one in outputs)
    assert any("image/png" in one.get("data", {}) for one in outputs)
    assert not any(one.get("name") == "stderr" for one in outputs)
    assert "/tmp" not in json.dumps(outputs)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_every_notebook_is_linked(name):
    target = f"notebooks/{name}.ipynb"
    assert f"docs/{target}" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert target in (ROOT / "docs" / "guides.md").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebooks_run_in_a_kernel(name, tmp_path):
    pytest.importorskip("nbclient", reason="needs nbclient: tensift[test]")
    pytest.importorskip("ipykernel", reason="needs ipykernel: tensift[test]")
    for package in ("matplotlib", {"channels": "mne", "pixels": "PIL"}.get(name, "numpy")):
        pytest.importorskip(package)
    found = make_notebooks.run(make_notebooks.notebook_of(name), tmp_path)
    words = [[word for word in text.split() if word.isalpha()] for text in texts_of(found)]
    assert words == [[w for w in text.split() if w.isalpha()] for text in texts_of(kept(name))]
