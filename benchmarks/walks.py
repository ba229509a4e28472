"""From a file to a selection, as a new user: install, import, five lines of Python, one command.

Each walk is taken from its page in the gallery. It runs in a virtual environment of its own, which
holds this checkout and what the kind of file needs.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

from benchmarks._data import ROOT
from benchmarks._results import Table

WALKS = {  # page of the gallery, what a user types after "pip install"
    "EEG, .fif file": ("plot_mne", ("tensift[plot,mne]",)),
    "remote sensing, ENVI scene": ("plot_bands", ("tensift[plot]",)),
    "wearables, long CSV table": ("plot_wearables", ("tensift[plot]",)),
    "images, folder of PNG": ("plot_images", ("tensift[plot,images]",)),
}
MOST_STATEMENTS = 5

# Runs a page up to its command. The first block has the imports and makes the file; the block that
# writes a report is the walk, the one after it runs the command.
STEPS = """
import ast, json, pathlib, sys, time
names, seconds = {"__name__": "__main__"}, {}
def run(statements, step):
    code = compile(ast.Module(statements, []), sys.argv[1], "exec")
    start = time.perf_counter()
    exec(code, names)
    seconds[step] = time.perf_counter() - start
blocks = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8").split("\\n# %%\\n")
first = ast.parse(blocks[0]).body
imports = [one for one in first if isinstance(one, ast.Import | ast.ImportFrom)]
run(imports, "import")
run([one for one in first if one not in imports], "make")
walk = ast.parse(blocks[1]).body
assert "write_report(" in blocks[1] and "subprocess.run(" in blocks[2]
run(walk, "walk")
run(ast.parse(blocks[2]).body, "command")
seconds["statements"] = len(walk)
print(json.dumps(seconds))
"""


def run(repeats):
    del repeats  # an environment is only new once
    table = Table("From a file to a selection")
    for name, (page, wanted) in WALKS.items():
        with tempfile.TemporaryDirectory(prefix="tensift-walk-") as folder:
            found = _walk(Path(folder), page, wanted)
        table.rows.append(
            {
                "walk": name,
                "page": page,
                "pip install": " ".join(wanted),
                "environment s": found["environment"],
                "install s": found["install"],
                "import s": found["import"],
                "walk s": found["walk"],
                "command s": found["command"],
                "statements": found["statements"],
            }
        )
        if found["statements"] > MOST_STATEMENTS:
            table.failures.append(
                f"{page}: {found['statements']} statements, more than {MOST_STATEMENTS}"
            )
    table.notes = [
        "once each, one after another, in an empty virtual environment that is made for the walk",
        "install: `pip install` of this checkout with its extra. Packages come from where pip is "
        "set to look, so this depends on the network",
        "import: all imports of the page, for the first time in the environment; the page also "
        "imports what it uses for drawing and comparing",
        "walk: read the file, select, write the report and name what was selected; command: the "
        "same by `tensift`, with its start",
    ]
    return {"": table}


def _walk(folder, page, wanted):
    """Make an environment and run the steps of a page in a new process of it."""
    start = time.perf_counter()
    venv.create(folder / "env", with_pip=True)
    found = {"environment": time.perf_counter() - start}
    python = folder / "env" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    packages = [one.replace("tensift", str(ROOT), 1) for one in wanted]
    start = time.perf_counter()
    _run([python, "-m", "pip", "install", "--quiet", *packages], folder)
    found["install"] = time.perf_counter() - start
    page = ROOT / "docs" / "gallery" / f"{page}.py"
    shown = _run([python, "-c", STEPS, page], folder)
    return found | json.loads(shown.splitlines()[-1])


def _run(command, folder):
    """Return what a command prints; it sees no other copy of the library, and opens no window."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment |= {"MPLBACKEND": "agg"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{command[0]} {command[1]}: {done.stderr.strip()}")
    return done.stdout
