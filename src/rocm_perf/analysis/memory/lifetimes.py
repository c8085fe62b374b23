"""Every allocation of a framework's allocator from when it was made to when it was freed, with where and by whom."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.passes import timed_pass
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.memory.owners import owner
from rocm_perf.analysis.memory.sites import placed
from rocm_perf.model.trace import Trace

LEVELS = (
    "SNAPSHOT",
    "CACHED",
)  # of frameworks' allocators; what lies below them has no owner that a program knows
_ADDRESS = ["node", "rank", "pid", "agent_id", "level", "address"]


@once_per_trace
def lifetimes(trace: Trace) -> pl.DataFrame:
    """One row per allocation, in order: node, agent_id, level, size_bytes, requested_bytes, made (its place in the
    order of events), made_ns, freed and freed_ns (null where it never was), site, owner and known_by."""
    events = _events(trace)
    if not events.height:
        return events
    levels = events.partition_by("level", maintain_order=True)
    here = pl.concat([pl.concat([one, placed(trace, one)], how="horizontal") for one in levels])
    following = {
        "freed": pl.when(_is_next("FREE")).then(pl.col("order").shift(-1)),
        "freed_ns": pl.when(_is_next("FREE")).then(pl.col("start_ns").shift(-1)),
        "freed_stage": pl.when(_is_next("FREE")).then(pl.col("stage").shift(-1)),
        "freed_site": pl.when(_is_next("FREE")).then(pl.col("site").shift(-1)),
        # An address that is allocated again was freed in between, unseen.
        "reused": pl.when(_is_next("ALLOC")).then(pl.col("order").shift(-1)),
        "reused_ns": pl.when(_is_next("ALLOC")).then(pl.col("start_ns").shift(-1)),
    }
    lives = here.with_columns(
        expression.over(_ADDRESS, order_by="order").alias(name) for name, expression in following.items()
    ).filter(pl.col("operation") == "ALLOC")
    known = lives.with_columns(
        pl.coalesce("freed", "reused").alias("freed"),
        pl.coalesce("freed_ns", "reused_ns").alias("freed_ns"),
    )
    return known.with_columns(owner(known)).unnest("owner").select(
        "node", "agent_id", "level", "size_bytes", "requested_bytes", pl.col("order").alias("made"),
        pl.col("start_ns").alias("made_ns"), "freed", "freed_ns", "site", "owner", "known_by",
    )  # fmt: skip


def live_at(lives: pl.DataFrame, order: int) -> pl.DataFrame:
    """The allocations that had been made by an event, and not freed."""
    return lives.filter((pl.col("made") <= order) & (pl.col("freed").is_null() | (pl.col("freed") > order)))


def _is_next(operation: str) -> pl.Expr:
    """Whether the next event at the address is of that kind; what has no address has no next."""
    return pl.col("address").is_not_null() & (pl.col("operation").shift(-1) == operation)


def _events(trace: Trace) -> pl.DataFrame:
    """Allocations and releases with a time, in order."""
    of_pass = pl.col("pass_id") == (timed_pass(trace) or 0)
    usable = pl.col("level").is_in(LEVELS) & pl.col("operation").is_in(["ALLOC", "FREE"])
    events = trace.table("allocations").filter(of_pass & usable).drop_nulls(["start_ns", "size_bytes"])
    return events.sort("start_ns", maintain_order=True).with_row_index("order")
