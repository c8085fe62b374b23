"""Which calls a fused kernel took in: inductor writes the operators that it fused into the kernel's name."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rocm_perf.analysis.compare.models.calls import GpuCall

_FUSED = re.compile(r"^triton_[a-z]+_fused_(\w+?)(?:_\d+)?$")
_PASSED_ON = ("elementwise", "copy")  # kernels that only pass data on
_MOST = 100_000  # calls times fused kernels of one stretch that are looked at


def is_fused(call: GpuCall) -> bool:
    """Whether its operator or kernel says that it does the work of several operators."""
    return any("fused" in name.lower() for name in (call.operator or "", *call.kernels))


def takes_in(fused: GpuCall, call: GpuCall) -> bool:
    """Whether the name of a fused kernel tells the operator of the call, or one around it."""
    listed = _fused_operators(fused)
    return any(f"_{_stem(name)}_" in listed for name in (*call.around, call.operator) if name)


def may_take_in(fused: GpuCall, call: GpuCall) -> bool:
    """Whether it names the call, or the call only passes data on, as what compilers fuse without naming it."""
    return takes_in(fused, call) or all(work.family in _PASSED_ON for work in call.work)


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
