"""Normalisations, forward and backward, with what is fused to them.

Per element: layer, group, instance and batch norm (training) add, subtract the mean, square, add, and scale: 5; weight
and bias one more each. RMS norm squares, adds and scales: 3. The backward passes count as docs/operators.md derives.
"""

from __future__ import annotations

from math import prod

from rocm_perf.analysis.operators.work.call import Call, Count, Counted, element_bytes
from rocm_perf.analysis.operators.work.signature import Formula, formulas

_MEAN_AND_VARIANCE = 5
_RMS = 3
_BY_STATISTICS = 2  # subtract the mean, scale
_QUANTISE = 3  # absolute value, maximum, scale


def _forward(base: int, steps: str, *, more: int = 0, results: int = 1) -> Count:
    """`more`: operations of what is fused to it; `results`: tensors as large as the input that are written."""

    def count(call: Call) -> Counted:
        data = call.tensor("input")
        each = base + more + bool(call.given("weight")) + bool(call.given("bias"))
        text = f"{each} * {data.elements} elements: {steps}{', scale, shift' if call.given('bias') else ', scale'}"
        return Counted(each * data.elements, text, results * element_bytes(data) * data.elements)

    return count


def _batch(call: Call) -> Counted:
    if not call.text("training") or call.is_true("training"):
        return _forward(_MEAN_AND_VARIANCE, "mean, variance, normalise")(call)
    return _forward(_BY_STATISTICS, "normalise by recorded statistics")(call)


def _backward(base: int, without_weight: int) -> Count:
    """The gradient of the input takes `base`; of the weight 2 more (multiply, add), of the bias 1 (add)."""

    def count(call: Call) -> Counted:
        data = call.tensor("input")
        mask = call.flags("output_mask") or [True, bool(call.given("weight")), bool(call.given("weight"))]
        of_input, of_weight, of_bias = (*mask, False, False)[:3]
        first = base if call.given("weight") else without_weight
        if call.text("train") == "False":
            first = 1 + bool(call.given("weight"))  # by recorded statistics: scale, and the weight
        each = first * of_input + 2 * of_weight + of_bias
        parameters = call.tensor("weight").elements * (of_weight + of_bias) if call.given("weight") else 0
        return Counted(
            flops=each * data.elements,
            formula=f"{each} * {data.elements} elements: gradients of input ({first}), weight (2), bias (1)",
            output_bytes=element_bytes(data) * (of_input * data.elements + parameters),
        )

    return count


def _fused_add_rms(call: Call) -> Counted:
    data = call.tensor("input")
    each = _RMS + 1 + bool(call.given("weight"))
    text = f"{each} * {data.elements} elements: add, square, sum, normalise, scale"
    return Counted(each * data.elements, text, 2 * element_bytes(data) * data.elements)


def _quantised(more: int) -> Count:
    """An RMS norm whose result is quantised to one byte; `more` operations beside."""

    def count(call: Call) -> Counted:
        data = call.tensor("input")
        each = _RMS + 1 + _QUANTISE + more
        kept = element_bytes(data) * data.elements if more else 0  # the sum, which is the next residual
        return Counted(
            each * data.elements,
            f"{each} * {data.elements} elements: normalise, scale, quantise",
            data.elements + kept,
        )

    return count


def _qk_rope(call: Call) -> Counted:
    """RMS norm of the queries and keys, and their rotation; the values pass through."""
    packed, depth = call.tensor("input"), call.integer("head_dim")
    heads = call.integer("heads_q") + call.integer("heads_k")
    elements = prod(packed.shape[:-1]) * heads * depth
    moved = 2 * element_bytes(packed) * elements
    return Counted(
        flops=(_RMS + 1 + 3) * elements,
        formula=f"7 * {elements} elements of queries and keys: square, sum, normalise, scale, rotate (3)",
        touched_bytes=moved,
        touched="queries and keys read and written",
    )


_LAYER = _forward(_MEAN_AND_VARIANCE, "mean, variance, normalise")
_RMS_NORM = _forward(_RMS, "square, sum, normalise")
_ADD_INTO = "out!, input, residual_in, residual_out!, weight"

