"""Statistics without a time line: what very many very short kernels mean."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_perf.analysis.remedies.setting import setting_of
from rocm_perf.analysis.remedies.table import remedy
from rocm_perf.analysis.time.kernel_family import family
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding
from rocm_perf.model.results.times import Hotspot
from rocm_perf.units import format_count, format_ns, format_share

_SHORT_NS = 10_000  # about what it takes to launch one
_MANY = 10_000
_MOST = 0.5  # of the launches
_NAMED = 3


def tiny_launch_findings(document: Document) -> Iterator[Finding]:
    """One finding where most launches are of kernels so short that launching them takes as long as running them."""
    spots = document.hotspots
    if spots.basis == "dispatches" or not spots.dispatches:
        return
    tiny = [spot for spot in spots.rows if spot.mean_ns <= _SHORT_NS]
    calls, spent = sum(spot.calls for spot in tiny), sum(spot.total_ns for spot in tiny)
    if calls < _MANY or calls < _MOST * spots.dispatches:
        return
    yield Finding(
        id="tiny-launches",
        severity="info",
        title=f"{format_share(calls / spots.dispatches)} of the launches run for {format_ns(spent / calls)} each",
        evidence=(
            f"{calls:,} of {format_count(spots.dispatches, 'launch', 'launches')} take {format_ns(spent)} of "
            f"{format_ns(spots.total_ns)}: {_by_family(tiny)}",
            "launching a kernel takes the host several microseconds, about as long as these run; the statistics have "
            "no time line, so how long the GPU waited for them is not known",
        ),
        remedy=remedy("launching", setting_of(document)),
        next_command="rocm-perf profile --preset runtime -- APP",
        kind="host-bound",
    )


def _by_family(spots: list[Hotspot]) -> str:
    calls: dict[str, int] = {}
    for spot in spots:
        name = family(spot.kernel).name
        calls[name] = calls.get(name, 0) + spot.calls
    most = sorted(calls.items(), key=lambda pair: -pair[1])[:_NAMED]
    return ", ".join(f"{name} {count:,}" for name, count in most)
