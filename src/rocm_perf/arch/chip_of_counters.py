"""Which chip a recording was made on, judging by the names of its counters alone, where nothing else says it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

import msgspec

from rocm_perf.arch import catalog
from rocm_perf.arch.counters import counters, written
from rocm_perf.arch.metric_data import metrics
from rocm_perf.arch.metric_inputs import formula_names
from rocm_perf.arch.metric_recipes import Recipe, recipes
from rocm_perf.model.vendor import is_amd

_KNOWN = 0.8  # of the names: below that they are not AMD's counters
# Who records a third of what two chips share, and none of twenty counters that only one has, is not on that one.
_COVERED = 1 / 3
_EXCLUSIVE = 20


def chips_of_counters(names: Iterable[str]) -> tuple[str, ...]:
    """The chips of the catalogue that count all of this, or most of it; empty if the names are no chip's."""
    recorded = frozenset(names)
    if not recorded:
        return ()
    known = {gfx: _known_on(gfx, recorded) for gfx in catalog.known_gfx() if is_amd(gfx)}
    most = max(map(len, known.values()))
    if most < _KNOWN * len(recorded):
        return ()
    fitting = tuple(gfx for gfx, names in known.items() if len(names) == most)
    return tuple(gfx for gfx in fitting if not any(_would_show(gfx, other, recorded) for other in fitting))


class Agreement(msgspec.Struct, frozen=True):
    """How a metric is computed whichever of several chips it is: as on `gfx`, with the doubts of all of them. Without
    a `gfx`, they compute it differently from what was recorded."""

    gfx: str = ""
    doubts: tuple[str, ...] = ()


def agreements(chips: Sequence[str], recorded: Iterable[str]) -> Mapping[str, Agreement]:
    """For each metric that some of these chips compute from the recorded counters, whether they all do it alike."""
    names = formula_names(recorded)
    usable = {
        metric: {gfx: way for gfx in chips if (way := _first_usable(gfx, metric, names))}
        for metric in metrics()
    }
    return {metric: _agreement(ways, chips) for metric, ways in usable.items() if ways}


def _first_usable(gfx: str, metric: str, names: frozenset[str]) -> Recipe | None:
    """The way that is taken with these counters."""
    ways = recipes(gfx, metric)
    return next((way for way in ways if all(group.recorded_in(names) for group in way.groups)), None)


def _agreement(ways: Mapping[str, Recipe], chips: Sequence[str]) -> Agreement:
    if len({(str(way.expression), _constants(gfx, way)) for gfx, way in ways.items()}) > 1:
        return Agreement()
    by_doubt: dict[str, list[str]] = {}
    for gfx, way in ways.items():
        for doubt in way.doubts:
            by_doubt.setdefault(doubt, []).append(gfx)
    silent = [gfx for gfx in chips if gfx not in ways]
    doubts = [f"if it is a {' or '.join(gfxs)}: {doubt}" for doubt, gfxs in by_doubt.items()]
    doubts += [f"if it is a {' or '.join(silent)}: these counters do not tell it"] if silent else []
    return Agreement(next(iter(ways)), tuple(doubts))


def _constants(gfx: str, way: Recipe) -> tuple[object, ...]:
    """What the formula takes from the chip."""
    gpu = catalog.gpus_of(gfx)[0]
    known = {"wave": gpu.wave_size, "lds_banks": gpu.lds_banks}
    return tuple(value for name, value in known.items() if name in way.expression.names)


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
