"""The documentation: its code runs, what it shows comes out, and no page is out of reach.

The pages that show the output of commands are in tests/test_pages.py.
"""

import ast
import re
import runpy
import shlex
import textwrap
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import tensift
from tensift.cli._main import _make_parser

plt = pytest.importorskip("matplotlib.pyplot")
DOCS = Path(__file__).parents[1] / "docs"
GENERATED = {"_build", "auto_gallery", "generated"}
PAGES = sorted(
    page for page in DOCS.rglob("*.md") if not GENERATED & set(page.relative_to(DOCS).parts)
)
EXECUTED = [
    "index",
    "inputs",
    "install",
    "start",
    "parameters",
    "adding_a_method",
    "stability",
    "constraints",
    "reconstruct",
    "decomposition",
    "large_data",
    "optimum",
    "mne",
    "missing",
    "weights",
]
EXECUTED += [f"concepts/{page.stem}" for page in DOCS.glob("concepts/*.md") if page.stem != "index"]
EXECUTED.sort()
GALLERY = {  # what the pages say was found
    "plot_images": [
        "columns (default)    0.7",
        "columns, as in paper 0.6",
        "rows                 0.69",
        "variance             0.7",
        "600 samples of shape (8, 8), 10 classes",
        "$ tensift report pictures/ -k 20",
        "kept      20 of 64 features",
        "row=2,column=4",
        "first     row ",
    ],
    "plot_wearables": ["as they are         4 of 5", "variance            2 of 5: chest"]
    + ["common scale        5 of 5", "chance              1.4 of 5"]
    + ["wrist acc x\nankle acc x\nankle acc y\nankle acc z\nankle gyro y\n"]
    + [
        "$ tensift report motion.csv --long trial,channel,time",
        "channel wrist acc x",
        "report.html",
    ],
    "plot_eeg": [
        "identity  0 of 5: Fp2, Fp1",
        "dct       3 of 5: Fp2, Fp1",
        "variance         2 of 5",
    ],
    "plot_mne": ["54 explained: 0.86", "possible: 0.90", "intervals cover: 0.9"]
    + [
        "electrodes: F5, FC3, CP5",
        "$ tensift select subject-epo.fif",
        "channel FC3",
        "report.html",
    ],
    "plot_hyperspectral": ["cosines, both modes    12 of 12", "pixel by pixel          0 of 12"]
    + ["cosines, strong         0 of 12", "variance                3 of 12, vapour 9"],
    "plot_bands": ["band 803.4 nm", "STPCA, reconstruct                 9", "(mean of 5)"]
    + ["column subset                      ", "even distances                     7"]
    + ["STPCA, geometry (default)          5", "MVPCA                              5"],
    "plot_radar": ["as in the paper 3 of 4; 0 units with a score", "default, top    0.90"]
    + ["default         0.14", "variance        0.90"],
    "plot_video": ["height, dct       road 1.00, leaves 0.00", "height, identity  road 0.28"]
    + ["variance          road 0.42, leaves 0.58"],
    "plot_sensors": ["9 buoys cost 19.9 of 20", "on land or on the route: 0"]
    + ["9 buoys under constraints:  0.153", "90 % intervals cover:        0.8"],
}
NEEDS = {"plot_sensors": "pysensors", "plot_mne": "mne", "mne": "mne", "plot_images": "PIL"}
SLOW = {"plot_hyperspectral", "plot_radar", "plot_bands"}


@pytest.fixture(autouse=True)
def _headless(tmp_path, monkeypatch):
    """An empty folder to write to, and no window; figures are closed afterwards."""
    monkeypatch.chdir(tmp_path)
    plt.switch_backend("agg")
    yield
    plt.close("all")


def blocks(page, language):
    """Code of a page, without the indentation of lists."""
    pattern = rf"^( *)```{language}\n(.*?)^\1```$"
    found = re.findall(pattern, page.read_text(), flags=re.DOTALL | re.MULTILINE)
    return [textwrap.dedent(code) for _, code in found]


def check_shown(line, value):
    """A comment that begins with a shape or an array says what the line before it gives."""
    shown = re.search(r"# (\(\d[\d, ]*\)|array\(\[[^]]*\]\))", line)
    if shown is None:
        return 0
    if shown[1].startswith("array"):
        np.testing.assert_array_equal(value, ast.literal_eval(shown[1][6:-1]), err_msg=line)
    else:
        shape = value if isinstance(value, tuple) else value.shape
        assert tuple(shape) == ast.literal_eval(shown[1]), line
    return 1


