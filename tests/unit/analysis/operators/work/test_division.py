"""The work of a call among the kernels that it launched."""

from __future__ import annotations

from collections import Counter

from rocm_perf.analysis.operators.work.division import Share, asked_gradient, share
from rocm_perf.model.torch_call import arguments

ROWS = arguments("[[4, 8], [8]]", '["c10::BFloat16", "c10::BFloat16"]') or ()


def part(operator: str, kernel: str, *launched: str, on_matrix: bool = False) -> Share:
    return share(operator, on_matrix, kernel, Counter(launched), ROWS)


def test_one_kernel_does_all_and_launches_of_one_kernel_share_evenly() -> None:
    assert part("aten::add", "add", "add") == Share()
    assert part("aten::_fused_adam_", "k", "k", "k", "k", "k").bytes == 0.25


def test_of_a_product_the_kernel_that_multiplies_does_the_work() -> None:
    launched = ("Cijk_Alik_Bljk", "splitKreduce_kernel", "void at::native::elementwise_kernel<128>()")
    assert part("aten::addmm", launched[0], *launched, on_matrix=True).flops == 1
    helper = part("aten::addmm", launched[1], *launched, on_matrix=True)
    assert helper.flops is None
    assert "prepares or finishes the work of aten::addmm" in helper.reason
    two = part("aten::mm", "one", "one", "other", on_matrix=True)
    assert "launched 2 kernels" in two.reason


def test_gradients_of_a_convolution_take_half_each() -> None:
    half = part("aten::convolution_backward", "sgemm_nt", "sgemm_nt", "sgemm_tn", on_matrix=True)
    assert (half.flops, half.bytes) == (0.5, None)


def test_a_kernel_named_after_a_gradient_has_the_work_of_that_gradient() -> None:
    inputs = '["", "[1, 1]", "[True, True, False]"]'
    assert asked_gradient("aten::convolution_backward", "dgrad_engine", inputs) == (
        '["", "[1, 1]", "[True, False, False]"]'
    )
    weight = asked_gradient("aten::convolution_backward", "kernel_batched_gemm_xdlops_bwd_weight", inputs)
    assert weight == '["", "[1, 1]", "[False, True, False]"]'
    assert asked_gradient("aten::convolution_backward", "sgemm", inputs) == inputs
    assert asked_gradient("aten::conv2d", "dgrad", inputs) == inputs


def test_passes_of_a_norm_have_bytes_of_their_own() -> None:
    """The largest tensor has 64 B: one pass reads it, the other reads and writes it."""
    launched = ("batch_norm_collect_statistics_kernel", "batch_norm_transform_input_kernel")
    first, second = (part("aten::native_batch_norm", kernel, *launched) for kernel in launched)
    assert (first.own_bytes, second.own_bytes) == (64, 128)
    assert (first.flops, second.flops) == (None, None)
