"""A look at a CSV of any size: about how many rows it has, and when some of them were, without reading all of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rocm_perf.ingest.io.csv import header
from rocm_perf.ingest.io.source import Source

SAMPLED_ROWS = 1_000
_LONGEST_ROW_BYTES = 16 << 10  # mangled names can be long


class CsvOutline(NamedTuple):
    """About how many rows a file has, and when some of them were, ascending; `is_even`: they lie evenly over all."""

    rows: int
    moments: tuple[int, ...]
    is_even: bool


def outline_csv(source: Source, moment: str) -> CsvOutline:
    """The outline by the first rows and, in a plain file, by rows at even distances."""
    head, whole = source.outline()
    first, *lines = head.split(b"\n")
    names = header(first.decode("utf-8", "replace"))
    place = names.index(moment) - len(names) if moment in names else None
    first_times = [_moment(line, place) for line in lines]
    is_all, is_plain = len(head) == whole, source.is_plain
    sampled = [] if is_all or not is_plain else [_moment(line, place) for line in _lines(source, whole)]
    known = sorted(time for time in (sampled or first_times[:: len(lines) // SAMPLED_ROWS + 1]) if time)
    earliest = [time for time in first_times if time]
    return CsvOutline(
        rows=len(lines) * whole // max(len(head), 1),
        moments=tuple(sorted([*known, *([min(earliest)] if earliest else [])])),
        is_even=is_all or is_plain,
    )


def _lines(source: Source, size: int) -> Iterator[bytes]:
    """Whole lines at even distances over a plain file, the last one among them."""
    with source.path.open("rb") as file:
        for number in range(1, SAMPLED_ROWS + 1):
            file.seek(max(size * number // SAMPLED_ROWS - _LONGEST_ROW_BYTES, 0))
            lines = file.read(_LONGEST_ROW_BYTES).split(b"\n")
            yield from lines[-2:-1]


def _moment(line: bytes, place: int | None) -> int | None:
    """The time in a row, counted from its end: only names before it can hold commas."""
    cells = line.decode("utf-8", "replace").replace('"', "").split(",")
    text = cells[place].strip() if place is not None and len(cells) >= -place else ""
    return int(text) if text.isdigit() else None
