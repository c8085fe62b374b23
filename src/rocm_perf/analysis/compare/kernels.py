"""The kernels of both sides, each with what it takes in the runs of both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import polars as pl

from rocm_perf.analysis.basis.passes import timed_dispatches
from rocm_perf.analysis.compare.estimates import count_change, time_change
from rocm_perf.analysis.compare.matching import Matched, match_kernels
from rocm_perf.analysis.compare.places import Places
from rocm_perf.analysis.compare.runs import JudgedRun
from rocm_perf.analysis.time.hotspots import hotspots
from rocm_perf.analysis.time.kernel_family import family
from rocm_perf.model.results.comparison import Change, KernelChange


class _Use(NamedTuple):
    """What one run makes of a kernel, for each step or for the run."""

    calls: float
    total_ns: float
    median_ns: float | None  # of one call


_UNUSED = _Use(0, 0, None)


def kernel_changes(base: tuple[JudgedRun, ...], new: tuple[JudgedRun, ...]) -> tuple[KernelChange, ...]:
    """Every kernel of either side once; the largest difference of total time first."""
    matched = match_kernels(Places(base), Places(new))
    before = _uses(base, {name: place for place, pair in enumerate(matched) for name in pair.base})
    after = _uses(new, {name: place for place, pair in enumerate(matched) for name in pair.new})
    changes = [
        _change(
            pair,
            [run.get(place, _UNUSED) for run in before],
            [run.get(place, _UNUSED) for run in after],
            comparisons=len(matched),
        )
        for place, pair in enumerate(matched)
    ]
    return tuple(
        sorted(changes, key=lambda change: (-abs(change.total.difference), change.kernel, change.base_names))
    )


def _change(pair: Matched, base: Sequence[_Use], new: Sequence[_Use], *, comparisons: int) -> KernelChange:
    def timed(time: Callable[[_Use], float | None]) -> Change:
        return time_change([*map(time, base)], [*map(time, new)], comparisons=comparisons)

    return KernelChange(
        kernel=pair.short_names[0],
        new_kernel=pair.short_names[1],
        family=family((pair.base or pair.new)[0]).name,
        match=pair.match,
        base_names=pair.base,
        new_names=pair.new,
        total=timed(lambda use: use.total_ns),
        median=timed(lambda use: use.median_ns),
        calls=count_change([use.calls for use in base], [use.calls for use in new]),
    )


def _uses(runs: Sequence[JudgedRun], places: Mapping[str, int]) -> list[dict[int, _Use]]:
    """What each run makes of each kernel, by the kernel's place in the list of matches."""
    return [_of_dispatches(run, places) or _of_summaries(run, places) for run in runs]


def _of_dispatches(run: JudgedRun, places: Mapping[str, int]) -> dict[int, _Use]:
    length = pl.col("end_ns") - pl.col("start_ns")
    place = pl.col("kernel").replace_strict(places, default=None, return_dtype=pl.Int64).alias("place")
    table = (
        timed_dispatches(run.trace)
        .group_by(place)
        .agg(pl.len().alias("calls"), length.sum().alias("total"), length.median().alias("median"))
    )
    return {
        row["place"]: _Use(row["calls"] / run.units, row["total"] / run.units, row["median"])
        for row in table.iter_rows(named=True)
    }


def _of_summaries(run: JudgedRun, places: Mapping[str, int]) -> dict[int, _Use]:
    """Without a median: the profiler's own statistics have none."""
    uses: dict[int, _Use] = {}
    for spot in hotspots(run.trace).rows:
        known = uses.get(places[spot.kernel], _UNUSED)
        uses[places[spot.kernel]] = _Use(known.calls + spot.calls, known.total_ns + spot.total_ns, None)
    return uses
