"""PC samples made by hand: instructions, lines, reasons and lanes."""

from __future__ import annotations

import pytest

from rocm_perf.analysis.kernels.pc_samples import NO_REASONS, NO_SAMPLES, pc_samples
from tests.unit.analysis.traces import Row, kernel, trace

FULL = 2**64 - 1


def sample(text: str, mask: int | None = FULL, issued: bool | None = None, **more: object) -> Row:
    return {"time_ns": 0, "dispatch_id": 1, "instruction": text, "exec_mask": mask, "issued": issued,
            "method": "host_trap" if issued is None else "stochastic", **more}  # fmt: skip


STOCHASTIC = [
    sample("s_waitcnt vmcnt(0)", issued=False, stall_reason="WAITCNT", source="a.cpp:3"),
    sample("s_waitcnt vmcnt(0)", issued=False, stall_reason="WAITCNT", source="a.cpp:3"),
    sample("v_add_f32_e32 v0, v0, v2", issued=True, source="a.cpp:4"),
    sample("v_add_f32_e32 v0, v0, v2", 0xFFFF, issued=False, stall_reason="ALU_DEPENDENCY", source="a.cpp:4"),
]


def test_stochastic_samples_tell_issue_reasons_and_lanes() -> None:
    (sampled,) = pc_samples(
        trace(pc_samples=STOCHASTIC, dispatches=[{"kernel": "k", "dispatch_id": 1}])
    ).kernels
    assert (sampled.kernel, sampled.samples, sampled.method) == ("k", 4, "stochastic")
    assert sampled.issued.value == 0.25
    assert [(row.name, row.samples) for row in sampled.stall_reasons] == [
        ("WAITCNT", 2),
        ("ALU_DEPENDENCY", 1),
    ]
    assert sampled.lanes_active.value == pytest.approx((3 * 64 + 16) / 256)
    assert sampled.partial_waves.value == 0.25
    assert [(row.name, row.samples, row.issued) for row in sampled.instructions] == [
        ("s_waitcnt vmcnt(0)", 2, 0),
        ("v_add_f32_e32 v0, v0, v2", 2, 1),
    ]
    assert [(row.name, row.share) for row in sampled.lines] == [("a.cpp:3", 0.5), ("a.cpp:4", 0.5)]
    assert {row.name: row.samples for row in sampled.classes} == {"wait": 2, "VALU": 2}


def test_host_trap_samples_do_not_tell_issue() -> None:
    (sampled,) = pc_samples(trace(pc_samples=[sample("s_nop 0", source=" ")])).kernels
    assert sampled.kernel is None
    assert sampled.issued.unavailable == sampled.stall_reasons_unavailable == NO_REASONS
    assert sampled.lines_unavailable
    assert sampled.instructions[0].issued is None


@pytest.mark.parametrize(("wave", "active"), [(32, 0.5), (64, 0.25), (None, None)])
def test_small_masks_need_the_wave_size(wave: int | None, active: float | None) -> None:
    agents: list[Row] = [{"agent_id": 1, "kind": "GPU", "wave_size": wave}]
    (sampled,) = pc_samples(trace(pc_samples=[sample("s_nop 0", 0xFFFF)], agents=agents)).kernels
    assert sampled.lanes_active.value == active


def test_kernels_are_told_apart_by_dispatch() -> None:
    dispatches: list[Row] = [{"kernel": "a", "dispatch_id": 1}, {"kernel": "b", "dispatch_id": 2}]
    samples = [sample("s_nop 0"), *([sample("s_nop 0", dispatch_id=2)] * 3)]
    profile = pc_samples(trace(pc_samples=samples, dispatches=dispatches))
    assert [(row.kernel, row.samples) for row in profile.kernels] == [("b", 3), ("a", 1)]
    assert profile.samples == 4


def test_counts_at_instructions_will_do() -> None:
    rows: list[Row] = [
        {"kernel": "k", "text": "s_barrier", "samples_issued": 1, "samples_stalled": 9, "source": "a.cpp:1"},
        {"kernel": "k", "text": "s_nop 0", "samples_issued": 0, "samples_stalled": 0},
    ]
    (sampled,) = pc_samples(trace(instructions=rows)).kernels
    assert (sampled.samples, sampled.issued.value, len(sampled.instructions)) == (10, 0.1, 1)
    assert "only counted" in str(sampled.lanes_active.unavailable)


def test_none_says_so() -> None:
    assert pc_samples(trace(dispatches=[kernel("k", 0, 1)])).unavailable == NO_SAMPLES
