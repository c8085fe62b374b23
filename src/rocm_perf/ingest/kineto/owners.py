"""Which process and rank the events of a trace belong to: GPU events carry a device in place of their process."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import polars as pl


class Owners(msgspec.Struct, frozen=True):
    """The only process of a trace, if there is one; and of a trace merged from several, the rank of each process and
    of each device, and the process of each rank."""

    pid: int | None
    ranks: Mapping[int, int]
    processes: Mapping[int, int]

    def of_gpu(self, events: pl.DataFrame) -> pl.DataFrame:
        """GPU events with their process and rank."""
        owned = events.with_columns(self._rank("event_pid").alias("rank"))
        process = pl.lit(self.pid, pl.Int64)
        if self.processes:
            known = pl.col("rank").replace_strict(self.processes, default=None, return_dtype=pl.Int64)
            process = pl.coalesce(known, process)
        return owned.with_columns(process.alias("pid")).drop("event_pid")

    def of_host(self, events: pl.DataFrame) -> pl.DataFrame:
        """Host events with the rank of their process."""
        if not self.ranks or "pid" not in events.columns:
            return events
        rank = self._rank("pid")
        known = pl.coalesce("rank", rank) if "rank" in events.columns else rank
        return events.with_columns(known.alias("rank"))

    def _rank(self, process: str) -> pl.Expr:
        if not self.ranks:
            return pl.lit(None, pl.Int32)
        return pl.col(process).replace_strict(self.ranks, default=None, return_dtype=pl.Int32)


def owners_of(calls: pl.DataFrame, ranks: Mapping[int, int]) -> Owners:
    """The owners of events, given the calls on the host and the ranks that a merged trace names."""
    pids = set(calls["pid"].drop_nulls().unique()) if calls.height else set()
    return Owners(
        pid=int(min(pids)) if len(pids) == 1 else None,
        ranks=ranks,
        processes={rank: pid for pid, rank in ranks.items() if pid in pids},
    )
