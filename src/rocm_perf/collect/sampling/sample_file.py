"""Writes the file of readings, a row at a time, so that a process that is killed loses none that it has written.
Standard library only."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rocm_perf.backends.sensors import Reading
from rocm_perf.model.sample_file import COMMENT, GPU, TIME, TITLE


class SampleFile:
    """A file that grows. Every write reaches the kernel at once; nothing waits in a buffer."""

    def __init__(self, path: Path, metrics: Sequence[str]) -> None:
        self._metrics = tuple(metrics)
        self._handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def begin(self, facts: Mapping[str, object]) -> None:
        self._write(
            [
                TITLE,
                f"{COMMENT} {json.dumps(facts, ensure_ascii=True)}",
                ",".join([TIME, GPU, *self._metrics]),
            ]
        )

    def add(self, readings: Iterable[Reading]) -> None:
        self._write([self._row(reading) for reading in readings if reading.values])

    def end(self, facts: Mapping[str, object]) -> None:
        self._write([f"{COMMENT} {json.dumps(facts, ensure_ascii=True)}"])
        os.close(self._handle)

    def _row(self, reading: Reading) -> str:
        values = (reading.values.get(metric) for metric in self._metrics)
        shown = ("" if value is None else f"{value:.15g}" for value in values)
        return ",".join([str(reading.time_ns), str(reading.index), *shown])

    def _write(self, lines: list[str]) -> None:
        data = "".join(f"{line}\n" for line in lines).encode()
        while data:
            data = data[os.write(self._handle, data) :]
