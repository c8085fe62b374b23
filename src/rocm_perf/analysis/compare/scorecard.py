"""Both sides of a comparison against the targets of the usual inference tuning workflow."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from rocm_perf.analysis.compare.estimates import count_change
from rocm_perf.analysis.compare.runs import Judged, JudgedRun
from rocm_perf.analysis.memory.levels import memory
from rocm_perf.analysis.verdict.scorecard import (
    GAPS,
    GEMM,
    OUR_READING,
    SYNC_LOST,
    WORKFLOW,
    Shares,
    Target,
    kernel_count,
    score,
    shares,
)
from rocm_perf.model.quantity import Quantity, unavailable
from rocm_perf.model.results.comparison import Change, Count
from rocm_perf.model.results.scorecard import Accuracy, ScoreChange, Verdict
from rocm_perf.units import format_count

_SYNC = Target("sync-share", "the host waits", 0.05, "below 5 %", WORKFLOW, strict=True)
_NO_NUMBER = f"{WORKFLOW}, which gives no number"
_MORE_MEMORY = 1.01  # times as much: what the guide calls stable
_NOT_MEASURED = (
    "a recording holds no outputs: `rocm-perf ab BASE NEW --inputs FUNCTION --json > ab.json` compares them, and "
    "`--accuracy ab.json` brings the answer here"
)
Row = tuple[Quantity, Quantity]


def peak_memory(runs: Judged) -> tuple[Count | None, str | None, str]:
    """Return the peak of memory in use on one GPU in the whole runs of both sides, or why it is unknown, and what was
    measured: of what every run has recorded, that of which most is in use."""
    peaks = [_peaks(run) for run in (*runs.base, *runs.new)]
    common = set(peaks[0]).intersection(*peaks[1:])
    if not common:
        if all(peaks):
            return None, "the runs recorded different kinds of memory, which do not compare", ""
        place = peaks.index({})
        side = "before" if place < len(runs.base) else "after"
        run = (*runs.base, *runs.new)[place]
        return None, f"{side}: {memory(run.recording).unavailable}", ""
    level = max(common, key=lambda name: (max(found[name] for found in peaks), name))
    sides = peaks[: len(runs.base)], peaks[len(runs.base) :]
    return count_change(*([found[level] for found in side] for side in sides)), None, level


def score_changes(
    runs: Judged,
    *,
    wall: Change,
    wall_doubt: str | None,
    launches: Count,
    accuracy: Accuracy | None,
) -> tuple[ScoreChange, ...]:
    """Return the rows of the workflow, each with its value before and after, its target and its verdict."""
    return (
        _latency(runs, wall, wall_doubt),
        _kernels(runs, launches),
        *_shares(runs),
        _memory(runs),
        _outputs(accuracy),
    )


def _peaks(run: JudgedRun) -> dict[str, int]:
    """Return the highest peak of all GPUs, by what was measured."""
    found: dict[str, int] = {}
    for row in memory(run.recording).rows:
        found[row.level] = max(found.get(row.level, 0), row.peak_bytes)
    return found


def _latency(runs: Judged, wall: Change, doubt: str | None) -> ScoreChange:
    formula = f"wall of a {runs.per}, median over the runs"
    values = tuple(
        Quantity(value, "ns", formula)
        if value is not None
        else unavailable("ns", formula, "no event with a time")
        for value in (wall.base, wall.new)
    )
    verdict: Verdict = "unknown"
    reason = doubt or wall.no_interval
    if not reason and wall.verdict == "no difference shown":
        reason = "no difference is shown: the interval of the change includes none"
    elif not reason:
        verdict = "met" if wall.verdict == "better" else "missed"
    return _row(
        ("latency", "latency"),
        (values[0], values[1]),
        ("lower", _NO_NUMBER),
        verdict,
        reason,
    )


def _kernels(runs: Judged, launches: Count) -> ScoreChange:
    judged = kernel_count(launches.base, launches.new, f"of a {runs.per}")
    formula = f"kernels of a {runs.per}, median over the runs"
    values = Quantity(launches.base, "kernels", formula), Quantity(launches.new, "kernels", formula)
    return _row(
        (judged.id, "kernels"),
        values,
        (judged.target, judged.source),
        judged.verdict,
        judged.reason,
    )


def _shares(runs: Judged) -> Iterator[ScoreChange]:
    """Shares are held to their target as they are after the change."""
    base, new = ([shares(run.trace) for run in side] for side in (runs.base, runs.new))
    titles: tuple[tuple[Target, str, str], ...] = (
        (GEMM, GEMM.id, "GEMM share"),
        (_SYNC, _SYNC.id, "sync share, in calls"),
        (SYNC_LOST, "sync-share-idle", "sync share, GPU idle"),
        (GAPS, GAPS.id, "launch gaps"),
    )
    for place, (target, name, title) in enumerate(titles):
        values = _median(base, place), _median(new, place)
        judged = score(target, values[1])
        source = WORKFLOW if target is SYNC_LOST else target.source
        reason = judged.reason or (
            f"before: {values[0].unavailable}" if not values[0].known else values[0].doubt
        )
        yield _row((name, title), values, (target.text.rpartition(": ")[2], source), judged.verdict, reason)


def _median(side: Sequence[Shares], place: int) -> Quantity:
    """Return the median over the runs that have the share, in doubt if one run is, or has none."""
    own = [run[place] for run in side]
    known = [one for one in own if one.value is not None]
    if len(own) == 1 or not known:
        return own[0]
    lacking = len(own) - len(known)
    doubt = next((one.doubt for one in known if one.doubt), None)
    if lacking:
        doubt = doubt or f"{format_count(lacking, 'run')} of {len(own)} have no such value"
    middle = statistics.median(one.value for one in known if one.value is not None)
    return Quantity(middle, own[0].unit, f"{known[0].formula}, median over {len(known)} runs", doubt=doubt)


def _memory(runs: Judged) -> ScoreChange:
    peak, reason, level = peak_memory(runs)
    formula = (
        f"highest {level} on one GPU in the whole run, median over the runs" if level else "peak on one GPU"
    )
    missing = unavailable("B", formula, reason or "nothing was recorded")
    values: Row = missing, missing
    verdict: Verdict = "unknown"
    if peak is not None:
        values = Quantity(peak.base, "B", formula), Quantity(peak.new, "B", formula)
        verdict = "met" if peak.new <= _MORE_MEMORY * peak.base else "missed"
    target = "at most 1 % more", OUR_READING
    return _row(("peak-memory", "peak memory"), values, target, verdict, reason)


def _outputs(accuracy: Accuracy | None) -> ScoreChange:
    """Return whether outputs are equal, of which `ab` knows and a recording does not."""
    formula = "largest relative error of the outputs after the change, over all calls that `ab` compared"
    base = unavailable("relative", formula, "the outputs before the change are what it is held to")
    error = accuracy.largest_relative_error if accuracy else None
    new = (
        unavailable("relative", formula, _NOT_MEASURED)
        if error is None
        else Quantity(error, "relative", formula)
    )
    verdict: Verdict = "unknown"
    reason: str | None = _NOT_MEASURED
    if accuracy is not None:
        calls = format_count(accuracy.checked_calls, "call")
        reason = accuracy.failure or None
        if not accuracy.correct:
            verdict, reason = (
                "missed",
                f"{calls} compared: {'; '.join(accuracy.problems[:3]) or 'they differ'}",
            )
        elif not accuracy.checked_calls:
            reason = reason or "`ab` compared no call"
        elif not reason:
            verdict = "met"
    target = "within tolerance", f"{WORKFLOW}: allclose, with ab's tolerance"
    return _row(("accuracy", "accuracy"), (base, new), target, verdict, reason)


def _row(
    name: tuple[str, str], values: Row, target: tuple[str, str], verdict: Verdict, reason: str | None
) -> ScoreChange:
    base, new = values
    change = None
    if base.value is not None and new.value is not None:
        if not new.unit:
            change = new.value - base.value
        elif base.value:
            change = new.value / base.value - 1
    return ScoreChange(
        id=name[0],
        title=name[1],
        base=base,
        new=new,
        change=change,
        target=target[0],
        verdict=verdict,
        source=target[1],
        reason=reason,
    )
