"""Make the notebooks of docs/notebooks from pages of the gallery, run them and keep what comes out.

``python -m docs.make_notebooks`` writes them; it needs nbclient and ipykernel (``tensift[docs]``).
``tests/test_notebooks.py`` compares their cells with the pages, and runs them.
"""

import ast
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "notebooks"
# Each notebook, the page of the gallery that it is made from, and what it needs.
NOTEBOOKS = {
    "channels": ("plot_mne", "plot,mne"),
    "bands": ("plot_bands", "plot"),
    "pixels": ("plot_images", "plot,images"),
}
_SECONDS = 300  # for one cell
_UNDERLINE = re.compile(r"^(.+)\n(=+|-+)$", re.MULTILINE)


def cells_of(name):
    """Return the cells of a notebook as pairs of "markdown" or "code" and text."""
    page, needs = NOTEBOOKS[name]
    source = (ROOT / "docs" / "gallery" / f"{page}.py").read_text(encoding="utf-8")
    first, *others = source.split("\n# %%\n")
    text = ast.get_docstring(ast.parse(first), clean=False)
    told = f'Needs `pip install "tensift[{needs}]"`. All data are made here.'
    cells = [("markdown", f"{_markdown(text)}\n\n{told}"), ("code", _after_docstring(first))]
    for block in others:
        lines = block.splitlines()
        end = next((i for i, line in enumerate(lines) if not line.startswith("#")), len(lines))
        comment = "\n".join(line.removeprefix("#").removeprefix(" ") for line in lines[:end])
        cells += [("markdown", _markdown(comment)), ("code", "\n".join(lines[end:]).strip())]
    return [(kind, text) for kind, text in cells if text]


def _after_docstring(source):
    end = ast.parse(source).body[0].end_lineno
    return "\n".join(source.splitlines()[end:]).strip()


def _markdown(text):
    """Turn the text of a page into Markdown: headings, code, and lines that flow."""

    def heading(found):
        return f"{'#' if found[2][0] == '=' else '##'} {found[1]}"

    text = _UNDERLINE.sub(heading, text.strip())
    if re.search(r":\w+:`|`_\b|^\.\. ", text, re.MULTILINE):
        raise ValueError(f"this is more than headings, code and bold text: {text[:60]}")
    paragraphs = re.split(r"\n\s*\n", text.replace("``", "`"))
    return "\n\n".join(" ".join(one.split()) for one in paragraphs)


def notebook_of(name):
    """Return a notebook that has not been run, as a dict in the format nbformat 4.5."""
    cells = []
    for number, (kind, text) in enumerate(cells_of(name)):
        cell = {
            "cell_type": kind,
            "id": f"{name}-{number}",
            "metadata": {},
            "source": text.splitlines(keepends=True),
        }
        if kind == "code":
            cell |= {"execution_count": None, "outputs": []}
        cells.append(cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def run(notebook, folder):
    """Return a notebook with what its cells show when they run in a folder; errors are raised."""
    import nbformat
    from nbclient import NotebookClient

    whole = nbformat.reads(json.dumps(notebook), as_version=4)
    nbformat.validate(whole)
    resources = {"metadata": {"path": str(folder)}}
    client = NotebookClient(
        whole, timeout=_SECONDS, kernel_name="python3", resources=resources, record_timing=False
    )
    done = client.execute()
    done["metadata"] = notebook["metadata"]  # without the version of today's Python
    return json.loads(nbformat.writes(done))


def main():
    """Write all notebooks."""
    import tempfile

    for name in NOTEBOOKS:
        with tempfile.TemporaryDirectory() as scratch:
            done = run(notebook_of(name), scratch)
        text = json.dumps(done, indent=1, ensure_ascii=False)
        (FOLDER / f"{name}.ipynb").write_text(f"{text}\n", encoding="utf-8")
        print(f"written docs/notebooks/{name}.ipynb, {len(text) / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
