"""Kernels of torch.compile: from their names and what inductor records with them."""

from __future__ import annotations

import json

import pytest

from rocm_perf.analysis.operators.work import operator_work
from rocm_perf.analysis.operators.work.fused import (
    AT_MOST,
    MAYBE_IN_PLACE,
    fused_operators,
    fused_work,
    is_fused,
    recorded_figures,
)
from rocm_perf.model.torch_call import arguments
from tests.unit.analysis.operators.work.calls import F4, I8, tensor, work_of


@pytest.mark.parametrize(
    ("name", "operators", "strangers"),
    [
        ("triton_poi_fused_add_mul_0", ["add", "mul"], []),
        ("triton_poi_fused__unsafe_view_mul_silu_2", ["_unsafe_view", "mul", "silu"], []),
        ("triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_11", ["_to_copy", "add", "mean", "mul", "pow", "rsqrt"], []),
        ("triton_per_fused__log_softmax_backward_data_nll_loss_forward_3",
         ["_log_softmax_backward_data", "nll_loss_forward"], []),
        ("triton_poi_fused_native_layer_norm_backward_frobnicate_1", ["native_layer_norm_backward"], ["frobnicate"]),
        ("triton_tem_fused_addmm_7", ["addmm"], []),
        ("triton_poi_fused_0", [], []),
    ],
)  # fmt: skip
def test_a_name_is_read_as_operators(name: str, operators: list[str], strangers: list[str]) -> None:
    assert is_fused(name)
    assert fused_operators(name) == (operators, strangers)


def test_other_kernels_are_not_generated() -> None:
    assert not is_fused("_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1")
    assert not is_fused("aten::add")


def test_pointwise_work_is_that_of_the_named_operators() -> None:
    """x * y + z over 32 elements of two bytes: 2 * 32 FLOPs, four tensors of 64 B."""
    work = work_of("triton_poi_fused_add_mul_0", *[tensor(4, 8)] * 4, "32")
    assert (work.flops.value, work.bytes.value) == (64, 256)
    assert work.bytes.doubt == MAYBE_IN_PLACE


def test_a_reduction_goes_through_both_axes() -> None:
    """RMS norm: add, mean, mul, rsqrt over 4 * 8 elements; x and the result of 64 B, a weight of 16 B."""
    work = work_of("triton_red_fused_add_mean_mul_rsqrt_0", tensor(4, 8), tensor(8), tensor(4, 8), "4", "8")
    assert (work.flops.value, work.bytes.value) == (4 * 32, 144)


def test_of_a_table_only_as_many_elements_as_the_axes_have_are_read() -> None:
    """3 rows of 8 from a table of 99: indices of 24 B, 48 B read, 48 B written."""
    work = work_of("triton_poi_fused_embedding_0", tensor(3, dtype=I8), tensor(99, 8), tensor(3, 8), "24")
    assert (work.flops.value, work.bytes.value) == (0, 24 + 48 + 48)
    unknown = work_of("triton_poi_fused_0", tensor(3, dtype=I8), tensor(99, 8), tensor(3, 8))
    assert "the lengths of its axes are not recorded" in str(unknown.bytes.unavailable)


def test_a_bias_as_large_as_the_last_two_axes_does_not_hide_the_first() -> None:
    """Partial sums of a layer norm, as recorded from a diffusion model: 8,192 rows of 19 parts of 128 elements, a bias
    of 19 * 128, and an embedding that is larger than the axes, of which no more is read than they have."""
    rows, parts, width = 8192, 19, 128
    elements = rows * parts * width
    partial = tensor(2, 4096, 1, parts, dtype=F4)
    image, bias, embedding = tensor(2, 2432, 64, 64), tensor(parts * width), tensor(1, 36864, 2432)
    work = work_of("triton_red_fused_add_native_layer_norm_4", image, bias, embedding, *[partial] * 3,
                   str(rows), str(parts), str(width))  # fmt: skip
    assert work.flops.value == (1 + 7) * elements
    assert work.bytes.value == 2 * elements + 2 * parts * width + 2 * elements + 3 * 4 * rows * parts


