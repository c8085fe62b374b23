"""From typed events to columns, category by category and piece by piece, so only columns stay in memory. Names and
shapes repeat thousands of times, so each distinct text is kept once."""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

import polars as pl

from rocm_perf.ingest.kineto.fields import CATEGORIES, COUNTER, GROUPS, IGNORED, NUMBERED, Field, Texts
from rocm_perf.ingest.kineto.types import MAX_FLOAT_US, Event
from rocm_perf.ingest.kineto.window import EventWindow
from rocm_perf.model.run import Numbering

_ACCELERATOR = re.compile(r"(?!CPU|GPU)[A-Z]+ \d+$")  # as devices are labelled: MTIA 9, XPU 0
FRAME_ROWS = 1 << 14  # a frame per piece would cost more than its rows


class _Group:
    """The rows of one group of categories: lists of values, until there are enough of them for a frame."""

    def __init__(self, fields: dict[str, Field], texts: Mapping[str, Texts], exact: bool) -> None:
        self._fields = fields
        self._texts = texts
        self._exact = exact
        self._values: dict[str, list[Any]] = {name: [] for name in fields}
        self._frames: list[pl.DataFrame] = []

    def extend(self, events: list[Event]) -> None:
        """Add one row per event."""
        args = [event.args for event in events]
        for name, field in self._fields.items():
            self._values[name].extend(field.values(events, args, self._texts[name]))
        if len(self._values["start_ns"]) >= FRAME_ROWS:
            self._frames.append(self._frame())

    def frame(self) -> pl.DataFrame:
        """All rows, texts still as numbers."""
        if len(self._frames) != 1 or self._values["start_ns"]:
            self._frames = [pl.concat([*self._frames, self._frame()], rechunk=True)]
        return self._frames[0]

    def _frame(self) -> pl.DataFrame:
        values, self._values = self._values, {name: [] for name in self._fields}
        return pl.DataFrame(
            [_series(name, field, values[name], self._exact) for name, field in self._fields.items()]
        )


class Columns:
    """Collects the columns of every category; of a window, those of the events that it keeps."""

    def __init__(self, exact: bool, window: EventWindow | None = None) -> None:
        self._exact = exact
        self._window = window
        self._texts: dict[str, Texts] = defaultdict(Texts)
        self._groups: dict[str, _Group] = {}
        self.rank_of_process: dict[int, int] = {}
        self.accelerators: dict[int, str] = {}
        self.profiler_ranges = 0
        self._numbers = array("q")

    def add(self, events: Iterable[Event]) -> None:
        """Add one piece of the event list."""
        categories: dict[str, list[Event]] = defaultdict(list)
        for event in events:
            categories[event.cat].append(event)
        for category, members in categories.items():
            self._add_category(category, members)
            if category in NUMBERED:
                self._numbers.extend(event.args.number for event in members if type(event.args.number) is int)

    def frame(self, group: str) -> pl.DataFrame:
        """All rows of a group, with texts restored; empty if there were none."""
        if group not in self._groups:
            return pl.DataFrame()
        frame = self._groups.pop(group).frame()
        pooled = [name for name, field in GROUPS[group].items() if field.is_pooled]
        frame = frame.with_columns(self._texts[name].column(frame[name]) for name in pooled)
        if "event_pid" not in frame.columns:
            return frame
        # Old traces put the device and stream of GPU events only into pid and tid.
        return frame.with_columns(
            pl.coalesce("agent_id", "event_pid"), pl.coalesce("stream_id", "event_tid")
        ).drop("event_tid")

    def kernel_numbers(self, kernels: int) -> pl.Series:
        """The numbers of the kernels that are kept, which are all or those of the window, in the order of the file."""
        numbers = self._window.kernel_numbers if self._window else range(1, kernels + 1)
        return pl.Series("dispatch_id", numbers, dtype=pl.Int64)

    @property
    def numbering(self) -> Numbering | None:
        """How the numbers follow one another that the profiler gave to its events; None where it gave none."""
        numbers = pl.Series(self._numbers, dtype=pl.Int64).unique().sort()
        if numbers.is_empty():
            return None
        followed = int((numbers.diff() == 1).sum())
        numbered = int(numbers[-1]) - int(numbers[0]) + 1
        return Numbering(counter=COUNTER, recorded=numbers.len(), numbered=numbered, followed=followed)

    @property
    def too_long_for_float(self) -> bool:
        """Whether a start has more digits than a float holds: a fraction beyond the bound. Whole microseconds are
        exact far beyond it."""
        starts = (group.frame()["start_ns"] for group in self._groups.values())
        beyond = (start.filter(start.abs() >= MAX_FLOAT_US) for start in starts if start.dtype == pl.Float64)
        return any((start % 1.0 != 0.0).any() for start in beyond)

    def _add_category(self, category: str, events: list[Event]) -> None:
        if category in IGNORED:
            self.profiler_ranges += len(events) if category == "cuda_profiler_range" else 0
        elif category == "fwdbwd":
            for phase in ("s", "f"):
                self._append(f"flow_{phase}", [e for e in events if e.ph == phase])
        elif category == "Operator":
            self._add_operators_of_2021([e for e in events if e.ph == "X"])
        elif category == "cpu_instant_event":
            self._append("memory", [e for e in events if e.args.delta_bytes is not None])
        else:
            if not category:
                self._note_ranks(events)
                self._note_accelerators(events)
            group = CATEGORIES.get(category, "other")
            spans = [e for e in events if e.ph == "X"]
            self._append(group, spans)
            if group == "runtime":
                self._append("launch", [e for e in spans if e.args.kernel is not None])
                self._append("launch_lds", [e for e in spans if e.args.shared_memory])

    def _add_operators_of_2021(self, events: list[Event]) -> None:
        """Add operators and the user's ranges, steps among them, which had no category of their own then."""
        self._append("range", [event for event in events if _is_range(event)])
        self._append("operator", [event for event in events if not _is_range(event)])

    def _append(self, group: str, events: list[Event]) -> None:
        if self._window:
            events = self._window.kept(group, events)
        if not events:
            return
        if group not in self._groups:
            self._groups[group] = _Group(GROUPS[group], self._texts, self._exact)
        self._groups[group].extend(events)

    def _note_ranks(self, events: Iterable[Event]) -> None:
        """Note the rank of each process that a merged trace names `RANK 3 - GPU`."""
        for event in events:
            parts = (event.args.name or "").split()
            pid = _int(event.pid)
            if (
                event.name == "process_name"
                and len(parts) > 1
                and parts[0].upper() == "RANK"
                and pid is not None
            ):
                rank = _int(parts[1])
                if rank is not None:
                    self.rank_of_process[pid] = rank

    def _note_accelerators(self, events: Iterable[Event]) -> None:
        """Note the processes that stand for a device which is not a GPU: Kineto labels each with what it is."""
        for event in events:
            label, pid = event.args.labels or "", _int(event.pid)
            if event.name == "process_labels" and pid is not None and _ACCELERATOR.match(label):
                self.accelerators[pid] = label


