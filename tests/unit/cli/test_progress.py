"""Progress appears on a terminal once reading takes longer than a second, and leaves no trace."""

from __future__ import annotations

import io

import pytest

from rocm_perf.cli import progress
from rocm_perf.ingest.io.source import PROGRESS


class Terminal(io.StringIO):
    """A stderr that says it is a terminal."""

    def isatty(self) -> bool:
        return True


class Clock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


def report(done: int) -> None:
    show = PROGRESS.get()
    assert show is not None
    show("trace.json.gz", done, 200)


def test_a_quick_read_shows_nothing(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with progress.reading_progress():
        clock.now += 0.9
        report(100)
    assert terminal.getvalue() == ""


def test_a_long_read_shows_how_far_it_is_and_wipes_it(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with progress.reading_progress():
        clock.now += 1.5
        report(100)
        report(101)
    assert terminal.getvalue().count("reading trace.json.gz") == 1
    assert "50%" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")
    assert PROGRESS.get() is None


def test_a_pipe_stays_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = io.StringIO()
    monkeypatch.setattr("sys.stderr", pipe)
    with progress.reading_progress():
        assert PROGRESS.get() is None
    assert pipe.getvalue() == ""
