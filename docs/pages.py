"""Run what pages show, write down what comes out, and draw their pictures again.

``python -m docs.pages`` (or ``make pages``) does so for the pages below. ``tests/test_pages.py``
runs the same blocks and compares. In a page:

- ``$ tensift ...`` in a ``console`` block is run. If lines follow, they are all that it prints.
- ``<!-- varies: time, seconds -->`` above a block names the lines and the columns of tables whose
  values depend on the machine. They are not compared.
- ``# (3, 4)``, ``# array([1, 2])``, ``# True`` or ``# 3000`` after a line of Python is the shape or
  the value of that line. The comment after a ``print`` is the beginning of what is printed.
"""

import ast
import contextlib
import io
import os
import re
import shlex
import shutil
import sys
import tempfile
import textwrap
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
PAGES = (
    "README.md",
    "docs/start.md",
    "docs/tour.md",
    "docs/compare.md",
    "docs/constraints.md",
    "docs/large_data.md",
)
# Pictures, the command that draws each, and the file that it writes.
PICTURES = {
    "docs/images/digits.png": ("demo", "demo/tensift-digits.png"),
    "docs/images/compare.png": ("docs/compare.md", "digits.npy-compare/comparison.png"),
}
_BLOCK = re.compile(
    r"^(?:<!-- varies: (?P<varies>[^\n]*) -->\n)?```(?P<language>console|python)\n"
    r"(?P<code>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
_SHOWN = re.compile(r"# (\(\d[\d, ]*\)|array\(\[[^]]*\]\)|True\b|False\b|\d+$)")
_PRINTED = re.compile(r"# (.*?),? \.\.\.$")
_PRINTED_WIDTH = 56
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)")
_BY_OTHER_MEANS = ("make ", "pip ")


@dataclass(frozen=True)
class Block:
    """A block of a page: its language, its code, where it is, and what varies in its output."""

    language: str
    code: str
    start: int
    end: int
    varies: tuple[str, ...]


@dataclass(frozen=True)
class Shown:
    """What a page shows, what came out, and the part of the page that shows it."""

    code: str
    shown: str
    actual: str
    start: int
    end: int

    @property
    def is_right(self):
        """Whether words are equal, and numbers but for rounding on another machine."""
        old, new = (_NUMBER.split(" ".join(text.split())) for text in (self.shown, self.actual))
        if old[::2] != new[::2]:
            return False
        return all(map(_nearly_equal, old[1::2], new[1::2]))


def _nearly_equal(one, other):
    """Whether whole numbers are equal, and fractions up to two in a hundred or their last digit."""
    if "." not in one or "." not in other:
        return one == other
    unit = 10.0 ** -len(one.partition(".")[2])
    return abs(float(one) - float(other)) <= 1.001 * max(unit, 0.02 * float(one))


def blocks_of(text):
    """The console and Python blocks of a page."""
    return [
        Block(
            found["language"],
            found["code"],
            found.start("code"),
            found.end("code"),
            tuple(re.split(", ?", found["varies"])) if found["varies"] else (),
        )
        for found in _BLOCK.finditer(text)
    ]


