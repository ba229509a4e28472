"""What the README shows a newcomer must run as it stands, and its claims must hold."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def blocks():
    return re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)


def test_python_blocks_run_one_after_the_other(blocks, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    assert len(blocks) >= 5
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    assert names["selector"].transform(names["X"]).shape == (1797, 20)
    assert names["channels"].get_support(indices=True).tolist() == [6, 7, 8]
    assert names["path"].scores.shape == (5, 5, 8, 8)
    assert names["path"].dual_gap.max() <= 1e-6
    for picture in ("digits.png", "path.png"):
        assert (tmp_path / picture).stat().st_size > 0


def test_files_it_points_to_exist():
    pages = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"]
    for page in [*pages, *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\((?!https://)([^)#]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} points to {target}"


def test_public_names_have_examples():
    import tensift.comparison
    import tensift.paper
    import tensift.plan
    import tensift.plotting
    import tensift.report
    import tensift.solvers.on_device
    import tensift.stability

    packages = [tensift.algebra, tensift.datasets, tensift.metrics, tensift.selectors]
    packages += [tensift.gram, tensift.graphs, tensift.solvers, tensift.plotting]
    packages += [tensift.comparison, tensift.decomposition, tensift.paper]
    packages += [tensift.report, tensift.plan, tensift.solvers.on_device, tensift.sources]
    packages += [tensift.stability]
    for package in packages:
        for name in package.__all__:
            doc = getattr(package, name).__doc__ or ""
            assert ">>>" in doc, f"{package.__name__}.{name} has no example"
