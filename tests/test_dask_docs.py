"""The guide to clusters: its scripts are Python, and the one for this machine runs."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("distributed")
PAGE = (Path(__file__).parents[1] / "docs" / "clusters.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)


def test_blocks_are_python_and_call_what_exists():
    import tensift

    assert len(BLOCKS) == PAGE.count("```python") >= 6
    for block in BLOCKS:
        compile(block, "clusters.md", "exec")
        for names in re.findall(r"^from tensift import (.*)$", block, flags=re.MULTILINE):
            assert all(hasattr(tensift, name) for name in names.split(", "))


def test_gram_tensors_have_the_sizes_in_the_table():
    rows = re.findall(r"\| (\d+) \| (\d+) \| ([\d.]+) (MB|GB) \|", PAGE)
    assert len(rows) == 4
    for q, p, size, unit in rows:
        expected = 8 * int(p) * int(q) ** 2 / {"MB": 1e6, "GB": 1e9}[unit]
        assert float(size) == pytest.approx(expected, rel=0.05)


@pytest.mark.slow
def test_the_script_for_this_machine_runs(tmp_path):
    script = tmp_path / "choose.py"
    script.write_text(BLOCKS[0])
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=200, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "(20000, 50)" in done.stdout
