"""Which finding comes first, and what one may claim."""

from __future__ import annotations

import pytest

from rocm_perf.analysis.overview import examine
from rocm_perf.analysis.verdict.nothing import nothing_to_gain
from rocm_perf.analysis.verdict.ranking import ranked, that_save_something
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding, Kind
from rocm_perf.model.quantity import Quantity
from rocm_perf.model.trace import Trace
from tests.unit.analysis.documents import document
from tests.unit.analysis.traces import Row, call, kernel, trace

US = 1_000
MS = 1_000_000


def busy(share: float, kernels: int = 60, name: str = "k") -> Trace:
    """A loop of one kernel every 100 us, which runs for a share of that; the host launches it just in time."""
    starts = [100 * US * place for place in range(kernels)]
    length = round(100 * US * share)
    return trace(
        dispatches=[
            kernel(name, at + 5 * US, at + 5 * US + length, correlation_id=n + 1)
            for n, at in enumerate(starts)
        ],
        api_calls=[call("hipLaunchKernel", at, at + 4 * US, n + 1) for n, at in enumerate(starts)],
    )


def never_late(kernels: int = 60) -> Trace:
    """A host that waits after each kernel for 2 us more than it runs, and takes 30 us to launch the next one: every
    kernel has ended when it is waited for."""
    starts = [100 * US * place for place in range(kernels)]
    waits = [
        call("hipDeviceSynchronize", at + 80 * US, at + 82 * US, 1000 + n) for n, at in enumerate(starts)
    ]
    running = busy(0.6, kernels)
    return trace(
        dispatches=running.table("dispatches").to_dicts(),
        api_calls=[*running.table("api_calls").to_dicts(), *waits],
    )


def finding(kind: Kind, stake: int | None) -> Finding:
    return Finding(f"{kind} {stake}", "info", kind, ("seen",), stake, kind=kind)


def first_kind(share: float) -> Kind | None:
    return examine(busy(share), "x").findings[0].kind


def test_a_gpu_that_waits_most_of_the_time_is_held_back_by_its_host() -> None:
    assert first_kind(0.1) == "host-bound"


def test_a_gpu_that_works_most_of_the_time_is_held_back_by_its_kernels() -> None:
    assert first_kind(0.95) == "kernel"


def of(recording: Trace) -> Document:
    return document(recording)


