"""What holds a kernel back: each label from its measurements, and none without two of them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.analysis.bottleneck import FORMULAS, bottlenecks
from rocm_perf.analysis.bottleneck.advice import application, would_tell_more
from rocm_perf.analysis.bottleneck.build import COLLECTIVE, LEAST, NOTHING, THIN
from rocm_perf.analysis.bottleneck.scores import label_scores
from rocm_perf.analysis.roofline.devices import Device
from rocm_perf.arch.catalog import find_gpu
from rocm_perf.arch.gpu import Method
from rocm_perf.model.results.bottleneck import Bottleneck, Evidence, LabelScore
from rocm_perf.model.run import RunInfo
from tests.unit.analysis.traces import Row, trace

MI300X: Row = {"agent_id": 0, "kind": "GPU", "gfx": "gfx942", "name": "AMD Instinct MI300X", "cu_count": 304}
GROUP: Row = {"workgroup_x": 256, "workgroup_y": 1, "workgroup_z": 1, "grid_y": 1, "grid_z": 1}
FLOPS = [
    *(f"SQ_INSTS_VALU_{op}_{t}" for op in ("ADD", "MUL", "TRANS", "FMA") for t in ("F16", "F32", "F64")),
    *(f"SQ_INSTS_VALU_MFMA_MOPS_{t}" for t in ("F8", "F16", "BF16", "F32", "F64")),
]
READS = ["TCC_BUBBLE_sum", "TCC_EA0_RDREQ_sum", "TCC_EA0_RDREQ_32B_sum"]
WORK = dict.fromkeys([*FLOPS, *READS, "TCC_EA0_WRREQ_sum", "TCC_EA0_WRREQ_64B_sum"], 0.0)
ALL_SOURCES = {
    "compute_share": "operations",
    "memory_share": "bytes",
    "l2_share": "bytes",
    "lds_share": "LDS counters",
    "matrix_busy": "busy counters",
    "vector_busy": "busy counters",
    "l2_hit_rate": "cache counters",
    "wait_share": "wave counters",
    "memory_wait": "thread trace",
    "memory_wait_at_most": "wave counters",
    "lds_wait": "wave counters",
    "lds_busy": "LDS counters",
    "lds_conflicts": "LDS conflict counters",
    "barrier_wait": "thread trace",
    "lanes": "lane counters",
    "occupancy": "wave counters",
    "occupancy_limit": "registers, LDS and workgroup size",
    "empty_units": "grid",
    "short": "time",
}


def dispatch(groups: int, duration: int, name: str = "k", **more: object) -> Row:
    times = {"start_ns": 0, "end_ns": duration}
    return {
        "kernel": name,
        "dispatch_id": 1,
        "agent_id": 0,
        "pid": 1,
        **times,
        **GROUP,
        "grid_x": 256 * groups,
        **more,
    }


def one(
    values: dict[str, float] | None = None, ran: Row | None = None, **tables: Sequence[Row]
) -> Bottleneck:
    """A kernel of 10,000 workgroups and 100 us on an MI300X, beside an empty one of 2 us."""
    dispatches = [ran or dispatch(10_000, 100_000), dispatch(304, 2000, "empty", dispatch_id=2)]
    if values:
        at = {"dispatch_id": 1, "agent_id": 0, "pid": 1}
        tables["counters"] = [{**at, "counter": name, "value": value} for name, value in values.items()]
    analysis = bottlenecks(
        trace(agents=[MI300X], dispatches=dispatches, **tables)  # type: ignore[arg-type]
    )
    return next(row for row in analysis.kernels if row.kernel != "empty")


def says(kernel: Bottleneck, name: str) -> str:
    return next(row.says for row in kernel.evidence if row.name == name)


def scored(**values: float) -> dict[str, LabelScore]:
    measured = {name: Evidence(name, value, "", "", ALL_SOURCES[name]) for name, value in values.items()}
    return {row.label: row for row in label_scores(measured)}


# --- without counters ------------------------------------------------------------------------------------------


def test_a_grid_that_leaves_compute_units_empty() -> None:
    kernel = one(ran=dispatch(76, 100_000))
    assert (kernel.label, kernel.score) == ("launch/latency", 0.75)
    assert (
        says(kernel, "empty_units")
        == "76 workgroups (median) for 304 compute units: 75.0 % stay empty, by time"
    )


def test_empty_units_are_weighted_by_time() -> None:
    """1 us with 76 of 304 units at work, 3 us with all."""
    rows = [dispatch(76, 1000), dispatch(304, 3000, dispatch_id=3)]
    (kernel,) = bottlenecks(trace(agents=[MI300X], dispatches=rows)).kernels
    assert next(row.value for row in kernel.evidence if row.name == "empty_units") == 0.75 / 4


def test_a_kernel_as_short_as_an_empty_one() -> None:
    kernel = one(ran=dispatch(304, 2500))
    assert (kernel.label, kernel.score) == ("launch/latency", 0.8)
    assert says(kernel, "short") == "it takes 2.50 us; the shortest dispatch of the recording takes 2.00 us"


def test_many_tiny_dispatches_do_not_make_a_kernel_short_whose_time_is_in_long_ones() -> None:
    """Ninety dispatches of 2 us, the shortest there are, and ten of 1 ms."""
    ran = [dispatch(304, 2_000 if n < 90 else 1_000_000, dispatch_id=n) for n in range(100)]
    (kernel,) = bottlenecks(trace(agents=[MI300X], dispatches=ran)).kernels
    assert kernel.label is None
    short = next(row.value for row in kernel.evidence if row.name == "short")
    assert short == pytest.approx(2_000 * 100 / 10_180_000)


@pytest.mark.parametrize(("long_ones", "brief"), [(1, True), (10, False)])
def test_a_kernel_is_brief_where_half_of_its_time_passes_in_short_dispatches(
    long_ones: int, brief: bool
) -> None:
    lengths = [6_000] * 90 + [100_000] * long_ones
    ran = [dispatch(304, length, dispatch_id=n) for n, length in enumerate(lengths)]
    (kernel,) = bottlenecks(trace(agents=[MI300X], dispatches=ran)).kernels
    assert ("brief" in {row.name for row in kernel.evidence}) == brief


def test_no_floor_is_seen_where_every_dispatch_is_long() -> None:
    (kernel,) = bottlenecks(trace(agents=[MI300X], dispatches=[dispatch(304, 6000)])).kernels
    assert [row.name for row in kernel.evidence] == ["empty_units", "brief"]
    assert (kernel.label, kernel.suspect, kernel.because) == (None, "launch/latency", "brief")


def test_registers_alone_are_thin_evidence() -> None:
    """96 VGPRs and 64 AGPRs: 160 of 512, so 3 of 8 waves."""
    kernel = one(ran=dispatch(10_000, 100_000, vgprs=96, agprs=64))
    assert (kernel.label, kernel.score, kernel.margin, kernel.second) == (None, None, None, None)
    assert kernel.reason == f"unknown: {THIN}"
    assert says(kernel, "occupancy_limit").startswith("VGPRs allow 3 of 8 waves per SIMD; use <= 128 VGPRs")
    assert kernel.would_tell_more[0] == "rocm-perf profile --deep -- APP"
    occupancy = next(row for row in kernel.scores if row.label == "occupancy")
    assert (occupancy.score.value, occupancy.enough) == (1 - 3 / 8, False)


def test_registers_limit_nothing_where_the_whole_grid_fits() -> None:
    kernel = one(ran=dispatch(304, 100_000, vgprs=96, agprs=64))
    assert says(kernel, "waves_that_fit").endswith("which holds the whole grid at once")
    assert "occupancy" not in {row.label for row in kernel.scores}


def test_a_collective_waits_for_others() -> None:
    kernel = one(ran=dispatch(28, 100_000, "ncclDevKernel_Generic(ncclDevComm*)"))
    assert (kernel.label, kernel.reason) == (None, f"unknown: {COLLECTIVE}")


def test_nothing_recorded() -> None:
    assert bottlenecks(trace()).unavailable == NOTHING


# --- with counters ---------------------------------------------------------------------------------------------


def test_arithmetic_near_its_peak_is_compute() -> None:
    """60 % of 1307.4 TFLOP/s for 100 us."""
    kernel = one({**WORK, "SQ_INSTS_VALU_MFMA_MOPS_F16": 784.44e8 / 512})
    assert kernel.label == "compute"
    assert kernel.score == pytest.approx(0.6)
    assert kernel.margin == pytest.approx(0.6 - 0.02)  # the second: 2 of 100 us
    assert kernel.second == "launch/latency"
    assert kernel.reason == "compute_share 0.60, memory_share 0.00"


def test_bytes_near_the_peak_are_memory_bandwidth() -> None:
    kernel = one({**WORK, "TCC_EA0_RDREQ_sum": 0.8 * 530e6 / 64})
    assert kernel.label == "memory bandwidth"
    assert kernel.score == pytest.approx(0.8)
    assert "80.0 % of the bandwidth of HBM (counters)" in says(kernel, "memory_share")


def test_far_from_every_ceiling_with_few_waves_is_occupancy() -> None:
    ran = dispatch(10_000, 100_000, vgprs=256, agprs=0)
    kernel = one({**WORK, "TCC_EA0_RDREQ_sum": 0.035 * 530e6 / 64}, ran)
    assert kernel.label == "occupancy"
    assert kernel.score == pytest.approx((1 - 2 / 8) * (1 - 0.1))


def test_stalls_of_a_thread_trace_and_few_bytes_are_memory_latency() -> None:
    line = {"kernel": "k", "dispatch_id": 1, "code_object": 1, "idle_cycles": 0, "hits": 1}
    code = [
        {**line, "pc": 0, "text": "s_waitcnt vmcnt(0)", "latency_cycles": 800, "stall_cycles": 700},
        {**line, "pc": 4, "text": "v_add_f32 v0, v0, v1", "latency_cycles": 200, "stall_cycles": 0},
    ]
    kernel = one({**WORK, "TCC_EA0_RDREQ_sum": 0.07 * 530e6 / 64}, instructions=code)
    assert kernel.label == "memory latency"
    assert kernel.score == pytest.approx(0.7 * 0.8)
    alone = bottlenecks(trace(instructions=code)).kernels[0]
    assert (alone.label, alone.reason) == (None, f"unknown: {THIN}")


def test_waits_for_anything_prove_no_memory_latency() -> None:
    kernel = one({**WORK, "SQ_WAIT_ANY": 900.0, "SQ_WAVE_CYCLES": 1000.0})
    assert kernel.label is None
    assert says(kernel, "memory_wait_at_most") == "at most 90.0 % of their time, waves wait for memory"


def test_a_busy_lds_with_conflicts() -> None:
    """100 us at 2.1 GHz are 210,000 cycles of each of 8 dies and of 304 units; half of the active ones are lost."""
    active = 0.5 * 210_000 * 304
    lds = {"SQ_LDS_IDX_ACTIVE": active, "SQ_LDS_BANK_CONFLICT": active / 2, "GRBM_GUI_ACTIVE": 8 * 210_000.0}
    kernel = one({**WORK, **lds})
    assert kernel.label == "LDS"
    assert kernel.score == pytest.approx(0.5)
    assert says(kernel, "lds_conflicts") == "50.0 % of the LDS cycles are lost to bank conflicts"


def test_idle_lanes_are_divergence() -> None:
    lanes = {"SQ_THREAD_CYCLES_VALU": 16.0 * 1000, "SQ_ACTIVE_INST_VALU": 1000.0}
    kernel = one({**WORK, **lanes})
    assert kernel.label == "divergence"
    assert kernel.score == pytest.approx(0.75)


# --- the formulas ----------------------------------------------------------------------------------------------


def test_what_each_label_rests_on() -> None:
    assert scored(matrix_busy=0.4, vector_busy=0.2)["compute"].enough is False
    assert scored(matrix_busy=0.4, memory_share=0.1)["compute"].enough is True
    assert scored(barrier_wait=0.5)["waiting"].enough is False
    assert scored(barrier_wait=0.5, wait_share=0.6)["waiting"].enough is True
    assert scored(lds_conflicts=0.9)["LDS"].enough is False
    assert scored(lds_conflicts=0.9, lds_busy=0.05)["LDS"].score.value == 0.05
    assert scored(memory_wait_at_most=0.9, memory_share=0.1)["memory latency"].enough is False


def test_no_room_is_left_where_a_ceiling_binds() -> None:
    near = scored(memory_share=0.35, compute_share=0.0, memory_wait=1.0, lanes=0.0, occupancy=0.0)
    assert [near[label].score.value for label in ("memory latency", "divergence", "occupancy")] == [0, 0, 0]


def test_measured_occupancy_counts_before_what_registers_admit() -> None:
    both = scored(occupancy=0.2, occupancy_limit=1.0)["occupancy"]
    assert both.score.value == pytest.approx(0.8)
    assert not both.enough


@given(st.dictionaries(st.sampled_from(sorted(ALL_SOURCES)), st.floats(0, 1)))
def test_scores_are_shares_in_order_and_each_names_its_formula(values: dict[str, float]) -> None:
    scores = label_scores({n: Evidence(n, v, "", "", ALL_SOURCES[n]) for n, v in values.items()})
    ordered = [float(row.score.value or 0) for row in scores]
    assert ordered == sorted(ordered, reverse=True)
    assert all(0 <= score <= 1 for score in ordered)
    for row in scores:
        assert row.score.formula == FORMULAS[f"bottleneck.{row.label}"]
        assert row.score.inputs
        assert row.score.inputs.keys() <= values.keys()
        assert row.enough == (len({ALL_SOURCES[name] for name in row.score.inputs}) >= 2)


@given(groups=st.integers(1, 5000), duration=st.integers(100, 10**7), vgprs=st.integers(1, 512))
def test_a_label_rests_on_two_measurements_and_leads(groups: int, duration: int, vgprs: int) -> None:
    kernel = one(ran=dispatch(groups, duration, vgprs=vgprs))
    if kernel.label is None:
        assert kernel.reason.startswith("unknown")
        return
    best = next(row for row in kernel.scores if row.label == kernel.label)
    assert best.enough
    assert kernel.score == best.score.value
    assert float(kernel.score or 0) >= LEAST
    assert kernel.margin is None or kernel.margin >= 0


# --- what would tell more --------------------------------------------------------------------------------------


def device(name: str) -> Device:
    gpu = find_gpu(name)
    return Device(gpu.name, gpu.gfx, (), gpu, gpu, gpu.compute_units)


def test_the_command_asks_for_what_is_missing() -> None:
    amd = device("MI300X")
    (first, second) = would_tell_more({"memory_share"}, amd, "./app 1")
    assert first == "rocm-perf profile --deep -- ./app 1"
    assert second == "rocm-perf profile --preset att -- ./app 1"
    assert would_tell_more({"compute_share"}, amd)[0] == "rocm-perf profile --deep -- APP"
    assert would_tell_more({"compute_share", "memory_share", "barrier_wait", "occupancy"}, amd) == ()
    assert would_tell_more({"barrier_wait"}, amd, counted=True) == ()
    assert would_tell_more(set(), device("H200 SXM")) == ("rocm-perf profile --deep -- APP",)
    assert would_tell_more(set(), Device("unknown", None, (), None, None, None))


def test_a_simulated_program_is_planned_not_started() -> None:
    app = application(RunInfo(tool="rocm-perf sim", command="python decode.py"))
    (command,) = would_tell_more(set(), device("MI300X"), app)
    assert command == "rocm-perf list-counters --arch gfx942 --plan limits"
    assert application(RunInfo(tool="rocprofv3", command="./app 1")) == "./app 1"
    assert application(RunInfo(tool="rocprofv3")) == "APP"


def test_without_counters_the_shapes_of_torch_help() -> None:
    none = Method(name="counters", works="no", source="here")
    gpu = msgspec.structs.replace(find_gpu("8060S"), methods=(none,))
    bare = Device(gpu.name, gpu.gfx, (), gpu, gpu, gpu.compute_units)
    (command, *_) = would_tell_more(set(), bare, "python x.py")
    assert command == "rocm-perf profile --profiler torch -- python x.py"
    assert would_tell_more(set(), bare, "./app")[0].startswith("torch.profiler")
