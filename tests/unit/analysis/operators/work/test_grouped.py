"""Experts as Triton's own kernels multiply them: their sizes from names and grids, worked out by hand."""

from __future__ import annotations

import json
import time
from itertools import product

import pytest

from rocm_perf.analysis.operators.work import Work, launched_work, operator_work
from rocm_perf.analysis.operators.work.grouped_kernels import product_of
from rocm_perf.analysis.operators.work.routed import WEIGHTS, Launch, experts_of_a_token, routed
from rocm_perf.model.torch_call import arguments

# 6 tokens, each sent to 2 of 4 experts: 12 rows. 12 rows of 4 experts take at most 6 tiles of 4 rows (9 + 1 + 1 + 1).
# [12, 32] x [4, 32, N]: 3 tiles of 16 columns, N = 48, of which 24 are kept; [12, 24] x [4, 24, 32]: 2 tiles.
UP, DOWN = "_matmul_ogs_NNT_bf16xbf16xmxfp4_4x16x32x1_swiglu", "_matmul_ogs_NNT_bf16xbf16xmxfp4_4x16x32x1"
SUM = "_finalize_matmul_scatter_bf16"
LAUNCHES = f"2\n18x1x1 {UP}\n12x1x1 {DOWN}\n6x1x1 {SUM}"
SHAPES, TYPES = json.dumps([[6, 32], [6, 4], [], []]), json.dumps(["c10::BFloat16"] * 2 + ["", ""])
UP_FLOPS, DOWN_FLOPS = 2 * 12 * 48 * 32, 2 * 12 * 32 * 24
UP_WEIGHTS, DOWN_WEIGHTS = (
    4 * 48 * 32 * 17 // 32,
    4 * 32 * 24 * 17 // 32,
)  # 4 bits, and 8 of a scale for 32 of them


def forward(launches: str | None) -> Work:
    return operator_work("vllm::moe_forward", SHAPES, TYPES, routed=launches)


def one(kernel: str, launches: str = LAUNCHES) -> tuple[float | None, float | None]:
    work = launched_work("vllm::moe_forward", SHAPES, TYPES, kernel, launches)
    assert work is not None
    return work.flops.value, work.bytes.value


def test_a_call_has_the_work_of_both_products() -> None:
    work = forward(LAUNCHES)
    assert work.flops.value == UP_FLOPS + DOWN_FLOPS
    # tokens and logits in, tokens out, and the weights of all four experts
    assert work.bytes.value == 2 * 6 * 32 + 2 * 6 * 4 + 2 * 6 * 32 + UP_WEIGHTS + DOWN_WEIGHTS
    assert (work.on_matrix, work.dtype) == (True, "bfloat16")
    assert work.flops.doubt == "at most: the width between its products is known to a tile of 16 columns"
    assert (work.bytes.doubt or "").startswith("which experts were chosen is not recorded: at most")


def test_each_kernel_has_its_own() -> None:
    assert one(UP) == (UP_FLOPS, 2 * 6 * 32 + 2 * 12 * 24 + UP_WEIGHTS)
    assert one(DOWN) == (DOWN_FLOPS, 2 * 12 * 24 + 2 * 12 * 32 + DOWN_WEIGHTS)
    assert one(SUM) == (12 * 32, 2 * 12 * 32 + 2 * 6 * 32)
    assert launched_work("vllm::moe_forward", SHAPES, TYPES, "_topk_forward", LAUNCHES) is None
    assert launched_work("aten::mm", SHAPES, TYPES, UP, LAUNCHES) is None


def test_a_product_split_over_k_has_as_many_more_workgroups() -> None:
    split = DOWN.replace("32x1", "32x4")
    assert one(split, f"2\n18x1x1 {UP}\n48x1x1 {split}") == one(DOWN)


