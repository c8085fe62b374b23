"""What a look at a file tells of its size: rows of each table and the time they cover, without reading them."""

from __future__ import annotations

import msgspec

from rocm_perf.model.time_window import TimeWindow

# Peak memory of `analyze` for each row, and of the program alone: docs/large-recordings.md says what was measured.
BYTES_PER_ROW = {"dispatches": 1_000, "api_calls": 650, "events": 450, "CSV": 1_400}
OTHER_BYTES_PER_ROW = 650
FLOOR_BYTES = 150_000_000


class Survey(msgspec.Struct, frozen=True):
    """How many rows a file holds, about, and its first and last time; None where that takes reading it.

    `moments`: starts of rows, evenly over the rows of its largest table, ascending. `in_part`: whether a window of it
    can be read without the rest.
    """

    rows: dict[str, int] = msgspec.field(default_factory=dict)
    first_ns: int | None = None
    last_ns: int | None = None
    moments: tuple[int, ...] = ()
    in_part: bool = False

    def __add__(self, other: Survey) -> Survey:
        """The survey of both files together."""
        names = dict.fromkeys([*self.rows, *other.rows])
        return Survey(
            rows={name: self.rows.get(name, 0) + other.rows.get(name, 0) for name in names},
            first_ns=min((t for t in (self.first_ns, other.first_ns) if t is not None), default=None),
            last_ns=max((t for t in (self.last_ns, other.last_ns) if t is not None), default=None),
            moments=max(self, other, key=lambda survey: survey.row_bytes).moments,
            in_part=self.in_part and other.in_part,
        )

    @property
    def row_bytes(self) -> int:
        """The memory that its rows take when all of them are analysed at once."""
        return sum(BYTES_PER_ROW.get(name, OTHER_BYTES_PER_ROW) * rows for name, rows in self.rows.items())

    def peak_bytes(self, window: TimeWindow | None = None) -> int:
        """The predicted peak memory of analysing all of it, or what starts in a window."""
        return FLOOR_BYTES + int(self._share(window) * self.row_bytes)

    def windows(self, limit_bytes: int) -> list[TimeWindow]:
        """Consecutive windows over all of it, each of which fits into the limit; none if no window can."""
        room = limit_bytes - FLOOR_BYTES
        if room <= 0 or not self.in_part or self.first_ns is None or not self.moments:
            return []
        count = -(-self.row_bytes // room)
        if count > len(self.moments):
            return []
        bounds = [self.moments[len(self.moments) * number // count] for number in range(1, count)]
        ends = list(dict.fromkeys(_rounded(bound - self.first_ns) for bound in bounds))
        return [TimeWindow(start, end) for start, end in zip([0, *ends], [*ends, None], strict=True)]

    def _share(self, window: TimeWindow | None) -> float:
        """The share of the rows that start in a window, by the moments."""
        if window is None or self.first_ns is None or not self.moments or not self.in_part:
            return 1.0
        start, end = window.at(self.first_ns)
        inside = [at for at in self.moments if at >= (start or at) and at < (at + 1 if end is None else end)]
        return len(inside) / len(self.moments)


def _rounded(value_ns: int) -> int:
    """Down to the millisecond where that is less than a part in a thousand: shorter to type."""
    return value_ns // 10**6 * 10**6 if value_ns > 10**9 else value_ns
