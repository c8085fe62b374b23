"""What the host had called before a part of a recording began, for work that runs in the part: a host that runs ahead
has launched a step long before the GPU begins it."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.forest import with_all_around
from rocm_perf.analysis.basis.nested import CALL, THREAD, enclosing, nest, with_launch
from rocm_perf.analysis.basis.passes import timed_copies, timed_dispatches
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.basis.whole import cut_at_ns, whole_of
from rocm_perf.model.trace import Trace


@once_per_trace
def with_callers(part: Trace) -> Trace:
    """The part with the earlier calls that launched its work, and the operators that were open then."""
    whole, since = whole_of(part), cut_at_ns(part)
    if since is None or not whole.has("api_calls"):
        return part
    early = _launches(part, whole).filter(pl.col("time_ns") < since)
    if not early.height:
        return part
    calls = whole.table("api_calls").filter(pl.col("start_ns") < since)
    added = {
        "ops": _open_at(whole.table("ops"), early),
        "api_calls": calls.join(early, on=CALL, how="semi", nulls_equal=True),
    }
    tables = {name: pl.concat([rows, part.table(name)]) for name, rows in added.items()}
    return Trace({**{name: part.table(name) for name in part}, **tables}, part.run)


def _launches(part: Trace, whole: Trace) -> pl.DataFrame:
    """Where and when the work of the part was launched, as the whole recording has it."""
    work = (timed_dispatches(part), timed_copies(part))
    return pl.concat(
        with_launch(whole, rows).select(*CALL, tid="launch_tid", time_ns="launch_ns") for rows in work
    )


def _open_at(spans: pl.DataFrame, points: pl.DataFrame) -> pl.DataFrame:
    """The spans that were open at one of the points, on its thread; in their order."""
    first, last = points["time_ns"].min(), points["time_ns"].max()
    near = spans.with_row_index("place").filter(pl.col("end_ns") >= first, pl.col("start_ns") <= last)
    nested = nest(near.select("place", *THREAD, "start_ns", "end_ns"))
    rows = enclosing(nested, points.select(*THREAD, "time_ns")).drop_nulls()
    around = with_all_around(nested["parent"], rows)
    open_spans: pl.DataFrame = spans[nested["place"].gather(around).sort()]
    return open_spans
