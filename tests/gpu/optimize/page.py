"""The page that the loop over the testbed leaves: what was tried, what stopped it, what was gained. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rocm_perf.model.results.optimize import Attempt, Optimization, Speedup


@dataclass(frozen=True)
class Machine:
    """Where it was measured."""

    gpu: str
    driver: str
    compiler: str
    date: str
    clocks_mhz: tuple[int, int]  # of the multiprocessors, lowest and highest that was read


@dataclass(frozen=True)
class Run:
    """One program of the testbed, optimised."""

    program: str
    seconds: float
    error: float  # of the unchanged program's result, beside numpy's
    result: Optimization | None = None
    problem: str = ""  # why there is no result


def page(machine: Machine, runs: Sequence[Run]) -> str:
    """The page, in Markdown."""
    parts = [
        "# The optimisation loop on an H200",
        _introduction(machine, runs),
        _table(runs),
        *(_section(run) for run in runs),
    ]
    return "\n\n".join(parts) + "\n"


def _introduction(machine: Machine, runs: Sequence[Run]) -> str:
    lowest, highest = machine.clocks_mhz
    seconds, error = sum(run.seconds for run in runs), max(run.error for run in runs)
    return (
        f"`tests/gpu/optimize/loop_h200.py` on {machine.date}: {machine.gpu}, driver {machine.driver}, "
        f"{machine.compiler}; the multiprocessors ran at {lowest:,} to {highest:,} MHz. Each program of "
        f"[the testbed](../testbed/README.md) as it stands, without options, {seconds:.0f} s in all. No result of an "
        f"unchanged program is further from numpy's than {error:.1g} of its largest value."
    )


def _table(runs: Sequence[Run]) -> str:
    head = (
        "| program | tried | stopped, by gate | accepted | kernel, confirmed | all kernels | program | seconds |\n"
        "|---|---:|---|---:|---|---|---|---:|"
    )
    return "\n".join([head, *(_row(run) for run in runs)])


def _row(run: Run) -> str:
    if run.result is None:
        return f"| {run.program} | | {run.problem} | | | | | {run.seconds:.0f} |"
    result = run.result
    tried = sum(attempt.verdict != "not proposed" for attempt in result.attempts)
    accepted = sum(attempt.verdict == "accepted" for attempt in result.attempts)
    cells = (
        run.program, tried, _stops(result.attempts) or "-", accepted, _speedup(result.gain),
        _speedup(result.kernels_gain), _speedup(result.program_gain), f"{run.seconds:.0f}",
    )  # fmt: skip
    return "| " + " | ".join(map(str, cells)) + " |"


def _stops(attempts: Sequence[Attempt]) -> str:
    """How many were stopped at each gate, the most frequent first."""
    stops = Counter(stop_of(attempt) for attempt in attempts if attempt.verdict != "accepted")
    return ", ".join(f"{gate} {count}" for gate, count in stops.most_common())


def stop_of(attempt: Attempt) -> str:
    """The gate that an attempt did not pass; or what else ended it."""
    failed = [passage.gate for passage in attempt.passages if not passage.passed]
    if failed:
        return failed[-1]
    return {"no gain": "first look", "failed": "failed"}.get(attempt.verdict, "not proposed")


def _speedup(speedup: Speedup | None) -> str:
    if speedup is None:
        return "-"
    interval = speedup.interval
    return f"{speedup.value:.3f}x" + (f" ({interval[0]:.3f} to {interval[1]:.3f})" if interval else "")


def _section(run: Run) -> str:
    if run.result is None:
        return f"## {run.program}\n{run.problem}"
    result = run.result
    lines = [
        f"## {run.program}",
        f"`{result.kernel}`, held back by {result.cause}: **{result.conclusion}**, {result.reason.rstrip('.')}.",
        "",
        *(
            f"- {attempt.name} ({attempt.by}): {attempt.verdict}, {attempt.reason}"
            for attempt in result.attempts
        ),
    ]
    if result.diff:
        lines += ["", "```diff", result.diff.rstrip("\n"), "```"]
    return "\n".join(lines)
