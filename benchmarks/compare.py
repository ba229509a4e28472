"""Compare the speed of two revisions: ``python -m benchmarks compare REV1 REV2``.

Each revision gets a git worktree and a process of its own. The two take turns, case by case and
round by round, so that a busy machine slows both. What counts is the ratio.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks._compare_cases import CASES
from benchmarks._data import ROOT
from benchmarks._environment import describe_environment
from benchmarks._results import Table

IMPORT = "import tensift"
_SCRIPT = Path(__file__).with_name("_compare_cases.py")
_ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL")}


def main(arguments=None):
    """Run the command; the exit status is 1 if a case became slower than the limit."""
    options = _parser().parse_args(arguments)
    names = [IMPORT, *CASES] if options.only is None else options.only
    revisions = [_resolved(revision) for revision in (options.old, options.new)]
    for key, value in describe_environment().items():
        if key != "source":
            print(f"{key}: {value}")
    with contextlib.ExitStack() as stack:
        folders = [stack.enter_context(checked_out(revision)) for revision in revisions]
        seconds, errors = measure(folders, names, options.repeats)
    table = table_of([options.old, options.new], seconds, errors)
    print("\n" + table.markdown())
    slower = [row["case"] for row in table.rows if (row["new / old"] or 0) > options.limit]
    for name in slower:
        print(f"slower than {options.limit:g} times: {name}", file=sys.stderr)
    return 1 if slower else 0


def _parser():
    listing = "\n".join(f"  {name:22} {what}" for name, what in CASES.items())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks compare",
        description=f"Compare the speed of two revisions, side by side.\n\ncases:\n{listing}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("old", metavar="REV1", help="a commit, a branch or a tag")
    parser.add_argument("new", metavar="REV2", help="another; HEAD is the last commit")
    parser.add_argument("--repeats", type=_positive, default=7, help="rounds (7)")
    parser.add_argument(
        "--limit", type=float, default=float("inf"), metavar="RATIO",
        help="end with status 1 if the median of a case grows by more than this ratio",
    )  # fmt: skip
    parser.add_argument("--only", nargs="+", choices=[IMPORT, *CASES], metavar="CASE")
    return parser


def _positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1; got {value}")
    return value


def _resolved(revision):
    """Return the full name of a commit, or end with one line if there is none."""
    try:
        return _git("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    except subprocess.CalledProcessError:
        raise SystemExit(f"no commit called {revision!r} here; see git log") from None


@contextlib.contextmanager
def checked_out(commit):
    """Yield a folder with the files of a commit, and remove it afterwards."""
    with tempfile.TemporaryDirectory(prefix="tensift-compare-") as scratch:
        folder = Path(scratch, commit[:12])
        _git("worktree", "add", "--quiet", "--detach", "--force", str(folder), commit)
        try:
            yield folder
        finally:
            _git("worktree", "remove", "--force", str(folder))


def measure(folders, names, repeats):
    """Return seconds by case and folder, one value per round, and errors by case and folder."""
    seconds = {name: ([], []) for name in names}
    errors = {}
    with contextlib.ExitStack() as stack:
        workers = [stack.enter_context(Worker(folder)) for folder in folders]
        for number in range(repeats):
            for name in names:
                for side in (0, 1) if number % 2 == 0 else (1, 0):
                    if (name, side) in errors:
                        continue
                    answer = workers[side].ask(name)
                    if "error" in answer:
                        errors[name, side] = answer["error"]
                    else:
                        seconds[name][side].append(answer["seconds"])
    return seconds, errors


class Worker:
    """A process with the library of one folder; it runs one case at a time, when asked."""

    def __init__(self, folder):
        self.source = Path(folder, "src")
        self.environment = os.environ | _ONE_THREAD | {"PYTHONPATH": str(self.source)}

    def __enter__(self):
        command = [sys.executable, str(_SCRIPT)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, text=True, env=self.environment, cwd=self.source
        )
        where = Path(self.ask("where").get("where", ""))
        if not where.is_relative_to(self.source):
            self.process.kill()
            self.process.wait()
            raise RuntimeError(f"expected the library in {self.source}, but {where} was loaded")
        return self

    def __exit__(self, *error):
        self.process.__exit__(*error)  # closes its input, which ends it, and waits

    def ask(self, name):
        """Return the answer of the process to one line."""
        if name == IMPORT:
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", IMPORT], env=self.environment, check=True)
            return {"seconds": time.perf_counter() - start}
        print(name, file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"error": "the process ended"}


def table_of(revisions, seconds, errors):
    """One row per case: medians, their ratio, and the smallest and largest ratio of a round."""
    old, new = (f"{side} (s)" for side in ("old", "new"))
    table = Table(f"{revisions[0]} (old) and {revisions[1]} (new)")
    for name, sides in seconds.items():
        row = {"case": name, old: None, new: None, "new / old": None, "range": "–"}
        for title, values in zip((old, new), sides, strict=True):
            row[title] = float(np.median(values)) if values else None
        if all(sides) and len(sides[0]) == len(sides[1]):
            within = np.divide(sides[1], sides[0])
            row["new / old"] = row[new] / row[old]
            row["range"] = f"{within.min():.2f} to {within.max():.2f}"
        table.rows.append(row)
    table.notes = [
        "below 1: the new revision is faster; a range that includes 1 says nothing",
        *(f"{name}, {('old', 'new')[side]}: {error}" for (name, side), error in errors.items()),
    ]
    return table


def _git(*arguments):
    command = ["git", *arguments]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
