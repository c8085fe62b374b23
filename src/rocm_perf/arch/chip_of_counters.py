"""Which chip a recording was made on, judging by the names of its counters alone, where nothing else says it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cache

from rocm_perf.arch import catalog
from rocm_perf.arch.counters import counters, written
from rocm_perf.arch.metric_data import metrics_of
from rocm_perf.arch.metric_recipes import recipes

_KNOWN = 0.8  # of the names: below that they are not AMD's counters
# Who records a third of what two chips share, and none of twenty counters that only one has, is not on that one.
_COVERED = 1 / 3
_EXCLUSIVE = 20


def chips_of_counters(names: Iterable[str]) -> tuple[str, ...]:
    """The chips of the catalogue that count all of this, or most of it; empty if the names are no chip's."""
    recorded = frozenset(names)
    if not recorded:
        return ()
    known = {gfx: _known_on(gfx, recorded) for gfx in catalog.known_gfx() if gfx.startswith("gfx")}
    most = max(map(len, known.values()))
    if most < _KNOWN * len(recorded):
        return ()
    fitting = tuple(gfx for gfx, names in known.items() if len(names) == most)
    return tuple(gfx for gfx in fitting if not any(_would_show(gfx, other, recorded) for other in fitting))


def agreed_metrics(chips: Collection[str]) -> frozenset[str]:
    """The metrics that all of these chips compute in one way."""
    ways = [{(name, _written_out(gfx, name)) for name in metrics_of(gfx)} for gfx in chips]
    return frozenset(name for name, _ in frozenset.intersection(*map(frozenset, ways)))


def _known_on(gfx: str, names: frozenset[str]) -> frozenset[str]:
    listed = counters(gfx)
    return frozenset(name for name in names if name in listed or written(name).base in listed)


def _would_show(gfx: str, other: str, names: frozenset[str]) -> bool:
    """Whether `gfx` has many counters beyond those of the other chip, and a thorough recording has none of them."""
    common, own = _hardware(gfx) & _hardware(other), _hardware(gfx) - _hardware(other)
    bases = names | {written(name).base for name in names}
    return len(own) >= _EXCLUSIVE and not own & bases and len(common & bases) >= _COVERED * len(common)


@cache
def _hardware(gfx: str) -> frozenset[str]:
    return frozenset(name for name, counter in counters(gfx).items() if not counter.derived)


@cache
def _written_out(gfx: str, metric: str) -> tuple[str, ...]:
    return tuple(str(recipe.expression) for recipe in recipes(gfx, metric))
