"""A recording cut to the part that findings are about."""

from __future__ import annotations

import difflib

import polars as pl

from rocm_perf.analysis.basis.module_spans import PREFIX
from rocm_perf.analysis.basis.passes import timed_pass
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.basis.whole import part_of
from rocm_perf.analysis.phases.build import phases
from rocm_perf.errors import UsageError
from rocm_perf.model.time_window import Span
from rocm_perf.model.trace import Trace

# What is cut: everything with a start that belongs to the program's own time. Counters, samples and descriptions stay.
_CUT = (
    "dispatches",
    "copies",
    "api_calls",
    "ops",
    "ranges",
    "collectives",
    "collective_calls",
    "links",
    "scratch",
)
_OF_HOST = ("api_calls", "ops", "ranges")
_ALL = 0.99  # of the recording: a cut that takes off less costs more than it tells
_MOMENTS = {"links": "effect_ns"}


@once_per_trace
def focused(trace: Trace) -> Trace:
    """What starts in the steady state, or in the work where nothing repeats; all of a recording that holds next to
    nothing else, or has no phases."""
    span = judged_span(trace)
    return trace if span is None else _cut(trace, span, span.end_ns)


def judged_span(trace: Trace) -> Span | None:
    """When the part lasts that findings are about; None where that is the whole recording."""
    division = phases(trace)
    judged = division.judged
    if judged is None or judged.duration_ns >= _ALL * division.wall_ns:
        return None
    origin = division.origin_ns
    return Span(judged.start_ns + origin, judged.end_ns + origin)


def focused_rows(trace: Trace, name: str) -> pl.Series:
    """For each row of a table of `focused(trace)`, its row in the whole table."""
    table = trace.lazy(name).with_row_index("row")
    span = judged_span(trace)
    if span is not None:
        number = timed_pass(trace)
        inside = table.filter(_is_inside(_MOMENTS.get(name, "start_ns"), span, number))
        table = pl.concat([table.filter(_is_open(span, number)), inside]) if name == "ops" else inside
    return table.select("row").collect().to_series()


def within_ranges(trace: Trace, name: str) -> Trace:
    """What starts between the first start and the last end of the ranges of that name; raises if there are none."""
    ranges = trace.table("ranges")
    own = ranges.filter((pl.col("name") == name) & (pl.col("end_ns") > pl.col("start_ns")))
    if not own.height:
        near = difflib.get_close_matches(name, ranges["name"].unique().to_list(), n=3)
        raise UsageError(
            f"no range is named {name!r}",
            f"the nearest are {', '.join(near)}" if near else "",
            "See rocm-perf analyze PATH --show ranges for their names.",
        )
    return cut(trace, Span(own["start_ns"].min(), own["end_ns"].max()))  # type: ignore[arg-type]


def cut(trace: Trace, span: Span) -> Trace:
    """What starts in the span, ranges that hold most of it, and operators and modules that were open when it began: the
    launches with which it begins are theirs. Further passes, which ran at other times, stay whole.

    A call that outlasts the span would wait for work that was cut off: it ends with the span or its last GPU work. So
    does all else that the host does, where GPU work follows the span.
    """
    return _cut(trace, span, None)


def _cut(trace: Trace, span: Span, until_ns: int | None) -> Trace:
    """`until_ns` is when what follows begins, where the part lasts until then."""
    number = timed_pass(trace)
    tables = {
        name: _inside(trace.table(name), _MOMENTS.get(name, "start_ns"), span, number)
        if name in _CUT
        else trace.table(name)
        for name in trace
    }
    if "ranges" in tables:
        tables["ranges"] = pl.concat([_around(trace.table("ranges"), span, number), tables["ranges"]])
    if "ops" in tables:
        tables["ops"] = pl.concat([_open(trace.table("ops"), span, number), tables["ops"]])
    ends = (tables[name]["end_ns"].max() for name in ("dispatches", "copies") if name in tables)
    until = pl.max_horizontal(pl.lit(span.end_ns), *(pl.lit(end) for end in ends))
    ended = _OF_HOST if _goes_on(trace, span, number) else ("api_calls",)
    tables |= {name: _ended(tables[name], until, number) for name in ended if name in tables}
    return part_of(trace, Trace(tables, trace.run), span.start_ns, until_ns)


def _goes_on(trace: Trace, span: Span, number: int) -> bool:
    """Whether work of the GPU begins after the span."""
    if span.end_ns is None:
        return False
    later = (pl.col("pass_id") == number) & (pl.col("start_ns") >= span.end_ns)
    return any(trace.lazy(name).select(later.any()).collect().item() for name in ("dispatches", "copies"))


def _ended(table: pl.DataFrame, until: pl.Expr, number: int) -> pl.DataFrame:
    """The rows, those of the pass ended by then."""
    end = pl.when(pl.col("pass_id") == number).then(pl.min_horizontal("end_ns", until)).otherwise("end_ns")
    return table.with_columns(end.alias("end_ns"))


def _around(ranges: pl.DataFrame, span: Span, number: int) -> pl.DataFrame:
    """The part within the span of ranges that were open when it began, and for most of it."""
    start, end = pl.lit(span.start_ns, pl.Int64), pl.lit(span.end_ns, pl.Int64)
    most = pl.col("end_ns") - start > end - pl.col("end_ns")
    begun = ranges.filter(_has_begun(span, number) & most)
    return begun.with_columns(start_ns=start, end_ns=pl.min_horizontal("end_ns", end))


def _open(ops: pl.DataFrame, span: Span, number: int) -> pl.DataFrame:
    """The part within the span of operators and modules that were open when it began."""
    return ops.filter(_is_open(span, number)).with_columns(start_ns=pl.lit(span.start_ns, pl.Int64))


def _is_open(span: Span, number: int) -> pl.Expr:
    """Of Python's frames those of modules alone: the others are many, and no work is told by them."""
    is_operator = pl.col("category") == "operator"
    is_module = (pl.col("category") == "python") & pl.col("name").cast(pl.String).str.starts_with(PREFIX)
    return _has_begun(span, number) & (pl.col("end_ns") > span.start_ns) & (is_operator | is_module)


def _has_begun(span: Span, number: int) -> pl.Expr:
    return (pl.col("pass_id") == number) & (pl.col("start_ns") < span.start_ns)


def _inside(table: pl.DataFrame, moment: str, span: Span, number: int) -> pl.DataFrame:
    return table.filter(_is_inside(moment, span, number))


def _is_inside(moment: str, span: Span, number: int) -> pl.Expr:
    inside = pl.col(moment).is_between(span.start_ns, span.end_ns, closed="left")
    return inside | (pl.col("pass_id") != number)
