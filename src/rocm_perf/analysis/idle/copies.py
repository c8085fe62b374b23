"""Copies between host and GPU in steady state, when a program should need few: how many, how fast, and from where."""

from __future__ import annotations

from typing import Any

import polars as pl

from rocm_perf.analysis.basis.forest import itself_or_around
from rocm_perf.analysis.basis.launched import THREAD, launched_work
from rocm_perf.analysis.basis.nested import enclosing, nest, nested_ops
from rocm_perf.analysis.basis.passes import timed_copies
from rocm_perf.analysis.basis.stakes import of_one_gpu
from rocm_perf.analysis.idle.device_copies import device_copies, device_copy_findings
from rocm_perf.analysis.remedies.setting import setting_of
from rocm_perf.analysis.remedies.table import remedy
from rocm_perf.analysis.time.steps import step_time, steps
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding
from rocm_perf.model.quantity import Quantity, unavailable
from rocm_perf.model.results.copies import SteadyCopies, SteadyCopy
from rocm_perf.model.results.kernels import Steps
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_bytes, format_count, format_ns

FORMULAS = {
    "steady_copies.bandwidth": "sum of size_bytes / sum of (end_ns - start_ns), over copies whose size was recorded",
    "steady_copies.on_gpu": "copies from one place of a GPU to another; exposed: union of all work - union of the rest",
    "steady_copies.memory": "as the recorder says; where it does not, pageable: started by an asynchronous call that "
    "returned after the copy had ended, so the runtime staged it; blocking call: the function itself waits",
}

_STAGED = 0.95  # of a copy lies before its call returns: the runtime staged it
_EVERY = 0.7  # of the steps: there may be others between them
_HOST_KINDS = ("H2D", "D2H")
_JOIN = ["node", "pid", "agent_id", "stream_id", "correlation_id", "start_ns"]


def steady_copies(trace: Trace) -> SteadyCopies:
    """Host copies from the first steady step to the end of the last."""
    repeated = steps(trace)
    if repeated.steady_from_ns is None:
        why = (
            repeated.unavailable
            or f"the recording holds {len(repeated.steps)} steps, too few to tell warm-up from the rest"
        )
        return SteadyCopies(
            rows=(), copies=0, total_ns=0, basis="", unavailable=why, on_gpu=device_copies(trace)
        )
    first = repeated.steady_from_ns
    working = (
        step for step in repeated.steps if step.kernels
    )  # without one that the end of the recording cut off
    steady = [step for step in working if step.start_ns >= first]
    last = steady[-1].end_ns if steady else first
    copies = _host_copies(trace).filter(step_time(repeated).is_between(first, last))
    starts = pl.Series([step.start_ns for step in steady], dtype=pl.Int64)
    moment = copies.select(step_time(repeated)).to_series()
    copies = copies.with_columns(step=starts.search_sorted(moment, "right"))
    groups = copies.group_by("kind", "call", "site", "memory", maintain_order=True)
    rows = [_row(key, group, len(steady)) for key, group in groups]
    return SteadyCopies(
        rows=tuple(sorted(rows, key=lambda row: -row.total_ns)),
        copies=copies.height,
        total_ns=int((copies["end_ns"] - copies["start_ns"]).sum()),
        basis=_basis(repeated, len(steady)),
        on_gpu=device_copies(trace),
    )


def _basis(repeated: Steps, steady: int) -> str:
    return f"{format_count(steady, 'step')} of {len(repeated.steps)} after warm-up ({repeated.found_by})"


def _host_copies(trace: Trace) -> pl.DataFrame:
    """Copies to and from the host with their call, call site and what is known of the memory."""
    work = launched_work(trace).filter(pl.col("kind") == "copy")
    name = pl.col("launch_name").cast(pl.String)
    launch = work.select(*_JOIN, "tid", "op_id", name, "launch_start", "launch_end").unique(_JOIN)
    copies = (
        timed_copies(trace)
        .filter(pl.col("kind").is_in(_HOST_KINDS))
        .drop("tid", "op_id")
        .join(launch, on=_JOIN, how="left", nulls_equal=True)
    )
    memory = (
        pl.when(pl.col("host_memory").is_not_null())
        .then(pl.col("host_memory"))
        .when(pl.col("launch_name").is_null())
        .then(pl.lit("unknown"))
        .when(~name.str.contains("Async"))
        .then(pl.lit("blocking call"))
        .when(pl.col("launch_end") - pl.col("start_ns") >= _STAGED * (pl.col("end_ns") - pl.col("start_ns")))
        .then(pl.lit("pageable"))
        .otherwise(pl.lit("asynchronous"))
    )
    placed = copies.with_columns(memory.alias("memory"), pl.col("launch_name").fill_null("").alias("call"))
    return placed.with_columns(call_sites(trace, placed).alias("site"))


