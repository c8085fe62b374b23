"""What the host leaves to gain: it has to issue the same work, also where it had a head start."""

from __future__ import annotations

from typing import Any

import pytest

from rocm_perf.analysis.overview import examine
from rocm_perf.analysis.path.unprofiled import unprofiled
from rocm_perf.analysis.phases.focus import focused
from rocm_perf.analysis.verdict.host_pace import within_hosts_pace
from rocm_perf.model.finding import Finding, Kind
from rocm_perf.model.trace import Trace
from tests.unit.analysis.traces import call, kernel, marked, trace

US, MS = 1_000, 1_000_000
MAIN: dict[str, Any] = {"pid": 7, "tid": 7}
STEPS, LAUNCHES = 10, 10


def loop(*, first_ms: int, kernel_us: int) -> Trace:
    """A kernel of that many milliseconds, then steps of ten launches, one each millisecond."""
    calls = [call("hipLaunchKernel", 0, 5 * US, 999, **MAIN)]
    kernels = [kernel("init", 10 * US, (10 + first_ms * 1_000) * US, correlation_id=999, pid=7)]
    ranges, free = [], (10 + first_ms * 1_000) * US
    for number in range(STEPS * LAUNCHES):
        at = (number + 1) * MS
        start = max(free, at + 10 * US)
        free = start + kernel_us * US
        calls.append(call("hipLaunchKernel", at, at + 5 * US, number + 1, **MAIN))
        kernels.append(kernel(f"k{number % LAUNCHES}", start, free, correlation_id=number + 1, pid=7))
    for step in range(STEPS):
        begin = (step * LAUNCHES + 1) * MS - US
        ranges.append(marked(f"ProfilerStep#{step}", begin, begin + LAUNCHES * MS - 1, **MAIN))
    return trace(api_calls=calls, dispatches=kernels, ranges=ranges)


def bounded(recording: Trace, share: float, kind: Kind = "communication") -> tuple[Finding, int]:
    """A finding that claims so much of the judged part, as it may claim it, and how long that part lasts."""
    document = examine(recording, "x")
    stake = round(share * document.judged_ns)
    claimed = Finding(
        id="x", severity="info", title="", evidence=(), remedy="", kind=kind, time_at_stake_ns=stake
    )
    part = unprofiled(focused(recording))
    return within_hosts_pace(claimed, document, part, recording), document.judged_ns


def test_a_head_start_is_given_back() -> None:
    """The GPU takes 1.2 ms where the host takes 1 ms: no more than a sixth can go, whatever the GPU saves."""
    finding, judged_ns = bounded(loop(first_ms=40, kernel_us=1_200), 0.6)
    assert finding.time_at_stake_ns == pytest.approx(judged_ns / 6, rel=0.15)
    assert "to issue what the GPU does" in finding.evidence[-1]
    assert finding.projected_speedup is not None
    assert finding.projected_speedup.value == pytest.approx(1.2, rel=0.05)


def test_a_gpu_that_waits_for_the_host_leaves_it_its_time() -> None:
    finding, _ = bounded(loop(first_ms=0, kernel_us=600), 0.5)
    assert "only behind a faster host" in finding.evidence[-1]
    assert finding.projected_speedup is None


@pytest.mark.parametrize(("share", "kind"), [(0.1, "communication"), (0.6, "kernel")])
def test_less_than_that_and_findings_that_were_timed_again_stay(share: float, kind: Kind) -> None:
    finding, judged_ns = bounded(loop(first_ms=40, kernel_us=1_200), share, kind)
    assert finding.time_at_stake_ns == round(share * judged_ns)
