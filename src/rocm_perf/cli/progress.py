"""Progress on stderr: what is read, once that takes longer than a second, and what is computed."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rocm_perf.cli.output import say, show_status

_PATIENCE_S = 1.0
_REFRESH_S = 0.2
_NARROW = 79  # columns that a line of progress may take


@contextmanager
def reading_progress() -> Iterator[None]:
    """While active, long reads show what is read and how far it is; only on a terminal, and wiped at the end."""
    if not sys.stderr.isatty():
        yield
        return
    from rocm_perf.ingest.io.source import PROGRESS

    meter = _Meter()
    token = PROGRESS.set(meter.show)
    try:
        yield
    finally:
        PROGRESS.reset(token)
        meter.wipe()


@contextmanager
def status(text: str) -> Iterator[None]:
    """Show what is being done meanwhile; only on a terminal, and wiped at the end."""
    if not sys.stderr.isatty():
        yield
        return
    show_status(text)
    try:
        yield
    finally:
        show_status("")


@contextmanager
def count_progress(noun: str) -> Iterator[Callable[[int, int], None]]:
    """A function that shows how many of how many are done; only on a terminal, and wiped at the end."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    show_status(f"starting workers for the {noun}")
    try:
        yield lambda done, total: show_status(f"{done:,} of {total:,} {noun}")
    finally:
        show_status("")


def show_measuring(text: str) -> None:
    """Show what is being measured; an empty text wipes it."""
    show_status(f"measuring: {text}" if text else "")


def say_beside_progress(line: str) -> None:
    """Print a line that stays, in place of the one that shows progress."""
    if sys.stderr.isatty():
        show_status("")
    say(line)


@contextmanager
def step_progress() -> Iterator[Callable[[str], None]]:
    """A function that shows what is being done, in one line of a terminal that is wiped at the end."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda _step: None
        return
    try:
        yield lambda step: show_status(step[:_NARROW])
    finally:
        show_status("")


class _Meter:
    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._shown = 0.0
        self._visible = False

    def show(self, name: str, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._begun < _PATIENCE_S or now - self._shown < _REFRESH_S:
            return
        self._shown, self._visible = now, True
        share = f"{min(done / total, 1):4.0%}" if total else ""
        show_status(f"reading {name[-60:]} {share}")

    def wipe(self) -> None:
        if self._visible:
            show_status("")
