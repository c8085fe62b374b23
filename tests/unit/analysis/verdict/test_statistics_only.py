"""What sums alone can tell."""

from __future__ import annotations

import pytest

from rocm_perf.analysis.overview import examine
from rocm_perf.analysis.verdict.statistics_only import statistics_findings
from tests.unit.analysis.traces import Row, kernel, trace

MS = 1e6


def sums(domain: str, **calls: tuple[int, float]) -> list[Row]:
    return [
        {"domain": domain, "name": name, "calls": count, "total_ns": total, "mean_ns": total / count}
        for name, (count, total) in calls.items()
    ]


@pytest.mark.parametrize(
    ("calls", "kind", "word"),
    [
        ({"hipStreamCreate": (2, 300 * MS), "hipMemcpy": (90, 20 * MS)}, "startup", "hipStreamCreate"),
        (
            {"hipStreamSynchronize": (900, 800 * MS), "hipLaunchKernel": (900, 20 * MS)},
            "cannot-tell",
            "waits for the GPU",
        ),
        ({"hipMemcpy": (900, 800 * MS), "hipLaunchKernel": (900, 20 * MS)}, "cannot-tell", "copy or wait"),
        ({"hipLaunchKernel": (90_000, 800 * MS), "hipMalloc": (90, 20 * MS)}, "host-bound", "Launching"),
        (
            {"hipMalloc": (90, 40 * MS), "hipLaunchKernel": (90, 30 * MS), "hipMemcpy": (90, 30 * MS)},
            "cannot-tell",
            "no call stands out",
        ),
    ],
)
def test_the_calls_with_most_time_decide(calls: dict[str, tuple[int, float]], kind: str, word: str) -> None:
    (finding,) = examine(trace(summaries=sums("hip", **calls)), "x").findings
    assert finding.kind == kind
    assert word in " ".join((finding.title, *finding.evidence))


def test_the_call_is_named_with_how_long_one_takes_and_what_is_made_once_is_told_apart() -> None:
    calls = {"hipMemcpy": (1_005, 1_248 * MS), "hipMemset": (1, 297 * MS), "hipLaunchKernel": (5_000, 9 * MS)}
    (finding,) = examine(trace(summaries=sums("hip", **calls)), "x").findings
    assert "(hipMemcpy, 1.24 ms each)" in finding.title
    assert "made once, as start-up is: hipMemset 297 ms in 1 call" in finding.evidence
    assert "times of kernels and copies tell one from the other" in finding.remedy


def test_collectives_that_take_most_kernel_time_come_first() -> None:
    rows = sums("kernel", **{"ncclDevKernel_Generic(x)": (142, 916 * MS), "Cijk_Alik": (9_000, 90 * MS)})
    first = examine(trace(summaries=rows), "x").findings[0]
    assert first.kind == "communication"
    assert "91.1 %" in first.title
    few = sums("kernel", **{"ncclDevKernel_Generic(x)": (142, 9 * MS), "Cijk_Alik": (9_000, 90 * MS)})
    assert statistics_findings(trace(summaries=few)) == []


def test_nothing_is_concluded_from_sums_beside_events() -> None:
    rows = sums("hip", hipStreamCreate=(2, 300 * MS))
    assert statistics_findings(trace(summaries=rows, dispatches=[kernel("k", 0, 9)])) == []


def test_calls_of_an_inner_layer_are_not_added_to_those_that_contain_them() -> None:
    rows = [
        *sums("hip", hipMemcpy=(44, 700 * MS), hipEventSynchronize=(11, 300 * MS)),
        *sums("hsa", hsa_signal_wait_scacquire=(111, 600 * MS), hsa_amd_memory_lock_to_pool=(44, 250 * MS)),
    ]
    (finding,) = statistics_findings(trace(summaries=rows))
    assert finding.title.startswith("Copying calls take 70.0 %")
    assert "inside them: hsa_signal_wait_scacquire 600 ms in 111 calls" in finding.evidence[1]


@pytest.mark.parametrize(
    ("copied_ns", "word"), [(8 * MS, "they wait or initialise"), (300 * MS, "most of it")]
)
def test_copies_say_whether_the_calls_copied(copied_ns: float, word: str) -> None:
    rows = [
        *sums("hip", hipMemcpy=(24, 346 * MS), hipLaunchKernel=(8, 10 * MS)),
        *sums("copy", CopyHostToDevice=(24, copied_ns), FillBuffer=(6, 50 * MS)),
    ]
    (finding,) = statistics_findings(trace(summaries=rows))
    assert finding.title.startswith("Copying calls take 97.2 %")
    assert word in finding.title
    assert "CopyHostToDevice" not in finding.evidence[0]
    assert "in 24 copies of 346 ms in copying calls" in finding.evidence[1]