@pytest.mark.parametrize(
    ("name", "tensors", "numbers", "elements"),
    [
        # 6 x 4 x 8 elements updated in place, a bias of 4 x 8
        ("triton_poi_fused_add_0", [(6, 32), (32,)], [6, 4, 8], 192),
        # 6 x 4 x 8 elements into a result; tables of 4 x 8 and of 8
        ("triton_poi_fused_add_0", [(32,), (8,), (6, 4, 8)], [6, 4, 8], 192),
        # a size of 4 that varies stands before the one axis; 4 x 32 is the size of a table
        ("triton_poi_fused_add_0", [(8,), (16, 8), (4, 8)], [4, 32], 32),
        # an offset and sizes before the axis
        ("triton_poi_fused_add_0", [(888,), (888,)], [0, 25136, 201088, 0, 888], 888),
        # 4 rows of 8 of a tensor of 4 x 16; the result has a sum for each row
        ("triton_red_fused_add_0", [(4, 16), (4,)], [4, 8], 32),
        # the same, where the number of rows varies and stands before the axes once more
        ("triton_red_fused_add_0", [(4, 16), (4,)], [4, 4, 8], 32),
        # two tensors side by side, 3 x 8 and 5 x 8, and the sum over their 8 rows
        ("triton_per_fused_add_0", [(3, 8), (5, 8), (8,)], [8, 8], 64),
        # y, x and what is summed up; y, and two axes that are summed up
        ("triton_red_fused_add_0", [(2, 4, 8), (4, 8), (2, 4)], [2, 4, 8], 64),
        ("triton_red_fused_add_0", [(2, 4, 8), (4, 8), (2,)], [2, 4, 8], 64),
        # two pointwise kernels in one
        ("triton_for_fused_add_0", [(8,), (8,), (6,), (6,)], [8, 6], 14),
    ],
)
def test_the_axes_agree_with_the_sizes_of_all_tensors(
    name: str, tensors: list[tuple[int, ...]], numbers: list[int], elements: int
) -> None:
    work = work_of(name, *[tensor(*shape) for shape in tensors], *map(str, numbers))
    assert work.flops.value == elements


@pytest.mark.parametrize("numbers", [[5, 7], [7, 5, 3]])
def test_axes_that_agree_with_no_tensor_are_not_believed(numbers: list[int]) -> None:
    work = work_of("triton_poi_fused_add_0", tensor(4, 8), tensor(4, 8), *map(str, numbers))
    assert "do not say which of its integers are the lengths of its axes" in str(work.flops.unavailable)
    assert not work.bytes.known


def test_parameters_say_what_is_updated_in_place() -> None:
    """in_out_ptr0 is read and written, in_ptr0 read: three times 64 B."""
    known = arguments("[[4,8],[32],[]]", '["c10::BFloat16","c10::BFloat16","Scalar"]', None,
                      '["in_out_ptr0","in_ptr0","32"]')  # fmt: skip
    work = fused_work("triton_poi_fused_mul_silu_2", known or (), {})
    assert work.bytes == 3 * 64
    assert work.counted.bytes_doubt is None


def test_what_inductor_says_of_the_bytes_is_taken() -> None:
    assert recorded_figures('["","32","kernel_num_gb=0.25","kernel_flop=512"]') == {
        "kernel_num_gb": 0.25,
        "kernel_flop": 512,
    }
    known = arguments("[[4,8],[]]", f'["{F4}","Scalar"]', None, '["","32"]')
    assert fused_work("triton_poi_fused_add_0", known or (), {"kernel_num_gb": 0.25}).bytes == 250_000_000


@pytest.mark.parametrize("absurd", ["1e999", "9" * 400])
def test_what_inductor_cannot_mean_is_not_taken(absurd: str) -> None:
    inputs = json.dumps(["", f"kernel_num_gb={absurd}", f"kernel_flop={absurd}"])
    assert recorded_figures(inputs) == {}
    work = operator_work(
        "triton_tem_fused_mm_2", "[[4, 4], [4, 4], [4, 4]]", '["float", "float", "float"]', inputs
    )
    assert work.flops.value == 2 * 4 * 4 * 4


def test_a_template_is_a_product() -> None:
    """[4, 8] x [8, 6] with a bias before them and the result behind: 2 * 4 * 6 * 8."""
    work = work_of("triton_tem_fused_addmm_7", tensor(6), tensor(4, 8), tensor(8, 6), tensor(4, 6))
    assert (work.flops.value, work.bytes.value) == (384, 12 + 64 + 96 + 48)
    assert work.on_matrix
    other = work_of("triton_tem_fused_convolution_0", *[tensor(2, 4, 6, 8)] * 4)
    assert "a template of another operator" in str(other.flops.unavailable)


@pytest.mark.parametrize(("name", "products"), [("flex_attention", 2), ("flex_attention_backward_zeros", 5)])
def test_flex_attention_is_at_most_that_without_a_mask(name: str, products: int) -> None:
    """2 * 2 * 4 heads * 16 * 32 pairs * 8 for each product; which blocks are skipped is not recorded."""
    queries, keys, lengths = tensor(2, 4, 16, 8), tensor(2, 2, 32, 8), tensor(2, 4, 16, dtype=F4)
    work = work_of(f"triton_tem_fused_{name}_0", queries, keys, keys, lengths, queries)
    assert work.flops.value == products * 2 * 2 * 4 * 16 * 32 * 8
    assert work.flops.doubt == AT_MOST
    assert work.on_matrix
