"""Trying each method for real: a tiny workload, recorded as `profile` would, in a folder that is thrown away."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Protocol

import msgspec

from rocm_perf.backends import profilers
from rocm_perf.backends.machine import FoundGpu, Machine
from rocm_perf.collect.doctor.methods import COUNTERS, ROOFLINE, Way, ways
from rocm_perf.collect.doctor.report import Trials
from rocm_perf.collect.request.application import find_application, is_python
from rocm_perf.collect.request.request import Request
from rocm_perf.errors import RocmPerfError, ToolAbsentError
from rocm_perf.model.collection import CollectionRecord
from rocm_perf.model.results.doctor import GpuMethods, Trial
from rocm_perf.model.trace import Trace

_COMPILE_LIMIT_S = 120.0
_RUN_LIMIT_S = 60.0
_MASKS = {"AMD": "HIP_VISIBLE_DEVICES", "NVIDIA": "CUDA_VISIBLE_DEVICES"}

Command = tuple[str, ...]
Say = Callable[[str], None]


class Recorded(Protocol):
    """The outcome of recording a workload."""

    @property
    def record(self) -> CollectionRecord: ...
    @property
    def exit_code(self) -> int: ...
    @property
    def trace(self) -> Trace | None: ...


Record = Callable[[Request, Machine, Say], Recorded]


def try_methods(
    machine: Machine, gpus: Sequence[GpuMethods], record: Record, say: Say, own: Command = ()
) -> Trials:
    """Try each method that may work, once for each kind of GPU. `own` is a workload of the user's instead of ours."""
    if own:
        find_application(own, os.environ)
    first = {gpu.gfx: gpu for gpu in reversed(gpus)}
    probed = {gpu.gfx: gpu for gpu in reversed(machine.gpus)}
    with tempfile.TemporaryDirectory(prefix="rocm-perf-probe-") as folder:

        def attempt(gpu: GpuMethods, way: Way) -> Trial:
            say(f"trying {way.method} on {gpu.name}")
            vendor = probed[gpu.gfx].vendor
            environment = {_MASKS[vendor]: str(gpu.index)} if len(first) > 1 else {}
            command = workload(way, probed[gpu.gfx], machine, Path(folder), own)
            return _try(way, _request(way, command, folder, environment), machine, record)

        tried = {
            gfx: _in_order(_to_try(gpu, probed[gfx]), partial(attempt, gpu)) for gfx, gpu in first.items()
        }
    return {(gfx, method): trial for gfx, trials in tried.items() for method, trial in trials.items()}


def _in_order(to_try: list[Way], attempt: Callable[[Way], Trial]) -> dict[str, Trial]:
    """The trials of one kind of GPU; where the program fails without a profiler, nothing else is tried."""
    trials: dict[str, Trial] = {}
    for way in to_try:
        trials[way.method] = trial = attempt(way)
        if _is_alone(way) and not trial.works:
            trials |= {other.method: _hopeless(trial) for other in to_try if other is not way}
            break
    if COUNTERS in trials:
        works = trials[COUNTERS].works
        trials[ROOFLINE] = Trial(works=works, wall_s=0.0, words="follows from the counters")
    return trials


def _is_alone(way: Way) -> bool:
    """Whether the program runs without a profiler."""
    return not way.table


def _hopeless(alone: Trial) -> Trial:
    """The outcome of every method where the program fails by itself, which says nothing of the profilers."""
    words = f"the program already fails without a profiler: {alone.words}"
    return Trial(works=False, wall_s=0.0, words=words)


def _to_try(gpu: GpuMethods, probed: FoundGpu) -> list[Way]:
    """The methods that may work: what is known not to is left alone."""
    works = {answer.method: answer.works for answer in gpu.methods}
    return [way for way in ways(probed, profilers.PROFILERS) if works[way.method] != "no"]


def _request(way: Way, command: Command, folder: str, environment: dict[str, str]) -> Request:
    return Request(
        command=command,
        is_python=is_python(find_application(command, os.environ)),
        preset="doctor",
        wish=msgspec.structs.replace(way.wish, counters=()),
        counters=way.wish.counters,
        profiler=way.profiler,
        output=os.path.join(folder, way.method.replace(" ", "-").replace(",", "")),
        timeout_s=_RUN_LIMIT_S,
        environment=environment,
        stdout_to_stderr=True,
    )


def _try(way: Way, request: Request, machine: Machine, record: Record) -> Trial:
    begin = time.monotonic()
    try:
        recorded = record(request, machine, _silent)
    except RocmPerfError as error:
        return Trial(works=False, wall_s=time.monotonic() - begin, words=str(error))
    works, words = outcome(way, recorded)
    return Trial(works=works, wall_s=time.monotonic() - begin, words=words)


def _silent(_words: str) -> None:
    """Print nothing: what a recording says on its way is in its record, too."""


def outcome(way: Way, recorded: Recorded) -> tuple[bool, str]:
    """Whether it recorded what it should, and a sentence about it: rows are the proof, not an exit code."""
    record = recorded.record
    failed = [run for run in record.passes if run.exit_status]
    if _is_alone(way):
        return not failed, "" if not failed else f"the workload ended with {failed[0].exit_status}"
    rows = recorded.trace.rows(way.table) if recorded.trace is not None else 0
    if rows and not failed:
        return True, f"{rows} rows of {way.table} through {record.profiler}"
    explanations = [*(run.explanation for run in record.passes), *record.could_not]
    explanations += [f"the workload ended with {run.exit_status} below {run.profiler}" for run in failed]
    return False, next(
        (words for words in explanations if words), f"{record.profiler} recorded no {way.table}"
    )


def workload(way: Way, gpu: FoundGpu, machine: Machine, folder: Path, own: Command = ()) -> Command:
    """A program that runs a few kernels: compiled here if there is a compiler, or else with torch."""
    if own:
        return own
    compiler = machine.tool("hipcc" if gpu.vendor == "AMD" else "nvcc")
    python_only = bool(way.profiler) and profilers.PROFILERS[way.profiler].python_only
    if compiler is not None and not python_only:
        return _compiled(compiler.path, gpu, folder)
    if machine.torch is not None:
        script = folder / "workload.py"
        script.write_text(_source("workload.py"))
        return (machine.torch.python, str(script))
    raise ToolAbsentError(
        "there is nothing to try the methods with",
        f"neither {'hipcc' if gpu.vendor == 'AMD' else 'nvcc'} nor torch is installed",
        "Give a program of your own: rocm-perf doctor --probe -- ./app",
    )


def _compiled(compiler: str, gpu: FoundGpu, folder: Path) -> Command:
    program = folder / f"workload-{gpu.gfx.partition(':')[0]}"
    if program.exists():
        return (str(program),)
    source = folder / "workload.cu"
    source.write_text(_source("workload.cu"))
    chip = gpu.gfx.partition(":")[0]
    options = ["-x", "hip", f"--offload-arch={chip}"] if gpu.vendor == "AMD" else [f"-arch={chip}"]
    argv = [compiler, *options, "-O2", str(source), "-o", str(program)]
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_COMPILE_LIMIT_S,
            check=False,
        )
        problem = (
            "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        problem = str(error)
    if problem:
        why = f"{compiler}: {problem}"
        next_step = "Give a program of your own: rocm-perf doctor --probe -- ./app"
        raise ToolAbsentError("the workload to try the methods with cannot be compiled", why, next_step)
    return (str(program),)


def _source(name: str) -> str:
    return (resources.files("rocm_perf.collect.doctor") / "workloads" / name).read_text()
