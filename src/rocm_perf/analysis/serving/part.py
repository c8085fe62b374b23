"""The recording cut to the steps of one kind, which lie end to end in it: the time of other steps is taken out, so that
it is not idle time of these."""

from __future__ import annotations

import polars as pl
from msgspec.structs import replace

from rocm_perf.analysis.basis.annotated_steps import annotated_steps
from rocm_perf.analysis.basis.intervals import disjoint, overlap_ns
from rocm_perf.analysis.basis.passes import timed_pass, timed_rows
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.serving.steps import PROCESS, open_at, timed_steps, work_in_steps
from rocm_perf.errors import UsageError
from rocm_perf.model.results.serving import STEP_KINDS, StepKind
from rocm_perf.model.tables import SCHEMAS
from rocm_perf.model.trace import Trace

_WORK = {"dispatches": "kernel", "copies": "copy"}
_HOST = ("api_calls", "ops", "ranges")  # what the host did belongs to the step that was open then
_MOMENTS = ("start_ns", "time_ns", "effect_ns")
_TIMES = (*_MOMENTS, "end_ns", "cause_ns")
_UNCUT = ("processes",)


@once_per_trace
def of_kind(trace: Trace, kind: StepKind) -> Trace:
    """The steps of a kind; raises if there are none."""
    steps = timed_steps(trace)
    if not (steps["kind"] == kind).any():
        raise UsageError(f"the recording holds no {kind} step", _instead(steps["kind"]), _NEXT)
    spans = steps.filter(pl.col("kind") == kind).select("node", start_ns="begin_ns", end_ns="done_ns")
    rows = {name: trace.table(name).filter(_is_kept(trace, name, kind, spans)) for name in _timed(trace)}
    busy = [rows[name].select("node", "start_ns", "end_ns") for name in _WORK if name in rows]
    kept = disjoint(pl.concat([spans, *busy]), ["node"])
    number = timed_pass(trace) or 0
    tables = {
        name: _closed_up(rows[name], kept, number) if name in rows else trace.table(name) for name in trace
    }
    run = replace(trace.run, window=f"{kind} steps", notices=(_NOTICE.format(kind=kind), *trace.run.notices))
    return Trace(tables, run)


_NEXT = "See rocm-perf analyze PATH --show serving, and docs/serving.md for how steps are annotated."
_NOTICE = "only {kind} steps: the time of all others is taken out, and what is left lies end to end"


def _instead(kinds: pl.Series) -> str:
    known = [kind for kind in STEP_KINDS if (kinds == kind).any()]
    return (
        f"its steps are {' and '.join(known)}" if known else "none of its ranges says what kind of step it is"
    )


def _timed(trace: Trace) -> list[str]:
    """The tables whose rows have a time."""
    return [
        name for name in trace if name not in _UNCUT and any(at in SCHEMAS[name].dtypes for at in _MOMENTS)
    ]


def _is_kept(trace: Trace, name: str, kind: StepKind, spans: pl.DataFrame) -> pl.Series:
    """For each row of a table, whether it belongs to a step of the kind, or to none and lies within one's time; rows
    of further passes stay."""
    table = trace.table(name)
    other_pass = (
        table["pass_id"] != (timed_pass(trace) or 0)
        if "pass_id" in table.columns
        else pl.repeat(False, table.height, eager=True)
    )
    kinds = annotated_steps(trace)["kind"]
    step = _step_of_rows(trace, name)
    own = kinds.gather(step)
    inside = _covered(table, spans)
    return other_pass | pl.select(pl.when(own.is_null()).then(inside).otherwise(own == kind)).to_series()


def _step_of_rows(trace: Trace, name: str) -> pl.Series:
    """The step that each row of a table belongs to, null where to none."""
    table = trace.table(name)
    if name in _WORK:
        work = work_in_steps(trace)
        own = work.filter(pl.col("kind") == _WORK[name])["step"]
        rows = timed_rows(trace, name).select("row").collect()["row"]
        nothing = pl.repeat(None, table.height, dtype=own.dtype, eager=True)
        return nothing.scatter(rows, own)
    if name not in _HOST:
        return pl.repeat(None, table.height, dtype=pl.UInt32, eager=True)
    return open_at(table, annotated_steps(trace).with_row_index("step"), table["start_ns"], PROCESS)


def _covered(table: pl.DataFrame, spans: pl.DataFrame) -> pl.Series:
    """Whether the moment of each row lies in one of the spans of its node."""
    at = pl.coalesce(name for name in _MOMENTS if name in table.columns)
    points = table.select("node", start_ns=at, end_ns=at + 1)
    return (overlap_ns(points, spans, ["node"]) > 0).fill_null(False)


def _closed_up(table: pl.DataFrame, kept: pl.DataFrame, number: int) -> pl.DataFrame:
    """The rows of the pass at the times that they have when only what is kept takes time."""
    origin = kept.group_by("node").agg(pl.col("start_ns").min().alias("origin"))
    placed = table.join(origin, on="node", how="left", maintain_order="left")
    own_pass = pl.col("pass_id") == number if "pass_id" in table.columns else pl.lit(True)
    moved = {}
    for name in (name for name in _TIMES if name in table.columns):
        since = placed.select("node", start_ns="origin", end_ns=pl.max_horizontal("origin", name))
        at = placed["origin"] + overlap_ns(since, kept, ["node"])
        moved[name] = pl.when(own_pass & pl.col(name).is_not_null()).then(at).otherwise(pl.col(name))
    return table.with_columns(**moved)
