"""Where the time of all ranks went, from the sums of their contributions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
from msgspec.structs import replace

from rocm_perf.analysis.basis.names import short_name, short_names
from rocm_perf.analysis.reduction.counted import Counts
from rocm_perf.analysis.reduction.tables import Tables, place_of
from rocm_perf.analysis.time.families import families_of
from rocm_perf.analysis.time.hotspots import Grouping
from rocm_perf.analysis.time.totals import copies_of, domains_of
from rocm_perf.model.quantity import ratio
from rocm_perf.model.results.kernels import AttentionByHand, AttentionProduct, Families
from rocm_perf.model.results.times import (
    CopyTotal,
    DeviceTime,
    DomainTotal,
    Hotspot,
    Hotspots,
    gpu_number,
)


def nodes_of(machines: pl.DataFrame) -> dict[int, int]:
    """The number of the host of each machine: first the host on which something began first, then in the order of
    ranks, as one process numbers them. A machine whose host nobody recorded is taken for the first."""
    earliest = machines.sort("first_ns", nulls_last=True)["host"].drop_nulls().head(1)
    in_order = machines.sort("node")["host"].drop_nulls()
    numbers = {host: number for number, host in enumerate(dict.fromkeys([*earliest, *in_order]))}
    return {node: numbers.get(host, 0) for node, host in machines.select("node", "host").iter_rows()}


def wall_ns(machines: pl.DataFrame, nodes: Mapping[int, int]) -> int | None:
    """The time from the first to the last thing recorded on a host, the longest over the hosts."""
    hosts = machines.with_columns(pl.col("node").replace_strict(nodes)).group_by("node")
    spans = hosts.agg(pl.col("last_ns").max() - pl.col("first_ns").min())
    return spans["last_ns"].max()  # type: ignore[return-value]


def device_times(gpus: pl.DataFrame, level: str, nodes: Mapping[int, int]) -> tuple[DeviceTime, ...]:
    """How each GPU or queue of each rank spent its window, busiest first."""
    rows = (
        gpus.filter(pl.col("level") == level).drop("level").sort("node", "agent_id", "queue_id", "stream_id")
    )
    if rows["rank"].drop_nulls().n_unique() > 1:
        rows = rows.with_columns(
            pl.struct("name", "agent_id", "rank").map_elements(_with_rank, pl.String).alias("name")
        )
    else:
        rows = rows.with_columns(rank=pl.lit(None, pl.Int64))
    times = [
        DeviceTime(
            **{**row, "node": nodes[row["node"]]},
            busy=ratio(row["busy_ns"], row["window_ns"], "busy_ns / window_ns", "busy_ns", "window_ns"),
        )
        for row in rows.iter_rows(named=True)
    ]
    return tuple(sorted(times, key=lambda row: -row.busy_ns))


def _with_rank(row: Mapping[str, Any]) -> str:
    """Return the name of a GPU with the rank that used it behind its number."""
    number = gpu_number(row["agent_id"], None)
    return gpu_number(row["agent_id"], row["rank"]) + str(row["name"]).removeprefix(number)


def shared_gpus(gpus: pl.DataFrame, nodes: Mapping[int, int]) -> int:
    """How many GPUs several ranks recorded work on, or what several ranks call by one number."""
    owners = gpus.filter(pl.col("level") == "gpu").select(
        pl.col("node").replace_strict(nodes).alias("host"),
        "agent_id",
        place_of(pl.col("node")).alias("place"),
    )
    return int((owners.group_by("host", "agent_id").agg(pl.col("place").n_unique())["place"] > 1).sum())


def hotspots(kernels: pl.DataFrame, grouping: Grouping, *, dispatches: int, basis: str) -> Hotspots:
    """Every kernel, longest total first. Medians and the course over time take all dispatches at once: they are not
    known."""
    table = _by_short_name(kernels) if grouping == "short" else kernels
    table = table.sort("total_ns", "kernel", descending=[True, False])
    total = int(table["total_ns"].sum())
    rows = tuple(
        Hotspot(
            **row,
            short_name=short_name(row["kernel"]),
            mean_ns=row["total_ns"] / row["calls"] if row["calls"] else 0.0,
            median_ns=None,
            share=row["total_ns"] / total if total else 0.0,
        )
        for row in table.iter_rows(named=True)
    )
    none = None if rows else "no rank recorded kernels with times"
    return Hotspots(
        rows=rows, basis=basis, kernels=len(rows), dispatches=dispatches, total_ns=total, unavailable=none
    )


def _by_short_name(kernels: pl.DataFrame) -> pl.DataFrame:
    short = kernels.with_columns(short_names(kernels["kernel"]))
    return short.group_by("kernel").agg(
        pl.col("calls", "total_ns").sum(), pl.col("min_ns").min(), pl.col("max_ns").max()
    )


def families(kernels: pl.DataFrame, counts: Counts) -> Families:
    """Kernel time by family."""
    totals = kernels.select("kernel", "calls", pl.col("total_ns").alias("total"))
    calls = counts.known("attention_calls")
    by_hand = calls and AttentionByHand(
        calls=calls,
        between_ns=counts.sum("attention_between_ns"),
        kernels=counts.facts("attention_kernel"),
        products=tuple(
            AttentionProduct(
                kernel=kernel,
                calls=counts.sum(f"attention_product_calls {kernel}"),
                total_ns=counts.sum(f"attention_product_ns {kernel}"),
            )
            for kernel in counts.facts("attention_product")
        ),
    )
    return replace(families_of(totals, counts.known("fused_saving_ns")), attention_by_hand=by_hand or None)


def domains(tables: Tables) -> tuple[DomainTotal, ...]:
    """Host activity by domain."""
    return domains_of(tables["calls"], tables["domains"])


def copies(tables: Tables) -> tuple[CopyTotal, ...]:
    """Copies by direction."""
    return copies_of(tables["copies"])
