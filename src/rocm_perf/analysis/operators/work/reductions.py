"""Reductions, softmax and losses: each element of the input takes a number of operations."""

from __future__ import annotations

from math import prod

from rocm_perf.analysis.operators.work.call import Call, Count, Counted, NoFormulaError, Shape, element_bytes
from rocm_perf.analysis.operators.work.elementwise import elementwise
from rocm_perf.analysis.operators.work.signature import Formula, formula, formulas
from rocm_perf.model.torch_call import Argument

_INDEX_BYTES = 8  # torch counts in int64
_SUMS = ("sum", "mean", "prod")
_INTEGERS = ("bool", "uint8", "int8", "int16", "int32")  # which sum to int64


def per_element(operations: int, steps: str, name: str = "self", *, results: int = 1) -> Count:
    """So many operations for each element, and a result as large, or several."""

    def count(call: Call) -> Counted:
        data = call.tensor(name)
        text = f"{operations} * {data.elements} elements: {steps}"
        return Counted(operations * data.elements, text, results * element_bytes(data) * data.elements)

    return count


def reduced(shape: Shape, axes: list[int]) -> int:
    """The elements that are left of a shape without some axes; without all where none is named."""
    if not axes:
        return 1
    kept = [size for place, size in enumerate(shape) if place not in axes and place - len(shape) not in axes]
    return prod(kept)


def _reduce(operations: int, steps: str, *, results: int = 1) -> Count:
    """`results`: how many values are returned of each group of elements."""

    def count(call: Call) -> Counted:
        data = call.tensor("self")
        width = results * (call.asked_bytes("dtype") or _sum_bytes(data, steps))
        text = f"{operations} * {data.elements} elements: {steps}"
        return Counted(operations * data.elements, text, width * reduced(data.shape, call.integers("dim")))

    return count


def _cumulated(call: Call) -> Counted:
    """A result for each element, of the type that a sum has."""
    data = call.tensor("self")
    width = call.asked_bytes("dtype") or _sum_bytes(data, "sum")
    return Counted(data.elements, f"1 * {data.elements} elements: add", width * data.elements)


def _of_two(call: Call) -> Counted:
    """The larger or smaller of each two elements; of one tensor, or along an axis, the name means a reduction."""
    call.tensor("self")
    call.tensor("other")
    return elementwise(1)(call)


def _linalg_norm(call: Call) -> Counted:
    """The norm of vectors; with an order, that of a matrix is another algorithm (the singular values)."""
    axes = len(call.integers("dim")) or len(call.tensor("self").shape)
    if call.text("ord") and axes > 1:
        raise NoFormulaError("it is the norm of matrices")
    return _reduce(2, "norm")(call)


def _sum_bytes(data: Argument, steps: str) -> int:
    return _INDEX_BYTES if data.dtype in _INTEGERS and steps in ("sum", "prod") else element_bytes(data)


def _indexed(values: bool) -> Count:
    """Extremes along one axis: where they lie, and their `values`."""

    def count(call: Call) -> Counted:
        data = call.tensor("self")
        left = reduced(data.shape, call.integers("dim"))
        width = _INDEX_BYTES + (element_bytes(data) if values else 0)
        return Counted(data.elements, f"1 * {data.elements} elements: compare", width * left)

    return count


def _truth(call: Call) -> Counted:
    data = call.tensor("self")
    return Counted(
        data.elements, f"1 * {data.elements} elements: test", reduced(data.shape, call.integers("dim"))
    )


def _softmax(call: Call) -> Counted:
    """The third argument says whether halves become floats, or which type the result has."""
    data = call.tensor("self")
    width = 4 if call.is_true("half_to_float") else call.asked_bytes("half_to_float") or element_bytes(data)
    text = f"5 * {data.elements} elements: maximum, subtract, exponential, sum, divide"
    return Counted(5 * data.elements, text, width * data.elements)


def _sorted(call: Call) -> Counted:
    """Values and their places; comparisons are not counted."""
    data = call.tensor("self")
    axes = call.integers("dim") or [-1]
    largest = call.integers("k")
    kept = reduced(data.shape, axes) * largest[0] if largest else data.elements
    return Counted(0, "0: comparisons are not counted", kept * (element_bytes(data) + _INDEX_BYTES))


def _loss(operations: int, steps: str) -> Count:
    """`reduction=0` keeps the loss of each element."""

    def count(call: Call) -> Counted:
        data = call.tensor("self")
        kept = data.elements if call.text("reduction") == "0" else 1
        text = f"{operations} * {data.elements} elements: {steps}"
        return Counted(operations * data.elements, text, element_bytes(data) * kept)

    return count


def _nll(call: Call) -> Counted:
    """Of each row the element of its class is read."""
    data, target = call.tensor("self"), call.tensor("target")
    rows = target.elements
    kept = rows if call.text("reduction") == "0" else 1
    return Counted(
        flops=rows,
        formula=f"1 * {rows} rows: add",
        output_bytes=element_bytes(data) * (kept + 1),
        touched_bytes=rows * element_bytes(data),
        touched="one element of each row",
    )


