"""The README and the first pages: commands print what is shown, and numbers and pictures hold.

If one of these fails after a change, ``make pages`` writes the new results into the pages.
"""

import csv
import importlib.util
import math
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import sklearn

from tensift.comparison._methods import DEFAULT_SELECTORS

pytest.importorskip("matplotlib")

ROOT = Path(__file__).resolve().parents[1]
LONG = ("tensift paper", "tensift plan")  # commands with tests of their own


def load(name):
    """Import a file of docs, which is not part of the package."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", ROOT / "docs" / f"{name}.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


pages, use_cases = load("pages"), load("use_cases")


def text_of(page):
    return (ROOT / page).read_text(encoding="utf-8")


def differences(results):
    return [
        f"{one.code}\nthe page shows:\n{one.shown}\nthis came out:\n{one.actual}\n"
        for one in results
        if not one.is_right
    ]


# How many results each page shows at least, and the part of its picture, from the top, that does
# not depend on the speed of the machine.
LEAST = {
    "README.md": 2,
    "docs/start.md": 5,
    "docs/tour.md": 10,
    "docs/compare.md": 2,
    "docs/constraints.md": 9,
    "docs/large_data.md": 5,
}
STEADY = {"docs/images/digits.png": 1.0, "docs/images/compare.png": 0.37}


@pytest.mark.parametrize("page", pages.PAGES)
def test_everything_runs_and_gives_what_is_shown(page, tmp_path):
    pages.provide_inputs(tmp_path)
    results = pages.run_page(text_of(page), tmp_path, skip=LONG)
    assert len(results) >= LEAST[page]
    assert differences(results) == []
    for picture, (source, name) in pages.PICTURES.items():
        if source == page:
            assert_same_picture(ROOT / picture, tmp_path / "written" / name, STEADY[picture])


def test_every_block_is_found():
    """A fence that is indented or misspelt would not be run."""
    for page in pages.PAGES:
        text = text_of(page)
        fences = re.findall(r"```(?:console|python|bash|sh|py)\b", text)
        assert len(pages.blocks_of(text)) == len(fences), page
        assert not re.findall(r"`tensift (?:select|report|compare|info|paper) [^`]*`", text), (
            f"{page} has a command in a sentence, which is not run; put it into a block"
        )


def test_the_picture_of_the_readme_is_the_one_that_the_demo_draws(tmp_path):
    picture = "docs/images/digits.png"
    source, name = pages.PICTURES[picture]
    assert source == "demo"
    assert f"]({picture})" in text_of("README.md").split("##")[0]
    with pages._inside(tmp_path):
        pages.run_command(["tensift", "demo"], tmp_path)
    assert_same_picture(ROOT / picture, tmp_path / "written" / name, STEADY[picture])


@pytest.mark.parametrize("picture", use_cases.USE_CASES)
def test_the_small_pictures_of_the_readme_are_those_that_are_drawn(picture, tmp_path):
    assert f"]({picture})" in text_of("README.md")
    use_cases.draw(picture, tmp_path / "drawn.png")
    assert_same_picture(ROOT / picture, tmp_path / "drawn.png", 1.0)


def assert_same_picture(kept, drawn, part, block=8):
    """Compare means of small squares, so that single pixels of letters do not matter.

    Other versions of matplotlib move letters and axes a little, and are compared more coarsely.
    """
    from PIL import Image

    both, versions = [], []
    for path in (kept, drawn):
        with Image.open(path) as image:
            versions.append(image.info.get("Software"))
            both.append(np.asarray(image.convert("RGB"), dtype=float) / 255)
    one, other = both
    assert np.abs(np.subtract(one.shape, other.shape)).max() <= 8, f"{kept.name} has another size"
    height = int(part * min(len(one), len(other))) // block
    width = min(one.shape[1], other.shape[1]) // block
    squares = [
        image[: height * block, : width * block]
        .reshape(height, block, width, block, 3)
        .mean(axis=(1, 3))
        for image in both
    ]
    share = (np.abs(squares[0] - squares[1]).max(axis=2) > 0.1).mean()
    # One pixel of the digits takes about 0.003 of the picture.
    allowed = 0.0005 if versions[0] == versions[1] else 0.1
    assert share <= allowed, f"{share:.1%} of {kept.name} is out of date; run make pages"


def test_pictures_that_differ_in_one_pixel_of_the_digits_are_told_apart(tmp_path):
    from PIL import Image
    from PIL.PngImagePlugin import PngInfo

    path = ROOT / "docs/images/digits.png"
    with Image.open(path) as image:
        info, changed = image.info, image.convert("RGB")
    assert_same_picture(path, path, 1.0)
    changed.paste((255, 255, 255), (900, 300, 955, 355))
    notes = PngInfo()
    notes.add_text("Software", info["Software"])
    changed.save(tmp_path / "changed.png", pnginfo=notes)
    with pytest.raises(AssertionError, match="out of date"):
        assert_same_picture(path, tmp_path / "changed.png", 1.0)


@pytest.mark.slow
def test_the_long_commands_of_the_tour(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    commands = re.findall(r"^\$ (tensift .*)$", text_of("docs/tour.md"), flags=re.MULTILINE)
    text = "".join(f"```console\n$ {one}\n```\n" for one in commands if one.startswith(LONG))
    assert text.count("$") == 2
    pages.run_page(text, tmp_path)


def test_other_commands_exist():
    """What `make` and `pip` are told to do."""
    targets = set(re.findall(r"^([a-z-]+):", text_of("Makefile"), flags=re.MULTILINE))
    extras = set(re.findall(r"^([a-z]+) = \[", text_of("pyproject.toml"), flags=re.MULTILINE))
    found = 0
    for page in (*pages.PAGES, "docs/install.md", "CONTRIBUTING.md"):
        text = text_of(page)
        for target in re.findall(r"(?:^\$ |`)make ([a-z-]+)", text, flags=re.MULTILINE):
            assert target in targets, f"{page}: make {target}"
            found += 1
        for extra in re.findall(r'pip install "\.\[([a-z]+)\]"', text):
            assert extra in extras, f"{page}: pip install .[{extra}]"
            found += 1
    assert found >= 12


# What pages show is compared


PAGE = """
<!-- varies: time, seconds -->
```console
$ tensift info x.npy
file      x.npy (608 B)
time      3 s
```

