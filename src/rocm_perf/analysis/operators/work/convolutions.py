"""Convolutions: an output element takes one multiply-add for each weight that reaches it."""

from __future__ import annotations

from math import prod

from rocm_perf.analysis.operators.work.call import Call, Counted, NoFormulaError, Shape, element_bytes
from rocm_perf.analysis.operators.work.signature import Formula, formulas
from rocm_perf.model.torch_call import Argument

_SAME, _VALID = "same", "valid"


def _convolution(call: Call) -> Counted:
    data, weight = call.tensor("input"), call.tensor("weight")
    axes = len(weight.shape) - 2
    if len(data.shape) != axes + 2:
        raise NoFormulaError("input and weight have different numbers of axes")
    if call.is_true("transposed"):
        return _transposed(call, data, weight)
    outputs = data.shape[0] * weight.shape[0] * prod(_output_sizes(call, data.shape[2:], weight.shape[2:]))
    return _counted(outputs, weight.shape, element_bytes(data) * outputs)


def _counted(points: int, weight: Shape, output_bytes: int, gradients: int = 1) -> Counted:
    each = prod(weight[1:])
    many = f" * {gradients} gradients" if gradients != 1 else ""
    return Counted(
        flops=2 * points * each * gradients,
        formula=f"2 * {points} outputs * {each} weights{many}",
        output_bytes=output_bytes,
        on_matrix=True,
    )


def _output_sizes(call: Call, sizes: Shape, taps: Shape) -> list[int]:
    axes = len(sizes)
    steps, gaps = call.each("stride", axes), call.each("dilation", axes)
    if call.text("padding") == _SAME:
        return list(sizes)
    pads = [0] * axes if call.text("padding") == _VALID else call.each("padding", axes)
    return [
        (size + 2 * pad - gap * (tap - 1) - 1) // step + 1
        for size, pad, gap, tap, step in zip(sizes, pads, gaps, taps, steps, strict=True)
    ]


def _transposed(call: Call, data: Argument, weight: Argument) -> Counted:
    """Every input element meets every weight of its channel: the transpose of the convolution from output to input."""
    axes = len(weight.shape) - 2
    steps, pads, gaps = (call.each(name, axes) for name in ("stride", "padding", "dilation"))
    more = call.each("output_padding", axes) if call.text("output_padding") else [0] * axes
    sizes = [
        (size - 1) * step - 2 * pad + gap * (tap - 1) + extra + 1
        for size, step, pad, gap, tap, extra in zip(
            data.shape[2:], steps, pads, gaps, weight.shape[2:], more, strict=True
        )
    ]
    groups = call.integer("groups") if call.text("groups") else 1
    outputs = data.shape[0] * weight.shape[1] * groups * prod(sizes)
    return _counted(data.elements, weight.shape, element_bytes(data) * outputs)


def _backward(call: Call) -> Counted:
    """The gradients of input and weight cost what the forward pass costs, each where the mask asks for it; that of the
    bias is a sum over the gradient."""
    gradient, data, weight = (call.tensor(name) for name in ("grad_output", "input", "weight"))
    points = data.elements if call.is_true("transposed") else gradient.elements
    of_input, of_weight, of_bias = (*call.flags("output_mask"), False, False, False)[:3]
    counted = _counted(points, weight.shape, 0, gradients=of_input + of_weight)
    results = of_input * data.elements + of_weight * weight.elements + of_bias * gradient.shape[1]
    added = gradient.elements if of_bias else 0
    return Counted(
        flops=(counted.flops or 0) + added,
        formula=counted.formula + (f" + {added} for the bias" if added else ""),
        output_bytes=element_bytes(data) * results,
        on_matrix=True,
    )


def _causal_1d(call: Call) -> Counted:
    """A depthwise convolution along each sequence, as in state-space models."""
    data, weight = call.tensor("input"), call.tensor("weight", 2)
    taps = weight.shape[1]
    elements = data.elements
    return Counted(
        2 * elements * taps, f"2 * {elements} outputs * {taps} weights", element_bytes(data) * elements
    )


FORMULAS: tuple[Formula, ...] = (
    *formulas(
        _convolution,
        "aten::conv1d(input, weight, bias, stride, padding, dilation, groups)",
        "aten::conv2d(input, weight, bias, stride, padding, dilation, groups)",
        "aten::conv3d(input, weight, bias, stride, padding, dilation, groups)",
        "aten::_convolution_mode(input, weight, bias, stride, padding, dilation, groups)",
        "aten::convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)",
        "aten::convolution_overrideable(input, weight, bias, stride, padding, dilation, transposed, "
        "output_padding, groups)",
        "aten::_convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, "
        "groups, "
        "benchmark, deterministic, cudnn_enabled, allow_tf32)",
        "aten::cudnn_convolution(input, weight, padding, stride, dilation, groups, benchmark, deterministic, "
        "allow_tf32)",
        "aten::miopen_convolution(input, weight, bias, padding, stride, dilation, groups, benchmark, "
        "deterministic)",
        "aten::miopen_depthwise_convolution(input, weight, bias, padding, stride, dilation, groups, "
        "benchmark, deterministic)",
        "aten::cudnn_convolution_relu(input, weight, bias, stride, padding, dilation, groups)",
        "aten::miopen_convolution_relu(input, weight, bias, stride, padding, dilation, groups)",
        "aten::cudnn_convolution_add_relu(input, weight, z, alpha, bias, stride, padding, dilation, groups)",
        "aten::miopen_convolution_add_relu(input, weight, z, alpha, bias, stride, padding, dilation, groups)",
        "aten::_conv_depthwise2d(input, weight, kernel_size, bias, stride, padding, dilation)",
        "aten::conv_depthwise3d(input, weight, kernel_size, bias, stride, padding, dilation)",
        "aten::slow_conv_dilated2d(input, weight, kernel_size, bias, stride, padding, dilation)",
        "aten::slow_conv_dilated3d(input, weight, kernel_size, bias, stride, padding, dilation)",
    ),
    *formulas(
        lambda call: _transposed(call, call.tensor("input"), call.tensor("weight")),
        "aten::conv_transpose1d(input, weight, bias, stride, padding, output_padding, groups, dilation)",
        "aten::conv_transpose2d(input, weight, bias, stride, padding, output_padding, groups, dilation)",
        "aten::conv_transpose3d(input, weight, bias, stride, padding, output_padding, groups, dilation)",
        "aten::cudnn_convolution_transpose(input, weight, padding, output_padding, stride, dilation, groups, "
        "benchmark, deterministic, allow_tf32)",
        "aten::miopen_convolution_transpose(input, weight, bias, padding, output_padding, stride, dilation, "
        "groups, benchmark, deterministic)",
    ),
    *formulas(
        _backward,
        "aten::convolution_backward(grad_output, input, weight, bias_sizes, stride, padding, dilation, "
        "transposed, "
        "output_padding, groups, output_mask)",
        "aten::convolution_backward_overrideable(grad_output, input, weight, stride, padding, dilation, "
        "transposed, "
        "output_padding, groups, output_mask)",
    ),
    *formulas(
        _causal_1d,
        "DaoAILab::_causal_conv1d_fwd_cpp(input, weight, bias, ...)",
        "sgl_kernel::causal_conv1d_fwd(input&, weight, bias, ...)",
        "sgl_kernel::causal_conv1d_update(input&, state~, weight, bias, ...)",
        "vllm::causal_conv1d*(input, weight, bias, ...)",
    ),
)
