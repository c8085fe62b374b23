"""From laps to times: which clock decides, and what speaks against it. In order of trust: device timestamps of our
tracer, the judge's wall clock around a request that returns the checksums of the results, and within one process what
that process measures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Literal

from rocm_perf.bench.judge.kernels import Kernels
from rocm_perf.bench.judge.timing import SideLap, Turn
from rocm_perf.units import NS_PER_MS, format_ns

Clock = Literal["device timestamps", "judge's wall clock", "own clock"]

SideName = Literal["base", "new"]

_CLOCKS_APART_NS = 1_000_000  # the GPU's clock is set to the host's once per process, and drifts
_LEAST_NET = 0.01  # of a lap, after what handing over costs was taken off
_MOSTLY_HANDOVER = 0.5  # of a lap
_OWN_TO_JUDGE = 0.7  # below it, a process claims to be faster than it was


@dataclass(frozen=True)
class PairTimes:
    """What one pair of processes took: milliseconds per call, by case, one per turn."""

    clock: Clock
    base: tuple[tuple[float, ...], ...]
    new: tuple[tuple[float, ...], ...]
    doubts: tuple[str, ...] = ()
    early_share: float = (
        0.0  # of the time NEW saves: what it worked before the clock started, beyond what BASE did
    )

    def totals(self, side: SideName) -> tuple[float, ...]:
        """One call of every case, per turn."""
        by_case = self.base if side == "base" else self.new
        return tuple(sum(times) for times in zip(*by_case, strict=True))


@dataclass(frozen=True)
class Traced:
    """The kernels of both processes."""

    base: Kernels
    new: Kernels


def own_times(turns: Sequence[Turn]) -> PairTimes:
    """The times that the processes themselves measured."""
    base_ns, new_ns = ([max(side.lap.own_ns, 1) for side in sides] for sides in _sides(turns))
    return _pair_times("own clock", turns, base_ns, new_ns)


def judged_times(turns: Sequence[Turn], traced: Traced | None) -> PairTimes:
    """The times by the judge's clock: device timestamps, if every lap of both functions ran kernels."""
    if traced is None:
        return _wall_times(turns)
    base_ns, new_ns = (
        [kernels.span_ns(side.lap.started_ns - _CLOCKS_APART_NS, side.lap.ended_ns) for side in sides]
        for sides, kernels in zip(_sides(turns), (traced.base, traced.new), strict=True)
    )
    if not all((*base_ns, *new_ns)):
        idle = sum(span == 0 for span in new_ns)
        doubt = f"in {idle} of {len(turns)} laps NEW ran no kernel: the judge's wall clock counts instead"
        return _with_doubts(_wall_times(turns), doubt)
    times = _pair_times("device timestamps", turns, base_ns, new_ns)
    early_ns = [_early_kernels_ns(turn, traced) for turn in turns]
    return _with_doubts(replace(times, early_share=_share(early_ns, base_ns, new_ns)), *_claims(times, turns))


def _wall_times(turns: Sequence[Turn]) -> PairTimes:
    """Wall times without what handing over costs, as measured on BASE: only that side is known to be honest."""
    cases = {turn.case for turn in turns}
    handover = {case: median(turn.handover_ns for turn in turns if turn.case == case) for case in cases}

    def net_ns(turn: Turn, side: SideLap) -> float:
        return max(side.lap.wall_ns - handover[turn.case], _LEAST_NET * side.lap.wall_ns)

    base_ns = [net_ns(turn, turn.base) for turn in turns]
    new_ns = [net_ns(turn, turn.new) for turn in turns]
    times = _pair_times("judge's wall clock", turns, base_ns, new_ns)
    early_ns = [turn.new.early_cpu_ns - turn.base.early_cpu_ns for turn in turns]
    per_call = (handover[case] / _calls(turns, case) for case in cases)
    doubts = list(_claims(times, turns, unsure_ms=sum(per_call) / NS_PER_MS))
    if median(handover[turn.case] / turn.base.lap.wall_ns for turn in turns) > _MOSTLY_HANDOVER:
        doubts.append(
            "handing over results takes more than half of a lap: a small difference cannot show. "
            "Larger inputs, or a function that does more, would show it"
        )
    return _with_doubts(replace(times, early_share=_share(early_ns, base_ns, new_ns)), *doubts)


def _claims(times: PairTimes, turns: Sequence[Turn], unsure_ms: float = 0.0) -> Iterator[str]:
    """Whether NEW's process claims a time that neither the judge, unsure as he is, nor BASE's process confirms."""
    own = own_times(turns)
    sides: tuple[SideName, SideName] = ("base", "new")
    base, new = (median(own.totals(side)) / median(times.totals(side)) for side in sides)
    claimed, measured = (median(each.totals("new")) for each in (own, times))
    if new < _OWN_TO_JUDGE * min(base, 1.0) and measured - claimed > unsure_ms:
        yield (
            f"NEW's own clock says {format_ns(claimed * NS_PER_MS)} per call and the judge's "
            f"{format_ns(measured * NS_PER_MS)}: "
            "is a clock, an event or a synchronisation patched? The judge's counts"
        )


def _share(early_ns: Sequence[float], base_ns: Sequence[float], new_ns: Sequence[float]) -> float:
    """How much of the time that NEW saves was worked before the clock started; 0 if it saves none."""
    saved_ns = median(before - after for before, after in zip(base_ns, new_ns, strict=True))
    return max(median(early_ns), 0.0) / saved_ns if saved_ns > 0 else 0.0


def _early_kernels_ns(turn: Turn, traced: Traced) -> int:
    """How long NEW's kernels ran between the arrival of the inputs and the start of the clock, beyond BASE's."""
    base, new = (
        kernels.busy_ns(side.loaded_ns, side.lap.started_ns - _CLOCKS_APART_NS)
        for side, kernels in ((turn.base, traced.base), (turn.new, traced.new))
    )
    return new - base


def _with_doubts(times: PairTimes, *doubts: str) -> PairTimes:
    return replace(times, doubts=(*times.doubts, *doubts))


def _pair_times(
    clock: Clock, turns: Sequence[Turn], base_ns: Sequence[float], new_ns: Sequence[float]
) -> PairTimes:
    return PairTimes(clock, _by_case(turns, base_ns), _by_case(turns, new_ns))


def _by_case(turns: Sequence[Turn], laps_ns: Sequence[float]) -> tuple[tuple[float, ...], ...]:
    """Milliseconds per call, by case."""
    laps = list(zip(turns, laps_ns, strict=True))
    return tuple(
        tuple(time_ns / turn.new.lap.calls / NS_PER_MS for turn, time_ns in laps if turn.case == case)
        for case in sorted({turn.case for turn in turns})
    )


def _calls(turns: Sequence[Turn], case: int) -> int:
    return next(turn.new.lap.calls for turn in turns if turn.case == case)


def _sides(turns: Sequence[Turn]) -> tuple[list[SideLap], list[SideLap]]:
    return [turn.base for turn in turns], [turn.new for turn in turns]
