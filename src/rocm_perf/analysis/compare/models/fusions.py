"""Which calls a fused one took in: inductor writes the operators that it fused into the kernel's name; others say
only that they are fused, and stand for what is inside the same outer operator. Products, attention, convolutions and
collectives are taken in by nothing that does not say so."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from rocm_perf.analysis.compare.models.calls import ANCHORS, GpuCall
from rocm_perf.analysis.time.kernel_family import OTHER

_FUSED = re.compile(r"^triton_[a-z]+_fused_(\w+?)(?:_\d+)?$")
_PASSED_ON = ("elementwise", "copy")  # kernels that only pass data on
_BY_HAND = frozenset(("gemm", "softmax"))  # what attention is where no kernel does all of it
_MOST = 100_000  # calls times fused kernels of one stretch that are looked at


def is_fused(call: GpuCall) -> bool:
    """Whether its operator or kernel says that it does the work of several operators."""
    return any("fused" in name.lower() for name in (call.operator or "", *call.kernels))


def names_none(call: GpuCall) -> bool:
    """Whether it says that it is fused, without the operators that it took in."""
    return is_fused(call) and not names_its_operators(call)


def names_its_operators(call: GpuCall) -> bool:
    """Whether it is a kernel of inductor's, whose name lists the operators that it took in."""
    return bool(_fused_operators(call))


def stands_for(few: Sequence[GpuCall], many: Sequence[GpuCall]) -> bool:
    """Whether the few do the work of the many: they say so, or are the attention that the many compute by hand."""
    return any(map(names_none, few)) or is_by_hand(few, many)


def is_by_hand(few: Sequence[GpuCall], many: Sequence[GpuCall]) -> bool:
    """Whether the few are attention, and the many its products and softmax."""
    kinds = {work.family for call in many for work in call.work}
    return any(call.anchor == "attention" for call in few) and kinds >= _BY_HAND and "attention" not in kinds


def may_do(one: GpuCall, anchor: GpuCall) -> bool:
    """Whether a call may do the work of a product, attention, convolution or collective of the other side."""
    if one.anchor or names_none(one) or takes_in(one, anchor) or takes_in(anchor, one):
        return True
    is_same = one.operator is not None and one.plain_operator == anchor.plain_operator
    return is_same or any(work.family in (OTHER.name, *ANCHORS) for work in one.work)


def takes_in(fused: GpuCall, call: GpuCall) -> bool:
    """Whether the name of a fused kernel tells the operator of the call, or one around it."""
    listed = _fused_operators(fused)
    return any(f"_{_stem(name)}_" in listed for name in (*call.around, call.operator) if name)


def may_take_in(fused: GpuCall, call: GpuCall) -> bool:
    """Whether it names the call, or the call only passes data on, as what compilers fuse without naming it."""
    return takes_in(fused, call) or all(work.family in _PASSED_ON for work in call.work)


def segment_of(fused: GpuCall, calls: Sequence[GpuCall]) -> tuple[int, int]:
    """Where the calls begin and end that the fused one may have taken in: between two products (or other anchors) that
    it does not name, where it names the most; `0, 0` where there are none."""
    walls = [place for place, call in enumerate(calls) if call.anchor and not takes_in(fused, call)]
    ends = [-1, *walls, len(calls)]
    parts = [range(left + 1, right) for left, right in pairwise(ends)]
    part = max(parts, key=lambda part: sum(takes_in(fused, calls[place]) for place in part))
    may = [place for place in part if may_take_in(fused, calls[place])] or list(part[:1])
    return (may[0], may[-1] + 1) if may else (0, 0)


def shared_out(calls: Sequence[GpuCall], fused: Sequence[GpuCall]) -> list[int] | None:
    """For each of the calls the place of the fused one that took it in, both in their order: so that as many as can be
    go where they are named. None where none is named."""
    if not fused or len(calls) * len(fused) > _MOST:
        return None
    scores, choices = [0] * len(fused), []
    for call in calls:
        choices.append(_best_so_far(scores))
        scores = [scores[best] + takes_in(one, call) for best, one in zip(choices[-1], fused, strict=True)]
    if not any(scores):
        return None
    places = [_best_so_far(scores)[-1]]
    for best in reversed(choices[1:]):
        places.append(best[places[-1]])
    return places[::-1]


def _best_so_far(scores: Sequence[int]) -> list[int]:
    """For each place, the one up to it with the highest score; of several, the first."""
    best: list[int] = []
    for place, score in enumerate(scores):
        best.append(place if not best or score > scores[best[-1]] else best[-1])
    return best


def _fused_operators(call: GpuCall) -> str:
    """The operators that a fused kernel names, each between underscores."""
    match = _FUSED.match(call.name) or (_FUSED.match(call.kernels[0]) if call.kernels else None)
    return f"_{match[1]}_" if match else ""


def _stem(operator: str) -> str:
    """`aten::add_` -> add."""
    return operator.rpartition("::")[2].strip("_")
