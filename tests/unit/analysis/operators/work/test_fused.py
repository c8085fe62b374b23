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
