"""Fewer slices than events: neighbours that are short are merged, and say how many they are and how long they took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl
from msgspec.structs import replace

from rocm_perf.analysis.timeline.layer import Layer, Meaning
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
    by_line = [layer.slices.sort(*_LINE, "start_ns") for layer in chosen]
    spans = [rows.select(*_LINE, "start_ns", "end_ns") for rows in by_line]
    step = 2 * _FINEST_NS
    whole = max(int(layer.slices["end_ns"].max()) for layer in layers)  # type: ignore[arg-type]
    while sum(int(_opens(rows, step, kept).sum()) for rows in spans) > most and step <= whole:
        step *= 2
    merged = [
        replace(layer, slices=_merged(rows, _opens(rows, step, kept), layer.details))
        for layer, rows in zip(chosen, by_line, strict=True)
    ]
    return [merged[chosen.index(layer)] if layer in chosen else layer for layer in layers], step


def _opens(rows: pl.DataFrame, step: int, kept: Bounds | None) -> pl.Series:
    """Whether each slice, line by line in the order of time, is not merged with the one before it. Slices of one line
    that start in the same step and are shorter than it are one: no longer one can lie between them."""
    free = pl.col("end_ns") - pl.col("start_ns") < step
    if kept is not None:
        free &= (pl.col("end_ns") <= kept[0]) | (pl.col("start_ns") >= kept[1])
    place = pl.when(free).then(pl.col("start_ns") // step)
    same_line = pl.all_horizontal(pl.col(name) == pl.col(name).shift(1) for name in _LINE)
    return rows.select(~(same_line & (place == place.shift(1))).fill_null(False)).to_series()


def _merged(rows: pl.DataFrame, opens: pl.Series, details: Mapping[str, Meaning]) -> pl.DataFrame:
    """The slices, each with those behind it that do not open one of their own."""
    alone = opens & opens.shift(-1, fill_value=True)
    single, several = rows.filter(alone), rows.with_columns(run=opens.cum_sum()).filter(~alone)
    adding = [pl.col(name).sum() for name, meaning in details.items() if meaning.adds_up]
    sums = several.group_by("run", maintain_order=True).agg(
        pl.col("track", "depth", "start_ns").first(),
        pl.col("end_ns").max(),
        pl.col("count", "busy_ns").sum(),
        pl.col("on_path").any(),
        *(pl.when(total > 0).then(total) for total in adding),
    )
    merged = sums.join(_longest_names(several), on="run", maintain_order="left")
    return pl.concat([single, merged.select(pl.exclude("run"))], how="diagonal_relaxed").sort(
        "track", "start_ns", "depth"
    )


def _longest_names(rows: pl.DataFrame) -> pl.DataFrame:
    """Of each run the name that took the most time."""
    lengths = rows.group_by("run", "name").agg(pl.col("busy_ns").sum())
    longest = lengths.sort("run", "busy_ns", "name", descending=[False, True, False])
    return longest.unique("run", keep="first", maintain_order=True).select("run", "name")


def _sentence(which: str, before: Sequence[Layer], after: Sequence[Layer], step: int) -> list[str]:
    fewer = _count(before) - _count(after)
    if not fewer:
        return []
    return [
        f"Slices {which}that are shorter than {format_ns(step)} are merged with their neighbours, which makes "
        f"{format_count(fewer, 'slice')} fewer."
    ]