def _is_range(event: Event) -> bool:
    """Whether an operator of 2021 is a record_function: it has no library, no arguments and no place in autograd."""
    args = event.args
    return "::" not in event.name and args.sequence is None and not (bytes(args.shapes) or bytes(args.dtypes))


def nanoseconds(microseconds: pl.Series) -> pl.Series:
    """Microseconds with up to three decimals as exact integers; null where that is impossible."""
    sane = pl.when(pl.col("t").abs() < 9e15).then(pl.col("t"))
    frame = microseconds.alias("t").to_frame().select(t=sane)
    whole = pl.col("t").floor()
    exact = whole.cast(pl.Int64) * 1000 + ((pl.col("t") - whole) * 1000).round().cast(pl.Int64)
    return frame.select(exact.alias(microseconds.name)).to_series()


def timed(frame: pl.DataFrame, base_ns: int) -> pl.DataFrame:
    """start_ns and end_ns on the trace's clock, from start_ns (in microseconds, unless it is exact) and dur."""
    if not frame.width:
        return frame
    length, start = nanoseconds(frame["dur"]), frame["start_ns"]
    start = (nanoseconds(start) if start.dtype == pl.Float64 else start) + base_ns
    return frame.drop("dur").with_columns(start.alias("start_ns"), (start + length).alias("end_ns"))


def _series(name: str, field: Field, values: list[Any], exact: bool) -> pl.Series:
    """One column; starts are microseconds as floats, or exact nanoseconds where they were read as decimals."""
    if field.kind == "start" and exact:
        return pl.Series(name, [_exact_ns(time) for time in values], dtype=pl.Int64)
    if field.kind in ("start", "number"):
        return pl.Series(name, values, dtype=pl.Float64)
    return pl.Series(name, values, dtype=pl.UInt32) if field.is_pooled else _integers(name, values)


_FAR_US = 9 * 10**15  # in nanoseconds it still fits into 64 bits


def _exact_ns(time: Decimal | None) -> int | None:
    """Whole nanoseconds; none for what is not a time, since comparing a Decimal that is not a number raises."""
    if time is None or not time.is_finite() or not -_FAR_US < time < _FAR_US:
        return None
    return int(time * 1000)


def _integers(name: str, values: list[Any]) -> pl.Series:
    """A column of ids; some are written as text."""
    try:
        return pl.Series(name, values, dtype=pl.Int64)
    except (TypeError, pl.exceptions.PolarsError, OverflowError):
        return pl.Series(name, [_int(value) for value in values], dtype=pl.Int64)


def _int(value: object) -> int | None:
    """The number, which may be written as text (`12`, `0x1f`)."""
    if isinstance(value, int):
        return value
    text = str(value)
    try:
        number = int(text, 16) if text.startswith("0x") else int(text)
    except ValueError:
        return None
    return number if abs(number) < 2**63 else None
