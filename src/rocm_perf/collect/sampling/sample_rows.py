"""The lines of a sample file: its header, and its rows as text. Standard library only."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from rocm_perf.backends.sensors import Reading
from rocm_perf.collect.sampling.thinning import Extent, Interval
from rocm_perf.model.sample_file import (
    COMMENT,
    END,
    GPU,
    READINGS,
    START,
    TIME,
    TITLE,
    highest_of,
    lowest_of,
)

Row: TypeAlias = Reading | Interval


def comment(facts: Mapping[str, object]) -> str:
    """The line that states the facts."""
    return f"{COMMENT} {json.dumps(facts, ensure_ascii=True)}"


def write_lines(handle: int, lines: Iterable[str]) -> int:
    """Hand the lines to the kernel and return how many bytes they have."""
    data = "".join(f"{line}\n" for line in lines).encode()
    write_all(handle, data)
    return len(data)


def write_all(handle: int, data: bytes) -> None:
    while data:
        data = data[os.write(handle, data) :]


@dataclass(frozen=True)
class RowFormat:
    """The columns of a file: those of a single reading, and in a thinned file also those of an interval."""

    metrics: tuple[str, ...]
    is_thinned: bool = False

    def header(self, facts: Mapping[str, object]) -> list[str]:
        """The lines before the first row."""
        extents = [column(metric) for column in (lowest_of, highest_of) for metric in self.metrics]
        interval = [START, END, READINGS, *extents] if self.is_thinned else []
        return [TITLE, comment(facts), ",".join([TIME, GPU, *self.metrics, *interval])]

    def line(self, row: Row) -> str:
        """The text of a row."""
        if isinstance(row, Interval):
            return self._interval_line(row)
        cells = [str(row.time_ns), str(row.index), *self._shown(row.values)]
        return ",".join(cells) + "," * (3 + 2 * len(self.metrics) if self.is_thinned else 0)

    def parsed(self, line: str) -> Row:
        """The row that a text stands for."""
        time_ns, index, *cells = line.split(",")
        values, rest = cells[: len(self.metrics)], cells[len(self.metrics) :]
        if not rest or not rest[0]:
            return Reading(int(index), int(time_ns), self._known(values))
        start_ns, end_ns, readings, *extents = rest
        means, lowest, highest = map(
            self._known, (values, extents[: len(self.metrics)], extents[len(self.metrics) :])
        )
        return Interval(
            index=int(index),
            start_ns=int(start_ns),
            end_ns=int(end_ns),
            readings=int(readings),
            extents={metric: Extent(lowest[metric], mean, highest[metric]) for metric, mean in means.items()},
        )

    def _interval_line(self, row: Interval) -> str:
        columns = (
            {metric: extent.mean for metric, extent in row.extents.items()},
            {metric: extent.lowest for metric, extent in row.extents.items()},
            {metric: extent.highest for metric, extent in row.extents.items()},
        )
        means, lowest, highest = map(self._shown, columns)
        middle_ns = (row.start_ns + row.end_ns) // 2
        span = [str(row.start_ns), str(row.end_ns), str(row.readings)]
        return ",".join([str(middle_ns), str(row.index), *means, *span, *lowest, *highest])

    def _shown(self, values: dict[str, float]) -> list[str]:
        return [f"{values[metric]:.15g}" if metric in values else "" for metric in self.metrics]

    def _known(self, cells: Sequence[str]) -> dict[str, float]:
        return {metric: float(cell) for metric, cell in zip(self.metrics, cells, strict=True) if cell}
