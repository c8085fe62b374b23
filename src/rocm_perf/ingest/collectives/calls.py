"""Which call on the host asked for each kernel that communicates: a call of RCCL, a range that NCCL or torch opens, or
a call whose sizes are recorded."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from rocm_perf.ingest.collectives.names import collective_name, collective_names
from rocm_perf.model import schema
from rocm_perf.model.rank_tables import UNKNOWN_COLLECTIVE

PROCESS = ["node", "pass_id", "pid"]
THREAD = [*PROCESS, "tid"]
FACTS = ("size_bytes", "output_bytes", "dtype", "group", "group_size", "peer")
_GROUP_STEPS = {"ncclGroupStart": 1, "ncclGroupEnd": -1}
_RANGE = r"^nccl(:|[A-Z])"
_POINT_TO_POINT = ("send", "recv")
_CALL = ["name", *THREAD, "start_ns", "end_ns"]
_CLOSES = (pl.col("step") < 0) & (pl.col("depth") == 0)  # the outermost group


def asked_for(kernels: pl.DataFrame, tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """The kernels that a call asked for: their `row`, with the `name` and the facts of that call."""
    launches = _launches(kernels, tables)
    calls = _host_calls(tables)
    if not launches.height or not calls.height:
        return pl.DataFrame(schema={"row": pl.UInt32, "name": pl.String, **_fact_types()})
    calls = calls.with_row_index("call").sort("start_ns", maintain_order=True)
    inside = launches.sort("at_ns").join_asof(
        calls.drop_nulls("tid"),
        left_on="at_ns",
        right_on="start_ns",
        by=THREAD,
        strategy="backward",
        check_sortedness=False,
    )
    asked = inside.filter(pl.col("end_ns") >= pl.col("at_ns"))
    alone = pl.len().over("call") == 1  # else the sizes are of all kernels of the call together
    sizes = (pl.when(alone).then(name).alias(name) for name in ("size_bytes", "output_bytes"))
    return asked.with_columns(sizes).select("row", "name", *FACTS)


def _fact_types() -> dict[str, pl.DataType]:
    types = schema.empty("collective_calls").schema
    return {name: types[name] for name in FACTS}


def _launches(kernels: pl.DataFrame, tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """When, and on which thread, each kernel was launched."""
    calls = tables.get("api_calls", schema.empty("api_calls"))
    places = calls.select(*THREAD, "correlation_id", pl.col("start_ns").alias("at_ns"))
    key = [*PROCESS, "correlation_id"]
    wanted = kernels.select("row", *key).drop_nulls("correlation_id")
    once = places.join(wanted, on=key, how="semi", nulls_equal=True).sort("at_ns").unique(key, keep="last")
    return wanted.join(once, on=key, nulls_equal=True).drop_nulls(["tid", "at_ns"])


def _host_calls(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """The calls that ask for collectives; where two of them start at once, the one with the more facts comes last."""
    sized = tables.get("collective_calls", schema.empty("collective_calls"))
    ranges = tables.get("ranges", schema.empty("ranges")).filter(pl.col("name").str.contains(_RANGE))
    opened = ranges.filter(~pl.col("on_gpu").fill_null(False)).select(_CALL)
    library = _library_calls(tables.get("api_calls", schema.empty("api_calls")))
    calls = pl.concat([opened, library, sized.select(*_CALL, *FACTS)], how="diagonal")
    named = calls.with_columns(collective_names(calls["name"]))
    return named.filter(~pl.col("name").str.starts_with("nccl"))


def _library_calls(api_calls: pl.DataFrame) -> pl.DataFrame:
    """The calls of RCCL, those of one group as one: it launches when ncclGroupEnd closes it."""
    calls = _with_groups(api_calls.filter(pl.col("domain") == "rccl").drop_nulls("start_ns"))
    ends = calls.filter(_CLOSES).select(*THREAD, "group_number", pl.col("end_ns").alias("group_end_ns"))
    asking = calls.filter(pl.col("name").is_in([name for name in calls["name"].unique() if _asks(name)]))
    asking = asking.with_columns(collective_names(asking["name"]))
    together = (
        asking.filter(pl.col("depth") > 0)
        .group_by(*THREAD, "group_number", maintain_order=True)
        .agg(_common_name(), pl.col("start_ns").min())
        .join(ends, on=[*THREAD, "group_number"], nulls_equal=True)
        .rename({"group_end_ns": "end_ns"})
    )
    return pl.concat([asking.filter(pl.col("depth") == 0).select(_CALL), together.select(_CALL)])


def _with_groups(calls: pl.DataFrame) -> pl.DataFrame:
    """The calls in order, with how many groups of their thread are open after each, and the number of the outermost. A
    recording may begin within a group."""
    opened = pl.col("step").cum_sum().over(THREAD)
    lowest = pl.min_horizontal(opened.cum_min().over(THREAD), 0)
    step = pl.col("name").replace_strict(_GROUP_STEPS, default=0, return_dtype=pl.Int64)
    ordered = calls.sort("start_ns").with_columns(step=step).with_columns(depth=opened - lowest)
    closed = _CLOSES.cast(pl.Int64)
    return ordered.with_columns(group_number=closed.cum_sum().over(THREAD) - closed)


def _asks(function: str) -> bool:
    """Whether a function of the library asks for a collective."""
    return function.startswith("nccl") and collective_name(function) != function


def _common_name() -> pl.Expr:
    """What the calls of a group ask for together."""
    same = pl.col("name").n_unique() == 1
    both_ways = pl.col("name").is_in(_POINT_TO_POINT).all()
    name = pl.when(same).then(pl.col("name").first()).when(both_ways).then(pl.lit("send_recv"))
    return name.otherwise(pl.lit(UNKNOWN_COLLECTIVE)).alias("name")
