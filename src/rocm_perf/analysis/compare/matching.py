"""Which kernels of two sides are the same: by whole name, by short name, then by what they do, where, and how large."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import msgspec

from rocm_perf.analysis.basis.names import normalised, short_name
from rocm_perf.analysis.compare.places import Places, pair_by_place
from rocm_perf.model.results.comparison import Match

# Inductor numbers the kernels of a graph: triton_poi_fused_add_12.
_NUMBERED = re.compile(r"^(triton_\w+?)_\d+$")

Names = tuple[str, ...]


class Matched(msgspec.Struct, frozen=True):
    """The names that one kernel has on each side; none on a side where it does not occur."""

    match: Match
    base: Names
    new: Names

    @property
    def short_names(self) -> tuple[str, str]:
        """The short name on each side; a side without the kernel takes the other's."""
        base, new = self.base or self.new, self.new or self.base
        return short_name(normalised(base[0])), short_name(normalised(new[0]))


def match_kernels(base: Places, new: Places) -> list[Matched]:
    """Every kernel of either side once."""
    by_name, left, right = paired(base.names, new.names, normalised)
    by_short_name, left, right = paired(left, right, plain_name)
    named = [Matched("name", *pair) for pair in by_name]
    named += [Matched("short name", *pair) for pair in by_short_name]
    anchors = {name: place for place, pair in enumerate(named) for name in (*pair.base, *pair.new)}
    by_place = [
        Matched(how, (one,), (other,)) for one, other, how in pair_by_place(base, new, (left, right), anchors)
    ]
    placed = {name for pair in by_place for name in (*pair.base, *pair.new)}
    alone = [Matched("vanished", names, ()) for names in _instances(left, placed)]
    alone += [Matched("appeared", (), names) for names in _instances(right, placed)]
    return [*named, *by_place, *alone]


def plain_name(name: str) -> str:
    """The short name without the number that its place in a compiled graph gives it."""
    return unnumbered(short_name(normalised(name)))


def unnumbered(name: str) -> str:
    """The name without the number of a kernel in a compiled graph."""
    return _NUMBERED.sub(r"\1", name)


def paired(
    base: Sequence[str], new: Sequence[str], key: Callable[[str], str]
) -> tuple[list[tuple[Names, Names]], list[str], list[str]]:
    """The names with the same key on both sides, and those that are left over on each."""
    mine, other = grouped(base, key), grouped(new, key)
    pairs = [(mine[name], other[name]) for name in mine if name in other]
    left = [name for names in (mine[name] for name in mine if name not in other) for name in names]
    right = [name for names in (other[name] for name in other if name not in mine) for name in names]
    return pairs, left, right


def _instances(names: Sequence[str], placed: set[str]) -> Iterable[Names]:
    """The names without a counterpart, those of one short name together."""
    return grouped([name for name in names if name not in placed], plain_name).values()


def grouped(names: Iterable[str], key: Callable[[str], str]) -> dict[str, Names]:
    """The names by what they have in common, in their order."""
    groups: dict[str, Names] = {}
    for name in names:
        groups[key(name)] = (*groups.get(key(name), ()), name)
    return groups
