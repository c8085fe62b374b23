"""Fewer slices than events: neighbours that are short are merged, and say how many they are and how long they took."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from rocm_perf.analysis.timeline.layer import Layer
from rocm_perf.units import format_count, format_ns

MOST_SLICES = 1_500_000
_MERGED_BY = ("track", "depth", "bin")
_FINEST_NS = 1_000
_LAST = 1 << 62
Bounds = tuple[int, int] | None


def thinned(
    layers: Sequence[Layer], judged: Bounds, most: int = MOST_SLICES
) -> tuple[Sequence[Layer], str | None]:
    """The layers with at most about that many slices, and what was merged, in words.

    Slices outside of the judged part are merged first; those inside only where the rest is not enough. What is merged
    is shorter than a step of time, which is doubled until it suffices.
    """
    if _slices(layers) <= most:
        return layers, None
    sentences = []
    for kept, where in ((judged, "outside of the judged part"), (None, "anywhere")):
        if kept is None and judged is not None and _slices(layers) <= most:
            break
        step = _FINEST_NS
        merged = layers
        while step < _LAST and _slices(merged) > most:
            step *= 2
            merged = [_merged(layer, step, kept) for layer in layers]
        sentences.append(_sentence(layers, merged, step, where if judged else "neighbouring"))
        layers = merged
    return layers, " ".join(sentences)


def _slices(layers: Sequence[Layer]) -> int:
    return sum(layer.slices.height for layer in layers)


def _sentence(before: Sequence[Layer], after: Sequence[Layer], step: int, where: str) -> str:
    fewer = format_count(_slices(before), "slice")
    return (
        f"To keep the file small, slices {where} that are shorter than {format_ns(step)} are merged with their "
        f"neighbours: {fewer} became {_slices(after):,}. A merged slice says how many events it holds and how long "
        "they took."
    )


def _merged(layer: Layer, step: int, kept: Bounds) -> Layer:
    """Slices of one line that start in the same step and are shorter than it, as one."""
    slices = layer.slices
    short = pl.col("end_ns") - pl.col("start_ns") < step
    if kept is not None:
        short &= (pl.col("end_ns") <= kept[0]) | (pl.col("start_ns") >= kept[1])
    binned = slices.with_columns(bin=pl.when(short).then(pl.col("start_ns") // step))
    shared = binned["bin"].is_not_null() & binned.select(pl.len().over(_MERGED_BY) > 1).to_series()
    if not shared.any():
        return layer
    merged = _as_one(layer, binned.filter(shared))
    whole = pl.concat([binned.filter(~shared).drop("bin"), merged.drop("bin")], how="diagonal_relaxed")
    ordered = whole.sort(["track", "start_ns", "depth"], maintain_order=True)
    return Layer(layer.kind, ordered.select(slices.columns), layer.details, layer.words)


def _as_one(layer: Layer, rows: pl.DataFrame) -> pl.DataFrame:
    """One slice for each line and step, named after the name that took the most time."""
    adding = [pl.col(name).sum() for name, meaning in layer.details.items() if meaning.adds_up]
    lengths = rows.group_by(*_MERGED_BY, "name").agg(pl.col("busy_ns").sum())
    longest = lengths.sort(["busy_ns", "name"], descending=[True, False]).unique(_MERGED_BY, keep="first")
    sums = rows.group_by(_MERGED_BY).agg(
        pl.col("group", "title").first(),
        pl.col("start_ns").min(),
        pl.col("end_ns").max(),
        pl.col("count", "busy_ns").sum(),
        pl.col("on_path").any(),
        *adding,
    )
    return sums.join(longest.select(*_MERGED_BY, "name"), on=_MERGED_BY)
