"""Progress is drawn late, in place on terminals and in lines elsewhere."""

import io

import pytest

from tensift._utils import progress
from tensift._utils.progress import byte_progress, progress_bar
from tensift.cli._console import Console


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test moves by hand."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])

    def move(seconds):
        now[0] += seconds

    return move


def test_short_work_draws_nothing(clock):
    out = io.StringIO()
    report = progress_bar("work", 10, out, delay=0.5)
    clock(0.4)
    report(10)
    assert out.getvalue() == ""


def test_lines_at_tenths_where_there_is_no_terminal(clock):
    out = io.StringIO()
    report = progress_bar("work", 100, out)
    for done in range(1, 101):
        clock(1)
        report(done)
    lines = out.getvalue().splitlines()
    assert len(lines) == 10
    assert lines[0].startswith("work [###")
    assert "10/100, 90 s left" in lines[0]
    assert lines[-1] == f"work [{'#' * 30}] 100/100, 0 s left"


def test_a_shorter_line_leaves_nothing_of_the_longer_one(clock):
    out = Terminal()
    report = progress_bar("work", 100, out)
    for done in (1, 50, 100):
        clock(100)
        report(done)
    drawn = out.getvalue().split("\r")[1:]
    assert drawn[-1].endswith("\n")
    screen = ""
    for line in (part.rstrip("\n") for part in drawn):
        screen = line + screen[len(line) :]
    assert screen.rstrip() == f"work [{'#' * 30}] 100/100, 0 s left"


def test_a_terminal_is_not_redrawn_all_the_time(clock):
    out = Terminal()
    report = progress_bar("work", 1000, out)
    clock(1)
    for done in range(1, 501):
        clock(0.001)
        report(done)
    assert 2 <= out.getvalue().count("\r") <= 6


def test_no_work_is_no_error(clock):
    out = io.StringIO()
    report = progress_bar("work", 0, out)
    clock(1)
    report(0)
    assert out.getvalue() == ""


def test_bytes_are_written_at_every_doubling_where_there_is_no_total(clock):
    out = io.StringIO()
    report = byte_progress("reading", None, out)
    for done in range(1, 17):
        clock(1)
        report(done, "samples")
    assert [line.split(" bytes")[0] for line in out.getvalue().splitlines()] == [
        f"reading: {done}" for done in (2, 4, 8, 16)
    ]


@pytest.mark.parametrize(
    ("stream", "options", "shown"),
    [
        (Terminal, {}, True),
        (Terminal, {"quiet": True}, False),
        (io.StringIO, {}, False),
        (io.StringIO, {"progress": True}, True),
        (io.StringIO, {"progress": True, "quiet": True}, False),
    ],
)
def test_commands_show_progress_on_terminals_and_in_logs_if_asked(
    clock, monkeypatch, stream, options, shown
):
    out = stream()
    monkeypatch.setattr("sys.stderr", out)
    console = Console(**{"quiet": False, **options})
    report = console.progress("work", 10)
    clock(1)
    report(10)
    assert ("work [" in out.getvalue()) is shown
    assert console.shows_progress is shown
