"""Loops unrolled by the compiler: `#pragma unroll N`. It keeps the order of what each thread does, so that results
stay the same to the last bit; across barriers, atomics and dynamic shared memory that has to be proven first."""

from __future__ import annotations

from rocm_perf.optimize.candidate import Edit
from rocm_perf.optimize.source.loops import Loop, loops_of
from rocm_perf.optimize.source.model import Kernel
from rocm_perf.optimize.source.parse import Source
from rocm_perf.optimize.transforms.loop_safety import reason_against
from rocm_perf.optimize.transforms.setting import Setting
from rocm_perf.optimize.transforms.transform import Proposals, Transform

FACTORS = (4, 2, 8)  # in the order in which they are tried
_MOST_WHOLE = 32  # iterations of a loop that is unrolled as a whole


def propose(source: Source, kernel: Kernel, _setting: Setting, proposals: Proposals) -> None:
    """All loops that have none in them by the first factor, then each by every factor that is safe."""
    loops = loops_of(source, kernel)
    together = [each for each in loops if _reason_against(source, kernel, each, FACTORS[0]) is None]
    if len(together) > 1:
        lines = ", ".join(str(each.line) for each in together)
        edits = [pragma(source, each, f"unroll {FACTORS[0]}") for each in together]
        proposals.propose(f"unroll by {FACTORS[0]}: loops in lines {lines}", *edits)
    for loop in loops:
        _propose_loop(source, kernel, loop, proposals)


def _propose_loop(source: Source, kernel: Kernel, loop: Loop, proposals: Proposals) -> None:
    name = f"loop in line {loop.line}"
    reasons = []
    for factor in _factors(loop):
        against = _reason_against(source, kernel, loop, factor)
        if against is not None:
            reasons.append(against)
        elif factor == loop.trips:
            proposals.propose(f"unroll all {factor} iterations: {name}", pragma(source, loop, "unroll"))
        else:
            proposals.propose(f"unroll by {factor}: {name}", pragma(source, loop, f"unroll {factor}"))
    if reasons:
        proposals.refuse(f"unroll: {name}", reasons[0])


def _factors(loop: Loop) -> tuple[int, ...]:
    """The factors that are tried, up to all iterations where their number is known and small."""
    if loop.trips is None or loop.trips > _MOST_WHOLE:
        return FACTORS
    return (*(each for each in FACTORS if each < loop.trips), loop.trips) if loop.trips > 1 else ()


def _reason_against(source: Source, kernel: Kernel, loop: Loop, factor: int) -> str | None:
    return _reason_to_leave(loop) or reason_against(source, kernel, loop, factor)


def _reason_to_leave(loop: Loop) -> str | None:
    if loop.pragma is not None:
        return f"#pragma {loop.pragma} is there already"
    if loop.contents.loops:
        return f"it has a loop in it (line {loop.contents.loops[0].line}), which is unrolled instead"
    parent = loop.node.parent
    if parent is None or parent.type != "compound_statement":
        return "it does not stand in a block of its own statements, where a pragma could precede it"
    return None


def pragma(source: Source, loop: Loop, words: str) -> Edit:
    """The line `#pragma WORDS` before a loop."""
    start = loop.span.start
    line_start = source.text.rfind(b"\n", 0, start) + 1
    if source.text[line_start:start].strip():
        return Edit(start, start, f"\n#pragma {words}\n".encode())
    return Edit(line_start, line_start, f"#pragma {words}\n".encode())


TRANSFORM = Transform(
    name="unroll",
    ranks={"latency": 1, "memory": 3, "compute": 1, "lds": 3, "unknown": 1, "occupancy": 5},
    propose=propose,
)