FORMULAS: tuple[Formula, ...] = (
    *formulas(
        _LAYER,
        "aten::layer_norm(input, normalized_shape, weight, bias, eps, cudnn_enable)",
        "aten::native_layer_norm(input, normalized_shape, weight, bias, eps)",
        "aten::group_norm(input, num_groups, weight, bias, eps, cudnn_enabled)",
        "aten::native_group_norm(input, weight, bias, N, C, HxW, group, eps)",
        "aten::instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, "
        "cudnn_enabled)",
        "aiter::_groupnorm_run(input, num_groups, weight, bias, eps)",
        "aiter::layer_norm(input, weight, bias, eps, x_bias)",
        "aiter::layernorm2d_fwd(input, weight, bias, eps, x_bias)",
        "apex::*layer_norm*(input, weight, bias, ...)",
    ),
    *formulas(
        _forward(_MEAN_AND_VARIANCE, "add, mean, variance, normalise", more=1),
        f"aiter::layernorm2d_fwd_with_add({_ADD_INTO}, bias, eps, x_bias)",
    ),
    *formulas(
        _batch,
        "aten::batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, "
        "cudnn_enabled)",
        "aten::native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)",
        "aten::_native_batch_norm_legit(input, weight, bias, running_mean, running_var, training, momentum, "
        "eps)",
        "aten::_native_batch_norm_legit(input, weight, bias, training, momentum, eps)",
        "aten::_batch_norm_with_update(input, weight, bias, running_mean, running_var, momentum, eps)",
        "aten::miopen_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)",
        "aten::cudnn_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)",
        "aten::_batch_norm_impl_index(input, weight, bias, running_mean, running_var, training, momentum, "
        "eps, cudnn_enabled)",
    ),
    *formulas(
        _RMS_NORM,
        "aten::rms_norm(input, normalized_shape, weight, eps)",
        "aten::_fused_rms_norm(input, normalized_shape, weight, eps)",
        "_C::rms_norm(out!, input, weight, eps)",
        "sgl_kernel::rmsnorm(out!, input, weight, eps, enable_pdl)",
        "sgl_kernel::gemma_rmsnorm(out!, input, weight, eps, enable_pdl)",
        "aiter::rmsnorm(out!, input, weight, eps, gemma_norm)",
        "aiter::rms_norm(input, weight, eps, ...)",
        "aiter::rms_norm_cu(out!, input, weight, eps)",
        "aiter::rms_norm_opus(out!, input, weight, eps, ...)",
        "aiter::rmsnorm2d_fwd(input, weight, eps, ...)",
        "aiter::rmsnorm2d_fwd_ck(input, weight, eps, ...)",
        "vllm::rocm_aiter_rms_norm(input, weight, eps)",
        "vllm::rms_norm(input, weight, eps, ...)",
        "LigerRMSNormFunction(input, weight, ...)",
        "flashinfer::rmsnorm(out!, input, weight, eps, enable_pdl)",
    ),
    *formulas(
        _fused_add_rms,
        "*::*fused_add_rms*norm(input&, residual&, weight, eps, ...)",
        "aiter::fused_add_rms_norm_cu(input&, residual&, weight, eps)",
        f"aiter::add_rmsnorm({_ADD_INTO}, eps, ...)",
        f"aiter::rmsnorm2d_fwd_with_add*({_ADD_INTO}, eps, ...)",
        "vllm::rocm_aiter_rmsnorm2d_fwd_with_add(input, residual, weight, eps)",
        "vllm::rocm_aiter_triton_add_rmsnorm_pad(input, weight, eps, residual, multiple)",
    ),
    *formulas(
        _quantised(0),
        "_C::rms_norm_static_fp8_quant(out!, input, weight, scale, eps)",
        "_C::rms_norm_dynamic_per_token_quant(out!, input, weight, scale!, eps, scale_ub, residual&)",
        "_C::rms_norm_per_block_quant(out!, input, weight, scale!, eps, scale_ub, residual&, ...)",
        "aiter::rmsnorm_quant(out!, input, scale!, weight, eps, ...)",
        "aiter::rmsnorm2d_fwd_with_dynamicquant*(out!, input, scale!, weight, eps, ...)",
        "vllm::rocm_aiter_rmsnorm_fused_dynamic_quant(input, weight, eps, ...)",
        "vllm::rocm_aiter_rmsnorm_fp8_group_quant(input, weight, eps, group_size)",
    ),
    *formulas(
        _quantised(1),
        "_C::fused_add_rms_norm_static_fp8_quant(out!, input, residual&, weight, scale, eps)",
        "aiter::add_rmsnorm_quant(out!, input, residual_in, residual_out!, scale!, weight, eps, ...)",
        "vllm::rocm_aiter_rmsnorm_with_add_fp8_group_quant(input, residual, weight, eps, group_size)",
        "vllm::rocm_aiter_rmsnorm_fused_add_dynamic_quant(input, residual, weight, eps, ...)",
    ),
    *formulas(
        _qk_rope,
        "*::fused_qk_norm_rope(input~, heads_q, heads_k, heads_v, head_dim, eps, q_weight, k_weight, "
        "cos_sin_cache~, ...)",
    ),
    *formulas(
        _backward(10, 9),
        "aten::native_layer_norm_backward(grad_out, input, normalized_shape, mean, rstd, weight, bias, "
        "output_mask)",
        "aten::native_group_norm_backward(grad_out, input, mean, rstd, weight, N, C, HxW, group, output_mask)",
        "aten::native_batch_norm_backward(grad_out, input, weight, running_mean, running_var, save_mean, "
        "save_invstd, train, eps, output_mask)",
        "aten::batch_norm_backward(grad_out, input, weight, running_mean, running_var, save_mean, save_var, "
        "update, eps, output_mask, reserve)",
        "aten::cudnn_batch_norm_backward(input, grad_output, weight, running_mean, running_var, save_mean, "
        "save_var, eps, reserve~)",
        "aten::miopen_batch_norm_backward(input, grad_output, weight, running_mean, running_var, save_mean, "
        "save_var, eps)",
    ),
    *formulas(
        _backward(7, 6),
        "aten::_fused_rms_norm_backward(grad_out, input, normalized_shape, rstd, weight, output_mask)",
    ),
)