def call_sites(trace: Trace, launched: pl.DataFrame) -> pl.Series:
    """The operator of each row, or the innermost Python function or range around its call; "" if none is known."""
    names = _operator_names(trace, launched["op_id"])
    of_operator = launched.select("node", "pid", "op_id").join(
        names, on=["node", "pid", "op_id"], how="left", nulls_equal=True, maintain_order="left"
    )["site"]
    began = launched.select(*THREAD, pl.col("launch_start").alias("time_ns"))
    frames = nested_ops(trace)
    ranges = nest(trace.table("ranges").filter(~pl.col("on_gpu")), list(THREAD))
    known = {
        "operator": of_operator,
        "python": _innermost(began, frames, frames["category"] == "python"),
        "range": _innermost(began, ranges, ranges["end_ns"] > ranges["start_ns"]),
    }
    return pl.DataFrame(known).select(pl.coalesce(pl.all()).fill_null("")).to_series()


def _innermost(points: pl.DataFrame, nested: pl.DataFrame, wanted: pl.Series) -> pl.Series:
    """The name of the innermost wanted span around each point of its thread; null where there is none."""
    inside = enclosing(nested, points, list(THREAD))
    return nested["name"].gather(itself_or_around(nested["parent"], wanted).gather(inside))


def _operator_names(trace: Trace, ids: pl.Series) -> pl.DataFrame:
    """The names of the operators with these ids."""
    operators = trace.lazy("ops").filter(
        (pl.col("category") == "operator") & pl.col("op_id").is_in(ids.drop_nulls().implode())
    )
    return (
        operators.select("node", "pid", "op_id", pl.col("name").alias("site"))
        .unique(["node", "pid", "op_id"])
        .collect()
    )


def _row(key: tuple[Any, ...], group: pl.DataFrame, steady: int) -> SteadyCopy:
    kind, call, site, memory = key
    sized = group.drop_nulls("size_bytes")
    return SteadyCopy(
        kind=kind,
        copies=group.height,
        per_step=group.height / steady if steady else None,
        size_bytes=int(sized["size_bytes"].sum()) if sized.height else None,
        total_ns=int((group["end_ns"] - group["start_ns"]).sum()),
        bandwidth=_bandwidth(sized),
        call=call,
        call_site=site,
        memory=memory,
        in_steps=min(group["step"].n_unique() / steady, 1.0) if steady else 1.0,
    )


def _bandwidth(sized: pl.DataFrame) -> Quantity:
    formula = "size_bytes / duration_ns"
    size, spent = int(sized["size_bytes"].sum()), int((sized["end_ns"] - sized["start_ns"]).sum())
    if not sized.height:
        return unavailable("GB/s", formula, "this recording does not say how many bytes were copied")
    if not spent:
        return unavailable("GB/s", formula, "the copies have no duration")
    return Quantity(
        value=size / spent, unit="GB/s", formula=formula, inputs={"size_bytes": size, "duration_ns": spent}
    )


def copy_findings(document: Document) -> list[Finding]:
    """Findings about copies within a GPU, and those to or from the host in every step."""
    return [*device_copy_findings(document), *_host_copy_findings(document)]


def _host_copy_findings(document: Document) -> list[Finding]:
    every = [row for row in document.steady_copies.rows if row.per_step is not None and row.per_step >= 1]
    if not every:
        return []
    spent = sum(row.total_ns for row in every)
    often = max(row.in_steps for row in every)
    when = "in every step" if often >= _EVERY else f"in one step of {round(1 / often)}"
    finding = Finding(
        id="copies-in-steady-state",
        severity="warning",
        kind="copies",
        title=f"Data crosses between host and GPU {when}",
        evidence=tuple(_evidence(row) for row in every[:5]),
        time_at_stake_ns=spent,
        remedy=_remedy(every, document),
    )
    return [of_one_gpu(finding, document)]


def _remedy(copies: list[SteadyCopy], document: Document) -> str:
    """Return what to do about the direction in which more time goes, where most of that goes."""
    to_host = sum(row.total_ns for row in copies if row.kind == "D2H")
    most = "D2H" if 2 * to_host > sum(row.total_ns for row in copies) else "H2D"
    longest = max((row for row in copies if row.kind == most), key=lambda row: row.total_ns, default=None)
    cause = "copying-to-host" if most == "D2H" else "copying-to-gpu"
    return remedy(cause, setting_of(document), place=longest.call_site if longest else "")


def _evidence(row: SteadyCopy) -> str:
    size = "" if row.size_bytes is None else f" of {format_bytes(row.size_bytes / row.copies)}"
    speed = "" if row.bandwidth.value is None else f", {row.bandwidth.value:.1f} GB/s"
    place = f" from {row.call_site}" if row.call_site else ""
    call = f" by {row.call}" if row.call else ""
    return (
        f"{row.kind}{place}: {row.per_step:.1f} a step{size}{call}, {format_ns(row.total_ns)} in all{speed} "
        f"({row.memory})"
    )
