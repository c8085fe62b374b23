"""The Trace: every table of one run, and where it came from. Immutable; tables are loaded when first used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from threading import Lock

import polars as pl

from rocm_perf.errors import InputError
from rocm_perf.model import schema
from rocm_perf.model.bounds import fault
from rocm_perf.model.run import RunInfo
from rocm_perf.model.time_window import UNCUT, TimeWindow, ended, within

Frame = pl.DataFrame | pl.LazyFrame


class Trace:
    """One run, as columnar tables (see schema.py) plus a RunInfo.

    A table given as a DataFrame is checked at once; one given as a LazyFrame (a bundle on disk) is
    checked when it is first read.
    """

    def __init__(self, tables: Mapping[str, Frame], run: RunInfo | None = None) -> None:
        self.run = run or RunInfo()
        self._frames: dict[str, Frame] = {}
        self._reading = Lock()
        for name in schema.SCHEMAS:
            if name in tables:
                self._frames[name] = _checked(name, tables[name])
        for name in tables:
            if name not in schema.SCHEMAS:
                schema.check(name, pl.DataFrame())

    def table(self, name: str) -> pl.DataFrame:
        """The table in memory; it has no rows if nothing of that kind was recorded."""
        frame = self._frames.get(name)
        if frame is None:
            return schema.empty(name)
        return frame if isinstance(frame, pl.DataFrame) else self._read(name)

    def _read(self, name: str) -> pl.DataFrame:
        with self._reading:
            frame = self._frames[name]
            if isinstance(frame, pl.LazyFrame):  # else another thread has read it meanwhile
                # The pieces of its file as one: else every use joins them.
                frame = _without_empty(_collected(name, frame)).rechunk()
                schema.check(name, frame)
                _require_possible(name, frame)
                self._frames[name] = frame
            return frame

    def lazy(self, name: str) -> pl.LazyFrame:
        """The table as a query that has not run yet."""
        return self.table(name).lazy()

    def has(self, name: str) -> bool:
        """Whether the table has at least one row."""
        return self.rows(name) > 0

    def rows(self, name: str) -> int:
        """The number of rows of the table."""
        frame = self._frames.get(name)
        if frame is None:
            return 0
        if isinstance(frame, pl.LazyFrame):
            return int(_collected(name, frame.select(pl.len())).item())
        return frame.height

    def part(self, window: TimeWindow) -> Trace:
        """What starts in a window, which counts from the first start of all. Tables on disk stay there."""
        starts = [
            start
            for name, frame in self._frames.items()
            if name not in UNCUT
            and "start_ns" in schema.SCHEMAS[name].dtypes
            and (start := _collected(name, frame.lazy().select(pl.col("start_ns").min())).item()) is not None
        ]
        span = window.at(min(starts, default=0))
        frames = {name: within(name, frame, span) for name, frame in self._frames.items()}
        if window.cuts:
            frames = {name: ended(frame, span) for name, frame in frames.items()}
        return Trace(frames, self.run)

    def described(self, run: RunInfo) -> Trace:
        """The same tables with another description of the run."""
        return Trace(self._frames, run)

    def __iter__(self) -> Iterator[str]:
        """The names of the tables that have rows."""
        return (name for name in schema.SCHEMAS if self.has(name))

    def __repr__(self) -> str:
        counts = ", ".join(f"{name}={self.rows(name):,}" for name in self)
        return f"Trace({self.run.tool}: {counts or 'empty'})"


def _checked(name: str, frame: Frame) -> Frame:
    if isinstance(frame, pl.DataFrame):
        schema.check(name, frame)
    return frame


def _without_empty(frame: pl.DataFrame) -> pl.DataFrame:
    """The table with one null for all of a column that holds nothing else: that takes no memory, and most have some."""
    empty = [column.name for column in frame if column.null_count() == frame.height]
    return frame.with_columns(pl.lit(None, frame.schema[name]).alias(name) for name in empty)


def _require_possible(name: str, frame: pl.DataFrame) -> None:
    """Raise InputError unless some machine can have recorded the table."""
    if why := fault(name, frame.lazy()):
        raise InputError(f"the table {name} is damaged", why, "Export the recording again.")


def _collected(name: str, query: pl.LazyFrame) -> pl.DataFrame:
    """What reading a table from its file gives, or an error of ours."""
    try:
        return query.collect()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise InputError(
            f"the table {name} cannot be read", str(error).splitlines()[0], "Export the recording again."
        ) from error
