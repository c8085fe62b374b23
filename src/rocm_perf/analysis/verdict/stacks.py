"""Stacks that were recorded beside the program: following every Python call makes the host slower than it is, which is
said once where the host is the limit."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from msgspec.structs import replace

from rocm_perf.analysis.remedies.table import remedy
from rocm_perf.analysis.verdict.themes import Run, mostly_between_queued
from rocm_perf.model.finding import Finding
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_share

_MANY = 0.2  # of what was recorded of the host
_MOST = 0.5  # of it: how long the host takes is not known before it is recorded without them


def with_stacks_doubted(findings: Sequence[Finding], run: Run) -> list[Finding]:
    """The findings; the costliest one about a slow host says that recorded stacks make it look slower than it is."""
    about_host = {"host-elsewhere"} if mostly_between_queued(run) else {"host-elsewhere", "host-bound"}
    slow = [finding for finding in findings if finding.id in about_host]
    if not slow or (share := _share_of_frames(run.trace)) < _MANY:
        return list(findings)
    first = max(slow, key=lambda finding: finding.time_at_stake_ns or 0)
    how = remedy("record-without-stacks", run.setting)
    return [_doubted(finding, share, how) if finding is first else finding for finding in findings]


def _share_of_frames(trace: Trace) -> float:
    """How many of the host's operators, Python frames and calls are Python frames."""
    frames = int(trace.lazy("ops").select((pl.col("category") == "python").sum()).collect().item())
    return frames / max(trace.rows("ops") + trace.rows("api_calls"), 1)


def _doubted(finding: Finding, share: float, how: str) -> Finding:
    sentence = (
        f"stacks were recorded ({format_share(share)} of the host's events are Python frames), which makes the host "
        "slower than it is without a profiler"
    )
    first, then = (
        (how, finding.remedy)
        if share >= _MOST
        else (finding.remedy, f"Before that, {how[0].lower()}{how[1:]}")
    )
    return replace(finding, evidence=(*finding.evidence, sentence), remedy=f"{first} {then}".strip())
