"""The ends of collectives as a matrix, one row per node: what offsets and drifts are fitted on."""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from rocm_perf.ingest.ranks.fitting import Floats

_FEWEST_SHORTEST = 10  # collectives of the shortest kinds that the others are judged by


class Ends(msgspec.Struct, frozen=True):
    """When collectives ended on each clock: `ends` has a row per node and a column per collective, counted from
    `origins_ns`, NaN where a node took no part. `turns` and `kinds` number the collectives and what they did,
    `transfers` is how long they took the rank that came last."""

    nodes: tuple[int, ...]
    turns: npt.NDArray[np.int64]
    origins_ns: tuple[int, ...]
    ends: Floats
    kinds: npt.NDArray[np.int64]
    transfers: Floats

    def shortest(self, among: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """The collectives of the kinds with the shortest transfers, as many kinds as make ten. Their ends say most
        about clocks: ranks end at most a transfer apart."""
        chosen = np.zeros_like(among)
        kinds = np.unique(self.kinds[among])
        for kind in sorted(kinds, key=lambda kind: (self._transfer(kind, among), kind)):
            chosen |= among & (self.kinds == kind)
            if chosen.sum() >= _FEWEST_SHORTEST:
                break
        return chosen

    def _transfer(self, kind: int, among: npt.NDArray[np.bool_]) -> float:
        return float(np.median(self.transfers[among & (self.kinds == kind)]))


def ends_of(collectives: pl.DataFrame) -> Ends:
    """The ends of numbered collectives that all ranks end together. Of ranks with one clock, the median counts."""
    rows = collectives.filter("together").sort("turn_id", "node")
    nodes = rows["node"].unique().sort()
    turns = rows.select("turn_id", "token", length=pl.col("end_ns") - pl.col("start_ns"))
    turns = turns.group_by("turn_id").agg(pl.col("token").first(), pl.col("length").min()).sort("turn_id")
    origins = rows.group_by("node").agg(origin_ns=pl.col("end_ns").min())
    placed = rows.join(origins, on="node").with_columns(end=pl.col("end_ns") - pl.col("origin_ns"))
    cells = placed.group_by("node", "turn_id").agg(pl.col("end").median())
    matrix = np.full((len(nodes), turns.height), np.nan)
    matrix[nodes.search_sorted(cells["node"]), turns["turn_id"].search_sorted(cells["turn_id"])] = cells[
        "end"
    ]
    return Ends(
        nodes=tuple(nodes),
        turns=turns["turn_id"].to_numpy(),
        origins_ns=tuple(origins.sort("node")["origin_ns"]),
        ends=matrix,
        kinds=turns["token"].cast(pl.Int64).to_numpy(),
        transfers=turns["length"].cast(pl.Float64).to_numpy(),
    )
