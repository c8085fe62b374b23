"""Operators that combine tensors element by element: a number of operations for each element of the result."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from rocm_perf.analysis.operators.promotion import floating, promoted, type_bytes
from rocm_perf.analysis.operators.work.call import (
    Call,
    Count,
    Counted,
    NoFormulaError,
    broadcast,
    element_bytes,
)
from rocm_perf.analysis.operators.work.signature import Formula, formula, formulas

# By the number of parameters in their schemas (native_functions.yaml); a function such as `exp` is one operation.
ONE = {
    1: "relu relu6 neg abs square floor ceil round trunc sign sgn frac conj_physical hardswish "
    "hardsigmoid bitwise_not",
    2: "mul maximum minimum fmax fmin pow clamp_min clamp_max leaky_relu remainder fmod floor_divide "
    "bitwise_and bitwise_or "
    "bitwise_xor bitwise_left_shift bitwise_right_shift __and__ __or__ __xor__ __lshift__ __rshift__ copysign prelu "
    "softshrink hardshrink nextafter gcd heaviside",
    3: "add sub rsub threshold clamp hardtanh softplus masked_fill",
    4: "elu nan_to_num",
}
ONE_FLOATING = {
    1: "sqrt rsqrt exp exp2 expm1 log log2 log10 log1p tanh sigmoid silu mish sin cos tan asin acos atan "
    "sinh cosh reciprocal "
    "erf erfc erfinv lgamma digamma log_sigmoid",
    2: "div gelu logit atan2 true_divide special_xlog1py xlogy hypot celu",
}
TWO = {
    2: "silu_backward mish_backward tanh_backward sigmoid_backward hardswish_backward hardsigmoid_backward",
    3: "lerp gelu_backward threshold_backward log_sigmoid_backward",
    4: "leaky_relu_backward addcmul addcdiv hardtanh_backward softplus_backward",
}
TRUTH = {
    1: "isnan isinf isfinite logical_not signbit",
    2: "eq ne lt le gt ge logical_and logical_or logical_xor",
    5: "isclose",
}


def elementwise(operations: int, output: Callable[[str], str] = str) -> Count:
    """`output` is the type of the result, given the type that the inputs are promoted to."""

    def count(call: Call) -> Counted:
        tensors = [argument for argument in call.arguments.values() if argument.kind == "tensor"]
        common = promoted(tensors)
        if common is None:
            raise NoFormulaError("it has no tensor")
        elements = prod(broadcast(*(tensor.shape for tensor in tensors)))
        text = f"{operations} * {elements} elements"
        return Counted(operations * elements, text, type_bytes(output(common)) * elements)

    return count


_DEFAULT_INTEGER, _DEFAULT_FLOAT = (
    "int64",
    "float32",
)  # of numbers (torch.get_default_dtype, unless it was set)


def _truth(_: str) -> str:
    return "bool"


def _where(call: Call) -> Counted:
    """A choice computes nothing. A number may stand for either tensor; without both, the places are asked for."""
    condition = call.tensor("condition")
    if "other" not in call.arguments:
        raise NoFormulaError("it returns the places where its condition is true")
    chosen = [tensor for tensor in map(call.given, ("self", "other")) if tensor is not None]
    elements = prod(broadcast(condition.shape, *(tensor.shape for tensor in chosen)))
    numbers = (
        _DEFAULT_INTEGER
        if all(call.text(name).lstrip("-").isdigit() for name in ("self", "other"))
        else _DEFAULT_FLOAT
    )
    return Counted(0, "0: chooses", type_bytes(promoted(chosen) or numbers) * elements)


def _quotient(call: Call) -> Counted:
    """A quotient that is rounded keeps the type of integers."""
    return elementwise(1, str if call.text("rounding_mode") else floating)(call)


def _dropout(call: Call) -> Counted:
    """The result, and the mask, which is a byte for each element."""
    data = call.tensor("input")
    return Counted(
        2 * data.elements,
        f"2 * {data.elements} elements: mask, scale",
        (element_bytes(data) + 1) * data.elements,
    )


def _by_count(names: dict[int, str], count: Count) -> tuple[Formula, ...]:
    parameters = ("self", "other", "third", "fourth", "fifth")
    return tuple(
        formula(f"aten::{name}({', '.join(parameters[:number])})", count)
        for number, listed in names.items()
        for name in listed.split()
    )


FORMULAS: tuple[Formula, ...] = (
    *_by_count(ONE, elementwise(1)),
    *_by_count(ONE_FLOATING, elementwise(1, floating)),
    *_by_count(TWO, elementwise(2)),
    *_by_count(TRUTH, elementwise(1, _truth)),
    *formulas(_where, "aten::where(condition, self, other)"),
    *formulas(_quotient, "aten::div(self, other, rounding_mode)"),
    *formulas(_dropout, "aten::native_dropout(input, p, train)", "aten::_fused_dropout(input, p, generator)"),
    *formulas(
        elementwise(2),
        "aten::native_dropout_backward(grad, mask, scale)",
        "aten::_masked_scale(grad, mask, scale)",
    ),
    *formulas(
        elementwise(1),
        "aiter::add(input, other)",
        "aiter::sub(input, other)",
        "aiter::mul(input, other)",
        "aiter::div(input, other)",
        "torch::distributed::reducer::mul_out(self)",
    ),
)
