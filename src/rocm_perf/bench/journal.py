"""What a measuring process writes down while it measures, one JSON object after the other, so that nothing is lost
when it dies; and the samples that follow from it. Standard library alone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rocm_perf.bench.samples import Samples

Entry = dict[str, Any]
# The keys of an entry, each of which may be in several:
#   clock, first_call_ms, peak_memory_bytes: the value
#   warmup_ms, times_ms: a list, added to those before; begin_ns and end_ns beside times_ms are on the boot clock
#   notes: a list of phrases; facts: an object; error: why it ended, and fault: whose that is


@dataclass(frozen=True)
class Window:
    """When a part of the samples was taken, on the boot clock."""

    begin_ns: int
    end_ns: int
    first: int  # place of its first sample
    count: int


def read_journal(path: Path) -> list[Entry]:
    """The entries of a journal; the last line may be cut short, and a file that is not there has none."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    return [entry for line in lines if (entry := _entry(line)) is not None]


def samples_in(entries: Iterable[Entry]) -> Samples:
    """The samples that the entries amount to."""
    entries = list(entries)
    merged: Entry = {}
    for entry in entries:
        merged |= entry
    return Samples(
        times_ms=tuple(_all(entries, "times_ms")),
        clock=merged.get("clock", "wall clock"),
        first_call_ms=merged.get("first_call_ms"),
        warmup_ms=tuple(_all(entries, "warmup_ms")),
        peak_memory_bytes=merged.get("peak_memory_bytes"),
        notes=tuple(dict.fromkeys(_all(entries, "notes"))),
        error=merged.get("error", ""),
        fault=merged.get("fault", ""),
        facts={name: value for entry in entries for name, value in entry.get("facts", {}).items()},
    )


def windows_in(entries: Iterable[Entry]) -> list[Window]:
    """When each part of the samples was taken."""
    windows: list[Window] = []
    place = 0
    for entry in entries:
        count = len(entry.get("times_ms", ()))
        if count and "begin_ns" in entry:
            windows.append(Window(entry["begin_ns"], entry["end_ns"], place, count))
        place += count
    return windows


def _all(entries: Iterable[Entry], key: str) -> Iterator[Any]:
    return (value for entry in entries for value in entry.get(key, ()))


def _entry(line: str) -> Entry | None:
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    return entry if isinstance(entry, dict) else None
