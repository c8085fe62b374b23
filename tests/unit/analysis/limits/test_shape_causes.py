"""Why products, convolutions and attention take their time: the unit traces that AMD publishes with TraceLens, written
down by shape, kernel, grid and time, each named after its limit; and what must not be said."""

from __future__ import annotations

import pytest

from rocm_perf.analysis.limits.shapes import shape_causes
from rocm_perf.analysis.roofline.build import roofline
from rocm_perf.analysis.roofline.devices import devices
from rocm_perf.arch.catalog import find_gpu
from rocm_perf.model.results.limits import Cause
from rocm_perf.model.trace import Trace
from tests.unit.analysis.limits.calls import launched, operator, recorded

MI300X, H100, A100 = "AMD Instinct MI300X", "NVIDIA H100 SXM", "NVIDIA A100 SXM 40GB"
TENSILE = "Cijk_Ailk_Bljk_{types}_BH_MT{tile}_MI16x16x16x1_SN_1LDSB0_GLVWA2_{split}_GLS0_ISA942_IU1_WG64_4_1"


def tensile(tile: str, types: str = "BBS", split: str = "GSU1_GSUASB") -> str:
    return TENSILE.format(tile=tile, types=types, split=split)


def causes_of(recording: Trace, kernel: str, gpu: str | None = MI300X) -> list[Cause]:
    named = find_gpu(gpu) if gpu else None
    found = shape_causes(recording, devices(recording, named), roofline(recording, gpu=named))
    return found.get((0, kernel), [])


def product(  # noqa: PLR0917  (what is recorded of a product)
    rows: int, columns: int, terms: int, kernel: str, ns: float, dtype: str = "c10::BFloat16"
) -> Trace:
    return recorded(
        operator("aten::mm", [[rows, terms], [terms, columns]], dtype, [launched(kernel, ns)]),
    )


GEMM_01, GEMM_02 = tensile("256x128x64", split="GSU2_GSUAMB"), tensile("128x64x64")
GEMM_03, GEMM_04 = tensile("256x112x64"), tensile("64x128x32", "HHS")
IGEMM = "igemm_fwd_gtcx_nhwc_fp32_bx0_ex0_bt{}"


def image(  # noqa: PLR0917  (what is recorded of a convolution)
    data: list[int],
    weight: list[int],
    kernel: str,
    us: float,
    workgroups: int,
    block: int = 256,
    **given: str,
) -> tuple[Trace, str]:
    """A convolution as TraceLens' units record it: strides all 1, and shapes for two of nine arguments."""
    scalars = {
        "stride": "(1,1)",
        "padding": "(0,0)",
        "dilation": "(1,1)",
        "transposed": "False",
        "groups": "1",
    } | given
    inputs = ["", "", "", scalars["stride"], scalars["padding"], scalars["dilation"], scalars["transposed"]]
    call = operator(
        "aten::convolution", [data, weight], "Float", [launched(kernel, us * 1000, workgroups, block)],
        [*inputs, "(0,0)", scalars["groups"]],
    )  # fmt: skip
    return recorded(call, times=1), kernel


def heads(batch: int, count: int, length: int, depth: int, *times_us: float) -> tuple[Trace, str]:
    """Attention by AOTriton; its grid was recorded as zeros."""
    shape = [batch, length, count, depth]
    calls = [
        operator(
            "aten::_flash_attention_forward", [shape, shape, shape, [], [], [], [], [], []],
            [*["c10::BFloat16"] * 3, "", "", "Scalar", "Scalar", "Scalar", "Scalar"],
            [launched("attn_fwd.kd", us * 1000)],
            ["", "", "", "", "", str(length), str(length), "0.", "False"],
        )
        for us in times_us
    ]  # fmt: skip
    return recorded(*calls, times=1), "attn_fwd.kd"


