"""Two files of GPU code: which kernels correspond, and which need more than before. Nothing has to run for that."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rocm_perf.analysis.basis.names import normalised
from rocm_perf.analysis.compare.matching import plain_name
from rocm_perf.arch.codeobject.comparison import QUANTITIES, KernelPair, Match
from rocm_perf.arch.codeobject.report import KernelReport, ObjectReport
from rocm_perf.errors import UsageError
from rocm_perf.units import format_list

_ByArch = dict[str, list[KernelReport]]


def pair_kernels(
    base: Sequence[ObjectReport], new: Sequence[ObjectReport]
) -> tuple[tuple[KernelPair, ...], tuple[str, ...]]:
    """The kernels of every architecture that both files have code for, those that got worse first; and what was not
    compared. Raises UsageError where there is none."""
    before, after = _by_arch(base), _by_arch(new)
    common = [arch for arch in before if arch in after]
    if not common:
        raise UsageError(
            "the two files have no architecture in common",
            f"one has {_listed(before)}, the other {_listed(after)}",
            "Build both for the same one.",
        )
    pairs = [pair for arch in common for pair in _pairs(arch, before[arch], after[arch])]
    alone = [arch for arch in (*before, *after) if arch not in common]
    notes = (f"not compared, because only one file has code for it: {', '.join(alone)}",) if alone else ()
    return tuple(sorted(pairs, key=_rank)), notes


def _by_arch(reports: Sequence[ObjectReport]) -> _ByArch:
    kernels: _ByArch = {}
    for report in reports:
        kernels.setdefault(report.code_object.arch, []).extend(report.kernels)
    return kernels


def _listed(kernels: _ByArch) -> str:
    return format_list(list(kernels), 4) if kernels else "none"


def _pairs(arch: str, base: Sequence[KernelReport], new: Sequence[KernelReport]) -> Iterator[KernelPair]:
    """Kernels of one name in the order of the files, since several of one name are possible; then of one short name,
    if it is one on each side."""
    left, right = list(base), list(new)
    keys: tuple[tuple[Match, Callable[[str], str]], ...] = (("name", normalised), ("short name", plain_name))
    for match, key in keys:
        for one, other in _alike(left, right, key, alone=match == "short name"):
            left.remove(one)
            right.remove(other)
            yield KernelPair(arch, other.name, match, one, other)
    yield from (KernelPair(arch, one.name, "vanished", one, None) for one in left)
    yield from (KernelPair(arch, other.name, "appeared", None, other) for other in right)


def _alike(
    left: Sequence[KernelReport], right: Sequence[KernelReport], key: Callable[[str], str], *, alone: bool
) -> list[tuple[KernelReport, KernelReport]]:
    mine, theirs = _grouped(left, key), _grouped(right, key)
    return [
        pair
        for name in mine
        if name in theirs and not (alone and (len(mine[name]) > 1 or len(theirs[name]) > 1))
        for pair in zip(mine[name], theirs[name], strict=False)
    ]


def _grouped(reports: Sequence[KernelReport], key: Callable[[str], str]) -> dict[str, list[KernelReport]]:
    groups: dict[str, list[KernelReport]] = {}
    for report in reports:
        groups.setdefault(key(report.kernel.name), []).append(report)
    return groups


def _rank(pair: KernelPair) -> tuple[float, ...]:
    """More spills first, then more scratch, fewer waves, more registers."""

    def more(quantity: str) -> float:
        read = QUANTITIES[quantity]
        return (read(pair.new) or 0) - (read(pair.base) or 0)

    fewer_waves = 0.0 if pair.base is None or pair.new is None else more("waves")
    return (-more("spills"), -more("scratch"), fewer_waves, -more("vgprs") - more("agprs"))
