"""How busy each GPU, queue and stream was, by interval union: overlap never counts twice."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from rocm_perf.analysis.basis.intervals import union_ns
from rocm_perf.analysis.basis.lead_in import lead_ins
from rocm_perf.analysis.basis.lead_out import lead_outs
from rocm_perf.analysis.basis.passes import timed_copies, timed_dispatches, timed_pass
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.model.quantity import ratio
from rocm_perf.model.results.contents import Agent
from rocm_perf.model.results.times import DeviceTime, gpu_number
from rocm_perf.model.trace import Trace

FORMULAS = {
    "devices.busy_ns": "length of the union of kernel and copy intervals on the GPU",
    "devices.kernel_ns": "length of the union of kernel intervals",
    "devices.copy_ns": "length of the union of copy intervals",
    "devices.window_ns": "last end - first start of any kernel or copy on the GPU; in the steady state up to the step "
    "that follows, and from the beginning of a step that torch's profiler marks",
    "devices.idle_ns": "window_ns - busy_ns",
    "wall_ns": "last end - first start of anything recorded in the timed pass, longest over the nodes",
}

_DEVICE = ["node", "agent_id"]
_QUEUE = [*_DEVICE, "queue_id", "stream_id"]
SPANS = ("dispatches", "copies", "api_calls", "ops", "ranges")  # the tables with a start and an end


@once_per_trace
def device_times(trace: Trace) -> tuple[DeviceTime, ...]:
    """How each GPU spent its window."""
    return _times(trace, _DEVICE)


def queue_times(trace: Trace) -> tuple[DeviceTime, ...]:
    """How each queue and stream spent its window."""
    return _times(trace, _QUEUE)


@once_per_trace
def wall_ns(trace: Trace) -> int | None:
    """The time from the first to the last thing recorded; nodes have clocks of their own."""
    spans = node_spans(trace)
    longest: int | None = (spans["last_ns"] - spans["first_ns"]).max()
    return longest


def node_spans(trace: Trace) -> pl.DataFrame:
    """When the first thing of each node begins, and the last one ends, in the timed pass; a part lasts until the step
    that follows it."""
    number = timed_pass(trace)
    spans = [
        trace.lazy(name)
        .filter(pl.col("pass_id") == number)
        .group_by("node")
        .agg(
            pl.col("start_ns").min().alias("first_ns"),
            pl.max_horizontal(pl.col("end_ns").max(), pl.col("start_ns").max()).alias("last_ns"),
        )
        for name in SPANS
        if trace.has(name)
    ]
    if not spans:
        return pl.DataFrame(schema={"node": pl.Int32, "first_ns": pl.Int64, "last_ns": pl.Int64})
    following = lead_outs(trace).select("node", first_ns="start_ns", last_ns="start_ns")
    return (
        pl.concat([*spans, following.lazy()])
        .group_by("node")
        .agg(pl.col("first_ns").min(), pl.col("last_ns").max())
        .collect()
    )


def gpus(trace: Trace) -> tuple[Agent, ...]:
    """The GPUs that the recording describes."""
    described = trace.table("agents").filter(pl.col("kind").str.to_uppercase().fill_null("GPU") == "GPU")
    columns = described.select("node", "agent_id", "gfx", "name", "cu_count")
    return tuple(Agent(**row) for row in columns.iter_rows(named=True))


def _times(trace: Trace, by: list[str]) -> tuple[DeviceTime, ...]:
    kernels = timed_dispatches(trace).select(*_QUEUE, "start_ns", "end_ns")
    copies = timed_copies(trace).select(*_QUEUE, "start_ns", "end_ns")
    both = union_ns(pl.concat([kernels, copies]), by)
    if not both.height:
        return ()
    both = lasting(both, trace, by)
    table = both.join(_named(union_ns(kernels, by), "kernel", by), on=by, how="left", nulls_equal=True)
    table = table.join(_named(union_ns(copies, by), "copy", by), on=by, how="left", nulls_equal=True)
    names, ranks = agent_names(trace), ranks_of_gpus(trace)
    rows = [_row(row, names, ranks) for row in table.sort(by, nulls_last=True).iter_rows(named=True)]
    return tuple(sorted(rows, key=lambda row: -row.busy_ns))


def lasting(times: pl.DataFrame, trace: Trace, by: list[str]) -> pl.DataFrame:
    """Unions of work, first_ns where a marked step led in to the first of it, last_ns where the next step begins."""
    return _led_out(_led_in(times, trace), trace, by)


def _led_in(times: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    """The times, first_ns where a marked step led in to the first work."""
    led = times.join(lead_ins(trace), on=_DEVICE, how="left", nulls_equal=True, maintain_order="left")
    return led.with_columns(first_ns=pl.min_horizontal("first_ns", "since_ns")).drop("since_ns")


def _led_out(times: pl.DataFrame, trace: Trace, by: list[str]) -> pl.DataFrame:
    """The times, last_ns where the next step begins."""
    until = lead_outs(trace).group_by(by).agg(until_ns=pl.col("start_ns").first())
    led = times.join(until, on=by, how="left", nulls_equal=True, maintain_order="left")
    return led.with_columns(last_ns=pl.max_horizontal("last_ns", "until_ns")).drop("until_ns")


def _named(table: pl.DataFrame, kind: str, by: list[str]) -> pl.DataFrame:
    return table.select(*by, pl.col("union_ns").alias(f"{kind}_ns"), pl.col("count").alias(f"{kind}_count"))


def _row(
    row: dict[str, int | None],
    names: Mapping[tuple[int | None, int | None], str],
    ranks: Mapping[tuple[int | None, int | None], int],
) -> DeviceTime:
    busy = row["union_ns"] or 0
    window = (row["last_ns"] or 0) - (row["first_ns"] or 0)
    agent = row["agent_id"]
    rank = ranks.get((row["node"], agent))
    return DeviceTime(
        node=row["node"] or 0,
        agent_id=agent,
        queue_id=row.get("queue_id"),
        stream_id=row.get("stream_id"),
        name=names.get((row["node"], agent), gpu_number(agent, rank)),
        dispatches=row["kernel_count"] or 0,
        copies=row["copy_count"] or 0,
        window_ns=window,
        busy_ns=busy,
        kernel_ns=row["kernel_ns"] or 0,
        copy_ns=row["copy_ns"] or 0,
        idle_ns=window - busy,
        busy=ratio(busy, window, "busy_ns / window_ns", "busy_ns", "window_ns"),
        rank=rank,
    )


@once_per_trace
def ranks_of_gpus(trace: Trace) -> dict[tuple[int | None, int | None], int]:
    """Return the rank that used each GPU, by node and agent, where several ranks are recorded and one alone used it."""
    users = users_of_gpus(trace)
    return users if len(set(users.values())) > 1 else {}


def users_of_gpus(trace: Trace) -> dict[tuple[int | None, int | None], int]:
    """Return the rank that used each GPU, by node and agent, where one alone did."""
    used = trace.lazy("dispatches").select("node", "agent_id", "rank").drop_nulls("rank").unique().collect()
    alone = used.filter(pl.struct("node", "agent_id").is_unique())
    return {(node, agent): rank for node, agent, rank in alone.iter_rows()}


def agent_names(trace: Trace) -> dict[tuple[int | None, int | None], str]:
    """What each GPU that the recording describes is called, by node and agent."""
    agents = trace.table("agents").select("node", "agent_id", "gfx", "name")
    ranks = ranks_of_gpus(trace)
    return {
        (node, agent): " ".join(
            word
            for word in (gpu_number(agent, ranks.get((node, agent))), name or "", f"({gfx})" if gfx else "")
            if word
        )
        for node, agent, gfx, name in agents.iter_rows()
    }