UNITS = {
    "gemm_01_compute_few_tiles": (
        (product(256, 512, 131072, GEMM_01, 1_084_000), GEMM_01),
        "few-tiles", "proven", "8 workgroups for 304 compute units: 97.4 % of the GPU is idle", 0.9649,
    ),
    "gemm_02_compute_non_pow2": (
        (product(1025, 1025, 8192, GEMM_02, 107_000), GEMM_02),
        "few-tiles", "proven", "153 workgroups for 304 compute units: 49.7 % of the GPU is idle", 0.4967,
    ),
    "gemm_03_compute_misaligned": (
        (product(4097, 4097, 4097, GEMM_03, 368_000), GEMM_03),
        "last-wave", "proven",
        "629 workgroups are 2.07 rounds of 304 compute units: the last round is 6.9 % full", 0.3103,
    ),
    "gemm_04_memory_tall_skinny": (
        (product(131072, 32, 32, GEMM_04, 14_000, "c10::Half"), GEMM_04),
        "thin-product", "likely",
        "a stream of 16.0 MiB done as a product: 16 FLOPs for each byte, 1.2 TB/s", 0.6429,
    ),
    "conv_01_large_spatial_small_ch": (
        image(
            [1, 3, 2048, 2048], [64, 3, 7, 7], IGEMM.format("128x128x32"), 4500, 1024, stride="(2,2)", padding="(3,3)",
        ),
        "few-channels", "likely",
        "3 input channels: pixels cannot be read in 16-byte pieces (4.38 TFLOP/s, 2.7 % of what such work reaches)",
        0.9463,
    ),
    "conv_02_small_spatial_many_ch": (
        image([4, 2048, 4, 4], [2048, 2048, 3, 3], IGEMM.format("64x64x16"), 1200, 128, 128, padding="(1,1)"),
        "few-convolution-tiles", "likely", "32 workgroups with work for 304 compute units: 89.5 % of the GPU is idle",
        0.9474,
    ),
    "conv_03_asymmetric_kernel": (
        image([2, 256, 56, 56], [512, 256, 1, 7], IGEMM.format("128x128x8"), 800, 64, padding="[0, 3]"),
        "few-convolution-tiles", "proven", "64 workgroups with work for 304 compute units: 78.9 % of the GPU is idle",
        0.7895,
    ),
    "conv_04_depthwise": (
        image(
            [8, 1024, 32, 32], [1024, 1, 3, 3], "depthwise_conv2d_fwd_fp32_kernel", 350, 256,
            padding="1", groups="1024",
        ),
        "depthwise", "proven",
        "a depthwise convolution: no matrix unit can help, and it moves 0.19 TB/s, 3.6 % of the memory's peak", 0.9547,
    ),
    "conv_05_pointwise_1x1": (
        image([16, 1024, 14, 14], [2048, 1024, 1, 1], IGEMM.format("256x128x16"), 600, 512),
        "pointwise-convolution", "likely",
        "a 1 x 1 convolution is a plain product, and runs at 21.9 TFLOP/s, 13.4 % of what such work reaches", 0.8039,
    ),
    "conv_06_large_dilation": (
        image(
            [2, 256, 128, 128], [256, 256, 3, 3], "igemm_fwd_gtcx_nhwc_fp32_dilation_bx0", 2200, 512,
            padding="(16,16)", dilation="(16,16)",
        ),
        "no-fast-algorithm", "hint",
        "dilation 16, taps that share no input rows: Winograd and most tuned kernels do not serve it (17.6 TFLOP/s, "
        "10.8 % of what such work reaches)", 0.8925,
    ),
    "conv_07_transposed": (
        image(
            [4, 512, 8, 8], [512, 256, 4, 4], "igemm_bwd_data_gtcx_nhwc_fp32_bx0_bt128x128x16", 900, 256,
            stride="(2,2)", padding="(1,1)", transposed="True",
        ),
        "few-convolution-tiles", "likely", "16 workgroups with work for 304 compute units: 94.7 % of the GPU is idle",
        0.9474,
    ),
    "sdpa_01_long_seq_low_eff": (
        heads(1, 32, 32768, 128, 85_200, 54_200, 57_500, 56_600),
        "slow-attention-implementation", "hint",
        "308 TFLOP/s, 43.6 % of what products reach: other implementations are up to twice as fast on this chip", 0.5,
    ),
    "sdpa_02_very_long_seq_head_waste": (
        heads(1, 8, 65536, 192, 90_600, 110_000, 142_000),
        "head-padding", "likely", "heads of 192 are computed as 256: 25.0 % of the arithmetic is padding", 0.25,
    ),
    "sdpa_03_short_seq_overhead": (
        heads(16, 32, 128, 128, 82, 100, 143),
        "short-sequence", "likely", "128 queries and 128 keys: a workgroup has 1 step over the "
        "keys, and waits for each",
        0.8734,
    ),
    "sdpa_04_large_head_dim": (
        heads(1, 32, 4096, 256, 5_000, 7_000, 9_300),
        "large-head", "likely",
        "heads of 256: the tiles of keys and values do not fit beside each other (79 TFLOP/s, where "
        "AOTriton reaches 325 "
        "with heads of 128)", 0.9399,
    ),
}  # fmt: skip


