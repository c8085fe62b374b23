"""What the host did: calls and framework operators by thread, and the ranges that the program named."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.launched import GPU, THREAD
from rocm_perf.analysis.basis.passes import timed_rows
from rocm_perf.analysis.timeline.layer import Layer, Meaning, layer, places_of
from rocm_perf.analysis.timeline.places import Places
from rocm_perf.model.trace import Trace

_SPAN = (*THREAD, "start_ns", "end_ns", "name", "on_path")
_HOST = {
    "kind": Meaning("kind"),
    "shapes": Meaning("shapes of its arguments"),
    "dtypes": Meaning("types of its arguments"),
}
_RANGE = {"source": Meaning("set by")}


def threads(trace: Trace, places: Places, calls_on_path: pl.Series, ops_on_path: pl.Series) -> Layer:
    """Calls and operators of every thread, nested by time."""
    calls = _marked(trace, "api_calls", calls_on_path).select(*_SPAN, kind="domain", call_row="row")
    ops = _marked(trace, "ops", ops_on_path).select(*_SPAN, "shapes", "dtypes", kind="category")
    rows = pl.concat([ops, calls], how="diagonal").collect()
    where = places.on_processes(places_of(rows, THREAD)).with_columns(title=_thread())
    return layer("thread", places.since_begin(rows), where, _HOST)


def ranges(trace: Trace, places: Places) -> Layer:
    """The ranges of every thread, nested by time."""
    rows = timed_rows(trace, "ranges").filter(~pl.col("on_gpu")).with_columns(on_path=pl.lit(False)).collect()
    where = places.on_processes(places_of(rows, THREAD)).with_columns(title="ranges, " + _thread())
    return layer("ranges", places.since_begin(rows), where, _RANGE)


def shadows(trace: Trace, places: Places) -> Layer:
    """The ranges as they show on the streams of GPUs."""
    rows = timed_rows(trace, "ranges").filter("on_gpu").with_columns(on_path=pl.lit(False)).collect()
    title = pl.format("ranges, stream {}", "stream_id").fill_null("ranges")
    where = places.on_gpus(places_of(rows, (*GPU, "stream_id"))).with_columns(title=title)
    return layer("ranges", places.since_begin(rows), where, _RANGE)


def _marked(trace: Trace, table: str, on_path: pl.Series) -> pl.LazyFrame:
    return timed_rows(trace, table).with_columns(on_path=pl.col("row").is_in(on_path.implode()))


def _thread() -> pl.Expr:
    return pl.format("thread {}", "tid").fill_null("thread")
