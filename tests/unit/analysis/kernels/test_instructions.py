"""What instructions cost, from a thread trace made by hand."""

from __future__ import annotations

import pytest

from rocm_perf.analysis.kernels.instructions import (
    BOTH_WAITS,
    NO_SOURCE,
    NO_TRACE,
    SCALAR_WAIT,
    STORE_WAIT,
    VECTOR_WAIT,
    instruction_kind,
    stall_cause,
    thread_trace,
)
from tests.unit.analysis.traces import Row, kernel, trace


def line(  # noqa: PLR0917  (a row of the table)
    pc: int, text: str, hits: int, latency: int, stall: int, idle: int = 0, **more: object
) -> Row:
    return {"kernel": "k", "dispatch_id": 1, "code_object": 1, "pc": pc, "text": text, "hits": hits,
            "latency_cycles": latency, "stall_cycles": stall, "idle_cycles": idle, **more}  # fmt: skip


CODE = [
    line(0, "global_load_dwordx4 v[0:3], v4, s[0:1]", 8, 80, 40, source="a.cpp:1"),
    line(8, "s_waitcnt vmcnt(0)", 8, 4000, 3960, source="a.cpp:2"),
    line(12, "v_mfma_f32_16x16x16_f16 a[0:3], v[0:1], v[2:3], a[0:3]", 16, 320, 64, 100, source="a.cpp:2"),
    line(20, "s_barrier", 8, 500, 500),
    line(24, "s_endpgm", 0, 0, 0),
]


def test_total_is_latency_and_idle_because_latency_holds_the_stall() -> None:
    (traced,) = thread_trace(trace(instructions=CODE)).kernels
    assert (traced.latency_cycles, traced.stall_cycles, traced.idle_cycles) == (4900, 4564, 100)
    assert traced.total_cycles == 5000
    assert traced.issue_efficiency.value == pytest.approx((4900 - 4564) / 5000)
    assert traced.vector_memory_wait.value == 500
    assert "no traced wave waited" in str(traced.lds_scalar_wait.unavailable)


def test_the_hottest_instruction_is_the_wait_and_not_the_load() -> None:
    (traced,) = thread_trace(trace(instructions=CODE)).kernels
    first = traced.hottest[0]
    assert (first.text, first.kind, first.cycles_per_hit, first.share) == (
        "s_waitcnt vmcnt(0)",
        "wait",
        500,
        0.8,
    )
    assert [row.cause for row in traced.causes][:2] == [VECTOR_WAIT, "barrier"]
    assert sum(row.share for row in traced.causes) == pytest.approx(1)
    assert sum(row.stall_cycles for row in traced.causes) == traced.stall_cycles
    assert [(row.source, row.latency_cycles) for row in traced.lines] == [("a.cpp:2", 4320), ("a.cpp:1", 80)]
    assert {row.kind: row.hits for row in traced.classes}["matrix"] == 16
    assert sum(row.latency_cycles + row.idle_cycles for row in traced.classes) == traced.total_cycles


def test_dispatches_are_put_together_and_kernels_kept_apart() -> None:
    again = [{**row, "dispatch_id": 2} for row in CODE]
    other = [{**CODE[1], "kernel": "other", "latency_cycles": 90_000}]
    profile = thread_trace(trace(instructions=[*CODE, *again, *other]))
    assert [(row.kernel, row.dispatches, row.instructions) for row in profile.kernels] == [
        ("other", 1, 1),
        ("k", 2, 5),
    ]
    assert profile.kernels[1].total_cycles == 10_000


def test_waves_are_counted() -> None:
    waves: list[Row] = [
        {"shader_engine": engine, "start_cycle": 0, "end_cycle": 100 * (engine + 1)} for engine in (0, 0, 3)
    ]
    profile = thread_trace(trace(instructions=CODE, waves=waves))
    assert (profile.waves, profile.shader_engines, profile.mean_wave_cycles) == (3, 2, 200)


def test_what_is_missing_says_so() -> None:
    assert thread_trace(trace(dispatches=[kernel("k", 0, 1)])).unavailable == NO_TRACE
    (bare,) = thread_trace(trace(instructions=[line(0, "s_nop 0", 0, 0, 0)])).kernels
    assert bare.lines_unavailable == NO_SOURCE
    assert not bare.issue_efficiency.known
    (odd,) = thread_trace(trace(instructions=[line(0, "s_nop 0", 1, 4, 8)])).kernels
    assert "stall exceeds latency" in str(odd.doubt)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("s_waitcnt vmcnt(1)", VECTOR_WAIT),
        ("s_waitcnt lgkmcnt(0)", SCALAR_WAIT),
        ("s_waitcnt vmcnt(0) lgkmcnt(0)", BOTH_WAITS),
        ("s_wait_loadcnt 0x0", VECTOR_WAIT),
        ("s_wait_dscnt 0x0", SCALAR_WAIT),
        ("s_wait_loadcnt_dscnt 0x0", BOTH_WAITS),
        ("s_wait_storecnt 0x0", STORE_WAIT),
        ("s_waitcnt_vscnt null, 0x0", STORE_WAIT),
        ("s_barrier", "barrier"),
        ("v_add_f32_e32 v0, v0, v2", "dependency or busy unit"),
        ("ds_read_b128 v[0:3], v4", "issue of a memory instruction"),
        ("buffer_store_dword v0, v1, s[0:3], 0 offen", "issue of a memory instruction"),
        ("s_cbranch_scc1 L5", "branch or instruction fetch"),
        ("", "other"),
    ],
)
def test_causes(text: str, cause: str) -> None:
    assert stall_cause(text) == cause


def test_kinds_come_from_the_catalogue_of_instructions() -> None:
    assert instruction_kind("v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]") == "matrix"
    assert instruction_kind("s_load_dwordx2 s[0:1], s[4:5], 0x0") == "SMEM"