@pytest.mark.parametrize("unit", UNITS)
def test_the_first_cause_of_a_unit_is_what_it_is_named_after(unit: str) -> None:
    (recording, kernel), cause, certainty, title, saves = UNITS[unit]

    first = causes_of(recording, kernel)[0]

    assert (first.id, first.certainty, first.title) == (cause, certainty, title)
    assert first.saves == pytest.approx(saves, abs=1e-4)
    assert first.share >= 0.4
    assert first.remedy


def ids(causes: list[Cause]) -> list[str]:
    return [cause.id for cause in causes]


def test_a_cause_says_what_splitting_the_sum_would_give() -> None:
    first = causes_of(product(256, 512, 131072, GEMM_01, 1_084_000), GEMM_01)[0]

    assert first.evidence == (
        "256 x 512 results in tiles of 128 x 256 are 4 tiles, each with its sum of 131072 in 2 parts",
        "each busy compute unit does 3.96 TFLOP/s, 92.1 % of its peak",
        "with its sum in 76 parts it would take about 67.3 us; at most 28.5x, by the peaks",
    )


def test_a_round_more_for_one_row_is_said() -> None:
    first = causes_of(product(4097, 4097, 4097, GEMM_03, 368_000), GEMM_03)[0]

    assert "4096 x 4096 results would take 592 workgroups: 2 rounds instead of 3" in first.evidence


def test_the_chip_in_a_kernels_name_is_enough_where_no_gpu_is_recorded() -> None:
    """8 workgroups are few on every product with that chip; 153 are not known to be."""
    few = causes_of(product(256, 512, 131072, GEMM_01, 1_084_000), GEMM_01, gpu=None)
    half = causes_of(product(1025, 1025, 8192, GEMM_02, 107_000), GEMM_02, gpu=None)

    assert (few[0].id, few[0].certainty) == ("few-tiles", "proven")
    assert (
        "the recording names the chip, not the product, whose smallest has 228 compute units"
        in few[0].evidence
    )
    assert (half[0].id, half[0].certainty) == ("few-tiles", "likely")


def test_nothing_is_said_of_a_product_near_what_the_library_reaches() -> None:
    """15360 x 4096 x 4096 in 818.7 us is 630 TFLOP/s, the best that hipBLASLt does in public recordings."""
    kernel = tensile("320x224x64")

    assert causes_of(product(15360, 4096, 4096, kernel, 818_700), kernel) == []


def test_a_shape_that_gets_a_slower_kernel_than_its_neighbour_is_named() -> None:
    slow, fast = tensile("128x256x32"), tensile("320x224x64")
    recording = recorded(
        operator(
            "aten::mm", [[15360, 4096], [4096, 24576]], "c10::BFloat16", [launched(slow, 6_772_000, 11520)]
        ),
        operator("aten::mm", [[15360, 4096], [4096, 4096]], "c10::BFloat16", [launched(fast, 818_700, 897)]),
    )

    first = causes_of(recording, slow)[0]

    assert (first.id, first.certainty) == ("slower-than-sibling", "proven")
    assert first.title == "457 TFLOP/s, where the same library reaches 630 in this recording"
    assert first.saves == pytest.approx(0.3, abs=0.01)
    assert causes_of(recording, fast) == []


def test_few_rows_stream_the_weights() -> None:
    """The last layer of a served model: 32 x 201088 x 2880 in 277 us."""
    kernel = tensile("448x32x64")

    first = causes_of(product(32, 201088, 2880, kernel, 277_000), kernel)[0]

    assert (first.id, first.certainty) == ("streams-weights", "proven")
    assert first.title == (
        "its 1.08 GiB of weights set the pace: 32 rows use them at 4.23 TB/s, 79.8 % of the memory's peak"
    )
    assert first.saves == pytest.approx(0.202, abs=0.001)


