"""Fewer slices than events: neighbours that are short are merged, and say how many they are and how long they took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from rocm_perf.analysis.timeline.layer import Layer
from rocm_perf.units import format_count, format_ns

MOST_SLICES = 1_500_000  # of 2 to 8 bytes each, compressed: at worst a page of 15 MB
MOST_CHARACTERS = 16_000_000  # of the distinct texts of one detail: compressed, 2 MB or more
_DERIVED = ("path", "gaps")  # kinds that repeat what other tracks show
_DERIVED_SHARE = 0.25  # of the slices, where not all fit
_LINE = ("track", "depth")
_FINEST_NS = 1_000
Bounds = tuple[int, int]


def thinned(
    layers: Sequence[Layer], judged: Bounds | None, most: int = MOST_SLICES
) -> tuple[Sequence[Layer], str | None]:
    """The layers with at most about that many slices, and what was merged, in words; None where nothing was.

    First the critical path and the gaps are made coarser, then everything outside of the judged part, and what that
    part itself holds only where the rest is not enough.
    """
    sentences = []
    if _count(layers) > most:
        coarse, step = _fitting(layers, round(_DERIVED_SHARE * most), kinds=_DERIVED)
        sentences += _sentence("of the critical path and of idle time ", layers, coarse, step)
        layers = coarse
    if judged is not None and _count(layers) > most:
        outside, step = _fitting(layers, most, kept=judged)
        sentences += _sentence("outside of the judged part ", layers, outside, step)
        layers = outside
    if _count(layers) > most:
        everywhere, step = _fitting(layers, most)
        sentences += _sentence("", layers, everywhere, step)
        layers = everywhere
    return layers, " ".join(sentences) or None


def without_long_texts(
    layers: Sequence[Layer], most: int = MOST_CHARACTERS
) -> tuple[Sequence[Layer], str | None]:
    """The layers without details whose texts are longer than that in all, and which these are, in words."""
    long = {
        (layer.kind, column): meaning.label
        for layer in layers
        for column, meaning in layer.details.items()
        if _characters(layer.slices[column]) > most
    }
    if not long:
        return layers, None
    kept = [
        replace(
            layer,
            details={name: each for name, each in layer.details.items() if (layer.kind, name) not in long},
        )
        for layer in layers
    ]
    return kept, f"Too long to be held: {', '.join(dict.fromkeys(long.values()))}."


def _characters(values: pl.Series) -> int:
    return int(values.unique().str.len_bytes().sum()) if values.dtype == pl.String else 0


def _count(layers: Sequence[Layer], kinds: Sequence[str] = ()) -> int:
    return sum(layer.slices.height for layer in layers if not kinds or layer.kind in kinds)


def _fitting(
    layers: Sequence[Layer], most: int, *, kinds: Sequence[str] = (), kept: Bounds | None = None
) -> tuple[Sequence[Layer], int]:
    """The layers of the kinds merged in the shortest steps, each twice the one before, that leave so many slices; or,
    where no step does, in steps in which all that may be merged is one."""
    chosen = [layer for layer in layers if not kinds or layer.kind in kinds]
    lines = [_by_line(layer, kept) for layer in chosen]
    step = 2 * _FINEST_NS
    whole = max(int(layer.slices["end_ns"].max()) for layer in layers)  # type: ignore[arg-type]
    while sum(_left(rows, step) for rows in lines) > most and step <= whole:
        step *= 2
    return [_merged(layer, step, kept) if layer in chosen else layer for layer in layers], step


def _by_line(layer: Layer, kept: Bounds | None) -> pl.DataFrame:
    """The slices line by line, in the order of time: start, length and number of the line, and which may be merged."""
    rows = layer.slices.sort(*_LINE, "start_ns")
    return rows.select(
        "start_ns",
        length=pl.col("end_ns") - pl.col("start_ns"),
        line=pl.struct(_LINE).rle_id(),
        free=_is_free(kept),
    )


def _is_free(kept: Bounds | None) -> pl.Expr:
    if kept is None:
        return pl.lit(True)
    return (pl.col("end_ns") <= kept[0]) | (pl.col("start_ns") >= kept[1])


def _left(rows: pl.DataFrame, step: int) -> int:
    """How many slices merging leaves. Those of one step follow one another: a longer one between them would end it."""
    place = pl.when(pl.col("free") & (pl.col("length") < step)).then(pl.col("start_ns") // step)
    is_first = (place != place.shift(1)).fill_null(True) | (pl.col("line") != pl.col("line").shift(1))
    return int(rows.select(is_first.fill_null(True).sum()).item())


def _sentence(which: str, before: Sequence[Layer], after: Sequence[Layer], step: int) -> list[str]:
    fewer = _count(before) - _count(after)
    if not fewer:
        return []
    return [
        f"Slices {which}that are shorter than {format_ns(step)} are merged with their neighbours, which makes "
        f"{format_count(fewer, 'slice')} fewer."
    ]


def _merged(layer: Layer, step: int, kept: Bounds | None) -> Layer:
    """Slices of one line that start in the same step and are shorter than it, as one; not those that are kept."""
    short = _is_free(kept) & (pl.col("end_ns") - pl.col("start_ns") < step)
    binned = layer.slices.with_columns(bin=pl.when(short).then(pl.col("start_ns") // step))
    several = pl.col("bin").is_not_null() & (pl.len().over(*_LINE, "bin") > 1)
    neighbours = binned.select(several).to_series()
    if not neighbours.any():
        return layer
    merged = _as_one(layer, binned.filter(neighbours))
    whole = pl.concat([binned.filter(~neighbours), merged], how="diagonal_relaxed").select(
        layer.slices.columns
    )
    return replace(layer, slices=whole.sort(["track", "start_ns", "depth"]))


def _as_one(layer: Layer, rows: pl.DataFrame) -> pl.DataFrame:
    """One slice for each line and step, named after the name that took the most time."""
    by = (*_LINE, "bin")
    adding = [pl.col(name).sum() for name, meaning in layer.details.items() if meaning.adds_up]
    lengths = rows.group_by(*by, "name").agg(pl.col("busy_ns").sum())
    longest = lengths.sort(["busy_ns", "name"], descending=[True, False]).unique(
        by, keep="first", maintain_order=True
    )
    sums = rows.group_by(by).agg(
        pl.col("start_ns").min(),
        pl.col("end_ns").max(),
        pl.col("count", "busy_ns").sum(),
        *(pl.when(total > 0).then(total) for total in adding),
        pl.col("on_path").any(),
    )
    return sums.join(longest.select(*by, "name"), on=by)
