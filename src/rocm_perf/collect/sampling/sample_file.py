"""Writes the file of readings, a row at a time, so that a process that is killed loses none that it has written. A file
that gets too long is thinned, so that it stays small however long the program runs. Standard library only."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rocm_perf.backends.sensors import Reading
from rocm_perf.collect.sampling.sample_rows import RowFormat, comment, write_lines
from rocm_perf.collect.sampling.thinned_copy import Block, ThinnedCopy
from rocm_perf.collect.sampling.thinning import Grid, grid
from rocm_perf.units import format_ns

MOST_ROWS = 36_000  # of a GPU: an hour at the usual interval of 0.1 s
# Rows copied with each that is added: 0.3 ms, so that no reading waits for the copy. The file grows by a seventh until
# the copy has caught up.
_COPIED_AT_ONCE = 8


class SampleFile:
    """A file that grows up to a bound. Every write reaches the kernel at once; nothing waits in a buffer."""

    def __init__(
        self, path: Path, metrics: Sequence[str], *, interval_s: float = 0.1, most_rows: int = MOST_ROWS
    ) -> None:
        self._path = Path(os.path.realpath(path))
        self._interval_ns = int(interval_s * 1e9)
        self._most_rows = most_rows
        self._handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        start = os.fstat(self._handle).st_size
        self._block = Block(start, start, RowFormat(tuple(metrics)))
        self._facts: dict[str, Any] = {}
        self._first_ns: int | None = None
        self._gpus = 0
        self._copy: ThinnedCopy | None = None

    def begin(self, facts: dict[str, Any]) -> None:
        self._facts = facts
        header_bytes = write_lines(self._handle, self._block.format.header(facts))
        self._block = replace(self._block, rows_start=self._block.start + header_bytes)

    def add(self, readings: Iterable[Reading]) -> None:
        """Write one reading of each GPU, and a piece of the thinned copy where the file is too long."""
        known = [reading for reading in readings if reading.values]
        if not known:
            return
        write_lines(self._handle, map(self._block.format.line, known))
        self._block = replace(self._block, rows=self._block.rows + len(known))
        self._gpus = max(self._gpus, len(known))
        if self._first_ns is None:
            self._first_ns = known[0].time_ns
        if self._copy is None and self._block.rows > self._most_rows * self._gpus:
            self._begin_copy(self._first_ns, known[-1].time_ns)
        if self._copy is not None and self._copy.advance(_COPIED_AT_ONCE * len(known)):
            self._take_over(self._copy)

    def end(self, facts: dict[str, Any]) -> None:
        write_lines(self._handle, [comment(facts)])

    def close(self) -> None:
        """Stop writing. A copy that is not complete is dropped: the file has everything."""
        os.close(self._handle)
        if self._copy is not None:
            self._copy.drop()

    def _begin_copy(self, first_ns: int, last_ns: int) -> None:
        coarser = grid(first_ns, last_ns, interval_ns=self._interval_ns, most_rows=self._most_rows)
        self._copy = ThinnedCopy(self._path, self._block, coarser)
        self._copy.begin(_with_notice(self._facts, coarser, last_ns))

    def _take_over(self, copy: ThinnedCopy) -> None:
        handle = copy.replace()
        os.close(self._handle)
        self._handle, self._block, self._copy = handle, copy.block, None


def _with_notice(facts: dict[str, Any], thinned: Grid, last_ns: int) -> dict[str, Any]:
    """The facts of a file that is thinned, which every reader repeats."""
    notice = (
        f"readings are thinned to {format_ns(thinned.length_ns)}: minimum, mean and maximum of each; "
        f"at least the last {format_ns(last_ns - thinned.until_ns)} are as they were read"
    )
    return {
        **facts,
        "thinned_s": thinned.length_ns / 1e9,
        "notices": [*facts.get("notices", ()), notice],
    }
