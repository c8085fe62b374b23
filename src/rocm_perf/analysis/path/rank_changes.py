"""Changes to one rank of a job, and to the links between ranks."""

from __future__ import annotations

import msgspec
import polars as pl

from rocm_perf.analysis.graph.graph import Graph
from rocm_perf.analysis.path.changes import SMALL_BYTES, changed, refuse_overflow
from rocm_perf.errors import UsageError
from rocm_perf.units import format_count, format_ns


class ScaledHost(msgspec.Struct, frozen=True):
    """The host time of one rank, between its calls, takes `factor` times as long: a straggler repaired."""

    rank: int
    factor: float

    @property
    def title(self) -> str:
        return f"host time of rank {self.rank} times {self.factor:g}"

    def apply(self, graph: Graph) -> Graph:
        ranks = graph.nodes["rank"]
        refuse_overflow(graph.edges["lag_ns"], self.factor)
        scaled = (pl.col("lag_ns") * self.factor).round().cast(pl.Int64)
        own = (pl.col("kind") == "program") & (pl.col("rank") == self.rank)
        edges = graph.edges.with_columns(rank=ranks.gather(graph.edges["effect"])).with_columns(
            pl.when(own).then(scaled).otherwise("lag_ns").alias("lag_ns")
        )
        if not edges.filter(own).height:
            raise UsageError(f"no host calls of rank {self.rank} are recorded")
        return changed(
            graph, "calls into the runtime take as long as recorded", graph.nodes, edges.drop("rank")
        )


class ScaledKernels(msgspec.Struct, frozen=True):
    """The kernels of one rank take `factor` times as long; collectives, which other ranks decide, do not change."""

    rank: int
    factor: float

    @property
    def title(self) -> str:
        return f"kernels of rank {self.rank} times {self.factor:g}"

    def apply(self, graph: Graph) -> Graph:
        own = (pl.col("kind") == "kernel") & (pl.col("rank") == self.rank)
        if not graph.nodes.filter(own).height:
            raise UsageError(f"no kernels of rank {self.rank} are recorded")
        refuse_overflow(graph.nodes["duration_ns"], self.factor)
        scaled = (pl.col("duration_ns") * self.factor).round().cast(pl.Int64)
        nodes = graph.nodes.with_columns(
            pl.when(own).then(scaled).otherwise("duration_ns").alias("duration_ns")
        )
        assumption = f"every kernel of rank {self.rank} takes {self.factor:g} times as long"
        return changed(graph, assumption, nodes, graph.edges)


class FasterLink(msgspec.Struct, frozen=True):
    """Collectives transfer their bytes `factor` times faster once the last rank has come; ranks come as before."""

    factor: float

    @property
    def title(self) -> str:
        return f"links {self.factor:g} times faster"

    def apply(self, graph: Graph) -> Graph:
        transfers = graph.nodes["kind"] == "collective"
        if not transfers.any():
            raise UsageError(
                "no collective is described in this recording",
                next_step="Leave --link away for this recording.",
            )
        fixed = _start_ns(graph)
        refuse_overflow(graph.nodes["duration_ns"], 1 / self.factor)
        bytes_ns = pl.max_horizontal(pl.col("duration_ns") - fixed, 0)
        shorter = pl.col("duration_ns") - bytes_ns + (bytes_ns / self.factor).round().cast(pl.Int64)
        nodes = graph.nodes.with_columns(
            pl.when(transfers).then(shorter).otherwise("duration_ns").alias("duration_ns")
        )
        return changed(graph, self._assumption(graph, transfers, fixed), nodes, graph.edges)

    def _assumption(self, graph: Graph, transfers: pl.Series, fixed_ns: int) -> str:
        starting = f", but for {format_ns(fixed_ns)} that a small one takes" if fixed_ns else ""
        assumption = (
            f"collectives take 1/{self.factor:g} of the time after their last rank has come{starting}"
        )
        alone = int((transfers & ~_met(graph)).sum())
        if not alone:
            return assumption
        return f"{assumption}; of {format_count(alone, 'collective')} no other rank is recorded, and waiting counts"


def _start_ns(graph: Graph) -> int:
    """What a collective takes whatever its bytes: the median of small ones; 0 where there is none."""
    small = graph.nodes.filter((pl.col("kind") == "collective") & (pl.col("size_bytes") <= SMALL_BYTES))
    usual = small["duration_ns"].median()
    return round(usual) if isinstance(usual, float) else 0


def _met(graph: Graph) -> pl.Series:
    """For each node, whether it is a collective that other recorded ranks came to."""
    meets = graph.edges.filter(pl.col("rule") == "members")["effect"]
    return pl.repeat(False, graph.nodes.height, eager=True).scatter(meets, True)
