"""What the host did: calls and framework operators by thread, and the ranges that the program named."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.passes import timed_rows
from rocm_perf.analysis.timeline.layer import Layer, Meaning, arranged
from rocm_perf.analysis.timeline.places import Places
from rocm_perf.model.trace import Trace

_ORDER = ("node", "rank", "pid", "tid")
_WHERE = (*_ORDER, "row", "start_ns", "end_ns", "name", "on_path")
_THREAD = {
    "kind": Meaning("kind"),
    "shapes": Meaning("shapes of its arguments"),
    "dtypes": Meaning("types of its arguments"),
}
_RANGE = {"source": Meaning("set by")}


def threads(trace: Trace, places: Places, calls_on_path: pl.Series, ops_on_path: pl.Series) -> Layer:
    """Calls and operators of every thread, nested by time."""
    calls = _marked(trace, "api_calls", calls_on_path).select(*_WHERE, kind="domain", call_row="row")
    ops = _marked(trace, "ops", ops_on_path).select(
        *_WHERE, "shapes", "dtypes", kind="category", call_row=pl.lit(None, pl.UInt32)
    )
    rows = pl.concat([ops, calls], how="diagonal_relaxed").with_columns(title=_thread())
    return arranged(Layer("thread", _placed(places, rows), _THREAD), _ORDER)


def ranges(trace: Trace, places: Places) -> Layer:
    """The ranges of every thread, nested by time."""
    rows = timed_rows(trace, "ranges").filter(~pl.col("on_gpu"))
    named = rows.with_columns(title="ranges, " + _thread(), on_path=pl.lit(False))
    return arranged(Layer("ranges", _placed(places, named), _RANGE), _ORDER)


def shadows(trace: Trace, places: Places) -> Layer:
    """The ranges as they show on the streams of GPUs."""
    rows = timed_rows(trace, "ranges").filter("on_gpu")
    where = pl.format("ranges, stream {}", "stream_id").fill_null("ranges")
    named = places.since_begin(rows).with_columns(title=where, on_path=pl.lit(False))
    return arranged(
        Layer("ranges", places.on_gpus(named), _RANGE), ("node", "agent_id", "queue_id", "stream_id")
    )


def _marked(trace: Trace, table: str, on_path: pl.Series) -> pl.DataFrame:
    return timed_rows(trace, table).with_columns(on_path=pl.col("row").is_in(on_path.implode()))


def _placed(places: Places, rows: pl.DataFrame) -> pl.DataFrame:
    return places.on_processes(places.since_begin(rows))


def _thread() -> pl.Expr:
    return pl.format("thread {}", "tid").fill_null("thread")
