"""How complete a recording is: what was asked, launched, recorded and paired. Every hole is a finding."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from rocm_perf.analysis.basis.keys import telling
from rocm_perf.analysis.basis.passes import shown_pass
from rocm_perf.analysis.trust.lost import launches, replays, single_losses
from rocm_perf.model.coverage import Coverage
from rocm_perf.model.finding import Finding
from rocm_perf.model.run import Loss
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_count, format_share

FORMULAS = {
    "coverage.launched": "host calls whose name is one that launches kernels or graphs, without calls inside such "
    "calls and those that a graph captured",
    "coverage.missing": "launches that left nothing + what replays of a graph lack of the kernels and copies that "
    "whole replays leave (sizes that come more than once, else the largest)",
    "coverage.paired": "dispatches whose (node, process, pass, correlation id) is that of a recorded API call",
}

_KEY = ["node", "pid", "pass_id", "correlation_id"]


def coverage(trace: Trace) -> Coverage:
    """Counts of the pass that is shown, and a finding for every hole that shows without the phases of the program."""
    everything = trace.table("dispatches")
    shown = pl.col("pass_id") == (shown_pass(trace) or 0)
    dispatches = everything.filter(shown)
    launched = int(launches(trace)["calls"].sum()) if _has_runtime_calls(trace) else None
    paired, fruitless = _pair(trace, dispatches) if launched is not None else (None, None)
    known = [loss.records for loss in trace.run.losses]
    return Coverage(
        asked=trace.run.asked,
        recorded={name: trace.rows(name) for name in trace},
        launched=launched,
        dispatched=dispatches.height,
        paired=paired,
        launches_without_kernels=fruitless,
        kernels_without_launches=None if paired is None else dispatches.height - paired,
        missing=_missing(trace, fruitless),
        lost_records=None if None in known else sum(records or 0 for records in known),
        holes=(
            *lost_records(trace.run.losses),
            *unpaired(dispatches.height, paired, fruitless),
            *_asked_but_absent(trace),
            *_counters_without_dispatches(trace, everything),
            *_bad_times(dispatches),
            *_unmatched_replays(trace),
        ),
        replayed=dispatches.height - dispatches["graph_id"].null_count(),
        captured=(
            dispatches.height - dispatches["captured_launch"].null_count() if trace.run.adoption else None
        ),
    )


def _has_runtime_calls(trace: Trace) -> bool:
    """Launches show only where the HIP or CUDA runtime was recorded."""
    return bool(
        trace.lazy("api_calls")
        .filter(pl.col("domain").is_in(["hip", "cuda"]))
        .select(pl.len() > 0)
        .collect()
        .item()
    )


def _pair(trace: Trace, dispatches: pl.DataFrame) -> tuple[int | None, int | None]:
    """Dispatches with a recorded call, and launches that left nothing."""
    keyed = dispatches.select(_KEY).drop_nulls("correlation_id")
    if not keyed.height:
        return None, None
    calls = trace.table("api_calls").select(_KEY).drop_nulls("correlation_id")
    paired = keyed.join(calls, on=telling(_KEY, keyed, calls) or _KEY, how="semi", nulls_equal=True).height
    return paired, int(launches(trace).filter(pl.col("identified") & (pl.col("left") == 0))["calls"].sum())


def _missing(trace: Trace, fruitless: int | None) -> int | None:
    """Kernels and copies that launches and replays of graphs should have left."""
    if fruitless is None:
        return None
    lost = replays(trace)
    return single_losses(trace).lost + (lost.missing if lost else 0)


def lost_records(losses: Sequence[Loss]) -> list[Finding]:
    """That some of the recording could not be read."""
    if not losses:
        return []
    evidence = tuple(described(loss) for loss in losses)
    return [
        Finding(
            id="lost-records",
            severity="error",
            title="Part of the recording could not be read",
            evidence=evidence,
            remedy="What is shown comes from the part that could be read. Record again if the rest matters.",
        )
    ]


def described(loss: Loss) -> str:
    """What was lost, of which file, and how much of it."""
    what = loss.what if loss.source in loss.what else f"{loss.source}: {loss.what}"
    return what if loss.records is None else f"{what} ({loss.records:,})"


def unpaired(dispatched: int, paired: int | None, fruitless: int | None) -> list[Finding]:
    """Kernels without a launch, and launches without a kernel."""
    findings = []
    orphans = 0 if paired is None else dispatched - paired
    if orphans:
        share = format_share(orphans / dispatched)
        findings.append(
            Finding(
                id="kernels-without-launch",
                severity="warning",
                title=f"{format_count(orphans, 'kernel')} of {dispatched:,} ({share}) ran without a recorded launch",
                evidence=("no recorded API call has their correlation id",),
                remedy="They are counted. Usual cause: the recording began after they were launched. "
                "Start it earlier, or after a synchronisation.",
            )
        )
    if fruitless:
        findings.append(
            Finding(
                id="launches-without-kernel",
                severity="warning",
                title=f"{format_count(fruitless, 'launch', 'launches')} left no kernel in the recording",
                evidence=("no recorded dispatch has their correlation id",),
                remedy="Usual causes: the recording ended before they ran, a kernel filter, or dropped "
                "records. Synchronise before it ends.",
            )
        )
    return findings


def _unmatched_replays(trace: Trace) -> list[Finding]:
    adoption = trace.run.adoption
    if adoption is None or adoption.matched_kernels == adoption.kernels:
        return []
    unmatched = adoption.kernels - adoption.matched_kernels
    share = format_share(unmatched / adoption.kernels)
    refused = (f"{use.source} was refused: {use.refused}" for use in adoption.captures if use.refused)
    return [
        Finding(
            id="replays-unmatched",
            severity="warning",
            title=f"{unmatched:,} of {adoption.kernels:,} replayed kernels ({share}) agree with no captured launch",
            evidence=(
                *(f"{format_count(row.kernels, 'kernel')}: {row.reason}" for row in adoption.unmatched),
                *refused,
            ),
            remedy="They are counted, and no operator owns them. Record the capture of every graph that is replayed, "
            "whole and in the same configuration, and add it with --capture.",
        )
    ]


# What a program that uses the GPU cannot help doing; it may well copy nothing and mark nothing.
_UNAVOIDABLE = {"kernel": "dispatches", "hip": "api_calls", "hsa": "api_calls", "counters": "counters"}


def _asked_but_absent(trace: Trace) -> list[Finding]:
    record = trace.run.collection
    if record is not None and record.could_not:  # the record itself says what is missing, and why
        return []
    if trace.run.tool.startswith("torch.profiler") and trace.has("ops") and not trace.has("api_calls"):
        return []  # torch ran on the CPU: that is the conclusion, and why
    asked = [domain for domain in trace.run.asked if domain in _UNAVOIDABLE]
    return [
        Finding(
            id="asked-but-absent",
            severity="warning",
            title=f"{domain} was requested, but none was recorded",
            remedy="Check the profiler's own output for the reason.",
        )
        for domain in asked
        if not trace.has(_UNAVOIDABLE[domain])
    ]


def _counters_without_dispatches(trace: Trace, dispatches: pl.DataFrame) -> list[Finding]:
    if not trace.has("counters"):
        return []
    key = ["node", "pid", "pass_id", "dispatch_id"]
    lonely = trace.table("counters").join(dispatches.select(key), on=key, how="anti", nulls_equal=True).height
    if not lonely:
        return []
    title = f"{format_count(lonely, 'counter value')} without a recorded dispatch"
    return [
        Finding(
            "counters-without-dispatch",
            "warning",
            title,
            remedy="Keep the kernel trace of each counter pass beside its counters.",
        )
    ]


def _bad_times(dispatches: pl.DataFrame) -> list[Finding]:
    backwards = dispatches.filter(pl.col("end_ns") < pl.col("start_ns")).height
    if not backwards:
        return []
    title = f"{format_count(backwards, 'kernel')} end before they start"
    return [
        Finding(
            "negative-duration",
            "error",
            title,
            remedy="They are left out of every sum. The profiler's clock conversion failed: record again.",
        )
    ]
