"""The kernels of two recordings, matched: by whole name, then, among what is left over, by short name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet

from rocm_perf.analysis.basis.names import demangle, short_name
from rocm_perf.model.results.comparison import KernelChange, Match
from rocm_perf.model.results.times import Hotspot


def match_kernels(base: Sequence[Hotspot], new: Sequence[Hotspot]) -> tuple[KernelChange, ...]:
    """Every kernel of either side once; the largest difference of total time first."""
    mine, other = _grouped(base, _whole), _grouped(new, _whole)
    common = mine.keys() & other.keys()
    changes = [_change(mine[name], other[name], "name") for name in common]
    left, right = (_grouped(_others(side, common), _short) for side in (mine, other))
    changes += [
        _change(left.get(name, []), right.get(name, []), "short name") for name in left.keys() | right.keys()
    ]
    return tuple(
        sorted(changes, key=lambda change: (-abs(change.difference_ns), change.kernel, change.base_names))
    )


def _whole(spot: Hotspot) -> str:
    """The name without what some tools write and others do not: mangling, and the suffix of the descriptor."""
    return demangle(spot.kernel.removesuffix(".kd"))


def _short(spot: Hotspot) -> str:
    return short_name(_whole(spot))


def _grouped(spots: Iterable[Hotspot], key: Callable[[Hotspot], str]) -> dict[str, list[Hotspot]]:
    groups: dict[str, list[Hotspot]] = {}
    for spot in spots:
        groups.setdefault(key(spot), []).append(spot)
    return groups


def _others(groups: dict[str, list[Hotspot]], common: AbstractSet[str]) -> list[Hotspot]:
    return [spot for name, spots in groups.items() if name not in common for spot in spots]


def _change(base: list[Hotspot], new: list[Hotspot], match: Match) -> KernelChange:
    calls, new_calls = (sum(spot.calls for spot in side) for side in (base, new))
    total, new_total = (sum(spot.total_ns for spot in side) for side in (base, new))
    return KernelChange(
        kernel=_short((base or new)[0]),
        match="appeared" if not base else "vanished" if not new else match,
        base_names=tuple(spot.kernel for spot in base),
        new_names=tuple(spot.kernel for spot in new),
        base_calls=calls,
        new_calls=new_calls,
        base_ns=total,
        new_ns=new_total,
        base_mean_ns=total / calls if calls else None,
        new_mean_ns=new_total / new_calls if new_calls else None,
        difference_ns=new_total - total,
    )
