"""What is released: one version, one address, and a source package that can be tested."""

import csv
import importlib
import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import tensift

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
REPOSITORY = PROJECT["project"]["urls"]["Repository"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_version_is_written_in_one_place_and_copied_rightly():
    assert "version" in PROJECT["project"]["dynamic"]
    assert "version" not in PROJECT["project"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "src/tensift/_version.py"
    assert yaml.safe_load(text_of("CITATION.cff"))["version"] == tensift.__version__
    recipe = re.search(r'{% set version = "(.*)" %}', text_of("conda/recipe/meta.yaml"))
    assert recipe[1] == tensift.__version__
    newest = re.search(r"^## (\S+)", text_of("CHANGELOG.md"), re.M)
    assert newest[1] == tensift.__version__


def test_every_address_of_the_repository_is_the_same():
    found = 0
    for name in ["CITATION.cff", "SECURITY.md", "CODE_OF_CONDUCT.md", "docs/conf.py"] + [
        "conda/recipe/meta.yaml",
        ".github/ISSUE_TEMPLATE/config.yml",
        ".github/PULL_REQUEST_TEMPLATE.md",
        "paper/checklist.md",
    ]:
        for address in re.findall(r"https://github\.com/[\w.-]+/[\w.-]+", text_of(name)):
            assert address == REPOSITORY, f"{name} has {address}"
            found += 1
    for address in PROJECT["project"]["urls"].values():
        assert address.startswith(REPOSITORY)
    assert found >= 8


def test_the_recipe_asks_for_what_the_package_asks_for():
    recipe = re.sub(r"{%.*?%}", "", text_of("conda/recipe/meta.yaml"))
    recipe = yaml.safe_load(re.sub(r"{{ *(\w+) *}}", r"\1", recipe))
    needs = {one.replace(" ", "") for one in recipe["requirements"]["run"]}
    python = "python" + PROJECT["project"]["requires-python"]
    assert needs == {python, *PROJECT["project"]["dependencies"]}
    extras = PROJECT["project"]["optional-dependencies"]
    optional = [
        one for name in ("plot", "hdf5", "images", "zarr", "xarray") for one in extras[name]
    ]
    optional = {re.sub(r"^matplotlib", "matplotlib-base", one) for one in optional}
    allowed = {one.replace(" ", "") for one in recipe["requirements"]["run_constrained"]}
    assert optional <= allowed


def test_the_citation_is_complete():
    citation = yaml.safe_load(text_of("CITATION.cff"))
    assert citation["cff-version"] == "1.2.0"
    for key in ("message", "title", "authors", "license", "repository-code", "abstract"):
        assert citation[key], key
    assert citation["license"] == PROJECT["project"]["license"]
    (paper,) = citation["references"]
    assert paper["title"] in " ".join(text_of("README.md").split())


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_are_valid(path):
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    triggers = workflow[True]  # YAML 1.1 reads the key `on` as true
    assert triggers
    assert workflow["permissions"] == {"contents": "read"}
    targets = set(re.findall(r"^([a-z-]+):", text_of("Makefile"), re.M))
    for name, job in workflow["jobs"].items():
        assert job["timeout-minutes"], name
        assert job.get("needs", name) in workflow["jobs"]
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step), f"{path.name}: {step}"
            for target in re.findall(r"^make ([a-z-]+)", step.get("run", ""), re.M):
                assert target in targets
            for script in re.findall(r"^(\.ci/\w+)", step.get("run", ""), re.M):
                assert (ROOT / script).stat().st_mode & 0o111, f"{script} cannot be run"
            if "uses" in step:
                assert re.fullmatch(r"[\w-]+/[\w-]+@(v\d+|release/v1)", step["uses"])


def test_only_a_tag_is_published_and_only_after_the_checks():
    jobs = yaml.safe_load(text_of(".github/workflows/release.yml"))["jobs"]
    assert jobs["publish"]["needs"] == "build"
    assert jobs["publish"]["if"] == "github.ref_type == 'tag'"
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert "permissions" not in jobs["build"]
    assert "secrets." not in text_of(".github/workflows/release.yml")


@pytest.mark.parametrize("name", ["bug.yml", "method_or_data.yml"])
def test_forms_for_issues_have_what_github_needs(name):
    form = yaml.safe_load(text_of(f".github/ISSUE_TEMPLATE/{name}"))
    assert form["name"]
    assert form["description"]
    names = [part["id"] for part in form["body"]]
    assert len(set(names)) == len(names) >= 3
    for part in form["body"]:
        assert part["type"] == "textarea"
        assert part["attributes"]["label"]


def test_hooks_run_the_programs_of_make_lint():
    (local,) = yaml.safe_load(text_of(".pre-commit-config.yaml"))["repos"]
    assert local["repo"] == "local"
    lint = re.search(r"^lint:.*?\n\n", text_of("Makefile"), re.M | re.S)[0]
    for hook in local["hooks"]:
        assert hook["language"] == "system"
        program, *words = hook["entry"].split()
        assert " ".join([program, *[word for word in words if word[0] != "-"]]) in lint


# The source package


def in_sdist(path):
    """Whether the patterns of pyproject.toml include a file."""
    for pattern in PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]:
        expression = re.escape(pattern.lstrip("/")).replace(r"\*", "[^/]*")
        if re.fullmatch(f"{expression}(/.*)?", path):
            return True
    return path == "pyproject.toml"  # which is always there


