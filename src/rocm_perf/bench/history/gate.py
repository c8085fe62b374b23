"""Is the newest run slower than those before it? Pure; judged over processes, and never below what this machine can
show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rocm_perf.bench.history.records import SavedRun
from rocm_perf.errors import EmptyCaptureError
from rocm_perf.statistics import Difference, Verdict, difference, one_more
from rocm_perf.units import format_count, format_share

FEWEST_PROCESSES = 3
FEWEST_RUNS = 3  # that say how runs differ from day to day
_SESSION_LEVEL = 0.99


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """The newest run against those before it."""

    new: SavedRun
    base: tuple[SavedRun, ...]
    over_processes: Difference
    over_runs: Difference | None  # None: too few runs to say how they differ among themselves
    threshold: float  # the smallest difference that is judged, as a share
    threshold_source: str
    verdict: Verdict
    reason: str  # why it is "no difference shown" where the processes alone differ; else empty


def judge(runs: Sequence[SavedRun], *, last: int, at_least: float | None, against: str = "") -> Judgement:
    """The newest of a target's runs, the oldest of which come first, against the last comparable ones; with `against`
    only those of that commit. Raises EmptyCaptureError where it cannot be judged: a gate that is not sure is closed."""
    new, alike = _comparable(runs)
    base = [run for run in alike if _is_of(run, against)][-last:]
    if not base:
        raise _nothing_comparable(new, runs[:-1], against)
    threshold, source = _threshold([*alike, new], base, new, at_least)
    return _judged(new, base, threshold, source)


def judge_session(runs: Sequence[SavedRun], *, last: int) -> str:
    """What is wrong with the newest run, of one process, against the last comparable ones: empty if no slowdown is
    shown. A test suite asks for many targets at once, hence the higher level. Raises EmptyCaptureError."""
    new, alike = _comparable(runs)
    base = alike[-last:]
    if len(base) < FEWEST_RUNS:
        raise EmptyCaptureError(
            f"{new.result.target} cannot be judged",
            f"{format_count(len(base), 'comparable session')} kept, {FEWEST_RUNS} are the fewest",
            "Run the state before the change with --rocm-perf-save as often.",
        )
    over_runs = one_more([run.result.median_ms for run in base], new.result.median_ms, _SESSION_LEVEL)
    if over_runs.verdict != "worse" or over_runs.interval is None:
        return ""
    return (
        f"{new.result.target} is slower than in {format_count(len(base), 'session')} before: {over_runs.ratio:.3f} of "
        f"their time ({_SESSION_LEVEL:.0%}: {over_runs.interval.low:.3f} to {over_runs.interval.high:.3f})"
    )


def _is_of(run: SavedRun, commit: str) -> bool:
    """Whether it measured this commit, given by its first characters; a changed file makes it another state."""
    return not commit or (run.result.commit.startswith(commit) and not run.result.commit.endswith("-dirty"))


def _comparable(runs: Sequence[SavedRun]) -> tuple[SavedRun, list[SavedRun]]:
    """The newest run, and those before it that were measured under the same conditions."""
    new = runs[-1]
    _refuse_unsound(new)
    return new, [run for run in runs[:-1] if run.is_sound and run.conditions == new.conditions]


def _judged(new: SavedRun, base: Sequence[SavedRun], threshold: float, source: str) -> Judgement:
    pooled = [times for run in base for times in run.result.times_ms]
    over_processes = difference(pooled, new.result.times_ms)
    medians = [run.result.median_ms for run in base]
    over_runs = one_more(medians, new.result.median_ms) if len(base) >= FEWEST_RUNS else None
    reason = _doubt(over_processes, over_runs, threshold)
    return Judgement(
        new=new,
        base=tuple(base),
        over_processes=over_processes,
        over_runs=over_runs,
        threshold=threshold,
        threshold_source=source,
        verdict="no difference shown" if reason else over_processes.verdict,
        reason=reason,
    )


def _doubt(over_processes: Difference, over_runs: Difference | None, threshold: float) -> str:
    """Why a difference that the processes show is not one, or an empty text."""
    if over_processes.verdict == "no difference shown":
        return ""
    size = max(over_processes.ratio, 1 / over_processes.ratio) - 1
    if size < threshold:
        return f"{format_share(size)} is below {format_share(threshold)}, the smallest difference that is judged here"
    if over_runs is not None and over_runs.verdict != over_processes.verdict:
        return "runs before differ among themselves as much"
    return ""


def _threshold(
    alike: Sequence[SavedRun], base: Sequence[SavedRun], new: SavedRun, at_least: float | None
) -> tuple[float, str]:
    """The smallest difference that is judged, and where it comes from: what the last self-test could show with so many
    processes per side, or more where the user wants more."""
    sides = min(len(new.result.times_ms), sum(len(run.result.times_ms) for run in base))
    if sides < FEWEST_PROCESSES:
        raise EmptyCaptureError(
            f"{new.result.target} cannot be judged",
            f"{format_count(sides, 'process', 'processes')} on one side say nothing about the next one",
            f"Measure with --processes {FEWEST_PROCESSES} or more.",
        )
    measured = _self_tested(alike, sides)
    if measured is None and at_least is None:
        raise EmptyCaptureError(
            f"{new.result.target} cannot be judged",
            "what this machine can show has not been measured",
            "Run `rocm-perf bench --self-test --save` with the same target and settings, or say --at-least.",
        )
    if at_least is not None and (measured is None or at_least > measured):
        return at_least, "--at-least"
    return measured or 0.0, "the self-test"


def _self_tested(runs: Sequence[SavedRun], sides: int) -> float | None:
    """What the newest self-test could show with at most so many processes per side."""
    for run in reversed(runs):
        usable = [
            test
            for test in run.self_tests
            if FEWEST_PROCESSES <= test.processes_a_side <= sides and test.smallest_shown is not None
        ]
        if usable:
            return max(usable, key=lambda test: test.processes_a_side).smallest_shown
    return None


def _refuse_unsound(new: SavedRun) -> None:
    failed = next((one for one in new.result.processes if one.fault), None)
    if not new.is_sound:
        why = failed.error if failed else "it has no samples"
        raise EmptyCaptureError(
            f"the last run of {new.result.target} cannot be judged", why, "Measure it again with --save."
        )


def _nothing_comparable(new: SavedRun, others: Sequence[SavedRun], against: str) -> EmptyCaptureError:
    of_commit = f" of commit {against}" if against else ""
    kept = (
        f"of {format_count(len(others), 'other run')} {_unlike(new, others)}"
        if others
        else "it is the only one"
    )
    return EmptyCaptureError(
        f"{new.result.target} has no run{of_commit} to be compared with",
        kept,
        "Measure the state before the change here, with the same settings: rocm-perf bench --save.",
    )


def _unlike(new: SavedRun, others: Sequence[SavedRun]) -> str:
    """What differs from the runs that are kept, the newest of them first."""
    ours, theirs = new.conditions, others[-1].conditions
    names = [
        name
        for name in ("machine", "gpu", "clock", "settings")
        if getattr(ours, name) != getattr(theirs, name)
    ]
    if names:
        return f"the newest differs in its {' and '.join(names)}"
    return "the newest failed" if not others[-1].is_sound else "the newest is of another commit"