def run_block(code, names):
    """Run statement by statement; the number of values that were shown and hold."""
    checked = 0
    for statement in ast.parse(code).body:
        line = code.splitlines()[statement.end_lineno - 1]
        if isinstance(statement, ast.Expr):
            value = eval(compile(ast.Expression(statement.value), line, "eval"), names)
            checked += check_shown(line, value)
        else:
            exec(compile(ast.Module([statement], []), line, "exec"), names)
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                checked += check_shown(line, names[statement.targets[0].id])
    return checked


@pytest.mark.parametrize("name", EXECUTED)
def test_python_blocks_run_and_give_what_they_show(name):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    page = DOCS / f"{name}.md"
    names = {}
    found = blocks(page, "python")
    checked = sum([run_block(code, names) for code in found])
    assert len(found) == page.read_text().count("```python")
    assert found
    if name not in ("parameters", "optimum", "weights", "concepts/orientation"):
        assert checked, "nothing that is shown was checked"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_python_blocks_import_what_exists(page):
    for code in blocks(page, "python"):
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.ImportFrom) and node.module.startswith("tensift"):
                found = import_module(node.module)
                assert not [one.name for one in node.names if not hasattr(found, one.name)], code


def test_what_is_shown_is_checked():
    assert run_block("x = (2, 3)   # (2, 3)\nx  # (2, 3): as above", {}) == 2
    with pytest.raises(AssertionError):
        run_block("x = (2, 3)   # (2, 4)", {})
    with pytest.raises(AssertionError):
        run_block("[1, 2]   # array([1, 3])", {})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_commands_on_pages_exist(page):
    for command in re.findall(r"^\$ (tensift .*)$", page.read_text(), flags=re.MULTILINE):
        arguments = shlex.split(command, comments=True)[1:]
        if arguments != ["--version"]:
            _make_parser(arguments).parse_args(arguments)  # exits if something is wrong with them


def reach(page):
    """Pages that the toctrees of a page lead to, and theirs."""
    found = {page}
    for tree in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(), flags=re.DOTALL):
        for line in filter(None, tree.split("\n")):
            target = re.sub(r".*<(.*)>", r"\1", line)
            if not target.startswith(":") and target != "auto_gallery/index":
                found |= reach(page.parent / f"{target}.md")
    return found


def test_every_page_is_in_a_toctree():
    assert reach(DOCS / "index.md") == set(PAGES)


def test_links_of_pages_in_folders_lead_somewhere():
    """Those of the pages beside them are tested with the README's."""
    for page in set(PAGES) - set(DOCS.glob("*.md")):
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} points to {target}"


def test_the_reference_has_every_public_package():
    listed = re.findall(r"^   (tensift\.[a-z]+)$", (DOCS / "reference/index.md").read_text(), re.M)
    packages = {path.parent.name for path in Path(tensift.__file__).parent.glob("*/__init__.py")}
    assert set(listed) == {f"tensift.{name}" for name in packages - {"_utils", "cli"}}


def test_pictures_are_drawn_and_shown():
    drawn = {path.name for path in (DOCS / "pictures").glob("*.py")}
    shown = {
        name for page in PAGES for name in re.findall(r"^\.\. plot:: (.*)$", page.read_text(), re.M)
    }
    assert drawn == shown
    for name in drawn:
        runpy.run_path(str(DOCS / "pictures" / name))
        plt.gcf().canvas.draw()
        assert all(axes.has_data() for axes in plt.gcf().axes)


def test_the_gallery_is_complete():
    assert {path.stem for path in (DOCS / "gallery").glob("plot_*.py")} == set(GALLERY)


@pytest.mark.parametrize("name", ["plot_mne", "plot_bands", "plot_wearables", "plot_images"])
def test_walks_are_short(name):
    """Five statements, then one command, in the order that benchmarks/walks.py relies on."""
    page = (DOCS / "gallery" / f"{name}.py").read_text()
    _, walk, command, *_ = page.split("\n# %%\n")
    assert "write_report(" in walk
    assert len(ast.parse(walk).body) <= 5
    (line,) = re.findall(r'^command = "(.*)"$', command, flags=re.MULTILINE)
    arguments = shlex.split(line)
    parsed = _make_parser(arguments).parse_args(arguments)
    assert arguments[0] == "report" or parsed.report


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in GALLERY],
)
def test_gallery_examples_find_what_they_say(name, capsys):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    runpy.run_path(str(DOCS / "gallery" / f"{name}.py"))
    printed = capsys.readouterr().out
    for line in GALLERY[name]:
        assert line in printed
    plt.gcf().canvas.draw()
    assert all(axes.has_data() for axes in plt.gcf().axes)