def test_the_sdist_has_every_file_that_is_tracked():
    """Tests read pages, benchmarks, examples and workflows; so nothing is left out."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode or not listed.stdout:
        pytest.skip("not a git checkout")
    missing = {path for path in listed.stdout.splitlines() if not in_sdist(path)}
    assert missing <= {".gitignore"}  # hatchling adds it


def test_the_patterns_of_the_sdist_are_read_as_hatchling_reads_them():
    assert in_sdist("tests/conftest.py")
    assert in_sdist("README.md")
    assert in_sdist(".github/workflows/ci.yml")
    assert not in_sdist("dist/tensift-0.1.0.tar.gz")
    assert not in_sdist("demo/tensift-digits.png")


# The README on the package index


@pytest.fixture(scope="module")
def full_links():
    """The function that hatchling calls."""
    pytest.importorskip("hatchling")
    spec = importlib.util.spec_from_file_location("readme_hook", ROOT / "packaging_readme.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.with_full_links


def test_links_of_the_readme_lead_to_the_version(full_links):
    text = "[a](docs/a.md) ![b](docs/b.png) [c](https://x.org/c) [d](#d) [e](LICENSE)"
    text += ' <img src="docs/f.svg"> <source srcset="docs/g.svg">'
    raw = "https://raw.githubusercontent.com/o/r/v1.2.3/docs"
    page = "https://github.com/o/r/blob/v1.2.3"
    expected = f"[a]({page}/docs/a.md) ![b]({raw}/b.png) [c](https://x.org/c) [d](#d) "
    expected += f'[e]({page}/LICENSE) <img src="{raw}/f.svg"> <source srcset="{raw}/g.svg">'
    assert full_links(text, "https://github.com/o/r", "1.2.3") == expected


def test_no_link_of_the_readme_stays_relative(full_links):
    text = full_links(text_of("README.md"), REPOSITORY, tensift.__version__)
    targets = re.findall(r'\]\(([^)]+)\)|(?:src|srcset|href)="([^"]+)"', text)
    assert len(targets) > 20
    assert all("".join(one).startswith("https://") for one in targets)


# The paper


def test_the_paper_cites_what_its_bibliography_has():
    paper, bibliography = text_of("paper/paper.md"), text_of("paper/paper.bib")
    cited = set(re.findall(r"@(\w+)", paper.split("---", 2)[2]))
    assert cited == set(re.findall(r"^@\w+{(\w+),", bibliography, re.M))


def test_the_paper_has_the_length_that_is_asked_for():
    body = text_of("paper/paper.md").split("---", 2)[2]
    assert 750 <= len(body.split()) <= 1750


def test_numbers_of_the_paper_are_those_that_were_measured():
    results = ROOT / "benchmarks" / "results"
    paper = " ".join(text_of("paper/paper.md").split())
    with open(results / "label_free_means.csv", newline="", encoding="utf-8") as file:
        gains = {
            row["contestant"]: row
            for row in csv.DictReader(file)
            if (row["metric"], row["sets"]) == ("acc", "packaged")
        }
    default = {key: float(gains["STPCA, default"][key]) for key in ("gain", "low", "high")}
    assert f"gains {default['gain']:.1f} points (95 % interval {default['low']:.1f} to" in paper
    assert f"to {default['high']:.1f}, sets resampled)" in paper
    variance = float(gains["VarianceSelector, top"]["gain"])
    assert f"it loses {-variance:.1f} points" in paper
    with open(results / "sensors.csv", newline="", encoding="utf-8") as file:
        (count,) = (row for row in csv.DictReader(file) if row["at equal"] == "count")
    better, tried = count["lower or equal"].split(" of ")
    assert f"on {tried} placements without constraints" in paper
    ratio = float(count["median of ours / PySensors"])
    assert f"in {better}, with a median ratio of {ratio:.2f}" in paper


# Two revisions


def test_two_revisions_are_compared_side_by_side():
    sys.path.insert(0, str(ROOT))
    try:
        compare = importlib.import_module("benchmarks.compare")
    finally:
        sys.path.remove(str(ROOT))
    seconds = {"a": ([1.0, 2.0, 3.0], [2.0, 2.0, 9.0]), "b": ([1.0], []), "c": ([2.0], [1.0])}
    table = compare.table_of(["x", "y"], seconds, {("b", 1): "ImportError: no b"})
    assert [row["new / old"] for row in table.rows] == [1.0, None, 0.5]
    assert table.rows[0]["range"] == "1.00 to 3.00"
    assert "b, new: ImportError: no b" in table.notes
    folder = ROOT
    measured, errors = compare.measure([folder, folder], ["reconstruct", "unknown"], 2)
    assert [len(side) for side in measured["reconstruct"]] == [2, 2]
    assert all(value > 0 for side in measured["reconstruct"] for value in side)
    assert set(errors) == {("unknown", 0), ("unknown", 1)}
    with pytest.raises(SystemExit, match="no commit called 'nowhere'"):
        compare.main(["nowhere", "HEAD"])
