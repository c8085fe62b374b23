"""What a graph is made of: calls, items of the GPU, meetings and waits, numbered as nodes."""

from __future__ import annotations

import msgspec
import polars as pl

from rocm_perf.analysis.basis.clock_domains import node_domains
from rocm_perf.analysis.graph import device, host
from rocm_perf.analysis.graph.delays import with_delays, with_own_time
from rocm_perf.analysis.graph.waits import waits
from rocm_perf.model.results.path import Estimate
from rocm_perf.model.trace import Trace

# What edges and nodes are made of; the rest of an item has done its work by then.
_KEPT = ["node", "pid", "agent_id", "rank", "lane_kind", "by_queue", "lane", "track", "kind", "name", "row",
         "size_bytes", "item", "start_ns", "end_ns", "call", "call_ns", "issued_ns", "last_wait", "before",
         "before_end", "before_call", "inner", "latency", "gap"]  # fmt: skip


class Parts(msgspec.Struct, frozen=True):
    """The tables of the graph, their rows numbered as nodes: `into` where they begin, `out` where they end."""

    calls: pl.DataFrame
    items: pl.DataFrame
    met: pl.DataFrame
    waited: pl.DataFrame
    end: int
    estimates: list[Estimate]


def parts_of(trace: Trace, number: int, origins: pl.DataFrame) -> Parts:
    calls, owners = host.host_calls(trace, number, origins)
    calls = host.with_sections(calls, trace, number, origins)
    items = device.items(trace, number, origins, calls, owners)
    items = device.with_gpu_ends(device.with_befores(items))
    waited = waits(calls, items)
    calls, estimates = with_own_time(calls, items, waited)
    issued = calls.filter("blocking").select("call", issued=pl.col("start_ns") + pl.col("own_ns"))
    items = items.join(issued, on="call", how="left", maintain_order="left").with_columns(
        issued_ns=pl.coalesce("issued", "issued_ns")
    )
    items, more = with_delays(items.drop("issued"))
    calls = host.with_works(calls, pl.concat([items["call"], waited["call"]]))
    return _numbered(calls, items, device.meetings(items, node_domains(trace)), waited, estimates + more)


def _numbered(
    calls: pl.DataFrame,
    items: pl.DataFrame,
    met: pl.DataFrame,
    waited: pl.DataFrame,
    estimates: list[Estimate],
) -> Parts:
    """Node numbers: the start, calls, returns, items, arrivals at collectives, meetings, the end."""
    into = pl.col("call") + 1
    returns = 1 + calls.height
    calls = calls.with_columns(
        into=into,
        out=pl.when("blocking")
        .then(returns + pl.col("blocking").cum_sum() - 1)
        .otherwise(into)
        .cast(pl.Int64),
    )
    first = returns + int(calls["blocking"].sum())
    arrivals = first + items.height
    met = met.with_columns(arrival=arrivals + pl.int_range(pl.len(), dtype=pl.Int64))
    meetings = arrivals + met.height
    met = met.with_columns(node_id=meetings + pl.col("meeting"))
    end = meetings + met["meeting"].n_unique()
    items = (
        items.select(_KEPT)
        .join(met, on="item", how="left", maintain_order="left")
        .with_columns(out=first + pl.col("item"), into=pl.coalesce("arrival", first + pl.col("item")))
    )
    return Parts(calls, items, met, waited, end, estimates)