def test_kernels_beside_the_critical_path_are_worth_nothing() -> None:
    hidden, unknown = of(never_late()), finding("kernel", None)
    spent = hidden.devices[0].kernel_ns
    assert hidden.path.by_kind.get("kernel", 0) < spent / 50
    less = finding("host-bound", spent // 20)
    assert ranked([less, unknown], hidden)[0] is less
    assert (
        ranked([less, unknown], of(busy(0.6)))[0] is unknown
    )  # nobody was seen to wait: the host may have polled


def test_kernels_whose_roof_is_unknown_count_a_third() -> None:
    nearly_all = of(busy(0.9))
    unknown = finding("kernel", None)
    spent = nearly_all.devices[0].kernel_ns
    less, more = finding("host-bound", spent // 4), finding("host-bound", spent // 2)
    assert ranked([less, unknown], nearly_all)[0] is unknown
    assert ranked([more, unknown], nearly_all)[0] is more


def test_products_of_a_library_count_less_unless_something_holds_them_back() -> None:
    products = of(busy(0.9, name="Cijk_Ailk_Bljk_HHS_BH_MT128x128x32_MI32x32x8x1"))
    other = finding("host-bound", products.devices[0].kernel_ns // 4)
    assert ranked([other, finding("kernel", None)], products)[0] is other
    small = finding("kernel-latency-or-occupancy", None)
    assert ranked([other, small], products)[0] is small


def test_kernels_near_their_roof_come_after_what_is_worth_more() -> None:
    near = finding("kernel-memory", 10)
    host = finding("host-bound", 1 * MS)
    assert ranked([near, host], of(busy(0.9)))[0] is host


def test_idle_time_of_unknown_cause_counts_a_third() -> None:
    known, unknown = finding("copies", 2 * MS), finding("unrecorded-work", 3 * MS)
    assert ranked([unknown, known], of(busy(0.5)))[0] is known


def test_nothing_to_gain_is_said_where_all_is_known_and_small() -> None:
    judged = of(busy(0.95))
    small = [finding("kernel-compute", 1), finding("host-bound", 1)]
    (one,) = nothing_to_gain(small, judged)
    assert one.kind == "nothing-to-gain"
    assert nothing_to_gain([*small, finding("kernel", None)], judged) == []
    assert nothing_to_gain([*small, finding("copies", judged.judged_ns // 2)], judged) == []
    assert nothing_to_gain([], judged) == []


def paused() -> Trace:
    """Ten kernels back to back, 80 ms of nothing, ten more."""
    starts = [20 * US * place + (80 * MS if place >= 10 else 0) for place in range(20)]
    return trace(
        dispatches=[
            kernel(f"k{n}", at, at + 19 * US - n, correlation_id=n + 1) for n, at in enumerate(starts)
        ],
        api_calls=[call("hipLaunchKernel", at - 9 * US, at - 5 * US, n + 1) for n, at in enumerate(starts)],
    )


def test_a_pause_is_neither_idle_time_nor_judged() -> None:
    judged = of(paused())
    assert judged.gaps.idle_ns > 80 * MS
    assert judged.ledger.idle_ns < MS
    assert judged.judged_ns < MS
    assert max(one.time_at_stake_ns or 0 for one in judged.findings) < MS


def test_idle_time_is_told_without_the_pause() -> None:
    """Ten kernels 100 us apart, 80 ms of nothing, ten more: the gaps are evidence, the pause is not."""
    starts = [100 * US * place + (80 * MS if place >= 10 else 0) for place in range(20)]
    recording = trace(
        dispatches=[
            kernel(f"k{n}", at, at + 19 * US - n, correlation_id=n + 1) for n, at in enumerate(starts)
        ],
        api_calls=[call("hipLaunchKernel", at - 9 * US, at - 5 * US, n + 1) for n, at in enumerate(starts)],
    )
    judged = of(recording)
    assert judged.phases.pauses
    assert judged.ledger.idle_ns == pytest.approx(18 * 81 * US, rel=0.02)
    (told,) = (one for one in judged.findings if one.id == "host-bound")
    assert told.time_at_stake_ns is not None
    assert told.time_at_stake_ns <= judged.ledger.idle_ns
    assert "20 gaps" in told.evidence[0]


def test_a_few_kernels_that_do_not_repeat_are_too_few_to_judge() -> None:
    starts = [100 * US * place for place in range(6)]
    few = trace(
        dispatches=[
            kernel(f"k{n}", at + 5 * US, at + 20 * US, correlation_id=n + 1) for n, at in enumerate(starts)
        ],
        api_calls=[call("hipLaunchKernel", at, at + 4 * US, n + 1) for n, at in enumerate(starts)],
    )
    (said, enough) = (
        next(finding for finding in of(recording).findings if finding.id == "host-bound")
        for recording in (few, busy(0.15))
    )
    assert "6 kernels in which nothing repeats are too few" in said.remedy
    assert "too few" not in enough.remedy
    assert nothing_to_gain([finding("kernel-compute", 1)], of(busy(0.6, kernels=3))) == []


def waiting(gap_us: int) -> list[Row]:
    starts = [gap_us * US * place for place in range(60)]
    return [call("hipDeviceSynchronize", at + 5 * US, at + gap_us * US - US) for at in starts]


@pytest.mark.parametrize("gap_us", [100, 400])
def test_time_that_two_remedies_would_save_is_claimed_once(gap_us: int) -> None:
    starts = [gap_us * US * place for place in range(60)]
    recording = trace(
        dispatches=[
            kernel("k", at + 10 * US, at + 30 * US, correlation_id=n + 1) for n, at in enumerate(starts)
        ],
        api_calls=[call("hipLaunchKernel", at, at + 4 * US, n + 1) for n, at in enumerate(starts)]
        + waiting(gap_us),
    )
    judged = of(recording)
    idle = judged.ledger.idle_ns
    claimed = [
        one.time_at_stake_ns or 0 for one in judged.findings if one.kind in ("sync", "host-bound", "copies")
    ]
    assert 0 < sum(claimed) <= idle


def timed(stake: int, formula: str, name: str = "") -> Finding:
    gain = Quantity(1.1, "x", formula, {})
    return Finding(name or formula, "warning", formula, ("seen",), stake, gain, kind="host-bound")


def test_a_late_rank_comes_before_what_nobody_timed_unless_far_more_is_at_stake() -> None:
    judged = of(busy(0.1))
    late, small = timed(10 * MS, "re-timed", "late-rank"), timed(12 * MS, "re-timed")
    bound, large = timed(25 * MS, "at most so much"), timed(35 * MS, "at most so much")
    assert ranked([small, late, bound], judged) == [late, bound, small]
    assert ranked([small, late, large], judged) == [large, small, late]
    assert ranked([small, late], judged) == [small, late]


def test_kernels_that_would_save_nothing_are_not_told_beside_what_would() -> None:
    host = Finding(id="host-bound", severity="warning", title="...", kind="host-bound", time_at_stake_ns=9)
    idle, unknown = (
        Finding(id=f"kernel-{stake}", severity="info", title="...", kind="kernel", time_at_stake_ns=stake)
        for stake in (0, None)
    )
    assert that_save_something([host, idle, unknown]) == [host, unknown]
    assert that_save_something([idle, unknown]) == [idle, unknown]