def test_a_product_of_a_few_microseconds_gets_no_advice_about_tiles() -> None:
    kernel = tensile("16x16x128")

    assert ids(causes_of(product(141, 512, 512, kernel, 5_000), kernel)) == ["small-product"]


def test_padding_is_no_cause_where_memory_hides_it() -> None:
    """141 rows fill 55 % of two tiles of 128, but reading the weights takes longer than all of the arithmetic."""
    kernel = "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_64x3_tn_align8>("

    assert "tile-padding" not in ids(causes_of(product(141, 32768, 512, kernel, 41_300), kernel, H100))


def test_a_tile_twice_as_wide_as_the_result_is_named() -> None:
    kernel = tensile("256x256x64")

    first = causes_of(product(65536, 128, 8192, kernel, 420_000), kernel)[0]

    assert first.id == "tile-padding"
    assert first.title == "50.0 % of its arithmetic is padding: 65536 x 128 results in tiles of 256 x 256"


def test_narrow_loads_of_rows_at_odd_places_are_named() -> None:
    kernel = "void cutlass::Kernel2<cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_nn_align1>("
    recording = recorded(
        operator(
            "aten::bmm",
            [[128, 3137, 3137], [128, 3137, 512]],
            "c10::BFloat16",
            [launched(kernel, 19_000_000)],
        )
    )

    first = causes_of(recording, kernel, H100)[0]

    assert (first.id, first.certainty) == ("misaligned-rows", "likely")
    assert first.title == (
        "rows of 6,274 B begin at any place of a 16-byte line, and the kernel loads 1 element at a time"
    )


def test_float32_beside_the_tensor_cores_is_named() -> None:
    """17 of 19.5 TFLOP/s: at its roof, which is an eighth of that of TF32."""
    kernel = "ampere_sgemm_128x64_tn"

    first = causes_of(product(4096, 4096, 4096, kernel, 8_085_000, "float"), kernel, A100)[0]

    assert first.id == "f32-off-matrix-units"
    assert (
        first.title == "its f32 products do not run on the matrix units; it fills 87.2 % of the vector units"
    )
    assert first.saves == pytest.approx(1 - 19.5 / 312, abs=0.001)


def test_float64_is_named() -> None:
    kernel = tensile("64x64x16", "DB")

    first = causes_of(product(4096, 4096, 4096, kernel, 1_500_000, "double"), kernel)[0]

    assert first.id == "f64-product"
    assert first.saves == pytest.approx(0.75, abs=0.001)  # XF32 is four times as fast; float32 is not faster


def test_a_time_that_contradicts_physics_is_the_only_thing_said() -> None:
    kernel = tensile("256x256x64")

    causes = causes_of(product(8192, 8192, 8192, kernel, 700_000), kernel)

    assert ids(causes) == ["impossible-time"]
    assert causes[0].title == (
        "its time cannot be that of its work: that would be 1,571 TFLOP/s, where AMD Instinct MI300X does 1,307 at most"
    )


def test_sixteen_blocks_of_attention_leave_the_gpu_idle() -> None:
    """bert: 8 heads of 141 tokens on an MI300X; the grid tells that a workgroup takes 128 of them."""
    recording = recorded(
        operator(
            "aten::_scaled_dot_product_flash_attention",
            [[1, 8, 141, 64]] * 3,
            "c10::BFloat16",
            [launched("attn_fwd", 28_400, 16)],
        )
    )

    first = causes_of(recording, "attn_fwd")[0]

    assert (first.id, first.certainty) == ("few-attention-blocks", "proven")
    assert first.title == "16 workgroups for 304 compute units: 94.7 % of the GPU is idle"
    assert (
        first.evidence[0]
        == "1 x 8 heads of 64, 141 queries and 141 keys: a workgroup takes 128 queries of one head"
    )