@pytest.mark.parametrize(("rows", "experts", "height"), [*product((1, 3, 4, 5, 9), (2, 3, 4), (1, 2, 4))])
def test_tiles_are_as_many_as_the_worst_choice_of_experts_takes(rows: int, experts: int, height: int) -> None:
    """Counted over all ways to send the rows to experts."""
    ways = [way for way in product(range(rows + 1), repeat=experts) if sum(way) == rows]
    tiles = max(sum(-(-sent // height) for sent in way) for way in ways)
    up, down = (f"_matmul_ogs_NNT_bf16xbf16xbf16_{height}x8x8x1{end}" for end in ("_swiglu", ""))
    shapes = json.dumps([[rows, 8], [rows, experts]])
    work = operator_work(
        "vllm::moe_forward", shapes, TYPES, routed=f"1\n{2 * tiles}x1x1 {up}\n{tiles}x1x1 {down}"
    )
    assert work.flops.value == 2 * rows * 8 * 16 + 2 * rows * 8 * 8


@pytest.mark.parametrize(
    ("launches", "reason"),
    [
        (None, WEIGHTS),
        (f"?\n18x1x1 {UP}\n12x1x1 {DOWN}", "how many experts a token goes to is not recorded"),
        (f"2\n? {UP}\n12x1x1 {DOWN}", "the grids of its kernels are not recorded"),
        (f"2\n19x1x1 {UP}\n12x1x1 {DOWN}", "its 19 tiles are not 6 tiles high"),
        (f"2\n18x1x1 {UP}\n18x1x1 {DOWN}", "the second product is not as wide as the result"),
        (
            f"2\n18x1x1 {DOWN}\n12x1x1 {DOWN}",
            "which of its kernels is the first product, and which the second",
        ),
        (f"2\n6x1x1 {SUM}", "which of its kernels is the first product, and which the second"),
    ],
)
def test_what_does_not_fit_is_said(launches: str | None, reason: str) -> None:
    work = forward(launches)
    assert work.flops.value is None
    assert reason in (work.flops.unavailable or "")
    assert launched_work("vllm::moe_forward", SHAPES, TYPES, UP, launches) is None


# The same as TensorRT-LLM's kernels have it: tiles of 16 columns and 4 rows, columns along x, rows along y.
TENSORRT_UP = (
    "bmm_MxE4m3_MxE2m1MxE4m3_Fp32_t16x4x256u2_s3_rM_TN_transOut_schedP2x1x2x3_bN_swiGlu_dynBatch_sm100f"
)
TENSORRT_DOWN = (
    "bmm_Bfloat16_MxE2m1MxE4m3_Fp32_t16x4x256u2_s3_rM_TN_transOut_schedP2x1x2x3_bN_dynBatch_sm100f"
)
TENSORRT = f"?\n3x6x1 {TENSORRT_UP}\n2x6x1 {TENSORRT_DOWN}"


def test_tensorrts_kernels_multiply_eight_bits_with_four() -> None:
    work = forward(TENSORRT)
    assert work.flops.value == UP_FLOPS + DOWN_FLOPS
    assert work.dtype == "float8"
    data = 6 * 32 * 33 // 32 + 12 * 24 * 33 // 32  # a scale of one byte for 32 values
    assert one(TENSORRT_UP, TENSORRT) == (UP_FLOPS, data + UP_WEIGHTS)
    assert one(TENSORRT_DOWN, TENSORRT) == (DOWN_FLOPS, 12 * 24 * 33 // 32 + 2 * 12 * 32 + DOWN_WEIGHTS)
    assert one("void moe::dev::finalize::finalizeKernelVecLoad<...>(...)", TENSORRT) == one(SUM)
    converted = one("void tensorrt_llm::kernels::quantize_with_block_size<...>(...)", TENSORRT)
    assert converted == (0, 2 * 6 * 32 + 6 * 32 * 33 // 32)


def test_a_grid_that_several_numbers_of_experts_agree_with_says_none() -> None:
    """Two tokens take at most 4 tiles, whether each goes to 2 or to 3 of 4 experts."""
    shapes = json.dumps([[2, 32], [2, 4]])
    work = operator_work("vllm::moe_forward", shapes, TYPES, routed=TENSORRT.replace("x6x1", "x4x1"))
    assert "how many experts a token goes to is not recorded" in (work.flops.unavailable or "")


def test_absurd_sizes_are_no_work() -> None:
    shapes = json.dumps([[6, 32], [6, 10**12]])
    seven = TENSORRT.replace("x6x1", "x7x1")  # no number of experts for each of 6 tokens
    assert operator_work("vllm::moe_forward", shapes, TYPES, routed=seven).flops.value is None
    empty = f"2\n18x1x1 {UP.replace('4x16x32x1', '0x0x0x0')}\n12x1x1 {DOWN}"
    assert operator_work("vllm::moe_forward", SHAPES, TYPES, routed=empty).flops.value is None


def test_how_many_experts_a_token_goes_to() -> None:
    chosen = arguments("[[6,4],[],[]]", '["c10::BFloat16","Scalar","Scalar"]', None, '["","2","True"]')
    ordered = arguments("[[6,2],[6,2],[]]", '["c10::BFloat16","short int","Scalar"]', None, '["","","4"]')
    assert experts_of_a_token("TopK", chosen) == experts_of_a_token("SortTokens", ordered) == 2
    assert experts_of_a_token("aten::topk", chosen) is None
    assert experts_of_a_token("TopK", None) is None


def test_the_text_of_launches() -> None:
    assert routed("") is None
    known = routed(LAUNCHES)
    assert known is not None
    assert (known.top_k, len(known.launches)) == (2, 3)
    assert known.launches[1] == Launch(DOWN, (12, 1, 1))


@pytest.mark.parametrize("digits", ["9" * 5000, "9" * 30, "257", "0", "²"])
def test_a_number_that_no_model_has_is_not_taken_for_experts(digits: str) -> None:
    inputs = json.dumps(["", digits])
    chosen = arguments("[[6,4],[]]", '["c10::BFloat16","Scalar"]', None, inputs)
    assert experts_of_a_token("TopK", chosen) is None
    known = routed(f"{digits}\n18x1x1 {UP}")
    assert known is not None
    assert known.top_k is None


def test_a_shape_that_no_model_has_is_not_taken_for_experts() -> None:
    ordered = arguments(f"[[6,{10**30}],[6,2],[]]", '["c10::BFloat16","short int","Scalar"]')
    assert experts_of_a_token("SortTokens", ordered) is None


@pytest.mark.parametrize(
    "name",
    [
        "bmm_Fp16_Fp16" + "_t1x1x1_transOut" * 1000,
        "bmm_Fp16_Fp16" + "_t1x1x1" * 1000 + "_transOut" * 1000,
        "_matmul_ogs_NNT_fp8" + "xfp8" * 1000,
    ],
)
def test_a_hostile_name_is_read_in_no_time(name: str) -> None:
    """A pattern that tries its parts in every way takes half a minute for each of these."""
    began = time.process_time()
    assert product_of(name, (1, 1, 1)) is None
    assert time.process_time() - began < 5


@pytest.mark.parametrize("tile", ["0x16x32x1", "4x0x32x1", "4x16x32x0", f"4x16x32x{'9' * 30}"])
def test_a_tile_that_no_kernel_has_is_not_read(tile: str) -> None:
    assert product_of(UP.replace("4x16x32x1", tile), (18, 1, 1)) is None


@pytest.mark.parametrize("launches", [None, LAUNCHES, TENSORRT])
def test_without_tokens_there_is_nothing_to_multiply(launches: str | None) -> None:
    work = operator_work("vllm::moe_forward", "[[0,32],[0,4],[],[]]", TYPES, routed=launches)
    assert (work.flops.value, work.bytes.value) == (0, 0)
    assert launched_work("vllm::moe_forward", "[[0,32],[0,4],[],[]]", TYPES, UP, launches) is None


def test_without_experts_it_says_so() -> None:
    work = operator_work("vllm::moe_forward", "[[6,32],[6,0],[],[]]", TYPES, routed=LAUNCHES)
    assert "no experts to send them to" in (work.flops.unavailable or "")
