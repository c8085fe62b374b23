"""Fresh processes, one after the other: what each measured of its target. Several targets take turns, A B B A, so
that what changes on the machine meanwhile meets them alike."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rocm_perf import user_program
from rocm_perf.bench.beside import Beside, with_readings
from rocm_perf.bench.journal import Window, read_journal, samples_in, windows_in
from rocm_perf.bench.launches import launch_facts
from rocm_perf.bench.run import Finished, run
from rocm_perf.bench.samples import Samples
from rocm_perf.bench.settings import Settings
from rocm_perf.bench.target import Target, child_argv, child_environment
from rocm_perf.collect.run.launch import exit_code

TIMEOUT_S = 600.0  # for a process: compiling a large model takes minutes
# What is wrong with the target itself is wrong in every further process.
_HOPELESS = ("target", "device", "unsupported", "exit")
_INTERRUPTED = Samples(times_ms=(), clock="wall clock", error="interrupted", fault="interrupted")


@dataclass(frozen=True, kw_only=True)
class Repeats:
    """How many fresh processes measure each target, and how long one of them may take."""

    count: int = 5
    warmup: int = 0  # runs of a command before the first that counts; a function warms up in its own process
    timeout_s: float = TIMEOUT_S


def turns(sides: int, count: int) -> Iterator[int]:
    """Which side's turn it is, each `count` times: 0 1 1 0 0 1 1 0 ... for two."""
    for number in range(count):
        yield from range(sides) if number % 2 == 0 else range(sides - 1, -1, -1)


def measured(
    targets: Sequence[Target],
    settings: Settings,
    repeats: Repeats,
    done: Callable[[int, Samples], None] = lambda _side, _samples: None,
) -> list[tuple[Samples, ...]]:
    """What fresh processes measured of each target, interleaved; `done` is told after each of them. It ends early when
    a target proves hopeless, or by Ctrl-C: what was measured until then is kept."""
    samples: list[list[Samples]] = [[] for _ in targets]
    with Beside() as beside:
        for side in turns(len(targets), repeats.warmup):
            if targets[side].command:
                command_samples(targets[side].command, repeats.timeout_s, beside)
        for side in turns(len(targets), repeats.count):
            try:
                one = _one(targets[side], settings, repeats, beside, is_first=not samples[side])
            except KeyboardInterrupt:
                if not any(samples):
                    raise
                one = _INTERRUPTED
            samples[side].append(one)
            done(side, one)
            if one.fault in _HOPELESS or (one.fault and not one.times_ms):
                break
    return [tuple(side) for side in samples]


def _one(target: Target, settings: Settings, repeats: Repeats, beside: Beside, *, is_first: bool) -> Samples:
    if target.command:
        return command_samples(target.command, repeats.timeout_s, beside)
    return function_samples(target, settings, repeats.timeout_s, beside, launches=is_first)


def function_samples(
    target: Target, settings: Settings, timeout_s: float, beside: Beside, *, launches: bool = False
) -> Samples:
    """What a fresh process measures of a function; with `launches`, also how many blocks its longest kernel has."""
    with tempfile.TemporaryDirectory(prefix="rocm-perf-bench-") as folder:
        journal, trace = Path(folder) / "journal.jsonl", Path(folder) / "one_call.json"
        argv = child_argv(target, settings, journal, trace if launches else None)
        finished = run(argv, child_environment(), timeout_s)
        entries = read_journal(journal)
        samples = _explained(samples_in(entries), finished, timeout_s)
        samples = with_readings(samples, windows_in(entries), beside)
        return replace(samples, facts={**samples.facts, **launch_facts(trace, samples.facts)})


def command_samples(argv: Sequence[str], timeout_s: float, beside: Beside) -> Samples:
    """The wall time of one run of a command, from its start to its end, as the one sample of a process."""
    finished = run(argv, user_program.environment(), timeout_s)
    nothing = Samples(times_ms=(), clock="wall clock")
    if finished.timed_out:
        return replace(nothing, error=f"it hangs: no end within {timeout_s:g} s", fault="hung")
    if finished.status:
        code = exit_code(finished.status)
        error = f"it ended with {code}{_last_line(finished)}"
        return replace(nothing, error=error, fault="exit", facts={"status": code})
    samples = replace(nothing, times_ms=(finished.wall_ns / 1e6,), facts={"machine": beside.machine()})
    return with_readings(samples, [Window(finished.begin_ns, finished.end_ns, first=0, count=1)], beside)


def _explained(samples: Samples, finished: Finished, timeout_s: float) -> Samples:
    """The samples, with the reason where the process could not write it down itself."""
    if samples.error:
        return samples
    if finished.timed_out:
        error = f"it hangs: no end within {timeout_s:g} s, {_progress(samples)}"
        return replace(samples, error=error, fault="hung")
    if finished.status < 0:
        error = f"{user_program.signal_name(-finished.status)} killed its process, {_progress(samples)}"
        return replace(samples, error=error, fault="died")
    if finished.status or not samples.times_ms:
        error = f"its process ended with {finished.status}, {_progress(samples)}{_last_line(finished)}"
        return replace(samples, error=error, fault="died")
    return samples


def _progress(samples: Samples) -> str:
    if samples.times_ms:
        return f"after {len(samples.times_ms)} samples"
    return "before the first call came back" if samples.first_call_ms is None else "after the first call"


def _last_line(finished: Finished) -> str:
    return f": {finished.last_line}" if finished.last_line else ""
