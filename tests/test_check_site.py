"""The tool that looks at the built site finds what is wrong with a page, and nothing else."""

import importlib.util
import os
import shutil
from pathlib import Path

import pytest

pytest.importorskip("selenium", reason="needs selenium: tensift[test]")
SPEC = importlib.util.spec_from_file_location(
    "docs_check_site", Path(__file__).parents[1] / "docs" / "check_site.py"
)
check_site = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(check_site)

GOOD = """<!doctype html><meta charset="utf-8"><title>Good</title>
<style>body { background: #fff; color: #333 } @media (prefers-color-scheme: dark)
{ body { background: #111; color: #ddd } }</style>
<p id="here">Text that can be read. <a href="bad.html" style="color: inherit">Another page</a>,
<a href="#here" style="color: inherit">a place</a>.</p>"""
BAD = """<!doctype html><meta charset="utf-8"><title>Bad</title>
<p style="background: #fff; color: #aaa">Pale words</p>
<p style="background: #000; color: rgba(255, 255, 255, 0.3)">Faint words</p>
<p style="background: #fff; color: #949494; font-size: 30px">Large words may be paler</p>
<p style="background: #fff; color: #999; display: none">Hidden words</p>
<a href="good.html#nowhere">wrong place</a> <a href="missing.html">no page</a>
<a href="https://example.org/">elsewhere, which is not asked for</a>
<img src="missing.png" alt=""> <div style="width: 2000px">wide</div>
<script>console.error("an error of the page")</script>
<script src="http://localhost:9/elsewhere.js"></script>"""


def test_faults_are_found(tmp_path, capsys):
    found = any(map(shutil.which, check_site.BROWSERS)) and shutil.which("chromedriver")
    if not found:
        reason = "needs chromium and chromedriver: apt-get install chromium chromium-driver"
        (pytest.fail if os.environ.get("TENSIFT_BROWSER") == "required" else pytest.skip)(reason)
    (tmp_path / "good.html").write_text(GOOD)
    assert check_site.main([str(tmp_path)]) == 1  # its link to the other page leads nowhere
    assert "link to nowhere" in capsys.readouterr().out
    (tmp_path / "bad.html").write_text(BAD)
    assert check_site.main([str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "contrast 2.3: p. 'Pale words'" in out
    assert "'Faint words'" in out
    assert "Large words" not in out
    assert "Hidden words" not in out
    assert "an error of the page" in out
    assert "request: http://localhost:9/elsewhere.js" in out
    assert "wider than the window" in out
    assert "missing.png" in out
    assert out.count("link to nowhere") == 2
    assert "    good.html" not in out
    assert check_site.main([str(tmp_path), "--only", "good"]) == 0
    with pytest.raises(SystemExit, match="no pages"):
        check_site.main([str(tmp_path), "--only", "neither"])