def test_scores_that_go_through_memory_are_named() -> None:
    kernel = tensile("256x128x32")
    shape, scores = [128, 3136, 64], [128, 3136, 3136]
    softmax = "cunn_SoftMaxForward<8, c10::BFloat16, float, c10::BFloat16>"
    recording = recorded(
        operator("aten::bmm", [shape, [128, 64, 3136]], "c10::BFloat16", [launched(kernel, 1_200_000)]),
        operator(
            "aten::_softmax", [scores], "c10::BFloat16", [launched(softmax, 3_000_000)], ["", "-1", "False"]
        ),
        operator("aten::bmm", [scores, shape], "c10::BFloat16", [launched(kernel, 1_200_000)]),
    )

    product_cause, softmax_cause = causes_of(recording, kernel)[0], causes_of(recording, softmax)[0]

    assert (softmax_cause.id, softmax_cause.saves) == ("unfused-attention", 1.0)
    assert product_cause.id == "unfused-attention"
    assert product_cause.title == "96.1 % of its bytes are scores of attention that is not fused"


def test_a_kernel_that_adds_up_parts_belongs_to_its_product() -> None:
    recording = recorded(
        operator(
            "aten::mm", [[256, 131072], [131072, 512]], "c10::BFloat16",
            [launched(GEMM_01, 1_084_000), launched("Cijk_B_PostGSU2", 5_000)],
        )
    )  # fmt: skip

    first = causes_of(recording, "Cijk_B_PostGSU2")[0]

    assert first.title == "it adds up the 2 parts of split sums: 0.5 % of the time of these products"


def test_without_an_operator_the_name_and_the_grid_still_tell() -> None:
    """A rocprofv3 trace: 24 workgroups of a product, and a product of few rows, of sizes that are not recorded."""
    few, skinny = tensile("128x128x64"), tensile("256x32x64")
    call = operator("range", [], "float", [launched(few, 90_000, 24), launched(skinny, 66_600, 304)])
    recording = recorded(call)
    without = Trace({"dispatches": recording.table("dispatches")})

    assert (
        causes_of(without, few)[0].title == "24 workgroups for 304 compute units: 92.1 % of the GPU is idle"
    )
    assert [(cause.id, cause.certainty) for cause in causes_of(without, skinny)] == [
        ("streams-weights", "hint")
    ]


def test_half_of_a_kernels_time_in_one_call_is_said() -> None:
    """Two shapes share a kernel: one of them leaves the GPU idle."""
    kernel = tensile("256x128x64")
    recording = recorded(
        operator("aten::mm", [[256, 65536], [65536, 512]], "c10::BFloat16", [launched(kernel, 2_000_000)]),
        operator("aten::mm", [[8192, 8192], [8192, 8192]], "c10::BFloat16", [launched(kernel, 1_800_000)]),
    )

    first = causes_of(recording, kernel)[0]

    assert first.id == "few-tiles"
    assert first.share == pytest.approx(0.517, abs=0.001)
    assert first.evidence[-1] == "so it is in calls with 52.6 % of the kernel's time"


def test_a_sum_in_too_many_parts_is_named() -> None:
    """One step of a recurrent network on an H200: 2 MFLOP take 51 us, for cuBLAS splits a sum of 512 in 264 parts."""
    kernel = (
        "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize32x128x8_stage3_warpsize1x2x1_ffma_aligna4_alignc4"
    )
    call = operator("aten::mm", [[16, 512], [512, 128]], "float", [launched(kernel, 51_456, 264, 64)])

    first = causes_of(recorded(call), kernel, "NVIDIA H200 SXM")[0]

    assert (first.id, first.certainty) == ("over-split", "likely")
    assert first.title == (
        "its sums of 512 terms are split in 264 parts: adding them up takes longer than computing them"
    )


def test_groups_of_a_few_channels_leave_matrix_instructions_empty() -> None:
    """A layer of ResNeXt: 32 groups of 4 channels."""
    recording, kernel = image(
        [32, 128, 56, 56], [128, 4, 3, 3], IGEMM.format("128x32x16"), 800, 3136, padding="(1,1)", groups="32"
    )

    first = causes_of(recording, kernel)[0]

    assert (first.id, first.title) == (
        "narrow-groups",
        "groups of 4 channels: matrix instructions take 16 at a time",
    )
