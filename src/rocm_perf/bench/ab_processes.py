"""Whether NEW is right, and faster than BASE, from a process that imports neither (`rocm-perf ab`)."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from rocm_perf.bench.ab_result import AbResult, ab_result, pair_samples
from rocm_perf.bench.judge.checking import Pair
from rocm_perf.bench.judge.clocks import PairTimes, Traced, judged_times, own_times
from rocm_perf.bench.judge.inputs import Inputs
from rocm_perf.bench.judge.lap import BASE, NEW, JudgedError
from rocm_perf.bench.judge.runner import InputProcess, RemoteSide, RunnerProcess
from rocm_perf.bench.judge.timing import Turn
from rocm_perf.bench.judge.tracing import Tracer, recorded_kernels
from rocm_perf.bench.judge.trial import Trial, TrialPlan
from rocm_perf.bench.judge.values import on_gpu
from rocm_perf.bench.results import result_of
from rocm_perf.bench.samples import Clock
from rocm_perf.bench.target import Target
from rocm_perf.errors import RocmPerfError

FEWEST_PROCESSES = 6  # whose extremes hold a median at 95 % (the sign test), whatever the distribution is


def _silent(_text: str) -> None: ...


@cache
def _tracer() -> Tracer:
    return Tracer()


@dataclass(frozen=True, kw_only=True)
class AbRequest:
    """Two functions and what makes their inputs, as `module:function` or `script.py:function`."""

    base: str
    new: str
    inputs: tuple[str, ...]
    plan: TrialPlan
    processes: int = FEWEST_PROCESSES
    timeout_s: float = 60.0


def ab_processes(request: AbRequest, progress: Callable[[str], None] = _silent) -> AbResult:
    """Compare two functions, each in fresh processes of its own. This process imports neither, makes the inputs'
    values after they were loaded, and holds the clock."""
    with ExitStack() as stack:
        progress("making inputs")
        makers = [_input_process(stack, target, request.timeout_s) for target in request.inputs]
        inputs = Inputs(
            lambda seed: [case for maker in makers for case in maker.make(seed)], request.plan.gates
        )
        trial = Trial(request.plan, inputs)
        tracer = _tracer() if any(map(on_gpu, inputs.template)) else None
        pairs = list(_timed_pairs(request, trial, tracer, progress))
    if trial.failure and not pairs:
        raise trial.failure
    clock: Clock = (
        "wall clock" if any(pair.clock != "device timestamps" for pair in pairs) else "device timestamps"
    )
    base, new = (
        result_of(Target(function=target), samples)
        for target, samples in zip((request.base, request.new), pair_samples(pairs, clock), strict=True)
    )
    return ab_result(trial, pairs, base=base, new=new, doubts=_doubts(request, trial, tracer))


def _input_process(stack: ExitStack, target: str, timeout_s: float) -> InputProcess:
    return InputProcess(stack.enter_context(RunnerProcess("INPUTS", timeout_s=timeout_s)), target)


def _timed_pairs(
    request: AbRequest, trial: Trial, tracer: Tracer | None, progress: Callable[[str], None]
) -> Iterator[PairTimes]:
    """The times of one pair of fresh processes after another, until NEW is wrong or one fails. The first pair shows
    whether NEW is right before anything is timed."""
    for number in range(request.processes):
        with tempfile.TemporaryDirectory(prefix="rocm-perf-") as name:
            folder = Path(name)
            try:
                with _pair(request, tracer, folder, base_first=number % 2 == 0) as pair:
                    if number == 0:
                        progress("comparing results")
                        trial.check(pair)
                    progress(f"timing, process {number + 1} of {request.processes}")
                    turns = trial.time(pair) if trial.is_right else []
            except JudgedError as error:
                if number == 0:
                    raise
                trial.failure = error
                return
            if turns:
                yield _pair_times(request, turns, tracer, folder)
        if trial.failure or not trial.is_right:
            return


def _pair_times(request: AbRequest, turns: Sequence[Turn], tracer: Tracer | None, folder: Path) -> PairTimes:
    gates = request.plan.gates
    if not gates.judges_clock:
        return own_times(turns)
    if tracer is None or tracer.refusal or not gates.own_process:
        return judged_times(turns, None)
    try:
        return judged_times(turns, Traced(recorded_kernels(folder / BASE), recorded_kernels(folder / NEW)))
    except RocmPerfError as error:
        times = judged_times(turns, None)
        return replace(times, doubts=(*times.doubts, f"timed by the judge's wall clock: {error}"))


@contextmanager
def _pair(request: AbRequest, tracer: Tracer | None, folder: Path, *, base_first: bool) -> Iterator[Pair]:
    """Both functions, loaded into fresh processes, which are started in either order."""
    targets = {BASE: request.base, NEW: request.new}
    is_shared = not request.plan.gates.own_process
    with ExitStack() as stack:
        processes: dict[str, RunnerProcess] = {}
        for label in (BASE, NEW) if base_first else (NEW, BASE):
            environment = tracer.environment(folder / label) if tracer and not tracer.refusal else {}
            if is_shared and processes:
                processes[label] = next(iter(processes.values()))
            else:
                process = RunnerProcess(label, timeout_s=request.timeout_s, environment=environment)
                processes[label] = stack.enter_context(process)
        with ThreadPoolExecutor(1 if is_shared else 2) as pool:  # importing a framework takes seconds
            base, new = pool.map(
                lambda label: RemoteSide(processes[label], label, targets[label], request.plan.terms),
                (BASE, NEW),
            )
        yield Pair(base, new)


def _doubts(request: AbRequest, trial: Trial, tracer: Tracer | None) -> Iterator[str]:
    """What the request itself leaves open."""
    place = request.new.rpartition(":")[0]
    others = ((BASE, request.base), *(("the inputs", target) for target in request.inputs))
    beside = dict.fromkeys(name for name, target in others if target.rpartition(":")[0] == place)
    if beside:
        yield (
            f"NEW's own file {place} also has {' and '.join(beside)}, which its code could change: "
            "keep them in a file of their own"
        )
    if 1 < request.processes < FEWEST_PROCESSES:
        yield (
            f"{request.processes} processes are too few for an interval that holds whatever the distribution is: "
            f"take {FEWEST_PROCESSES}"
        )
    if trial.cases == 1:
        yield "all inputs had one shape: a mistake on another would not be noticed"
    if tracer and tracer.refusal:
        yield f"timed by the judge's wall clock, because there are no device timestamps: {tracer.refusal}"
