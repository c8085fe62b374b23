"""The collectives of a run: those that the recorder describes, and every other kernel that communicates, with what its
name, the call that asked for it and the library's log say."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from rocm_perf.ingest.collectives.calls import FACTS, PROCESS, asked_for
from rocm_perf.ingest.collectives.names import collective_names, kernel_name
from rocm_perf.model import schema
from rocm_perf.model.rank_tables import UNKNOWN_COLLECTIVE

_SAYING_LITTLE = (UNKNOWN_COLLECTIVE, "send_recv")  # names that a call can make more precise
_SPAN = [*PROCESS, "agent_id", "start_ns", "end_ns"]
_OF_KERNEL = ("agent_id", "queue_id", "stream_id", "tid", "correlation_id", "rank", "start_ns", "end_ns")


def with_collectives(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """The tables of a run, in which `collectives` has a row for every kernel that communicates."""
    if "collective_calls" in tables:
        tables = {**tables, "collective_calls": _named(tables["collective_calls"])}
    described = tables.get("collectives", schema.empty("collectives"))
    kernels = _with_said(tables.get("dispatches", schema.empty("dispatches")))
    if not kernels.height and not described.height:
        return tables
    described = _named(described)
    others = kernels.join(described, on=_SPAN, how="anti", nulls_equal=True).with_row_index("row")
    rows = pl.concat([_with_kernel_names(described, kernels), _derived(others, tables)])
    return {**tables, "collectives": _with_logged(rows)}


def _communicating(dispatches: pl.DataFrame) -> pl.DataFrame:
    """The dispatches of kernels that communicate."""
    names = [name for name in dispatches["kernel"].unique() if name is not None and kernel_name(name)]
    return dispatches.filter(pl.col("kernel").is_in(names)) if names else dispatches.clear()


def _named(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(collective_names(rows["name"]))


def _with_said(dispatches: pl.DataFrame) -> pl.DataFrame:
    """The timed kernels that communicate, with what their names say."""
    kernels = _communicating(dispatches).drop_nulls(["start_ns", "end_ns"])
    said = [(name, *(kernel_name(name) or ())) for name in kernels["kernel"].unique()]
    columns = ("kernel", "name", "dtype", "algorithm")
    names = pl.DataFrame(said, schema=dict.fromkeys(columns, pl.String), orient="row")
    return kernels.join(names, on="kernel", maintain_order="left")


def _with_kernel_names(described: pl.DataFrame, kernels: pl.DataFrame) -> pl.DataFrame:
    """The described collectives, with what only the names of their kernels say."""
    said = kernels.select(*_SPAN, "dtype", "algorithm").unique(_SPAN, keep="first")
    joined = described.join(
        said, on=_SPAN, how="left", nulls_equal=True, maintain_order="left", suffix="_said"
    )
    known = (pl.coalesce(name, f"{name}_said").alias(name) for name in ("dtype", "algorithm"))
    return joined.with_columns(known).select(described.columns)


def _derived(kernels: pl.DataFrame, tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """A row for each kernel: a name that says nothing gives way to that of the call, other facts add up."""
    if not kernels.height:
        return schema.empty("collectives")
    asked = asked_for(kernels, tables)
    joined = kernels.join(asked, on="row", how="left", maintain_order="left", suffix="_asked")
    own = pl.when(~pl.col("name").is_in(_SAYING_LITTLE)).then("name")
    rows = joined.select(
        pl.coalesce(own, "name_asked", "name").alias("name"),
        pl.coalesce("dtype_asked", "dtype").alias("dtype"),
        "algorithm",
        *(fact for fact in FACTS if fact != "dtype"),
        *PROCESS,
        *_OF_KERNEL,
    )
    return schema.conform("collectives", rows)


def _with_logged(collectives: pl.DataFrame) -> pl.DataFrame:
    """The collectives of a run, in which what the library logged of a process (rows without times) completes the timed
    ones of it: facts that are alike for all calls of a name. The log has no times, so others stay unknown."""
    timed = collectives.filter(pl.col("start_ns").is_not_null())
    logged = collectives.filter(pl.col("start_ns").is_null())
    if not timed.height or not logged.height:
        return collectives
    key = [*PROCESS, "name"]
    alike = [pl.when(pl.col(fact).n_unique() == 1).then(pl.col(fact).first()).alias(fact) for fact in FACTS]
    said = logged.group_by(key).agg(alike)
    joined = timed.join(said, on=key, how="left", nulls_equal=True, maintain_order="left", suffix="_said")
    known = (pl.coalesce(fact, f"{fact}_said").alias(fact) for fact in FACTS)
    untimed = logged.join(timed, on=PROCESS, how="anti", nulls_equal=True)
    return pl.concat([joined.with_columns(known).select(timed.columns), untimed])
