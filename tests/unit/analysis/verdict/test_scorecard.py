from __future__ import annotations

import pytest

from rocm_perf.analysis.memory.levels import memory
from rocm_perf.analysis.time.busy import device_times
from rocm_perf.analysis.verdict.scorecard import gap_share, kernel_count, memory_growth, scores
from rocm_perf.model.quantity import Quantity, ratio, unavailable
from rocm_perf.model.results.scorecard import Score
from tests.unit.analysis.traces import Row, kernel, trace


def share(value: float) -> Quantity:
    return Quantity(value, "", "part / whole")


def judged(**given: Quantity) -> dict[str, Score]:
    low = {
        "gemm_share": share(0.1),
        "sync_share": share(0.0),
        "gap_share": share(0.0),
        "memory_growth": share(0.0),
    }
    return {score.id: score for score in scores(**{**low, **given})}


@pytest.mark.parametrize(
    ("name", "score", "met", "missed"),
    [
        ("gemm_share", "gemm-share", 0.599, 0.60),
        ("sync_share", "sync-share", 0.049, 0.05),
        ("gap_share", "gap-share", 0.01, 0.011),
        ("memory_growth", "memory-growth", 0.01, 0.011),
    ],
)
def test_each_target(name: str, score: str, met: float, missed: float) -> None:
    assert judged(**{name: share(met)})[score].verdict == "met"
    assert judged(**{name: share(missed)})[score].verdict == "missed"


def test_a_missing_value_has_no_verdict() -> None:
    score = judged(sync_share=unavailable("", "sync / wall", "no host calls were recorded"))["sync-share"]
    assert (score.verdict, score.reason) == ("unknown", "no host calls were recorded")


def test_a_doubtful_value_has_no_verdict() -> None:
    score = judged(gemm_share=ratio(3, 2, "gemm / all", "gemm", "all"))["gemm-share"]
    assert (score.verdict, score.reason) == ("unknown", "gemm exceeds all")


def test_correctness_is_not_in_a_recording() -> None:
    score = judged()["correctness"]
    assert score.verdict == "unknown"
    assert "holds no outputs" in (score.reason or "")


@pytest.mark.parametrize(("new", "verdict"), [(85, "met"), (86, "missed"), (120, "missed")])
def test_kernels_against_a_base(new: int, verdict: str) -> None:
    assert kernel_count(100, new, "in all").verdict == verdict
    assert kernel_count(0, new, "in all").reason == "the base holds no kernels"


def test_every_target_names_its_source() -> None:
    assert all(score.source and score.target for score in judged().values())


def test_idle_share_of_the_busiest_gpu() -> None:
    kernels = [kernel("a", 0, 60), kernel("a", 80, 100), kernel("a", 0, 10, agent_id=1)]
    assert gap_share(device_times(trace(dispatches=kernels))).value == pytest.approx(0.2)
    assert gap_share(()).unavailable == "no kernel and no copy with times was recorded"


def allocations(*sizes: int) -> list[Row]:
    return [
        {
            "operation": "ALLOC",
            "level": "REAL",
            "address": n,
            "size_bytes": size,
            "start_ns": n,
            "end_ns": n,
            "agent_id": 0,
        }
        for n, size in enumerate(sizes)
    ]


def test_growth_of_memory_as_a_share_of_its_peak() -> None:
    leaking = memory(trace(allocations=allocations(*[10] * 50)))
    growth = memory_growth(leaking)
    row = leaking.rows[0]
    assert row.growth
    assert growth.value == pytest.approx((row.growth.per_step.value or 0) / 500)
    assert (growth.value or 0) > 0.01
    assert memory_growth(memory(trace())).unavailable
    assert memory_growth(memory(trace(allocations=allocations(5)))).unavailable == (
        "too few steps and too few changes to tell"
    )
