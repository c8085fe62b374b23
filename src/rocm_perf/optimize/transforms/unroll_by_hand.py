"""Loops whose number of iterations is not known, unrolled in the text: a main loop with several copies of the body,
and one for what is left. Each thread does the same in the same order."""

from __future__ import annotations

from rocm_perf.optimize.source.loops import Loop, loops_of
from rocm_perf.optimize.source.model import Kernel
from rocm_perf.optimize.source.parse import Source
from rocm_perf.optimize.transforms.loop_safety import reason_against
from rocm_perf.optimize.transforms.loop_text import (
    Head,
    body_text,
    head_of,
    reason_not_rewritten,
    replaced,
    times,
    unused_name,
)
from rocm_perf.optimize.transforms.setting import Setting
from rocm_perf.optimize.transforms.transform import Proposals, Transform

_FACTOR = 4


def propose(source: Source, kernel: Kernel, _setting: Setting, proposals: Proposals) -> None:
    """Every innermost loop of unknown length, by four."""
    for loop in loops_of(source, kernel):
        if loop.trips is not None or loop.contents.loops:
            continue
        name = f"unroll by {_FACTOR} in the text: loop in line {loop.line}"
        reason = reason_not_rewritten(loop) or reason_against(source, kernel, loop, _FACTOR)
        if reason is not None:
            proposals.refuse(name, reason)
        else:
            proposals.propose(name, replaced(source, loop, _unrolled(source, loop)))


def _unrolled(source: Source, loop: Loop) -> str:
    assert loop.induction is not None
    head, body = head_of(loop.induction), body_text(source, loop)
    base, wide = unused_name(source, f"{head.name}_first"), f"static_cast<long long>({head.step})"
    # 64 bits: the difference of two counters of 32 bits cannot wrap around
    left = f"static_cast<long long>({head.bound}) - static_cast<long long>({base})"
    ahead = f"{left} > {_FACTOR - 1}" + (f" * {wide}" if head.step != "1" else "")
    copies = "".join(f"{{\n{_counter(head, base, copy)}\n{body}\n}}\n" for copy in range(_FACTOR))
    return (
        f"{{\n{head.type} {base} = {head.start};\n"
        f"for (; {base} < {head.bound} && {ahead}; {base} += {times(_FACTOR, head.step)}) {{\n{copies}}}\n"
        f"for ({head.type} {head.name} = {base}; {head.name} < {head.bound}; {head.name} += {head.step}) {{\n"
        f"{body}\n}}\n}}"
    )


def _counter(head: Head, base: str, copy: int) -> str:
    added = f" + {times(copy, head.step)}" if copy else ""
    return f"const {head.type} {head.name} = {base}{added};"


TRANSFORM = Transform(
    name="unroll in the text", ranks={"latency": 3, "memory": 5, "unknown": 5}, propose=propose
)
