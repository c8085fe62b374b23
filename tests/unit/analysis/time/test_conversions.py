"""Tensors that convolutions have converted."""

from __future__ import annotations

from rocm_perf.analysis.time.conversions import conversion_findings, is_conversion
from rocm_perf.analysis.verdict.kernels.findings import kernel_findings
from tests.unit.analysis.documents import document
from tests.unit.analysis.traces import kernel, trace

CONVOLUTION = "igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt256x64x8_wt64x16x4"
NHWC = "void cudnn::ops::nchwToNhwcKernel<float, float, float, true>(cudnn::ops::nchw2nhwc_params_t<float>, float*)"


def test_what_a_library_of_convolutions_converts() -> None:
    assert is_conversion("batched_transpose_16x32_half.kd")
    assert is_conversion(NHWC)
    assert is_conversion("SubTensorOpWithCastTensor1d")
    assert not is_conversion("transpose_naive(float*, float*)")
    assert not is_conversion("__amd_rocclr_copyBuffer")
    assert not is_conversion(CONVOLUTION)


def test_conversions_are_told_together_and_never_again_one_by_one() -> None:
    ran = [
        kernel("batched_transpose_16x32_half", 0, 300),
        kernel(CONVOLUTION, 300, 900),
        kernel("SubTensorOpWithScalar1d", 900, 1000),
    ]
    told = document(trace(dispatches=ran))
    (finding,) = conversion_findings(told)
    assert finding.title == (
        "40.0 % of the kernel time converts the layout or type of tensors for convolutions"
    )
    assert "NHWC from the input on" in finding.remedy
    assert "torch.compile" not in finding.remedy
    assert finding.time_at_stake_ns == 400
    assert [one.id for one in kernel_findings(told) if "igemm" not in one.id] == ["layout-conversions"]


def test_a_few_are_not_worth_a_word() -> None:
    ran = [kernel("batched_transpose_16x32_half", 0, 30), kernel(CONVOLUTION, 30, 900)]
    assert conversion_findings(document(trace(dispatches=ran))) == []


def test_collectives_do_not_hide_them() -> None:
    """They last until the slowest rank has come."""
    ran = [
        kernel("batched_transpose_16x32_half", 0, 30),
        kernel(CONVOLUTION, 30, 200),
        kernel("ncclDevKernel_Generic", 200, 2000),
    ]
    assert conversion_findings(document(trace(dispatches=ran)))[0].title.startswith(
        "1.5 % of the kernel time"
    )
