"""What is said of the kernels that hold the time: where it is the answer, and where it is tempting but wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from rocm_perf.analysis.phases.focus import focused
from rocm_perf.analysis.verdict.kernels.findings import kernel_findings
from rocm_perf.analysis.verdict.kernels.words import (
    CAUSES,
    CLOSER,
    MOVER_CAUSE,
    NEAR_IN_DOUBLE,
    NEAR_ROOF,
    RUNTIME_CAUSE,
)
from rocm_perf.ingest.load import load_files
from rocm_perf.model.finding import Finding
from rocm_perf.model.trace import Trace
from tests.unit.analysis.documents import document
from tests.unit.analysis.traces import Row, call, kernel, marked, trace

SOFTMAX_BESIDE = Path(__file__).parents[4] / "data" / "h200" / "pairs" / "softmax_events.pt.trace.json.gz"
MI300X: Row = {"agent_id": 0, "kind": "GPU", "gfx": "gfx942", "name": "AMD Instinct MI300X", "cu_count": 304}
MI350X: Row = {"agent_id": 0, "kind": "GPU", "gfx": "gfx950", "name": "AMD Instinct MI350X", "cu_count": 256}
FLOPS = [
    *(f"SQ_INSTS_VALU_{op}_{t}" for op in ("ADD", "MUL", "TRANS", "FMA") for t in ("F16", "F32", "F64")),
    *(f"SQ_INSTS_VALU_MFMA_MOPS_{t}" for t in ("F8", "F16", "BF16", "F32", "F64")),
]
READS = ["TCC_BUBBLE_sum", "TCC_EA0_RDREQ_sum", "TCC_EA0_RDREQ_32B_sum"]
WORK = dict.fromkeys([*FLOPS, *READS, "TCC_EA0_WRREQ_sum", "TCC_EA0_WRREQ_64B_sum"], 0.0)
PEAK_READS = 5.3e12 * 100e-6 / 64  # requests of 64 bytes that the memory serves in 100 us


def said(recording: Trace) -> list[Finding]:
    return list(kernel_findings(document(recording)))


def counted(
    values: Mapping[str, float],
    groups: int = 10_000,
    name: str = "k",
    vgprs: int | None = None,
    gpu: Row = MI300X,
    **tables: Sequence[Row],
) -> Trace:
    """A kernel of so many workgroups and 100 us."""
    flat = {f"{name}_{axis}": 1 for name in ("grid", "workgroup") for axis in "yz"}
    shape = {"grid_x": 256 * groups, "workgroup_x": 256, "vgprs": vgprs, **flat}
    rows = [kernel(name, 0, 100_000, dispatch_id=1, pid=1, **shape)]
    at = {"dispatch_id": 1, "agent_id": 0, "pid": 1}
    counters = [{**at, "counter": name, "value": value} for name, value in values.items()]
    return trace(agents=[gpu], dispatches=rows, counters=counters, **tables)  # type: ignore[arg-type]


def series(*kernels: tuple[str, int], **more: object) -> Trace:
    """Kernels of these lengths, one after the other."""
    rows, end = [], 0
    for number, (name, length) in enumerate(kernels):
        rows.append(kernel(name, end, end + length, dispatch_id=number, **more))
        end += length
    return trace(dispatches=rows)


def one(findings: Sequence[Finding]) -> Finding:
    (finding,) = findings
    return finding


# --- never silent ---


def test_the_costliest_kernel_is_named_even_if_nothing_says_why() -> None:
    first, _ = said(series(("slow", 700_000), ("other", 300_000)))
    assert first.title == (
        "slow takes 70.0 % of the kernel time; what limits it is unknown: no counters were recorded"
    )
    assert first.kind == "kernel"
    assert first.time_at_stake_ns is None
    assert "no bytes, no arithmetic and no waits were counted" in first.evidence[1]
    assert first.next_command.startswith("rocm-perf profile --deep")


def test_a_kernel_of_a_graph_without_its_capture_asks_for_the_capture() -> None:
    replayed = {"correlation_id": 1, "graph_id": 1, "pid": 1}
    ran = [kernel("k", at * 100_000, at * 100_000 + 90_000, dispatch_id=at, **replayed) for at in range(1, 9)]
    launched = [call("hipGraphLaunch", 10_000, 20_000, 1, pid=1, tid=1)]
    add = {"name": "aten::add", "category": "operator", "start_ns": 0, "end_ns": 5_000, "pid": 1, "tid": 1}
    first = said(trace(agents=[MI300X], dispatches=ran, api_calls=launched, ops=[add]))[0]
    assert "it ran in a graph whose capture, with its shapes, is not here" in first.evidence[1]
    assert "--capture" in first.remedy
    without_torch = said(trace(agents=[MI300X], dispatches=ran, api_calls=launched))[0]
    assert "capture" not in without_torch.evidence[1] + without_torch.remedy


def test_what_would_have_told_the_work_of_an_operator_is_said() -> None:
    experts = {
        "name": "vllm::moe_forward",
        "category": "operator",
        "start_ns": 0,
        "end_ns": 10_000,
        "shapes": "[[8192,3072],[8192,32]]",
        "dtypes": '["c10::BFloat16","c10::BFloat16"]',
        "tid": 1,
    }
    launched = [call("hipLaunchKernel", 1_000, 2_000, 1, tid=1)]
    ran = [kernel("_matmul_ogs", 10_000, 900_000, correlation_id=1, dispatch_id=1)]
    first = said(trace(agents=[MI300X], ops=[experts], api_calls=launched, dispatches=ran))[0]
    assert first.evidence[1].endswith(
        "and its work is not known: the weights of the experts are not among its arguments"
    )


PRODUCT = "Cijk_Ailk_Bljk_BBS_BH_MT128x256x32_MI16x16x16x1"


def product(kernel_name: str, length_ns: int) -> Finding:
    """What is said of a product of 4096 x 4096 x 4096 in bf16 that takes so long on an MI300X."""
    mm = {"name": "aten::mm", "category": "operator", "start_ns": 0, "end_ns": 9_000, "tid": 1}
    shapes = {"shapes": "[[4096,4096],[4096,4096]]", "dtypes": '["c10::BFloat16","c10::BFloat16"]'}
    launched = [call("hipLaunchKernel", 1_000, 2_000, 1, tid=1)]
    ran = [kernel(kernel_name, 10_000, 10_000 + length_ns, correlation_id=1, dispatch_id=1)]
    return said(trace(agents=[MI300X], ops=[{**mm, **shapes}], api_calls=launched, dispatches=ran))[0]


def test_a_kernel_far_from_its_roof_says_how_far_and_no_cause() -> None:
    first = product("my_product", 1_000_000)
    reached = 2 * 4096**3 / 1e-3 / 1307.4e12
    assert first.title.endswith(
        f"it reaches at least {100 * reached:.1f} % of its roof; what limits it is unknown: no counters were "
        "recorded"
    )
    assert first.remedy.startswith("Count what its units do")


def test_of_what_is_read_at_most_it_says_about_how_much() -> None:
    """Which experts were chosen is not known, so a kernel may have read fewer weights than its shapes say."""
    sizes = [[16, 1024], [64, 1024, 1024], [64, 1024, 512], [16, 4], [16, 4]]
    types = ["c10::BFloat16"] * 3 + ["float", "int"]
    experts = {"name": "vllm::outplace_fused_experts", "category": "operator", "start_ns": 0, "end_ns": 9_000}
    shapes = {"shapes": json.dumps(sizes), "dtypes": json.dumps(types), "tid": 1}
    launched = [call("hipLaunchKernel", 1_000, 2_000, 1, tid=1)]
    ran = [kernel("experts", 10_000, 90_000, correlation_id=1, dispatch_id=1)]
    first = said(trace(agents=[MI300X], ops=[{**experts, **shapes}], api_calls=launched, dispatches=ran))[0]
    assert first.title.endswith("reading the weights sets the pace: 1 row for each of 64 experts")
    assert any("it reaches about 47" in line for line in first.evidence)


def test_who_calls_a_library_is_told_how_to_get_another_kernel() -> None:
    for length_ns in (1_000_000, 250_000):  # far from the roof, and on the way to it
        assert "PYTORCH_TUNABLEOP_ENABLED=1" in product(PRODUCT, length_ns).remedy
    near = product(PRODUCT, 120_000)
    assert near.title.endswith("it is near its roof")
    assert "TUNABLEOP" not in near.remedy


@pytest.mark.parametrize(
    ("known", "says"), [(6, "each is a matrix product of hipBLASLt or rocBLAS"), (16, "they reach at least")]
)
def test_what_is_known_of_a_few_is_not_said_of_all(known: int, says: str) -> None:
    """Of twenty equal products so many were launched inside an operator with recorded shapes."""
    mm = {"name": "aten::mm", "category": "operator", "tid": 1}
    shapes = {"shapes": "[[2048,2048],[2048,2048]]", "dtypes": '["c10::BFloat16","c10::BFloat16"]'}
    ops = [
        {**mm, **shapes, "start_ns": 1_000 * at, "end_ns": 1_000 * at + 900, "op_id": at}
        for at in range(known)
    ]
    launched = [call("hipLaunchKernel", 1_000 * at + 10, 1_000 * at + 20, at, tid=1) for at in range(20)]
    ran = [
        kernel(
            f"Cijk_Ailk_Bljk_BBS_BH_MT{at}x64x32",
            100_000 * at,
            100_000 * at + 99_000,
            correlation_id=at,
            dispatch_id=at,
        )
        for at in range(20)
    ]
    gelu = kernel("gelu", 2_000_000, 2_300_000, dispatch_id=20)
    first = said(trace(agents=[MI300X], ops=ops, api_calls=launched, dispatches=[*ran, gelu]))[0]
    assert "and 19 other kernels take" in first.title
    assert says in first.title


EXPERTS = (
    "bmm_Bfloat16_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3_et128x16_m128x16x32_cga1x1x1_16dp256b_rM_TN_transOut"
)


def test_what_computes_in_few_bits_is_not_told_to_use_fewer() -> None:
    for length_ns in (1_000_000, 250_000, 120_000):
        said_of_experts = product(EXPERTS, length_ns)
        assert "narrower" not in said_of_experts.remedy + " ".join(said_of_experts.evidence)
        assert "flashinfer.autotune" in said_of_experts.remedy or said_of_experts.title.endswith(
            "near its roof"
        )
        wide = product(PRODUCT, length_ns)
        assert "narrower" in wide.remedy + " ".join(wide.evidence)


def test_far_below_what_memory_gives_more_has_to_be_asked_of_it_by_shapes_too() -> None:
    """An addition of 512 MiB in all, in twice the time that the memory needs, and in little more than that."""
    add = {"name": "aten::add", "category": "operator", "start_ns": 0, "end_ns": 9_000, "tid": 1}
    shapes = {"shapes": "[[67108864],[67108864]]", "dtypes": '["c10::BFloat16","c10::BFloat16"]'}
    launched = [call("hipLaunchKernel", 1_000, 2_000, 1, tid=1)]
    for length_ns, begins in ((152_000, "Keep more loads in flight"), (117_000, "Move fewer bytes")):
        ran = [kernel("my_add", 10_000, 10_000 + length_ns, correlation_id=1, dispatch_id=1)]
        recorded = trace(agents=[MI300X], ops=[{**add, **shapes}], api_calls=launched, dispatches=ran)
        assert said(recorded)[0].remedy.startswith(begins)


def test_attention_is_to_be_measured_beside_another() -> None:
    assert said(series(("attn_fwd", 700_000)))[0].remedy.startswith(
        "Measure another implementation of attention"
    )


def test_many_small_kernels_leave_the_largest_to_be_named() -> None:
    names = [(f"k{number}", 100_000 + number) for number in range(20)]
    assert [finding.id for finding in said(series(*names))] == ["kernel-k19"]


def test_small_kernels_with_one_cause_are_told_together() -> None:
    small = {
        "grid_x": 256 * 4,
        "workgroup_x": 256,
        "grid_y": 1,
        "grid_z": 1,
        "workgroup_y": 1,
        "workgroup_z": 1,
    }
    rows = [
        kernel(
            f"k{number}", number * 200_000, number * 200_000 + 100_000 + number, dispatch_id=number, **small
        )
        for number in range(20)
    ]
    finding = one(said(trace(agents=[MI300X], dispatches=rows)))
    assert (
        finding.title
        == "k19 and 19 other kernels take 100.0 % of the kernel time: too few workgroups for the GPU"
    )
    assert "the costliest, k19, stands here for all" in finding.evidence[1]


def test_many_products_that_hold_more_than_the_largest_kernel_come_first_together() -> None:
    products = [(f"Cijk_Ailk_Bljk_HHS_BH_MT{size}x64x32", 40_000) for size in range(16, 38)]
    first, second = said(series(("gelu", 120_000), *products))
    assert "and 21 other kernels take 88.0 % of the kernel time" in first.title
    assert first.remedy.startswith("Let the library try its kernels")
    assert second.id == "kernel-gelu"


def test_products_of_two_libraries_are_not_told_together() -> None:
    tensile = [(f"Cijk_Ailk_Bljk_HHS_BH_MT{size}x64x32", 40_000) for size in range(16, 36)]
    cublas = [(f"ampere_fp16_s16816gemm_fp16_{size}x64_nn", 39_000) for size in range(16, 36)]
    first = said(series(("gelu", 300_000), *tensile, *cublas))[0]
    assert "and 19 other kernels take" in first.title
    assert first.remedy.startswith("Let the library try its kernels")


def test_small_kernels_of_several_families_are_not_told_together() -> None:
    """All of them move data, and memory probably sets their pace; half of them copy, half compute a little."""
    copies = [(f"cpy_{name}_f32", 50_000) for name in "abcdefghijk"]
    computing = [
        (f"{name}_f32", 49_000)
        for name in ("silu", "gelu", "relu", "add", "mul", "clamp", "sqr", "sin", "cos")
    ]
    first = said(series(*copies, *computing))[0]
    assert first.title.startswith("cpy_a_f32 and 10 other kernels take 55.5 % of the kernel time")


def test_several_kernels_have_the_name_of_the_costliest() -> None:
    small = [(f"cpy_{name}_f32", 40_000 + 100 * place) for place, name in enumerate("abcdefghijkl")]
    first = said(series(*small))[0]
    assert first.title.startswith("cpy_l_f32 and 11 other kernels")
    assert "the costliest, cpy_l_f32, stands here for all" in first.evidence[1]


def test_every_cause_is_said_of_one_and_of_many() -> None:
    causes = [*CAUSES.values(), *CLOSER.values(), MOVER_CAUSE, RUNTIME_CAUSE, NEAR_ROOF, NEAR_IN_DOUBLE]
    assert not [cause for cause in causes if re.search(r"\b(they|their|them)\b", cause.one)]
    assert not [cause for cause in causes if re.search(r"\b(it|its)\b", cause.several)]
    assert CAUSES["scratch"].of(0) == "it works in scratch memory"
    assert CAUSES["scratch"].of(3) == "they work in scratch memory"


def test_instances_of_one_template_are_one_kernel() -> None:
    first, *_ = said(series(("void k<1>(int)", 400_000), ("void k<2>(int)", 300_000), ("other", 300_000)))
    assert first.title.startswith("k takes 70.0 %")


def test_collectives_wait_for_others_and_are_not_slow_kernels() -> None:
    assert said(series(("ncclDevKernel_AllReduce", 900_000))) == []


def test_kernels_beside_a_slow_host_are_beside_the_point() -> None:
    kernels = [kernel("k", 0, 1000), kernel("k", 1_000_000, 1_001_000)]
    assert said(trace(dispatches=kernels, api_calls=[call("hipMalloc", 2000, 900_000)])) == []
    assert said(trace(dispatches=kernels)) != []  # counters leave such gaps


def test_a_kernel_that_nothing_waits_for_says_that_a_faster_one_saves_nothing() -> None:
    """Recorded: a softmax of few workgroups beside longer work on another stream."""
    (run,) = load_files([SOFTMAX_BESIDE])
    assert run.trace is not None
    (finding,) = [one for one in said(focused(run.trace)) if one.id == "kernel-cunn_SoftMaxForward"]
    assert finding.time_at_stake_ns == 0
    assert "a faster one would save next to nothing: the program seldom waits for it" in finding.evidence


def test_no_kernels_no_findings() -> None:
    assert said(trace()) == []


# --- roofs ---


def test_a_kernel_near_the_memorys_peak_has_nothing_to_gain_by_itself() -> None:
    finding = one(said(counted({**WORK, "TCC_EA0_RDREQ_sum": 0.8 * PEAK_READS})))
    assert (finding.kind, finding.time_at_stake_ns) == ("kernel-memory", 0)
    assert any("nothing to gain in the kernel itself" in line for line in finding.evidence)


def test_a_kernel_at_half_of_the_peak_is_worth_the_other_half_at_most() -> None:
    finding = one(said(counted({**WORK, "TCC_EA0_RDREQ_sum": 0.5 * PEAK_READS})))
    assert finding.kind == "kernel-memory"
    assert finding.time_at_stake_ns == pytest.approx(50_000, rel=0.01)
    assert any("50.0 % of the data-sheet peak of the memory (HBM)" in line for line in finding.evidence)
    assert any("at most 50.0 us" in line for line in finding.evidence)


def test_a_ceiling_that_was_measured_is_the_roof_and_said_so() -> None:
    measured = [{"ceiling": "hbm", "value": 4000.0, "unit": "GB/s", "agent_id": 0}]
    finding = one(said(counted({**WORK, "TCC_EA0_RDREQ_sum": 0.5 * PEAK_READS}, ceilings=measured)))
    assert any("what was measured on the machine of the recording" in line for line in finding.evidence)
    assert finding.time_at_stake_ns == pytest.approx(100_000 * (1 - 2.65 / 4), rel=0.01)


HALF_OF_THE_PEAK = {**WORK, "TCC_EA0_RDREQ_sum": 0.5 * PEAK_READS}


def test_the_roof_that_was_counted_comes_before_the_kind_of_kernel() -> None:
    finding = one(said(counted(HALF_OF_THE_PEAK)))
    assert finding.evidence[0].startswith("it reaches 50.0 % of the data-sheet peak of the memory")


def test_far_below_what_memory_gives_more_has_to_be_asked_of_it() -> None:
    assert one(said(counted(HALF_OF_THE_PEAK))).remedy.startswith("Keep more loads in flight")
    near = one(said(counted({**WORK, "TCC_EA0_RDREQ_sum": 0.65 * PEAK_READS})))
    assert near.remedy.startswith("Move fewer bytes")


def reads_alone(share: float) -> Finding:
    """What is said of a kernel of which no write was counted."""
    return one(said(counted({**dict.fromkeys(READS, 0.0), "TCC_EA0_RDREQ_sum": share * PEAK_READS})))


def test_half_of_the_bytes_is_the_least_that_it_moves() -> None:
    assert "it reaches at least 40.0 % of what memory gives" in reads_alone(0.4).title
    assert reads_alone(0.1).time_at_stake_ns is None


def test_bytes_that_a_counter_misses_are_not_what_it_does_not_move() -> None:
    """FETCH_SIZE of ROCm 7.0 counts half of what an MI350X reads: 0.8 of 8 TB/s."""
    sizes = {"FETCH_SIZE": 0.8e12 * 100e-6 / 1024, "WRITE_SIZE": 0.0}
    finding = one(said(counted(sizes, gpu=MI350X, name="stencil")))
    assert any("reaches at least 10.0 %" in line for line in finding.evidence)
    assert finding.time_at_stake_ns is None


STENCIL = "void stencil<float>(float*, float const*)"


@pytest.mark.parametrize(("share", "guessed"), [(0.5, False), (0.1, True)])
def test_what_was_counted_replaces_a_lower_guess_from_the_grid(share: float, guessed: bool) -> None:
    """A float read and written by each of 256 x 100,000 work-items in 100 us is 39 % of the peak."""
    reads = {**dict.fromkeys(READS, 0.0), "TCC_EA0_RDREQ_sum": share * PEAK_READS}
    finding = one(said(counted(reads, groups=100_000, name=STENCIL)))
    assert any("if each of its" in line for line in finding.evidence) == guessed


def test_what_is_saved_is_said_of_the_time_that_is_judged() -> None:
    recording = counted(HALF_OF_THE_PEAK, ranges=[marked("before and after", 0, 900_000)])
    (finding,) = kernel_findings(document(recording))
    assert finding.projected_speedup is not None
    assert finding.projected_speedup.value == pytest.approx(2.0, rel=0.01)  # 50 of 100 us, not of 900


def products(*lengths_ns: int) -> list[Finding]:
    """What is said of products of 4096 x 4096 x 4096 in bf16, each by a kernel of its own."""
    mm = {"name": "aten::mm", "category": "operator", "tid": 1}
    shapes = {"shapes": "[[4096,4096],[4096,4096]]", "dtypes": '["c10::BFloat16","c10::BFloat16"]'}
    ops, calls, ran = [], [], []
    for at, length in enumerate(lengths_ns):
        start = 10_000 * at
        ops.append({**mm, **shapes, "start_ns": start, "end_ns": start + 9_000, "op_id": at})
        calls.append(call("hipLaunchKernel", start + 1_000, start + 2_000, at, tid=1))
        begins = 1_000_000 * (at + 1)
        ran.append(kernel(f"gemm_{at}", begins, begins + length, correlation_id=at, dispatch_id=at))
    return said(trace(agents=[MI300X], ops=ops, api_calls=calls, dispatches=ran))


def test_the_fastest_kernel_is_not_its_own_roof() -> None:
    peak_ns = 2 * 4096**3 / 1307.4e12 * 1e9
    slow, fast = products(round(peak_ns / 0.2), round(peak_ns / 0.4))
    assert "gemm_1 reaches" in " ".join(slow.evidence)
    assert slow.time_at_stake_ns == pytest.approx(peak_ns / 0.4, rel=0.01)
    assert "40 % of their data-sheet peak: no kernel of the recording is faster" in " ".join(fast.evidence)
    assert fast.time_at_stake_ns is None
    assert "40.0 % of what the arithmetic units give" in fast.title


def test_near_the_peak_the_fastest_kernel_has_nothing_to_gain() -> None:
    peak_ns = 2 * 4096**3 / 1307.4e12 * 1e9
    findings = products(round(peak_ns / 0.4), round(peak_ns / 0.8))
    assert [finding.time_at_stake_ns for finding in findings if "gemm_1 takes" in finding.title] == [0]


def test_no_score_has_a_bare_name() -> None:
    finding = one(said(counted({**WORK, "TCC_EA0_RDREQ_sum": 0.5 * PEAK_READS})))
    assert "_share" not in " ".join([finding.title, *finding.evidence, finding.remedy])


# --- causes ---


def test_bank_conflicts_are_the_cause_where_memory_is_far_from_its_peak() -> None:
    conflicts = {"SQ_LDS_BANK_CONFLICT": 94.0, "SQ_LDS_IDX_ACTIVE": 100.0}
    finding = one(said(counted({**WORK, **conflicts, "TCC_EA0_RDREQ_sum": 0.32 * PEAK_READS})))
    assert finding.kind == "lds-or-cache"
    assert finding.title.endswith("bank conflicts in LDS slow it down")
    assert "banks" in finding.remedy


def test_bank_conflicts_near_the_memorys_peak_are_not() -> None:
    conflicts = {"SQ_LDS_BANK_CONFLICT": 60.0, "SQ_LDS_IDX_ACTIVE": 100.0}
    finding = one(said(counted({**WORK, **conflicts, "TCC_EA0_RDREQ_sum": 0.8 * PEAK_READS})))
    assert finding.kind == "kernel-memory"


def test_scratch_is_the_story_of_a_kernel_that_spills() -> None:
    finding = one(said(series(("k", 900_000), scratch_bytes=696)))
    assert (finding.kind, finding.time_at_stake_ns) == ("kernel-memory", None)
    assert finding.title.endswith("it works in scratch memory")


def test_too_few_workgroups_are_worth_the_empty_units_at_most() -> None:
    finding = one(said(counted({"SQ_WAVES": 304.0}, groups=76)))
    assert finding.kind == "kernel-latency-or-occupancy"
    assert finding.title.endswith("76 workgroups for 304 compute units: 75.0 % of the GPU has no work")
    assert finding.time_at_stake_ns == 75_000


def test_how_the_runtime_launches_its_kernels_is_nobodys_to_change() -> None:
    name = "__amd_rocclr_fillBufferAligned.kd"
    finding = one(said(counted({"SQ_WAVES": 304.0}, groups=76, name=name)))
    assert (finding.kind, finding.time_at_stake_ns) == ("kernel-memory", None)
    assert not any("stay empty" in line for line in finding.evidence)


def few_waves(vgprs: int | None = None) -> Finding:
    """What is said of a kernel that fills 20 % of the wave slots, of a grid that does not fit at once."""
    cycles = {"SQ_WAVE_CYCLES": 0.2 * 304 * 32 * 200_000 / 4, "GRBM_GUI_ACTIVE": 8 * 200_000.0}
    return one(said(counted({**WORK, **cycles}, vgprs=vgprs)))


def test_registers_are_the_remedy_where_they_limit_the_waves() -> None:
    assert few_waves(vgprs=256).remedy.startswith("Use fewer registers")


def test_where_more_waves_fit_each_has_too_little_work() -> None:
    finding = few_waves(vgprs=4)
    assert finding.title.endswith(
        "20.0 % of the places for waves are taken: they end about as fast as they start"
    )
    assert finding.remedy.startswith("Give each wave more work")


def test_where_registers_are_not_known_both_are_looked_at() -> None:
    assert few_waves().remedy.startswith("Find out what keeps waves few")


def test_a_copy_is_a_matter_of_memory_only_probably() -> None:
    finding = one(said(series(("copy_kernel", 900_000))))
    assert finding.kind == "kernel-memory"
    assert "probably" in finding.title


def test_a_first_call_that_is_slow_is_told_apart() -> None:
    finding = one(said(series(("k", 900_000), *[("k", 100_000)] * 5)))
    assert any("its slowest dispatch takes 900 us" in line for line in finding.evidence)


# --- rivals ---


def test_dispatches_are_too_short_where_most_of_the_time_is_in_short_ones() -> None:
    tiny = [("k", 4_000)] * 50
    assert "a launch takes 4.00 us" in said(series(*tiny))[0].title
    assert "lasts only" not in " ".join(said(series(*tiny, *[("k", 300_000)] * 5))[0].evidence)
    assert "lasts only" not in " ".join(said(series(*tiny, ("k", 200_000)))[0].evidence)


def test_what_holds_back_an_instance_with_little_time_is_not_said_of_all() -> None:
    """Two instances of one template: the many short dispatches of one take a sixth of the time."""
    large, small = [("void k<1>(float*)", 300_000)] * 10, [("void k<2>(float*)", 6_000)] * 90
    first = said(series(*large, *small))[0]
    assert first.title.startswith("k takes 100.0 % of the kernel time; what limits it is unknown")
    assert "too short to fill the GPU" in said(series(*small))[0].title


def test_the_slow_rival_is_named_with_the_ratio_and_what_it_is_worth() -> None:
    first, *_ = said(series(*[("stencil_a", 300_000)] * 5, *[("stencil_b", 100_000)] * 5, grid_x=1 << 20))
    assert first.title == "stencil_a takes 3.0 times as long as the alternative kernel stencil_b"
    assert first.time_at_stake_ns == 1_000_000
    assert "Use stencil_b" in first.remedy


def test_what_both_rivals_have_is_not_the_difference() -> None:
    first, *_ = said(
        series(
            *[("stencil_a", 300_000)] * 5, *[("stencil_b", 100_000)] * 5, grid_x=1 << 20, scratch_bytes=1024
        )
    )
    assert first.kind == "kernel"


# --- precision ---

SGEMM, HALF = "volta_sgemm_64x64_nt", "volta_h884gemm_128x64"


def test_products_in_single_precision_leave_the_matrix_units_idle() -> None:
    first, *_ = said(series((SGEMM, 600_000), ("other", 400_000)))
    assert (first.id, first.kind) == ("single-precision-products", "kernel-compute")
    assert SGEMM in first.evidence[0]
    assert first.time_at_stake_ns == 600_000


def test_products_on_tensor_cores_are_not_told_to_be() -> None:
    assert {finding.id for finding in said(series((HALF, 900_000)))} == {f"kernel-{HALF}"}


def test_a_few_products_are_not_the_story() -> None:
    ids = {finding.id for finding in said(series((SGEMM, 100_000), ("other", 900_000)))}
    assert "single-precision-products" not in ids


def test_a_gpu_without_matrix_units_has_none_to_use() -> None:
    pascal: Row = {"agent_id": 0, "kind": "GPU", "gfx": "sm_60", "name": "Tesla P100"}
    name = "maxwell_sgemm_128x64_nn"
    recorded = trace(agents=[pascal], dispatches=[kernel(name, 0, 900_000, dispatch_id=1)])
    assert {finding.id for finding in said(recorded)} == {f"kernel-{name}"}


# --- thread traces and PC samples ---


def instruction(text: str, latency: int, stall: int) -> Row:
    return {
        "kernel": "gemm",
        "text": text,
        "hits": 10,
        "latency_cycles": latency,
        "stall_cycles": stall,
        "idle_cycles": 0,
    }


def test_a_thread_trace_names_the_instructions_that_waves_are_stalled_at() -> None:
    rows = [
        instruction("s_waitcnt vmcnt(0)", 400, 390),
        instruction("s_barrier", 350, 340),
        instruction("v_add_f32 v0, v0, v1", 240, 20),
        instruction("v_mfma_f32_16x16x16_f16 a[0:3], v[0:1], v[2:3], a[0:3]", 10, 0),
    ]
    finding = one(said(trace(instructions=rows)))
    assert finding.kind == "kernel-latency-or-occupancy"
    assert "s_waitcnt vmcnt(0) and s_barrier" in finding.title
    assert any("matrix instructions 1.0 %" in line for line in finding.evidence)


def test_waves_that_multiply_most_of_the_time_are_not_waiting() -> None:
    rows = [
        instruction("v_mfma_f32_16x16x16_f16 a[0:3], v[0:1], v[2:3], a[0:3]", 800, 100),
        instruction("s_waitcnt vmcnt(0)", 100, 90),
    ]
    assert one(said(trace(instructions=rows))).kind == "kernel-compute"


def test_a_traced_kernel_that_was_timed_is_told_once() -> None:
    rows = [instruction("s_waitcnt vmcnt(0)", 900, 900), instruction("v_add_f32 v0, v0, v1", 100, 0)]
    finding = one(said(trace(instructions=rows, dispatches=[kernel("gemm", 0, 100_000, dispatch_id=1)])))
    assert (finding.id, finding.kind) == ("kernel-gemm", "kernel-memory")
    assert finding.time_at_stake_ns == 90_000


def samples(**counts: int) -> Trace:
    texts = {
        "load": "global_load_b128 v[0:3], v[0:1], off",
        "use": "v_add_f32_e32 v0, v0, v2",
        "other": "v_mul_f32_e32 v8, v9, v9",
        "wait": "s_waitcnt vmcnt(0)",
        "barrier": "s_barrier",
    }
    return trace(
        pc_samples=[
            {"instruction": texts[name], "method": "host_trap", "dispatch_id": 1}
            for name, count in counts.items()
            for _ in range(count)
        ]
    )


def test_samples_at_the_use_of_a_load_are_waits_for_memory() -> None:
    finding = one(said(samples(use=96, load=4)))
    assert finding.kind == "kernel-memory"
    assert "96.0 % of its samples are at v_add_f32_e32 v0, v0, v2" in finding.title
    assert any("it uses what global_load_b128 v[0:3], v[0:1], off loads" in line for line in finding.evidence)


def test_samples_at_one_instruction_that_uses_no_load_are_a_wait_for_its_inputs() -> None:
    assert one(said(samples(other=96, load=4))).kind == "kernel-latency-or-occupancy"


def test_samples_at_arithmetic_alone_do_not_say_that_waves_wait() -> None:
    finding = one(said(samples(use=200)))
    assert finding.kind == "kernel"
    assert any("no load and no wait was sampled" in line for line in finding.evidence)
    assert "loads in flight" not in finding.remedy


def test_samples_at_a_wait_for_loads_are_waits_for_memory() -> None:
    assert one(said(samples(wait=60, other=40))).kind == "kernel-memory"


def test_an_instruction_counts_wherever_it_stands_in_the_source() -> None:
    rows = [
        {
            "instruction": "s_waitcnt vmcnt(0)",
            "source": f"k.cpp:{line}",
            "method": "stochastic",
            "dispatch_id": 1,
        }
        for line in range(4)
    ]
    rows += [{"instruction": "v_mul_f32_e32 v8, v9, v9", "method": "stochastic", "dispatch_id": 1}] * 2
    finding = one(said(trace(pc_samples=rows)))
    assert "66.7 % of its samples are at s_waitcnt vmcnt(0)" in finding.title


def test_samples_at_waits_of_two_kinds_are_latency() -> None:
    assert one(said(samples(wait=30, barrier=30, other=40))).kind == "kernel-latency-or-occupancy"


# --- statistics alone ---


def statistics(*rows: tuple[str, int, int]) -> Trace:
    return trace(
        summaries=[
            {
                "domain": "kernel",
                "name": name,
                "calls": calls,
                "total_ns": float(each * calls),
                "mean_ns": float(each),
            }
            for name, calls, each in rows
        ]
    )


def test_a_million_tiny_launches() -> None:
    first, second = said(statistics(("moe", 10_000, 900_000), ("add_f32", 1_000_000, 300)))
    assert (first.id, first.kind) == ("kernel-moe", "kernel")
    assert (second.id, second.kind) == ("tiny-launches", "host-bound")
    assert second.title == "99.0 % of the launches run for 300 ns each"


def test_long_kernels_are_no_tiny_launches() -> None:
    assert [finding.id for finding in said(statistics(("moe", 100_000, 90_000)))] == ["kernel-moe"]


def test_a_time_line_says_more_than_its_statistics() -> None:
    assert "tiny-launches" not in {finding.id for finding in said(series(*[("k", 1000)] * 50))}


# --- what the name alone tells ---


def test_a_frameworks_copy_is_told_to_be_left_out_and_worth_all_of_its_time() -> None:
    copy = "void at::native::elementwise_kernel<128, 4, direct_copy_kernel_cuda>(int)"
    first, _ = said(series((copy, 700_000), ("other", 300_000)))
    assert first.title.endswith("takes 70.0 % of the kernel time: it only moves or clears data")
    assert first.remedy.startswith("Leave it out")
    assert (first.kind, first.time_at_stake_ns) == ("kernel-memory", 700_000)


def test_a_programs_own_copy_may_be_what_it_is_for() -> None:
    first, _ = said(series(("vecCopy", 700_000), ("other", 300_000)))
    assert "only moves" not in first.title


def test_additions_at_indices_are_said_to_wait_for_each_other() -> None:
    first, _ = said(series(("void at::native::indexFuncLargeIndex<float>(int)", 700_000), ("other", 300_000)))
    assert any("by atomics" in line for line in first.evidence)


def test_products_in_double_precision_are_said_to_be() -> None:
    for name in ("sm90_xmma_gemm_f64f64_f64f64_f64_nn_n", "Cijk_Ailk_Bljk_DB_MT64x64x8", "magma_dgemm_nn"):
        first, _ = said(series((name, 700_000), ("other", 300_000)))
        assert any("double precision" in line for line in first.evidence)
    first, _ = said(series(("Cijk_Ailk_Bljk_SB_MT64x64x8", 700_000), ("other", 300_000)))
    assert not any("double precision" in line for line in first.evidence)


# --- what a name tells where nothing else does ---


def test_a_kind_of_kernel_has_a_hint_and_something_to_do_without_counters() -> None:
    first = said(series(("DeviceRadixSortOnesweepKernel", 700_000), ("other", 100_000)))[0]
    assert first.title.endswith("of the kernel time: probably passes over the keys set the pace")
    assert first.evidence[0].startswith(
        "a hint from its name, not a measurement: it is a sort, and a radix sort"
    )
    assert first.remedy.startswith("Sort fewer bits (begin_bit and end_bit of hipcub::DeviceRadixSort)")
    assert first.time_at_stake_ns is None
    assert first.kind == "kernel"


def test_a_hint_from_a_name_contradicts_no_counter() -> None:
    first = said(counted({**WORK, "SQ_WAVES": 1.0}, name="DeviceRadixSortOnesweepKernel"))[0]
    assert "passes over" not in first.title
    assert not any("hint from its name" in sentence for sentence in first.evidence)


def test_a_products_own_kernel_is_told_of_libraries() -> None:
    first = said(series(("batched_matrix_multiplication", 900_000)))[0]
    assert "probably a library's product would be several times as fast" in first.title
    assert first.remedy.startswith("Call a library for it (hipblasGemmStridedBatchedEx")


def test_a_kernel_that_is_known_without_a_hint_says_what_it_is() -> None:
    first = said(series(("fused_moe_kernel", 900_000)))[0]
    assert first.title.endswith("of the kernel time; it is the matrix product of a mixture of experts")
    assert first.remedy.startswith("Tune its tiles for these numbers of tokens and experts")


def test_instances_of_one_kernel_are_told_apart() -> None:
    first = said(series(("void k<float, 4>(float*)", 700_000), ("void k<double, 4>(double*)", 300_000)))[0]
    assert first.title.startswith("k takes 100.0 % of the kernel time")
    assert "2 kernels have this name; k<float> takes 70.0 %" in first.evidence


def test_hardly_any_of_a_roof_is_not_said_to_be_reached() -> None:
    titles = [product("my_product", length_ns).title for length_ns in (500_000, 5_000_000, 500_000_000)]
    assert "it reaches at least 21.0 % of its roof" in titles[0]
    assert "it is far below its roof (2.1 %)" in titles[1]
    assert "it is far below its roof (below 0.1 %)" in titles[2]


def test_a_hint_of_a_roof_is_not_said_of_what_is_far_below_it() -> None:
    first = product("Cijk_Alik_Bljk_BBS_BH_MT256x192x64_MI16x16x1", 5_000_000)
    assert "arithmetic sets the pace" not in first.title
    assert not any("hint from its name" in sentence for sentence in first.evidence)


def test_additions_at_indices_are_not_said_to_stream() -> None:
    first = said(series(("void at::native::indexFuncLargeIndex<long>(long)", 900_000)))[0]
    assert first.title.endswith("probably additions to the same places wait for each other")
    assert first.remedy.startswith("Add up privately first")
