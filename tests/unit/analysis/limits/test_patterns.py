"""Causes from shapes, names, grids and times: the unit traces that AMD publishes with TraceLens, written down by shape,
grid and time, kernels of public recordings, and what must not be said."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from rocm_perf.analysis.limits.catalogue import catalogue
from rocm_perf.analysis.limits.patterns import group_causes, pattern_causes
from rocm_perf.analysis.roofline.build import roofline
from rocm_perf.analysis.roofline.devices import devices
from rocm_perf.arch.catalog import find_gpu
from rocm_perf.model.results.limits import Cause, GroupCause
from rocm_perf.model.trace import Trace
from tests.unit.analysis.limits.calls import launched, operator, recorded
from tests.unit.analysis.traces import Row, trace

MI300X, H100, H200, MI300A = (
    "AMD Instinct MI300X",
    "NVIDIA H100 SXM",
    "NVIDIA H200 SXM",
    "AMD Instinct MI300A",
)
BF16, F32 = "c10::BFloat16", "float"
MOE = "aiter_fused_moe_kernel_bf16"
ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >"
BROADCAST = "void at::native::elementwise_kernel<128, 4, at::native::MulFunctor<float> >(int)"
COPY = "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda>(int)"


def causes_of(recording: Trace, kernel: str, gpu: str | None = MI300X) -> list[Cause]:
    named = find_gpu(gpu) if gpu else None
    found = pattern_causes(recording, devices(recording, named), roofline(recording, gpu=named))
    return found.get((0, kernel), [])


def first(recording: Trace, kernel: str, gpu: str | None = MI300X) -> Cause:
    return causes_of(recording, kernel, gpu)[0]


def together(recording: Trace, gpu: str | None = MI300X) -> list[GroupCause]:
    named = find_gpu(gpu) if gpu else None
    return group_causes(recording, devices(recording, named), roofline(recording, gpu=named))


def ids(causes: Sequence[Cause]) -> list[str]:
    return [one.id for one in causes]


def alone(
    name: str, ns: float, workgroups: int, workgroup: int = 256, times: int = 3, **more: object
) -> Trace:
    """Launches of one kernel, in a recording without operators."""
    one = launched(name, ns, workgroups, workgroup, **more)
    rows = [
        {key: value for key, value in one.items() if key != "ns"}
        | {"start_ns": place * (round(ns) + 100_000), "end_ns": place * (round(ns) + 100_000) + round(ns)}
        | {"agent_id": 0, "stream_id": 0, "pid": 1, "dispatch_id": place}
        for place in range(times)
    ]
    return trace(dispatches=rows)


# --- mixtures of experts ---


def experts(  # noqa: PLR0917  (what is recorded of a mixture of experts)
    tokens: int, count: int, chosen: int, hidden: int, up: int, ns: float, workgroups: int
) -> Trace:
    """As TraceLens' units record it: without topk_ids."""
    shapes = [[tokens, hidden], [count, up, hidden], [count, hidden, up // 2], [tokens, chosen]]
    kernels = [launched(MOE, ns, workgroups)]
    return recorded(operator("vllm::rocm_aiter_fused_moe", shapes, [BF16, BF16, BF16, F32], kernels), times=1)


def test_half_a_row_for_each_expert_means_that_reading_weights_sets_the_pace() -> None:
    """moe_01: 2 x 270 MB at least; 25.5 of 64 experts if routing is even, which 280 us are too short for."""
    cause = first(experts(16, 64, 2, 4096, 22016, 280_000, 64), MOE)
    assert (cause.id, cause.certainty, cause.saves) == ("expert-weights", "proven", 0.0)
    assert cause.title == "0.5 rows for each of 64 experts: reading their weights sets the pace"
    assert cause.evidence[1].startswith(
        "even routing reads 25.5 of 64 experts, 6.42 GiB: 24.6 TB/s, more than the 5.3"
    )
    assert cause.evidence[2].startswith("in 280 us at most 5.5 of 64 experts can have been read")


def test_many_rows_for_each_expert_are_arithmetic() -> None:
    """moe_02: 2.216 TFLOP in 6.5 ms are 341 TFLOP/s; AMD measures 708 at best."""
    cause = first(experts(8192, 8, 1, 4096, 22016, 6_500_000, 512), MOE)
    assert (cause.id, cause.certainty) == ("expert-products", "likely")
    assert cause.saves == pytest.approx(1 - 341 / 708, abs=0.005)
    assert "1,024 rows for each of 8 experts" in cause.title


def test_a_time_for_at_most_half_of_the_experts() -> None:
    """moe_03: 16 experts of 617 MB are 10.4 TB/s."""
    cause = first(experts(512, 16, 1, 7168, 28672, 950_000, 128), MOE)
    assert (cause.id, cause.saves) == ("expert-weights", 0.0)
    assert "at most 8.2 of 16 experts" in cause.evidence[2]


def test_weights_at_the_roof_of_the_memory() -> None:
    """moe_04: 9.87 GB in 1.8 ms are 103 % of 5.3 TB/s."""
    cause = first(experts(512, 16, 2, 7168, 28672, 1_800_000, 256), MOE)
    assert (cause.id, cause.saves) == ("expert-weights", 0.0)
    assert "103.4 % of the 5.3 TB/s" in cause.evidence[1]
    assert "at the roof of the memory" in cause.evidence[2]


def test_products_of_experts_at_what_is_reached_at_best() -> None:
    """moe_05: 739 TFLOP/s."""
    cause = first(experts(4096, 8, 2, 8192, 44032, 12_000_000, 1024), MOE)
    assert (cause.id, cause.saves) == ("expert-products", 0.0)
    assert "739 TFLOP/s, 56.5 % of the bf16 peak" in cause.title


def test_a_time_in_which_no_routing_reads_its_experts_names_no_cause() -> None:
    """moe_06: 8 experts of 270 MB take 408 us at 5.3 TB/s."""
    causes = causes_of(experts(4, 128, 8, 4096, 22016, 180_000, 32), MOE)
    assert ids(causes) == ["impossible-time"]
    assert causes[0].title.endswith("the weights of 8 experts alone take AMD Instinct MI300X 408 us")


def test_without_a_gpu_the_rows_are_still_told() -> None:
    cause = first(experts(16, 64, 2, 4096, 22016, 2_800_000, 64), MOE, gpu=None)
    assert (cause.id, cause.certainty, cause.saves) == ("expert-weights", "likely", None)


def test_tiles_of_16_rows_hint_at_weights_where_sizes_are_not_recorded() -> None:
    name = "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu"
    cause = first(alone(name, 60_000, 1748), name)
    assert (cause.id, cause.certainty) == ("expert-weights", "hint")
    assert causes_of(alone(name.replace("16x128", "128x128"), 60_000, 1748), name) == []


# --- grids ---


def test_64_workgroups_leave_most_of_304_compute_units_idle() -> None:
    """The mul_ of moe_04: 3 MiB in 30 us, which is no matter of bandwidth."""
    name = "void at::native::elementwise_kernel<1>"
    shapes = [[256, 1024], [256, 1024]]
    cause = first(recorded(operator("aten::mul_", shapes, F32, [launched(name, 30_000, 64)])), name)
    assert (cause.id, cause.certainty) == ("grid-too-small", "proven")
    assert cause.title == "64 workgroups for 304 compute units: 78.9 % of the GPU has no work"
    assert cause.saves == pytest.approx(1 - 64 / 304)


def test_a_small_grid_of_a_short_launch_says_nothing() -> None:
    assert ids(causes_of(alone("my_kernel(float*)", 4_000, 16), "my_kernel(float*)")) == ["short-launch"]


def test_a_full_grid_has_no_cause() -> None:
    assert causes_of(alone("my_kernel(float*)", 400_000, 4 * 304), "my_kernel(float*)") == []


def test_fewer_waves_than_simds_with_a_long_launch() -> None:
    """boundary_conditions of HPCTrainingExamples on an MI300A: 128 workgroups of 32, 29.4 us."""
    name = "__omp_offloading_30_57b7d__QMboundary_modPboundary_conditions_l24"
    cause = first(alone(name, 29_400, 128, 32), name, MI300A)
    assert (cause.id, cause.certainty) == ("serial-loop", "likely")
    assert cause.title.startswith("128 waves for 912 SIMDs, and a launch takes 29.4 us")
    assert cause.saves == pytest.approx(1 - 128 / 912)


def test_a_loop_over_the_whole_gpu_is_not_called_serial() -> None:
    """laplacian of the same program: 912 workgroups of 256, a grid-stride loop."""
    name = "__omp_offloading_32_2f3c3__QMlaplacian_modPlaplacian_l23"
    assert causes_of(alone(name, 47_300, 912), name, MI300A) == []


def test_a_last_round_that_is_nearly_empty() -> None:
    """128 registers and workgroups of 1,024: one for each SIMD's four waves, so one workgroup fits a compute unit."""
    name = "my_kernel(float*)"
    cause = first(alone(name, 400_000, 310, 1024, vgprs=128, sgprs=32, lds_bytes=0), name)
    assert cause.id == "last-wave-of-launch"
    assert cause.title.startswith("310 workgroups run in 2 rounds of 304")
    assert cause.saves == pytest.approx(1 - 310 / 608)


def test_registers_that_allow_one_wave_for_each_simd() -> None:
    name = "my_kernel(float*)"
    (cause,) = causes_of(alone(name, 400_000, 3040, 256, vgprs=512, sgprs=32, lds_bytes=0), name)
    assert (cause.id, cause.certainty) == ("one-wave-per-simd", "hint")


def test_a_product_without_shared_memory() -> None:
    name = "matmul_k(float*, float*, float*)"
    causes = causes_of(alone(name, 400_000, 3969, 256, lds_bytes=0), name, H200)
    assert ids(causes) == ["no-reuse"]
    assert causes_of(alone(name, 400_000, 3969, 256, lds_bytes=8192), name, H200) == []


# --- rows ---


def test_one_workgroup_for_each_channel() -> None:
    """resnet on an MI300X: 64 blocks of 304 compute units, 0.12 TB/s."""
    name = "void at::native::batch_norm_backward_kernel<c10::BFloat16>(int)"
    shape, channels = [10, 64, 112, 112], [64]
    shapes = [shape, shape, channels, channels, channels, channels, channels]
    types = [BF16, BF16, F32, F32, F32, F32, F32]
    given = operator("aten::native_batch_norm_backward", shapes, types, [launched(name, 399_000, 64, 512)])
    cause = first(recorded(given), name)
    assert (cause.id, cause.certainty) == ("few-rows", "proven")
    assert "64 workgroups for 304 compute units, one for each channel of 125,440 elements" in cause.title
    assert cause.saves == pytest.approx(1 - 64 / 304)


def test_rows_of_256_bytes_for_workgroups_of_64() -> None:
    """sglang's rmsnorm: [491520, 128] in 391 us are 0.64 TB/s, where copies reach 2.5."""
    norm, copy = "void aiter::rmsnorm_kernel<bf16>(int)", ADD
    given = operator(
        "aiter::rmsnorm", [[491520, 128], [491520, 128], [128]], BF16, [launched(norm, 391_000, 491520, 64)]
    )
    large = [[8192, 16384], [8192, 16384]]
    beside = operator("aten::add", large, F32, [launched(copy, 644_000, 131072)])
    cause = first(recorded(given, beside), norm)
    assert cause.id == "short-rows"
    assert cause.title == "a workgroup of 64 for each of 491,520 rows of 256 B: 4 B for each work-item"


def test_rows_that_vector_loads_cannot_read() -> None:
    """An H100 trace: softmax over 3,137 bf16 at 0.66 TB/s beside a mul at 2.93."""
    softmax, mul = "void cunn_SoftMaxForward<4, c10::BFloat16>(int)", ADD
    shape = [16, 12, 3137, 3137]
    moved = 2 * 2 * 16 * 12 * 3137**2
    given = operator("aten::_softmax", [shape, [], []], [BF16, "Scalar", "Scalar"], [
        launched(softmax, moved / 660, 16 * 12 * 3137, 1024)], ["", "-1", "False"])  # fmt: skip
    beside = operator("aten::mul", [shape, []], [BF16, "Scalar"], [launched(mul, moved / 2930, 1_000_000)])
    cause = first(recorded(given, beside), softmax, H100)
    assert (cause.id, cause.certainty) == ("misaligned-rows-of-norm", "likely")
    assert cause.saves == pytest.approx(1 - 660 / 2930, abs=0.01)


# --- elementwise ---


def test_a_vectorised_add_below_what_memory_gives_is_not_blamed_on_strides() -> None:
    """elem_01: 768 MiB in 421 us."""
    shape = [8192, 8192]
    given = operator("aten::add", [shape, shape, []], [F32, F32, "Scalar"], [launched(ADD, 421_000, 16384)])
    (cause,) = causes_of(recorded(given), ADD)
    assert (cause.id, cause.certainty) == ("below-memory", "hint")
    assert cause.title == "it only streams, at 36.1 % of what the memory of AMD Instinct MI300X moves"
    assert cause.saves == pytest.approx(0.64, abs=0.005)


def test_a_broadcast_operand_beside_a_faster_stream() -> None:
    wide, thin = [512, 64, 1, 8256], [1, 64, 1, 1]
    moved = 2 * 4 * 512 * 64 * 8256
    given = operator("aten::add", [wide, thin], F32, [launched(BROADCAST, moved / 600, 100_000)])
    beside = operator("aten::mul", [wide, []], [F32, "Scalar"], [launched(ADD, moved / 2900, 100_000)])
    cause = first(recorded(given, beside), BROADCAST, H100)
    assert cause.id == "strided-elementwise"
    assert cause.title.startswith("one operand is broadcast")
    assert cause.saves == pytest.approx(1 - 600 / 2900, abs=0.01)


def test_a_conversion_is_all_of_its_time() -> None:
    shape = [16, 559, 1024]
    given = operator("aten::copy_", [shape, shape], [F32, BF16], [launched(COPY, 29_200, 8944)])
    cause = first(recorded(given), COPY)
    assert (cause.id, cause.certainty, cause.share) == ("casts", "proven", 1.0)
    assert cause.title == "it converts bfloat16 to float32 and computes nothing"


def test_a_copy_of_one_type_is_no_conversion() -> None:
    shape = [16, 559, 1024]
    given = operator("aten::copy_", [shape, shape], [BF16, BF16], [launched(COPY, 29_200, 8944)])
    assert "casts" not in ids(causes_of(recorded(given), COPY))


def test_few_bytes_in_a_short_launch() -> None:
    given = operator("aten::add", [[141, 512], [141, 512]], BF16, [launched(ADD, 2_150, 71)])
    (cause,) = causes_of(recorded(given), ADD)
    assert (cause.id, cause.saves) == ("small-tensor", None)
    assert cause.title.startswith("a launch takes 2.15 us and moves 423 KiB")


def test_many_elements_added_up_in_few_places() -> None:
    name = "void at::native::scatter_kernel(float*)"
    given = operator(
        "aten::scatter_add_", [[16], [], [1_000_000], [1_000_000]], [F32, "Scalar", "long int", F32],
        [launched(name, 900_000, 4000)], ["", "0"],
    )  # fmt: skip
    cause = first(recorded(given), name)
    assert (cause.id, cause.certainty) == ("atomics-by-index", "likely")
    assert cause.title.endswith("1,000,000 elements in 16 places, 62,500 for each")


def test_a_sort_that_belongs_to_an_index_put() -> None:
    name = "void rocprim::radix_sort_block_sort_kernel(int)"
    given = operator(
        "aten::_index_put_impl_", [[50_000, 512], [8192], [8192, 512]], [F32, "long int", F32],
        [launched(name, 60_000, 400)],
    )  # fmt: skip
    assert "hidden-sort" in ids(causes_of(recorded(given), name))
    sort = operator("aten::sort", [[1_000_000]], F32, [launched(name, 60_000, 400)])
    assert "hidden-sort" not in ids(causes_of(recorded(sort), name))


# --- times ---


def attention(*times_us: float) -> Trace:
    shape = [1, 8, 65536, 192]
    calls = [
        operator(
            "aten::_flash_attention_forward", [shape] * 3, BF16, [launched("attn_fwd.kd", 1000 * us, 8192)]
        )
        for us in times_us
    ]
    return recorded(*calls, times=1)


def test_times_of_one_shape_in_three_levels() -> None:
    """sdpa_02."""
    (cause,) = causes_of(attention(90.6, 142, 91, 110, 90.8, 143, 141, 92, 110, 143), "attn_fwd.kd")
    assert cause.id == "times-vary"
    assert cause.title.startswith("10 launches with the same shapes take from 90.6 us to 143 us")


def test_times_that_alternate_have_a_reason_that_shapes_do_not_show() -> None:
    """Every other layer of a model has a window."""
    assert causes_of(attention(*[130, 290] * 6), "attn_fwd.kd") == []


def test_times_without_recorded_arguments_may_be_of_other_sizes() -> None:
    rows = [
        {
            "kernel": "k(int*)",
            "start_ns": 1_000_000 * place,
            "end_ns": 1_000_000 * place + us * 1000,
            "agent_id": 0,
        }
        for place, us in enumerate((50, 90, 50, 91, 92, 50, 88, 51))
    ]
    assert causes_of(trace(dispatches=rows), "k(int*)") == []


def test_a_first_call_that_is_much_slower_than_the_others() -> None:
    rows = [
        {
            "kernel": "k(int*)",
            "start_ns": 1_000_000 * place,
            "end_ns": 1_000_000 * place + us * 1000,
            "agent_id": 0,
        }
        for place, us in enumerate((208, 91, 90, 92))
    ]
    (cause,) = causes_of(trace(dispatches=rows), "k(int*)")
    assert (cause.id, cause.title) == ("first-call-slow", "the first launch takes 208 us, the others 91.5 us")


# --- several kernels ---

CUPY = [
    "cupy_subtract__float64_float64_float64", "cupy_multiply__float64_float_float64", "cupy_exp__float64_float64",
    "cupy_add__float64_float_float64", "cupy_sqrt__float64_float64", "cupy_divide__float64_float64_float64",
    "cupy_negative__float64_float64",
]  # fmt: skip


def sequence(names: Sequence[str], times: int, us: int = 100, items: int = 1 << 24) -> Trace:
    rows: list[Row] = []
    for place, name in enumerate([*names] * times):
        start = place * (us + 2) * 1000
        rows.append(
            {
                "kernel": name,
                "start_ns": start,
                "end_ns": start + us * 1000,
                "agent_id": 0,
                "stream_id": 0,
                "pid": 1,
            }
            | {
                "grid_x": items,
                "grid_y": 1,
                "grid_z": 1,
                "workgroup_x": 128,
                "workgroup_y": 1,
                "workgroup_z": 1,
            }
            | {"dispatch_id": place}
        )
    return trace(dispatches=rows)


@pytest.mark.parametrize("times", [1, 20])
def test_seven_cupy_kernels_on_one_array_are_one_finding(times: int) -> None:
    (group,) = together(sequence(CUPY, times), H200)
    assert (group.cause.id, group.calls, len(group.kernels)) == ("elementwise-chain", 7 * times, 7)
    assert group.total_ns == 7 * times * 100_000
    assert group.cause.saves == pytest.approx(6 / 7)
    assert group.cause.title.startswith("7 unfused CuPy kernels in a row work on the same array")
    assert "about 7 times as fast" in group.cause.evidence[1]
    assert "@cupy.fuse()" in group.cause.remedy


def test_one_kernel_over_and_over_is_a_benchmark_and_no_chain() -> None:
    assert together(sequence(["cupy_add__float64_float64_float64"], 20), H200) == []


def test_arrays_of_different_sizes_are_no_chain() -> None:
    first_array, second = sequence(CUPY[:2], 1), sequence(CUPY[2:4], 1, items=1 << 20)
    rows = [*first_array.table("dispatches").to_dicts(), *second.table("dispatches").to_dicts()]
    assert together(trace(dispatches=rows), H200) == []


def test_small_launches_in_a_row_belong_into_one() -> None:
    """28 heads, a launch each, of 8 workgroups."""
    name = "per_head(float*)"
    rows = [{**row, "grid_x": 8 * 128} for row in sequence([name], 28).table("dispatches").to_dicts()]
    (group,) = together(trace(dispatches=rows), MI300X)
    assert (group.cause.id, group.cause.certainty, group.calls) == ("one-launch-each", "hint", 28)
    assert group.cause.saves == pytest.approx(27 / 28)
    assert "28 times in a row with 8 workgroups each, for 304 compute units" in group.cause.title


def test_an_optimiser_in_many_passes() -> None:
    functors = (
        "BinaryOpScalarFunctor",
        "LerpFunctor",
        "PointwiseOpScalarFunctor",
        "UnaryOpFunctor",
        "BinaryOpListFunctor",
    )
    names = [
        f"void at::native::multi_tensor_apply_kernel<at::native::{name}<float> >(int)" for name in functors
    ]
    found = {one.cause.id: one for one in together(sequence(names, 10), H200)}
    assert found["optimiser-passes"].cause.saves == pytest.approx(1 - 7 / 15)


def test_every_cause_has_its_texts() -> None:
    texts = catalogue()
    for name in (
        "expert-weights",
        "grid-too-small",
        "few-rows",
        "elementwise-chain",
        "one-launch-each",
        "hidden-sort",
    ):
        assert texts[name].remedy["native"].endswith(".")
