"""Both sides against the targets of the workflow, for runs whose values are known."""

from __future__ import annotations

import pytest

from rocm_perf.analysis.compare.gates.expressions import parse
from rocm_perf.analysis.compare.gates.recordings import judge, require_known
from rocm_perf.analysis.compare.populations import compare
from rocm_perf.model.results.check import Outcome
from rocm_perf.model.results.comparison import Comparison
from rocm_perf.model.results.scorecard import Accuracy, ScoreChange
from rocm_perf.model.trace import Trace
from tests.unit.analysis.compare.sides import GEMM, side
from tests.unit.analysis.traces import Row, call, kernel, trace

MIB = 1 << 20
RUNS = 3


def run(
    *, gemm_ns: int = 60, norms: int = 4, peak_mib: int = 100, wait_ns: int = 0, late_ns: int = 0
) -> Trace:
    """A matrix product, then norms of 10 ns each 10 ns apart; a wait over the product, and idle time behind it."""
    kernels = [kernel(GEMM, 0, gemm_ns)]
    kernels += [kernel("norm", gemm_ns + 10 + 20 * n, gemm_ns + 20 + 20 * n) for n in range(norms)]
    end = gemm_ns + 20 * norms + late_ns
    waits = [call("hipDeviceSynchronize", 0, wait_ns)] if wait_ns else []
    calls = [call("hipLaunchKernel", 0, 1, tid=2), call("hipFree", end - 1, end, tid=2), *waits]
    return trace(dispatches=kernels, api_calls=calls, allocations=[allocation(peak_mib)])


def allocation(mib: int) -> Row:
    return {
        "operation": "ALLOC",
        "level": "REAL",
        "address": 1,
        "size_bytes": mib * MIB,
        "start_ns": 0,
        "end_ns": 0,
        "agent_id": 0,
    }


def of(base: Trace, new: Trace, accuracy: Accuracy | None = None, runs: int = RUNS) -> Comparison:
    return compare(side(*[base] * runs), side(*[new] * runs), whole=True, accuracy=accuracy)


def row(comparison: Comparison, name: str) -> ScoreChange:
    (found,) = (one for one in comparison.scorecard if one.id == name)
    return found


def test_every_row_of_the_workflow_is_there_in_its_order() -> None:
    assert [one.id for one in of(run(), run()).scorecard] == [
        "latency",
        "kernel-count",
        "gemm-share",
        "sync-share",
        "sync-share-idle",
        "gap-share",
        "peak-memory",
        "accuracy",
    ]


def test_values_of_both_sides_their_change_and_their_verdict() -> None:
    comparison = of(run(norms=9), run(gemm_ns=40, norms=5, peak_mib=150))
    latency, kernels, gemm = (row(comparison, name) for name in ("latency", "kernel-count", "gemm-share"))
    assert (latency.base.value, latency.new.value, latency.verdict) == (240, 140, "met")
    assert latency.change == pytest.approx(140 / 240 - 1)
    assert (kernels.base.value, kernels.new.value, kernels.verdict) == (10, 6, "met")
    assert kernels.change == pytest.approx(-0.4)
    assert [gemm.base.value, gemm.new.value] == pytest.approx([60 / 150, 40 / 90])
    assert gemm.change == pytest.approx(40 / 90 - 60 / 150)
    assert gemm.verdict == "met"
    memory = row(comparison, "peak-memory")
    assert (memory.base.value, memory.new.value, memory.verdict) == (100 * MIB, 150 * MIB, "missed")


def test_both_definitions_of_the_share_of_synchronising() -> None:
    """The host waits for 60 of 200 ns, in which the GPU works; then for 90, in which it works for 75 of them."""
    comparison = of(run(wait_ns=60, norms=6, late_ns=20), run(wait_ns=90, norms=6, late_ns=20))
    called, idle = row(comparison, "sync-share"), row(comparison, "sync-share-idle")
    assert (called.base.value, called.new.value) == (0.3, 0.45)
    assert [idle.base.value, idle.new.value] == pytest.approx([0.0, 20 / 200])
    assert (called.verdict, idle.verdict) == ("missed", "missed")
    assert row(of(run(wait_ns=60), run(wait_ns=60)), "sync-share-idle").verdict == "met"


@pytest.mark.parametrize(("norms", "verdict"), [(16, "met"), (17, "missed"), (19, "missed")])
def test_fifteen_percent_fewer_kernels_are_the_target(norms: int, verdict: str) -> None:
    assert row(of(run(norms=19), run(norms=norms)), "kernel-count").verdict == verdict


def test_what_is_missing_says_why() -> None:
    bare = trace(dispatches=[kernel("k", 0, 10)])
    comparison = of(run(), bare, runs=1)
    memory = row(comparison, "peak-memory")
    assert (memory.verdict, memory.reason) == (
        "unknown",
        "after: neither allocations nor memory readings were recorded",
    )
    sync = row(comparison, "sync-share")
    assert (sync.base.known, sync.new.known, sync.verdict, sync.reason) == (
        True,
        False,
        "unknown",
        "no API calls were recorded",
    )
    assert row(of(bare, run(), runs=1), "sync-share").reason == "before: no API calls were recorded"
    assert row(of(run(), run(), runs=1), "latency").reason == "one run each: no interval"
    assert "--accuracy ab.json" in (row(comparison, "accuracy").reason or "")


@pytest.mark.parametrize(
    ("accuracy", "verdict", "reason"),
    [
        (Accuracy(True, 5, 0.0, 1e-7), "met", None),
        (Accuracy(False, 5, 1.0, 0.5, ("call 3 differs",)), "missed", "5 calls compared: call 3 differs"),
        (Accuracy(True, 2, 0.0, 0.0, failure="BASE died"), "unknown", "BASE died"),
        (Accuracy(True, 0, 0.0, 0.0), "unknown", "`ab` compared no call"),
    ],
)
def test_accuracy_is_what_ab_says(accuracy: Accuracy, verdict: str, reason: str | None) -> None:
    found = row(of(run(), run(), accuracy), "accuracy")
    assert (found.verdict, found.reason) == (verdict, reason)
    assert found.new.value == accuracy.largest_relative_error


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ("memory>5%", "failed"),
        ("peak-memory>+40MiB", "failed"),
        ("peak-memory>+60MiB", "passed"),
        ("memory>1GiB", "passed"),
        ("kernel-count>-15%", "passed"),
        ("kernels>-50%", "failed"),
        ("latency>3%", "passed"),
    ],
)
def test_limits_on_kernels_and_memory(limit: str, expected: Outcome) -> None:
    comparison = of(run(norms=9), run(norms=5, peak_mib=150))
    expression = parse(limit)
    require_known([expression])
    (check,) = judge(comparison, [expression])
    assert check.outcome == expected


def test_a_limit_on_memory_that_was_not_recorded_is_undecided() -> None:
    bare = trace(dispatches=[kernel("k", 0, 10)])
    (check,) = judge(of(bare, bare), [parse("memory>5%")])
    assert (check.outcome, "neither allocations nor memory readings" in check.details[0]) == (
        "undecided",
        True,
    )
