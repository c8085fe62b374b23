"""The recording cut to the steps of one kind, which lie end to end in it: the time of other steps is taken out, so that
it is not idle time of these."""

from __future__ import annotations

import polars as pl
from msgspec.structs import replace

from rocm_perf.analysis.basis.intervals import disjoint, overlap_ns
from rocm_perf.analysis.basis.keys import telling
from rocm_perf.analysis.basis.open_spans import open_at
from rocm_perf.analysis.basis.passes import timed_pass, timed_rows
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.basis.work_in_steps import PROCESS, THREAD, work_in_steps
from rocm_perf.analysis.serving.steps import timed_steps
from rocm_perf.errors import UsageError
from rocm_perf.model.step_kinds import STEP_KINDS, StepKind, step_of_kind
from rocm_perf.model.tables import SCHEMAS
from rocm_perf.model.time_window import UNCUT
from rocm_perf.model.trace import Trace

_WORK = {"dispatches": "kernel", "copies": "copy"}
_HOST = ("api_calls", "ops", "ranges")  # what the host did belongs to the step that was open then
_MOMENTS = ("start_ns", "time_ns", "effect_ns")
_TIMES = (*_MOMENTS, "end_ns", "cause_ns")
_NOTICE = "only {kind} steps: the time of all others is taken out, and what is left lies end to end"
_NEXT = "See rocm-perf analyze PATH --show serving, and docs/serving.md for how steps are annotated."


@once_per_trace
def of_kind(trace: Trace, kind: StepKind) -> Trace:
    """The steps of a kind; raises if there are none."""
    steps = timed_steps(trace)
    own = steps.filter(pl.col("kind") == kind)
    if not own.height:
        raise UsageError(f"the recording holds no {step_of_kind(kind)}", _instead(steps["kind"]), _NEXT)
    spans = own.select("node", start_ns="begin_ns", end_ns="done_ns")
    rows = {name: _kept(trace, name, own["step"], spans) for name in _timed_tables(trace)}
    work = [rows[name].select("node", "start_ns", "end_ns") for name in _WORK if name in rows]
    lasting = disjoint(pl.concat([spans, *work]), ["node"])
    number = timed_pass(trace)
    tables = {
        name: _moved(rows[name], own if name in _HOST else own.clear(), lasting, number)
        if name in rows
        else trace.table(name)
        for name in trace
    }
    run = replace(trace.run, window=f"{kind} steps", notices=(_NOTICE.format(kind=kind), *trace.run.notices))
    return Trace(tables, run)


def _instead(kinds: pl.Series) -> str:
    known = [kind for kind in STEP_KINDS if (kinds == kind).any()]
    return (
        f"its steps are {' and '.join(known)}" if known else "none of its ranges says what kind of step it is"
    )


def _timed_tables(trace: Trace) -> list[str]:
    """The tables whose rows have a time on the clock of a node and belong to a pass."""
    return [
        name
        for name in trace
        if name not in UNCUT
        and "pass_id" in SCHEMAS[name].dtypes
        and any(moment in SCHEMAS[name].dtypes for moment in _MOMENTS)
    ]


def _kept(trace: Trace, name: str, chosen: pl.Series, spans: pl.DataFrame) -> pl.DataFrame:
    """The rows of a table that belong to one of the chosen steps, or to none and lie in their time, with `step`; and
    those of further passes, which ran at other times."""
    table = trace.table(name).with_columns(_step_of_rows(trace, name))
    moment = pl.coalesce(moment for moment in _MOMENTS if moment in table.columns)
    points = table.select("node", start_ns=moment, end_ns=moment + 1)
    inside = (overlap_ns(points, spans, ["node"]) > 0).fill_null(False)
    own = pl.when(pl.col("step").is_null()).then(inside).otherwise(pl.col("step").is_in(chosen.implode()))
    return table.filter(own | (pl.col("pass_id") != timed_pass(trace)))


def _step_of_rows(trace: Trace, name: str) -> pl.Series:
    """The step that each row of a table belongs to, null where to none."""
    table = trace.table(name)
    none = pl.repeat(None, table.height, dtype=pl.UInt32, eager=True).alias("step")
    if name in _WORK:
        rows = timed_rows(trace, name).select("row").collect()["row"]
        return none.scatter(rows, work_in_steps(trace).filter(pl.col("kind") == _WORK[name])["step"])
    if name not in _HOST:
        return none
    return open_at(table, timed_steps(trace), table["start_ns"], PROCESS, "step")


def _moved(table: pl.DataFrame, steps: pl.DataFrame, lasting: pl.DataFrame, number: int) -> pl.DataFrame:
    """The rows of the pass at the times that they have when nothing but `lasting` takes time.

    What the host did for a step keeps its lengths: it ends when the step begins, where that had been so.
    """
    placed = table.join(_shifts(steps, lasting), on="step", how="left", maintain_order="left")
    times = [name for name in _TIMES if name in table.columns]
    own_pass = pl.col("pass_id") == number
    moved = {name: _closed_up(placed.select("node", at=name), lasting) for name in times}
    return placed.with_columns(
        pl.when(own_pass).then(pl.coalesce(pl.col(name) + pl.col("shift"), at)).otherwise(name).alias(name)
        for name, at in moved.items()
    ).drop("step", "shift")


def _shifts(steps: pl.DataFrame, lasting: pl.DataFrame) -> pl.DataFrame:
    """How far what the host did for each step moves; before the first of all steps it stays as far as it was.

    A step of a host that ran ahead may have taken it longer than the GPU: then those before it move further back, so
    that the steps of a thread never lie over one another.
    """
    begins = _closed_up(steps.select("node", at="begin_ns"), lasting).alias("begins")
    since = pl.when("is_first").then("begin_ns").otherwise(pl.min_horizontal("begin_ns", "end_ns"))
    between = (pl.col("start_ns") - pl.col("end_ns").shift(1)).fill_null(0).cum_sum()
    latest = (pl.col("shift") + pl.col("between")).cum_min(reverse=True) - pl.col("between")
    return (
        steps.with_columns(begins)
        .with_columns(shift=pl.col("begins") - since, between=between.over(THREAD, order_by="start_ns"))
        .select("step", shift=latest.over(THREAD, order_by="start_ns"))
    )


def _closed_up(times: pl.DataFrame, lasting: pl.DataFrame) -> pl.Series:
    """The times (columns node and at) on a clock that stands still outside of `lasting`."""
    placed = _with_origin(times, lasting)
    since = placed.select("node", start_ns="origin", end_ns=pl.max_horizontal("origin", "at"))
    closed = placed["origin"] + overlap_ns(since, lasting, ["node"])
    return pl.select(pl.when(times["at"].is_not_null()).then(closed)).to_series()


def _with_origin(times: pl.DataFrame, lasting: pl.DataFrame) -> pl.DataFrame:
    """The times with the first moment of `lasting` on their node."""
    first = pl.col("start_ns").min().alias("origin")
    if not telling(["node"], times, lasting):
        return times.with_columns(lasting.select(first).to_series().new_from_index(0, times.height))
    return times.join(lasting.group_by("node").agg(first), on="node", how="left", maintain_order="left")