def _nll_backward(call: Call) -> Counted:
    data = call.tensor("self")
    return Counted(0, "0: fills and sets", element_bytes(data) * data.elements)


FORMULAS: tuple[Formula, ...] = (
    *formulas(
        _reduce(2, "norm"),
        "aten::norm(self, p, dim, keepdim, dtype)",
        "aten::norm(self, p, dtype)",
        "aten::linalg_vector_norm(self, ord, dim, keepdim, dtype)",
    ),
    *formulas(_linalg_norm, "aten::linalg_norm(self, ord, dim, keepdim, dtype)"),
    *formulas(
        _reduce(4, "variance"),
        "aten::var(self, dim, correction, keepdim)",
        "aten::std(self, dim, correction, keepdim)",
        "aten::var(self, unbiased)",
        "aten::std(self, unbiased)",
    ),
    *formulas(
        _reduce(5, "mean, variance", results=2),
        "aten::var_mean(self, dim, correction, keepdim)",
        "aten::std_mean(self, dim, correction, keepdim)",
        "aten::var_mean(self, unbiased)",
        "aten::std_mean(self, unbiased)",
    ),
    *(
        one
        for name in _SUMS
        for one in formulas(
            _reduce(1, name), f"aten::{name}(self, dim, keepdim, dtype)", f"aten::{name}(self, dtype)"
        )
    ),
    *formulas(_reduce(1, "sum"), "aten::nansum(self, dim, keepdim, dtype)"),
    *formulas(_reduce(1, "compare"), "aten::amax(self, dim, keepdim)", "aten::amin(self, dim, keepdim)"),
    *formulas(_reduce(3, "exponential, sum, logarithm"), "aten::logsumexp(self, dim, keepdim)"),
    *formulas(
        _of_two,
        "aten::max(self, other)",
        "aten::min(self, other)",
    ),
    *formulas(_reduce(1, "compare"), "aten::max(self)", "aten::min(self)", "aten::median(self)"),
    *formulas(
        _indexed(values=True),
        "aten::max(self, dim, keepdim)",
        "aten::min(self, dim, keepdim)",
        "aten::median(self, dim, keepdim)",
    ),
    *formulas(_indexed(values=False), "aten::argmax(self, dim, keepdim)", "aten::argmin(self, dim, keepdim)"),
    *formulas(_truth, "aten::any(self, dim, keepdim)", "aten::all(self, dim, keepdim)"),
    *formulas(_cumulated, "aten::cumsum(self, dim, dtype)", "aten::cumprod(self, dim, dtype)"),
    *formulas(per_element(1, "add"), "aten::_logcumsumexp(self, dim)"),
    *formulas(
        _softmax,
        "aten::softmax(self, dim, half_to_float)",
        "aten::_softmax(self, dim, half_to_float)",
        "aten::log_softmax(self, dim, half_to_float)",
        "aten::_log_softmax(self, dim, half_to_float)",
        "aten::_safe_softmax(self, dim, half_to_float)",
    ),
    *formulas(
        per_element(4, "multiply, sum, subtract, multiply", "grad_output"),
        "aten::_softmax_backward_data(grad_output, output, dim, input_dtype)",
        "aten::_log_softmax_backward_data(grad_output, output, dim, input_dtype)",
    ),
    *formulas(
        _sorted,
        "aten::topk(self, k, dim, largest, sorted)",
        "aten::sort(self, dim, descending)",
        "aten::sort(self, stable, dim, descending)",
    ),
    *formulas(
        _loss(3, "subtract, square, add"),
        "aten::mse_loss(self, target, reduction)",
        "aten::smooth_l1_loss(self, target, reduction, beta)",
    ),
    *formulas(_loss(3, "subtract, absolute value, add"), "aten::l1_loss(self, target, reduction)"),
    *formulas(
        _loss(6, "two logarithms, multiply, add"),
        "aten::binary_cross_entropy(self, target, weight, reduction)",
    ),
    *formulas(
        _nll,
        "aten::nll_loss_forward(self~, target, weight, reduction, ignore_index)",
        "aten::nll_loss2d_forward(self~, target, weight, reduction, ignore_index)",
    ),
    *formulas(
        _nll_backward,
        "aten::nll_loss_backward(grad, self~, target, weight, reduction, ignore_index, total_weight)",
        "aten::nll_loss2d_backward(grad, self~, target, weight, reduction, ignore_index, total_weight)",
    ),
    *formulas(
        per_element(2, "subtract, multiply"),
        "aten::mse_loss_backward(grad, self, target, reduction)",
        "aten::smooth_l1_loss_backward(grad, self, target, reduction, beta)",
    ),
    formula(
        "aten::binary_cross_entropy_with_logits(self, target, weight, pos_weight, reduction)",
        _loss(6, "logistic loss"),
    ),
)
