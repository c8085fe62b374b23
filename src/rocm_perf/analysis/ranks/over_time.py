"""What each rank does over time, in bins: a picture of a job in which a late rank is seen at once."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.ranks.parts import PARTS, processes, spent
from rocm_perf.model.results.ranks import HeatMap, RankRow
from rocm_perf.model.trace import Trace

BINS = 60
_MOST_ROWS = 64  # more ranks share rows
_SHOWN = ("computing", "waiting", "communicating")


@once_per_trace
def binned(trace: Trace) -> pl.DataFrame:
    """The parts of each rank in each bin of the time in which GPUs work: who, start_ns, end_ns and PARTS."""
    first, last = _window(trace)
    edges = [first + (last - first) * place // BINS for place in range(BINS + 1)]
    bins = pl.DataFrame({"start_ns": edges[:-1], "end_ns": edges[1:]})
    cells = everyone(trace).join(bins, how="cross", maintain_order="left")
    return pl.concat([cells, spent(trace, cells)], how="horizontal")


@once_per_trace
def everyone(trace: Trace) -> pl.DataFrame:
    """All ranks in their order: who, node."""
    ranks = processes(trace).group_by("who").agg(pl.col("node").min())
    number = pl.col("who").str.extract(r"(\d+)").cast(pl.Int64)
    return ranks.sort("node", number, "who") if _are_gpus(ranks) else ranks.sort(number, "who")


def _are_gpus(ranks: pl.DataFrame) -> bool:
    return bool(ranks["who"].str.starts_with("GPU").any())


def _window(trace: Trace) -> tuple[int, int]:
    """From the first start to the last end of the work of all ranks."""
    spans = [
        trace.lazy(table).filter(pl.col("end_ns") >= pl.col("start_ns")).select("start_ns", "end_ns")
        for table in ("dispatches", "copies", "collectives")
    ]
    bounds = pl.concat(spans).select(pl.col("start_ns").min(), pl.col("end_ns").max()).collect()
    first, last = bounds.row(0)
    return int(first), int(last)


def heat_map(trace: Trace) -> HeatMap:
    """The bins of each rank as whole percentages; of many ranks, the means of neighbours."""
    cells = binned(trace)
    length = cells["end_ns"] - cells["start_ns"]
    shares = cells.with_columns((100 * cells[part] / length).fill_nan(0.0).alias(part) for part in _SHOWN)
    names = everyone(trace)["who"].to_list()
    several = -(-len(names) // _MOST_ROWS)
    groups = [names[place : place + several] for place in range(0, len(names), several)]
    return HeatMap(
        start_ns=int(cells["start_ns"][0]),
        bin_ns=max(int(length.max() or 0), 1),
        rows=tuple(_row(shares, group) for group in groups),
    )


def _row(shares: pl.DataFrame, group: Sequence[str]) -> RankRow:
    own = shares.filter(pl.col("who").is_in(group))
    means = own.group_by("start_ns", maintain_order=True).agg(pl.col(_SHOWN).mean().round().cast(pl.Int64))
    name = group[0] if len(group) == 1 else f"{group[0]} to {group[-1].rpartition(' ')[2]}"
    return RankRow(rank=name, **{part: tuple(means[part]) for part in _SHOWN})


def totals(trace: Trace) -> pl.DataFrame:
    """The parts of each rank over all bins: who, node and PARTS."""
    return binned(trace).group_by("who", "node", maintain_order=True).agg(pl.col(PARTS).sum())
