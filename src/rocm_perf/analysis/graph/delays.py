"""How long calls work before they wait, and how long items take from their launch or from the item before them."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from rocm_perf.analysis.graph.estimates import usual, with_usual
from rocm_perf.analysis.graph.graph import NODE_KINDS
from rocm_perf.model.results.path import Estimate

# Where no kernel was launched while the one before it ran, the recording cannot show the gap between kernels.
ASSUMED_GAP_NS = 1500
# The longest that a signal takes between streams: 15 us on an MI300X between RCCL and a copy.
SIGNAL_NS = 20_000
_COPIES = "copies"
_GROUPS = pl.Enum([*NODE_KINDS.categories, "graph", "within a graph"])
_ASSUMED_GAP = "assumed: what an H200 takes between kernels of a stream; traces of AMD GPUs show less"


def with_own_time(
    calls: pl.DataFrame, rows: pl.DataFrame, waited: pl.DataFrame
) -> tuple[pl.DataFrame, list[Estimate]]:
    """Each call with `own_ns`, what it takes by itself, and `blocking`, whether it may wait for the GPU."""
    release = waited.group_by("call").agg(pl.col("end_ns").max().alias("release_ns"))
    copies = waited.filter(pl.col("rule") == "own copy").join(rows.select("item", "start_ns"), on="item")
    copying = waited.filter(pl.col("rule").is_in(["own copy", "copy wait"]))["call"]
    limits = copies.select("call", pl.col("start_ns").alias("copy_ns"))
    calls = (
        calls.join(release, on="call", how="left", maintain_order="left")
        .join(limits, on="call", how="left", maintain_order="left")
        .with_columns(
            blocking=pl.col("scope").is_not_null() | pl.col("release_ns").is_not_null(),
            length=pl.col("end_ns") - pl.col("start_ns"),
        )
        .with_columns(
            group=pl.when(pl.col("call").is_in(copying.implode()))
            .then(pl.lit(_COPIES, pl.Categorical))
            .otherwise("name"),
            most=pl.min_horizontal("length", pl.col("copy_ns") - pl.col("start_ns")),
        )
    )
    table, estimates = usual(_free_calls(calls, rows), "own time", "group")
    calls = with_usual(calls, table, "group", "own")
    own = pl.when("blocking").then(pl.min_horizontal("own", "most")).otherwise("length")
    return calls.with_columns(own_ns=own).drop(
        "release_ns", "copy_ns", "length", "group", "most", "own"
    ), estimates


def _free_calls(calls: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Functions that wait at times where they did not, and what starting a copy takes."""
    waiting = (pl.col("release_ns") > pl.col("start_ns")).fill_null(False)
    waits_at_times = calls.filter(pl.col("blocking") & (pl.col("group") == pl.col("name")))["name"].unique()
    syncs = calls.filter(pl.col("group").is_in(waits_at_times.implode()) & ~waiting)
    starts = next(
        (copy_starts for copy_starts in _copy_starts(calls, rows) if copy_starts.height),
        calls.clear().select(value="length"),
    )
    return pl.concat(
        [
            syncs.select("group", value=pl.col("length")),
            starts.select(group=pl.lit(_COPIES, pl.Categorical), value="value"),
        ]
    )


def _copy_starts(calls: pl.DataFrame, rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Calls that copy and do not block; else blocking ones up to the copy, where the GPU was idle; else launches."""
    idle = (pl.max_horizontal("before_end", "gpu_end") <= pl.col("call_ns")).fill_null(True)
    copying = rows.filter((pl.col("kind") == "copy") & pl.col("graph_id").is_null())
    free = calls.select("call", "length", "blocking").filter(~pl.col("blocking"))
    yield free.join(copying, on="call", how="semi").select(value="length")
    blocked = calls.filter(pl.col("copy_ns").is_not_null()).join(copying.filter(idle), on="call", how="semi")
    yield blocked.select(value="most")
    yield free.filter(pl.col("call").is_in(rows["call"].implode())).select(value="length")


def with_delays(rows: pl.DataFrame) -> tuple[pl.DataFrame, list[Estimate]]:
    """Each item with its usual `latency` from the launch and `gap` from the item before it."""
    launched = pl.col("issued_ns").is_not_null()
    in_graph = pl.col("graph_id").is_not_null()
    kind = pl.col("kind").cast(_GROUPS)
    inner = (pl.col("correlation_id") == pl.col("before_correlation")).fill_null(False)
    rows = rows.with_columns(
        launch_group=pl.when(in_graph).then(pl.lit("graph", _GROUPS)).otherwise(kind),
        gap_group=pl.when(inner).then(pl.lit("within a graph", _GROUPS)).otherwise(kind),
        inner=inner,
    )
    idle = pl.col("before_end").is_null() | (pl.col("before_end") <= pl.col("issued_ns"))
    latencies = rows.lazy().filter(launched & idle & ~inner).select(
        group="launch_group", value=pl.col("start_ns") - pl.col("issued_ns"), alone=_alone("issued_ns")
    ).collect()  # fmt: skip
    table, estimates = usual(_undisturbed(latencies), "launch latency", "group")
    rows = with_usual(rows, table.rename({"group": "launch_group"}), "launch_group", "latency")
    ready = (pl.col("issued_ns") + pl.col("latency") <= pl.col("before_end")) | inner
    gaps = rows.lazy().filter(launched & ready).select(
        group="gap_group", value=pl.col("start_ns") - pl.col("before_end"), alone=_alone("before_end")
    ).collect()  # fmt: skip
    table, more = usual(_undisturbed(gaps), "queue gap", "group")
    table = table.rename({"group": "gap_group"})
    if not table.filter(pl.col("gap_group") == "kernel").height:
        assumed = pl.DataFrame({"gap_group": ["kernel"], "usual": [ASSUMED_GAP_NS]}, schema=table.schema)
        table = pl.concat([table, assumed])
        more.append(Estimate(name="queue gap, kernel", value_ns=ASSUMED_GAP_NS, samples=0, how=_ASSUMED_GAP))
    return with_usual(rows, table, "gap_group", "gap"), estimates + more


def _alone(since: str) -> pl.Expr:
    """Whether other streams of the GPU had nothing more to do by then."""
    return (pl.col("gpu_end") <= pl.col(since)).fill_null(True)


def _undisturbed(samples: pl.DataFrame) -> pl.DataFrame:
    """Delays while other streams of the GPU were idle. Of a group without any the shortest, and no more than a signal
    takes: the others may have waited for those streams."""
    alone = samples.filter("alone").drop("alone")
    rest = samples.drop("alone").join(alone, on="group", how="anti")
    shortest = pl.min_horizontal(pl.col("value").min(), SIGNAL_NS)
    return pl.concat([alone, rest.group_by("group").agg(value=shortest)])