def run_page(text, folder, skip=()):
    """Run the blocks of a page one after the other, in a folder; return all that they show.

    Commands that begin with one of `skip` are left out.
    """
    found, names = [], {}
    with _inside(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for block in blocks_of(text):
            if block.language == "python":
                found += _run_python(block, names)
            else:
                found += _run_console(block, folder, skip)
    return found


@contextlib.contextmanager
def _inside(folder):
    import matplotlib
    import sklearn

    before = Path.cwd()
    os.chdir(folder)
    try:
        with sklearn.config_context(), matplotlib.rc_context({"backend": "agg"}):
            yield
    finally:
        os.chdir(before)


def _run_python(block, names):
    found, lines = [], block.code.splitlines(keepends=True)
    starts = np.cumsum([0, *map(len, lines)])
    for statement in ast.parse(block.code).body:
        number = statement.end_lineno - 1
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            value = _execute(statement, names)
        line = lines[number].rstrip("\n")
        shown = _shown_after(statement, line, value, printed.getvalue())
        if shown is not None:
            (first, last), actual = shown
            start = block.start + int(starts[number])
            found.append(Shown(line, line[first:last], actual, start + first, start + last))
    return found


def _execute(statement, names):
    """Run a statement; return its value, or that of the name that it sets."""
    if isinstance(statement, ast.Expr):
        return eval(compile(ast.Expression(statement.value), "<page>", "eval"), names)
    exec(compile(ast.Module([statement], []), "<page>", "exec"), names)
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        return names[statement.targets[0].id]
    return None


def _shown_after(statement, line, value, printed):
    """Where in a line its result is shown, and what the result is; None without one."""
    if (shown := _SHOWN.search(line)) is not None:
        return shown.span(1), _as_shown(shown[1], value)
    is_print = isinstance(statement, ast.Expr) and line.startswith("print(")
    if is_print and (shown := _PRINTED.search(line)) is not None:
        begins = printed.startswith(shown[1])
        return shown.span(1), shown[1] if begins else textwrap.wrap(printed, _PRINTED_WIDTH)[0]
    return None


def _as_shown(shown, value):
    if shown.startswith("array"):
        return f"array({np.asarray(value).tolist()})"
    if shown.startswith("("):
        return str(value if isinstance(value, tuple) else tuple(value.shape))
    return str(value)


def _run_console(block, folder, skip):
    found = []
    place = block.start
    for part in re.split(r"^(?=\$ )", block.code, flags=re.MULTILINE):
        start, place = place, place + len(part)
        if not part.startswith("$ "):
            continue
        command, _, shown = part.partition("\n")
        arguments = shlex.split(command[2:], comments=True)
        if command[2:].startswith((*_BY_OTHER_MEANS, *skip)):
            continue
        actual = run_command(arguments, folder)
        if shown.strip():
            kept = keep_varying(shown, actual, block.varies)
            first = start + len(command) + 1
            found.append(Shown(command, shown.rstrip("\n"), kept, first, first + len(shown)))
    return found


def run_command(arguments, folder):
    """Run one command; return what it prints. What it wrote is moved to ``folder/written``."""
    from tensift.cli import main

    if arguments[0] != "tensift":
        raise ValueError(f"pages run only tensift, not {arguments[0]!r}")
    before = set(os.listdir(folder))
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()) as told:
        status = main(arguments[1:])
    if status:
        raise AssertionError(f"{shlex.join(arguments)} ends with {status}: {told.getvalue()}")
    # The next command may write to the same place.
    written = Path(folder, "written")
    written.mkdir(exist_ok=True)
    for name in set(os.listdir(folder)) - before - {"written"}:
        target = written / name
        if target.is_dir():
            shutil.rmtree(target)
        os.replace(Path(folder, name), target)
    return printed.getvalue().rstrip("\n")


def keep_varying(shown, actual, varies):
    """Return the actual output, with the values that vary as they are shown."""
    old, new = shown.rstrip("\n").split("\n"), actual.split("\n")
    if len(old) != len(new):
        return actual
    spans = []
    for number, (before, after) in enumerate(zip(old, new, strict=True)):
        title = before.split()[:1]
        if title == after.split()[:1] and varies and title and title[0] in varies:
            new[number] = before
            continue
        if any(name in after for name in varies):
            spans = [m.span() for m in re.finditer(r"\S+(?: \S+)*", after) if m[0] in varies]
        elif not after.strip():
            spans = []
        if spans and before[: spans[0][0]] == after[: spans[0][0]]:
            new[number] = before  # the columns that vary are the last ones
    return "\n".join(new)


def with_results(text, results):
    """Return a page with what came out in place of what it shows."""
    for one in sorted(results, key=lambda one: one.start, reverse=True):
        new = one.actual if "\n" not in text[one.start : one.end] else one.actual + "\n"
        text = text[: one.start] + new + text[one.end :]
    return text


def provide_inputs(folder):
    """Write the files that the README's commands name, with little in them."""
    import scipy.io

    rng = np.random.default_rng(0)
    signals = rng.normal(size=(60, 12, 20)) * rng.uniform(0.5, 2, size=(12, 1))
    np.save(Path(folder, "images.npy"), rng.normal(size=(80, 12, 12)) + signals[:1, :, :12])
    np.savez(Path(folder, "recording.npz"), data=signals, dims=["channel", "time"])
    scipy.io.savemat(Path(folder, "eeg.mat"), {"data": np.moveaxis(signals, 0, -1)})


def main():
    """Write all results into the pages, and draw the pictures."""
    told = 0
    with tempfile.TemporaryDirectory() as scratch:
        for page in PAGES:
            folder = Path(scratch, Path(page).stem)
            folder.mkdir()
            provide_inputs(folder)
            text = (ROOT / page).read_text(encoding="utf-8")
            results = run_page(text, folder, skip=("tensift paper", "tensift plan"))
            for one in results:
                if not one.is_right:
                    told += 1
                    print(f"{page}: {one.code}")
            (ROOT / page).write_text(with_results(text, results), encoding="utf-8")
        for picture, (source, name) in PICTURES.items():
            if source == "demo":
                folder = Path(scratch, "demo")
                folder.mkdir()
                with _inside(folder):
                    run_command(["tensift", "demo"], folder)
            else:
                folder = Path(scratch, Path(source).stem)
            shutil.copyfile(Path(folder, "written", name), ROOT / picture)
            print(f"drawn {picture}")
    from docs import use_cases

    for picture in use_cases.USE_CASES:
        use_cases.draw(picture, ROOT / picture)
        print(f"drawn {picture}")
    print(f"{told} results in the pages were out of date")
    return 0


if __name__ == "__main__":
    sys.exit(main())
