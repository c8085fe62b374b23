"""Recurrent layers: every weight matrix multiplies every time step of every sequence once.

Gates, activations and biases are not counted. Weights and states come as lists, and sometimes again as one flat buffer:
they count once, as elements of the input's type.
"""

from __future__ import annotations

from math import prod

from rocm_perf.analysis.operators.work.call import Call, Counted, NoFormulaError, element_bytes
from rocm_perf.analysis.operators.work.signature import Formula, formulas

_TOUCHED = "weights and states once, of the input's type"
_WEIGHTS_WANTED = 3  # the place of the weights in output_mask


def _forward(call: Call) -> Counted:
    """The result has a row of hidden values for each time step, and the states of the end are returned beside it."""
    data = call.tensor("input")
    steps, matrices, weights = _sizes(call)
    states, width = _states(call)
    return Counted(
        flops=2 * steps * matrices,
        formula=f"2 * {steps} time steps * {matrices} weights",
        output_bytes=element_bytes(data) * (steps * width + states),
        touched_bytes=element_bytes(data) * (weights + states),
        touched=_TOUCHED,
        on_matrix=True,
        dtype=data.dtype,
    )


def _backward(call: Call) -> Counted:
    """The same products again for the gradients of inputs and states, and once more for those of the weights."""
    data = call.tensor("input")
    steps, matrices, weights = _sizes(call)
    states, _ = _states(call)
    wanted = call.flags("output_mask")
    of_weights = len(wanted) <= _WEIGHTS_WANTED or wanted[_WEIGHTS_WANTED]
    times = 2 if of_weights else 1
    gradients = data.elements + states + (weights if of_weights else 0)
    return Counted(
        flops=times * 2 * steps * matrices,
        formula=f"{times} * 2 * {steps} time steps * {matrices} weights",
        output_bytes=element_bytes(data) * gradients,
        touched_bytes=element_bytes(data) * (weights + states),
        touched=_TOUCHED,
        on_matrix=True,
        dtype=data.dtype,
    )


def _sizes(call: Call) -> tuple[int, int, int]:
    """Time steps of all sequences, elements of the weight matrices, and elements of all weights."""
    shapes = call.tensors("weight")
    if any(len(shape) > 2 for shape in shapes) or not any(len(shape) == 2 for shape in shapes):
        raise NoFormulaError("weight is not a list of matrices")
    *rows, _ = call.tensor("input").shape
    matrices = sum(prod(shape) for shape in shapes if len(shape) == 2)
    return prod(rows), matrices, sum(map(prod, shapes))


def _states(call: Call) -> tuple[int, int]:
    """Elements of the states, and the hidden values of one time step, in both directions."""
    given = [tensor.shape for name in ("hx", "cx") if (tensor := call.given(name))]
    shapes = given or list(call.tensors("hx"))
    if not shapes or not shapes[0]:
        raise NoFormulaError("hx is not a state")
    directions = 2 if call.is_true("bidirectional") else 1
    return sum(map(prod, shapes)), directions * shapes[0][-1]


_OF_LAYERS = "has_biases, num_layers, dropout, train, bidirectional"
_CUDNN = "input, weight~, weight_stride0, weight_buf~, hx~, cx~"
_MIOPEN = "input, weight~, weight_stride0, hx~, cx~"
_AFTER = "num_layers, batch_first, dropout, train, bidirectional, batch_sizes, dropout_state~"
_GRADIENTS = "output, grad_output, grad_hy, grad_cy, mode, hidden_size"

FORMULAS: tuple[Formula, ...] = (
    *(
        one
        for name in ("lstm", "gru", "rnn_tanh", "rnn_relu")
        for one in formulas(
            _forward,
            f"aten::{name}(input, hx~, weight~, {_OF_LAYERS}, batch_first)",
            f"aten::{name}(input, batch_sizes~, hx~, weight~, {_OF_LAYERS})",
        )
    ),
    *formulas(
        _forward,
        f"aten::_cudnn_rnn({_CUDNN}, mode, hidden_size, proj_size, {_AFTER})",
        f"aten::miopen_rnn({_MIOPEN}, mode, hidden_size, {_AFTER})",
    ),
    *formulas(
        _backward,
        f"aten::_cudnn_rnn_backward({_CUDNN}, {_GRADIENTS}, proj_size, {_AFTER}, reserve, output_mask)",
        f"aten::miopen_rnn_backward({_CUDNN}, {_GRADIENTS}, {_AFTER}, reserve, output_mask)",
    ),
)
