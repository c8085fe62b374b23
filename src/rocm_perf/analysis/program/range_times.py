"""The GPU time of ranges: for each range the union of the kernels of it and of everything inside it.

Laid out for each range anew, that would be as many intervals as kernels times depth. Instead, each stretch of time adds
its length at every range that owns a kernel there, and takes it away where two of them meet, at the closest range
around both: so the sum over everything inside a range counts it once.
"""

from __future__ import annotations

from bisect import bisect_left

import polars as pl

from rocm_perf.analysis.basis.forest import first_reaching, subtree_max, subtree_sums

_STRETCH: dict[str, pl.DataType | type[pl.DataType]] = {"owner": pl.UInt32, "met": pl.UInt32, "ns": pl.Int64}


def gpu_times(nested: pl.DataFrame, own: pl.DataFrame) -> pl.DataFrame:
    """For each row of `nested`: kernels and own_kernels, gpu_ns, and gap_ns, what lies between its kernels.

    `own` are kernels with their owner, the innermost range that each belongs to, start_ns and end_ns.
    """
    totals = own.group_by("owner").agg(
        pl.len().cast(pl.Int64).alias("count"),
        (-pl.col("start_ns").min()).alias("since"),
        pl.col("end_ns").max().alias("until"),
    )
    rows = nested.select(owner="row").join(totals, on="owner", how="left", maintain_order="left")
    counts, behind, parents = rows["count"].fill_null(0), nested["behind"], nested["parent"]
    union = subtree_sums(behind, _shares(nested, _stretches(own)))
    window: pl.Series = subtree_max(parents, rows["until"]) + subtree_max(parents, rows["since"])
    return pl.DataFrame(
        {
            "kernels": subtree_sums(behind, counts),
            "own_kernels": counts,
            "gpu_ns": union,
            "gap_ns": (window - union).fill_null(0),
        }
    )


def _shares(nested: pl.DataFrame, stretches: pl.DataFrame) -> pl.Series:
    """What each row adds to the union of itself and of every range around it."""
    met = first_reaching(nested["parent"], nested["behind"], stretches["met"], stretches["owner"])
    added = stretches.select(row="owner", ns="ns")
    taken = stretches.select(met.alias("row"), -pl.col("ns")).drop_nulls()
    sums = pl.concat([added, taken]).group_by("row").agg(pl.col("ns").sum())
    return pl.zeros(nested.height, pl.Int64, eager=True).scatter(sums["row"], sums["ns"])


def _stretches(own: pl.DataFrame) -> pl.DataFrame:
    """Stretches of time in which kernels run: an owner of one, and the owner before it that has one there too, if any.

    Most kernels overlap at most with others of their owner; only what several owners share is divided.
    """
    reach = pl.col("end_ns").cum_max().shift(1)
    ordered = own.sort("start_ns").with_columns(island=(pl.col("start_ns") > reach).fill_null(True).cum_sum())
    islands = ordered.group_by("island").agg(
        pl.col("owner").first(),
        (pl.col("end_ns").max() - pl.col("start_ns").min()).alias("ns"),
        pl.col("owner").n_unique().alias("owners"),
    )
    alone = islands.filter(pl.col("owners") == 1).select("owner", pl.lit(None, pl.UInt32).alias("met"), "ns")
    shared = ordered.join(islands.filter(pl.col("owners") > 1), on="island", how="semi")
    return pl.concat([alone, _divided(shared)])


def _divided(kernels: pl.DataFrame) -> pl.DataFrame:
    """The same of kernels that overlap, which are painted over one another in the order of their owners."""
    edges: list[int] = []  # where paint changes, in order; paint[i] lies from edges[i] to edges[i + 1]
    paint: list[int | None] = []
    stretches: list[tuple[int, int | None, int]] = []
    lasting = kernels.filter(pl.col("end_ns") > pl.col("start_ns")).sort("owner")
    for owner, start, end in lasting.select("owner", "start_ns", "end_ns").iter_rows():
        first, last = _edge(edges, paint, start), _edge(edges, paint, end)
        stretches.extend((owner, paint[at], edges[at + 1] - edges[at]) for at in range(first, last))
        edges[first:last], paint[first:last] = [start], [owner]
    return pl.DataFrame(stretches, schema=_STRETCH, orient="row")


def _edge(edges: list[int], paint: list[int | None], time: int) -> int:
    """The position of the edge at this time, which is added if there is none."""
    place = bisect_left(edges, time)
    if place == len(edges) or edges[place] != time:
        edges.insert(place, time)
        paint.insert(place, paint[place - 1] if place else None)
    return place