```python
import numpy as np
x = np.load("x.npy")   # (20, 3)
x.shape                # (20, 3): as above
x[0].astype(int)       # array([0, 1, 2])
x.max() == 59          # True
print("one")           # one, ...
len(x)                 # 20
```
"""


def test_what_is_wrong_is_found_and_put_right(tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", np.arange(60.0).reshape(20, 3))
    monkeypatch.setattr(pages, "run_command", lambda *_: "file      x.npy (608 B)\ntime      4 s")
    results = pages.run_page(PAGE, tmp_path)
    assert len(results) == 7
    assert differences(results) == []
    assert pages.with_results(PAGE, results) == PAGE
    wrong = PAGE
    changes = [
        ("608 B", "708 B"),
        ("# (20, 3):", "# (20, 4):"),
        ("[0, 1, 2]", "[0]"),
        ("# True", "# False"),
        ("# one,", "# two,"),
        ("# 20", "# 21"),
    ]
    for right, changed in changes:
        wrong = wrong.replace(right, changed)
    results = pages.run_page(wrong, tmp_path)
    assert len(differences(results)) == 6
    assert pages.with_results(wrong, results) == PAGE


def test_columns_that_vary_are_not_compared():
    shown = "method  missed  seconds  memory\nMCFS    0.201   0.123    2.85\n"
    faster = "method  missed  seconds  memory\nMCFS    0.201   0.001    2.91"
    other = "method  missed  seconds  memory\nMCFS    0.301   0.001    2.91"
    varies = ("seconds", "memory")
    assert pages.keep_varying(shown, faster, varies) == shown.rstrip()
    assert pages.keep_varying(shown, other, varies) == other
    assert pages.keep_varying(shown, faster, ()) == faster


@pytest.mark.parametrize(
    ("shown", "actual", "right"),
    [
        ("0.201 ± 0.005", "0.202 ± 0.005", True),  # rounding on another machine
        ("0.201 ± 0.005", "0.231 ± 0.005", False),
        ("28 steps", "29 steps", False),
        ("1797 samples", "1797 features", False),
        ("array([35, 61])", "array([61, 35])", False),
    ],
)
def test_numbers_may_differ_by_rounding_only(shown, actual, right):
    assert pages.Shown("", shown, actual, 0, 0).is_right == right


# Numbers in sentences, which benchmarks have measured


def rows_of(name):
    with open(
        ROOT / "benchmarks" / "results" / f"{name}.csv", newline="", encoding="utf-8"
    ) as file:
        return list(csv.DictReader(file))


def has(page, sentence):
    assert sentence in " ".join(text_of(page).split()), f"{page} does not say: {sentence}"


def test_what_the_tour_says_of_the_solvers():
    rises = {}
    for row in rows_of("exact"):
        if row["transform"] == "identity":
            rises.setdefault(row["data"], []).append(float(row["rises"]))
    usps = rises["USPS"]
    has("docs/tour.md", f"(in {100 * min(usps):.0f} to {100 * max(usps):.0f} % on USPS)")
    images = [rises[name] for name in ("BreastMNIST", "COIL20", "Imm40", "PIE", "JAFFE")]
    shares = [share for pair in images for share in pair]
    assert min(shares) > 0.45
    assert max(shares) < 0.7
    has("docs/tour.md", "rises in half to two thirds of the slices of most image sets")
    assert sum(float(row["excess, most"]) > 0.1 for row in rows_of("exact")) > 1
    has("docs/tour.md", "in some slices more than a tenth above it")
    ratio = re.search(
        r"exact / paper fit: .*?median ([\d.]+),", text_of("benchmarks/results/path.md")
    )
    has("docs/tour.md", f"takes {ratio[1]} times as long on the median set")


GAINS = {  # names in the README's table, and in the study
    "**`STPCASelector`**, default": "STPCA, default",
    "**`GeometrySelector`**, no model to solve": "GeometrySelector",
    "Laplacian score": "LaplacianScore, top",
    "fastcan, FastCan": "FastCanSelector",
    "scikit-matter, CUR": "CURSelector",
    "PySensors, QR": "QRSensorSelector",
    "largest variance": "VarianceSelector, top",
    "all features": "AllFeatures",
}


@pytest.mark.parametrize("shown", GAINS)
def test_the_gains_that_the_readme_shows(shown):
    cells = [line.split(" | ") for line in text_of("README.md").splitlines() if line[:2] == "| "]
    gain, worst = next(row[1:3] for row in cells if row[0] == f"| {shown}")
    means = rows_of("label_free_means")
    (mean,) = (
        row
        for row in means
        if (row["metric"], row["contestant"], row["sets"]) == ("acc", GAINS[shown], "packaged")
    )
    low, high = (f"{float(mean[end]):+.1f}" for end in ("low", "high"))
    assert gain.replace("*", "") == f"{float(mean['gain']):+.1f} [{low}, {high}]"
    gains = [
        float(row["gain"])
        for row in rows_of("label_free_values")
        if (row["metric"], row["contestant"], row["sets"]) == ("acc", GAINS[shown], "packaged")
    ]
    assert len(gains) == 17
    assert worst == f"{min(gains):+.1f}"


def test_the_tables_beside_other_packages(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks import versus_page

    page = text_of("docs/versus.md")
    assert page.count("<!-- versus:") == 5
    assert versus_page.filled(page) == page, "run python -m benchmarks.versus_page"
    spoilt = page.replace("| tensift, STPCASelector | 0.", "| tensift, STPCASelector | 9.")
    assert spoilt != page
    assert versus_page.filled(spoilt) == page


def test_the_code_beside_other_packages_is_what_was_measured():
    script = text_of("benchmarks/versus.py")
    found = 0
    for block in pages.blocks_of(text_of("docs/versus.md")):
        for line in block.code.splitlines():
            code = re.sub(r"^kept = ", "", line)
            if code and not code.startswith("from "):
                assert code in script, f"benchmarks/versus.py does not have: {code}"
                found += 1
    assert found >= 10


def test_the_methods_that_are_compared_by_default():
    *most, last = (f"`{name}`" for name in DEFAULT_SELECTORS)
    named = f"{', '.join(most)} and {last}"
    has("docs/compare.md", f"Without `--methods`, the command compares {named}.")


def test_what_the_page_on_large_data_says_of_speed_and_memory():
    page = "docs/large_data.md"
    rows = rows_of("stream")
    large = {name: float(value) for name, value in rows[0].items() if "B" in name}
    assert (rows[0]["shape"], large["GB"]) == ("64x64", 20)
    memory = f"peaked at {large['peak MB']:.0f} MB, of which {large['before MB']:.0f} MB are Python"
    has(page, memory)
    wide = [float(row["peak MB"]) for row in rows if row["shape"] == "256x256"]
    assert 600 < max(wide) < 700
    has(page, "With samples of 256 x 256 it stays below 700 MB")
    speeds = (
        f"{large['stream GB/s']:.1f} GB/s where reading alone ran at {large['read GB/s']:.0f} GB/s"
    )
    has(page, speeds)
    shares = [float(row["share"]) for row in rows if row["cached"] == "False"]
    has(page, f"reached {min(shares):.1f} to {max(shares):.1f} of the slower of reading")


SIZES = re.findall(
    r"^\| (.*) \| (\d+) \| (.*) \| (.*) \|$", text_of("docs/large_data.md"), re.MULTILINE
)


@pytest.mark.parametrize("row", SIZES, ids=" ".join)
def test_the_table_of_sizes(row):
    sample, q, size, passes = row
    lengths = [int(number) for number in re.findall(r"\d+", sample.split(",")[0])] or [1000, 4000]
    gram = 8 * math.prod(lengths) * int(q)
    unit = {"MB": 1e6, "GB": 1e9}[size.split()[1]]
    assert float(size.split()[0]) == pytest.approx(gram / unit, rel=0.05)
    needed = math.ceil(4 * gram / (sklearn.get_config()["working_memory"] * 2**20))
    shown = 1 if passes == "one pass" else int(passes.split()[0])
    assert shown == pytest.approx(needed, rel=0.1)
