"""Progress on stderr: what is read, once that takes longer than a second, and what is computed."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rocm_perf.cli.output import show_status

_PATIENCE_S = 1.0
_REFRESH_S = 0.2


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
