"""The program as a whole, before and after: fresh processes by turns, by the wall clock, and where our tracer works by
the time that all of its kernels take together. The first is how it is used, the second shows more."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rocm_perf.bench.judge.tracing import Tracer, recorded_kernels
from rocm_perf.bench.processes import turns
from rocm_perf.errors import RocmPerfError
from rocm_perf.model.results.optimize import Speedup
from rocm_perf.optimize.measure.replay_ab import FEWEST_PROCESSES, speedup_of
from rocm_perf.optimize.proof.program import Program, ProgramError
from rocm_perf.units import format_count

_SIDES = 2


@dataclass(frozen=True)
class ProgramAb:
    """The program with the candidate against the program without it."""

    wall: Speedup  # unprofiled
    kernels: Speedup | None  # of all kernels together; None: there are no device timestamps here


def program_ab(base: Program, new: Program, processes: int = FEWEST_PROCESSES) -> ProgramAb:
    """How long both take, from start to end. Raises where one of them fails."""
    pairs = format_count(processes, "pair of runs", "pairs of runs")
    how = f"the program's wall time, {pairs}"
    wall = _speedup(_wall_ns, base, new, processes, how)
    if is_slower(
        wall
    ):  # most of a short program is its start, which wanders: once in 64 times it looks so by chance
        wall = _speedup(_wall_ns, base, new, processes, f"{how}, the second time")
    tracer = _tracer()
    if tracer is None:
        return ProgramAb(wall, None)
    try:
        how = f"all kernels of the program, {pairs}, by our tracer"
        kernels = _speedup(lambda program: _kernels_ns(program, tracer), base, new, processes, how)
    except RocmPerfError:  # what the wall clock has shown stands without it
        return ProgramAb(wall, None)
    return ProgramAb(wall, kernels)


def is_slower(one: Speedup) -> bool:
    """Whether the interval shows the new side to be slower."""
    return one.interval is not None and one.interval[1] < 1


def _speedup(
    timed: Callable[[Program], float], base: Program, new: Program, processes: int, how: str
) -> Speedup:
    times: tuple[list[float], list[float]] = ([], [])
    for side in turns(_SIDES, processes):
        times[side].append(timed((base, new)[side]))
    olds, news = ([[time] for time in side] for side in times)
    return speedup_of(olds, news, how)


def _wall_ns(program: Program) -> float:
    end, _ = program.finished()
    if fault := program.fault_of(end):
        raise ProgramError(f"{' '.join(program.argv)} failed", fault)
    return float(end.wall_ns)


def _kernels_ns(program: Program, tracer: Tracer) -> float:
    with tempfile.TemporaryDirectory(prefix="rocm-perf-") as name:
        program.finished(tracer.environment(Path(name)))
        kernels = recorded_kernels(Path(name))
    return float(sum(kernels.ends_ns) - sum(kernels.starts_ns))


@cache
def _tracer() -> Tracer | None:
    """Our tracer, where it works."""
    tracer = Tracer()
    return None if tracer.refusal else tracer
