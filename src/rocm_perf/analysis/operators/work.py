"""FLOPs and bytes of one torch operator, from the recorded shapes and types alone.

Analytical: every tensor is read or written once, and an operation counts once however the kernel does it. A tensor
given as `out=` is only written; one that is changed in place is read and written. What has no formula here says so. A
multiply-add is two FLOPs; attention counts the two products of the forward pass and the five of the backward one
(FlashAttention, Dao et al. 2022, recomputes the scores).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod

import msgspec

from rocm_perf.analysis.operators.promotion import floating, promoted, type_bytes
from rocm_perf.model.quantity import Quantity, unavailable
from rocm_perf.model.torch_call import Argument, arguments

BASIS = "analytical from shapes"
_BYTES = f"each tensor read or written once ({BASIS})"

Shape = tuple[int, ...]

# Floating-point types as torch numbers them in recorded arguments (c10/core/ScalarType.h), and their bytes.
_TYPE_BYTES = {"5": 2, "6": 4, "7": 8, "15": 2, "23": 1, "24": 1, "25": 1, "26": 1}


class Work(msgspec.Struct, frozen=True):
    """What one call has to compute and to move at least."""

    flops: Quantity
    bytes: Quantity


@dataclass(frozen=True)
class _Counted:
    flops: int
    formula: str
    output_elements: int
    output_of: int = 0  # the argument whose type the output has
    output_bytes: int | None = None  # where the type is another


@dataclass(frozen=True)
class _Formula:
    """How an operator's work is counted."""

    count: Callable[[tuple[Argument, ...]], _Counted]
    arguments: int | None = None  # of its schema; tensors behind them are given as `out=`
    in_place: bool = False  # it writes its first argument


class _NoFormulaError(ValueError):
    """The recorded arguments are not those that the formula needs."""


@lru_cache(maxsize=65_536)
def operator_work(name: str, shapes: str | None, dtypes: str | None, inputs: str | None = None) -> Work:
    """FLOPs and bytes of a call, or why they are not known."""
    known = arguments(shapes, dtypes, None, inputs)
    if known is None:
        return _unknown("shapes were not recorded (torch.profiler: record_shapes=True)")
    formula = _formula(name)
    if formula is None:
        return _unknown(f"no formula for {name}")
    try:
        counted = formula.count(known[: formula.arguments])
        moved = _moved(known, counted, formula)
    except (_NoFormulaError, IndexError, ValueError) as error:
        return _unknown(f"the recorded arguments of {name} do not fit its formula ({error})")
    return Work(Quantity(counted.flops, "FLOP", f"{counted.formula} ({BASIS})"), Quantity(moved, "B", _BYTES))


def _unknown(reason: str) -> Work:
    return Work(unavailable("FLOP", BASIS, reason), unavailable("B", BASIS, reason))


def _moved(known: tuple[Argument, ...], counted: _Counted, formula: _Formula) -> int:
    given = known[formula.arguments :] if formula.arguments is not None else ()
    read = _size(known[: formula.arguments])
    written = _size(known[:1] if formula.in_place else given)
    if written:
        return read + written
    width = counted.output_bytes or _tensor(known, counted.output_of).element_bytes or 0
    return read + width * counted.output_elements


def _size(known: tuple[Argument, ...]) -> int:
    """The bytes of the tensors among the arguments."""
    return sum((argument.element_bytes or 0) * argument.elements for argument in known if argument.kind == "tensor")


def _tensor(known: tuple[Argument, ...], place: int, dimensions: int | None = None) -> Argument:
    argument = known[place]
    if argument.kind != "tensor" or (dimensions is not None and len(argument.shape) != dimensions):
        raise _NoFormulaError(f"argument {place} is not the tensor it expects")
    return argument


def _integers(known: tuple[Argument, ...], place: int, count: int) -> list[int]:
    """A list of integers; a single one stands for all, as in torch."""
    values = [int(word) for word in known[place].text.strip("[]() ").split(",") if word.strip()]
    if len(values) not in (1, count):
        raise _NoFormulaError(f"argument {place} is not a list of {count}")
    return values * count if len(values) == 1 else values


def _asked_bytes(known: tuple[Argument, ...], place: int) -> int | None:
    """The size of the element type that the call asks for; None where it asks for none."""
    return _TYPE_BYTES.get(known[place].text) if place < len(known) else None


def _true(known: tuple[Argument, ...], place: int) -> bool:
    return place < len(known) and known[place].text in ("True", "1")


# --- matrix products -----------------------------------------------------------------------------------------


def _mm(left: int, batched: bool = False) -> Callable[[tuple[Argument, ...]], _Counted]:
    def count(known: tuple[Argument, ...]) -> _Counted:
        a, b = (_tensor(known, place, 3 if batched else 2).shape for place in (left, left + 1))
        *batch, m, k = a
        if b[-2] != k:
            raise _NoFormulaError("the inner sizes differ")
        many = prod(batch)
        return _product(many, m, b[-1], k, left)

    return count


def _scaled_mm(known: tuple[Argument, ...]) -> _Counted:
    """The product of two matrices of 8 bits. The scales moved to the third place in torch 2.5, the type behind them."""
    asked = 6 if len(known) > 3 and known[2].kind == known[3].kind == "tensor" else 3
    return replace(_mm(0)(known), output_bytes=_asked_bytes(known, asked))


def _product(batch: int, m: int, n: int, k: int, output_of: int) -> _Counted:
    text = f"2 * {batch} * {m} * {n} * {k}" if batch != 1 else f"2 * {m} * {n} * {k}"
    return _Counted(2 * batch * m * n * k, text, batch * m * n, output_of)


def _linear(known: tuple[Argument, ...]) -> _Counted:
    *rows, k = _tensor(known, 0).shape
    n, inner = _tensor(known, 1, 2).shape
    if inner != k:
        raise _NoFormulaError("the inner sizes differ")
    return _product(1, prod(rows), n, k, 0)


def _matmul(known: tuple[Argument, ...]) -> _Counted:
    a, b = _tensor(known, 0).shape, _tensor(known, 1).shape
    left = a if len(a) > 1 else (1, *a)
    right = b if len(b) > 1 else (*b, 1)
    if left[-1] != right[-2]:
        raise _NoFormulaError("the inner sizes differ")
    batch = prod(_broadcast(left[:-2], right[:-2]))
    return _product(batch, left[-2], right[-1], left[-1], 0)


# --- convolutions --------------------------------------------------------------------------------------------


def _convolution(
    stride: int, padding: int, dilation: int, transposed: int | None = None
) -> Callable[[tuple[Argument, ...]], _Counted]:
    """Places of the arguments; an output element takes one multiply-add for each weight that reaches it."""

    def count(known: tuple[Argument, ...]) -> _Counted:
        data, weight = _tensor(known, 0).shape, _tensor(known, 1).shape
        axes = len(weight) - 2
        if len(data) != axes + 2:
            raise _NoFormulaError("input and weight have different numbers of axes")
        if transposed is not None and _true(known, transposed):
            raise _NoFormulaError("it is transposed")
        steps, pads, gaps = (_integers(known, place, axes) for place in (stride, padding, dilation))
        sizes = [
            (size + 2 * pad - gap * (taps - 1) - 1) // step + 1
            for size, pad, gap, taps, step in zip(data[2:], pads, gaps, weight[2:], steps, strict=True)
        ]
        outputs = data[0] * weight[0] * prod(sizes)
        each = prod(weight[1:])
        return _Counted(2 * outputs * each, f"2 * {outputs} outputs * {each} weights", outputs)

    return count


def _convolution_backward(known: tuple[Argument, ...]) -> _Counted:
    """The gradients of input and weight cost what the forward pass costs, each where it is asked for."""
    gradient, data, weight = (_tensor(known, place) for place in range(3))
    transposed = _true(known, 7)
    each = prod(weight.shape[1:])
    points = data.elements if transposed else gradient.elements
    asked = [word.strip() == "True" for word in known[10].text.strip("[]").split(",")][:2]
    outputs = asked[0] * data.elements + asked[1] * weight.elements
    flops = 2 * points * each * sum(asked)
    return _Counted(flops, f"2 * {points} outputs * {each} weights * {sum(asked)} gradients", outputs)


# --- attention -----------------------------------------------------------------------------------------------


def _attention(
    causal: int, *, first: int = 0, heads_first: bool = True, packed: int | None = None, products: int = 2
) -> Callable[[tuple[Argument, ...]], _Counted]:
    """Places of query and of the causal flag; `packed` is where sequence offsets are, if given."""

    def count(known: tuple[Argument, ...]) -> _Counted:
        if packed is not None and packed < len(known) and known[packed].kind == "tensor":
            raise _NoFormulaError("the sequences are packed and their lengths are not recorded")
        query, key, value = (_tensor(known, first + place, 4).shape for place in range(3))
        seat = 2 if heads_first else 1
        heads = query[3 - seat]
        rows, columns, depth = query[seat], key[seat], query[3]
        pairs = _causal_pairs(rows, columns) if _true(known, causal) else rows * columns
        shared = (products + 1) // 2 * depth + products // 2 * value[3]
        flops = 2 * query[0] * heads * pairs * shared
        text = f"2 * {query[0]} * {heads} heads * {pairs} pairs * {shared}"
        outputs = query[0] * heads * rows * value[3]
        if products > 2:
            outputs = prod(query) + prod(key) + prod(value)
        return _Counted(flops, text, outputs, first)

    return count


def _causal_pairs(rows: int, columns: int) -> int:
    """Row i sees the first i + 1 columns, and never more than there are."""
    triangle = min(rows, columns)
    return triangle * (triangle + 1) // 2 + max(0, rows - columns) * columns


# --- normalisation, softmax, elementwise ---------------------------------------------------------------------


def _per_element(operations: int, steps: str) -> Callable[[tuple[Argument, ...]], _Counted]:
    def count(known: tuple[Argument, ...]) -> _Counted:
        elements = _tensor(known, 0).elements
        return _Counted(operations * elements, f"{operations} * {elements} elements: {steps}", elements)

    return count


def _batch_norm(known: tuple[Argument, ...]) -> _Counted:
    training = _true(known, 5)
    steps = "mean, variance, scale, shift" if training else "scale and shift by recorded statistics"
    return _per_element(7 if training else 4, steps)(known)


def _softmax(known: tuple[Argument, ...]) -> _Counted:
    """The third argument says whether halves become floats, or which type the result has."""
    counted = _per_element(5, "maximum, subtract, exponential, sum, divide")(known)
    return replace(counted, output_bytes=4 if _true(known, 2) else _asked_bytes(known, 2))


def _broadcast(*shapes: Shape) -> Shape:
    longest = max((len(shape) for shape in shapes), default=0)
    aligned = [(1,) * (longest - len(shape)) + shape for shape in shapes]
    sizes = []
    for column in zip(*aligned, strict=True):
        wide = {size for size in column if size != 1}
        if len(wide) > 1:
            raise _NoFormulaError("the shapes do not broadcast")
        sizes.append(wide.pop() if wide else 1)
    return tuple(sizes)


def _elementwise(operations: int, output: Callable[[str], str] = str) -> Callable[[tuple[Argument, ...]], _Counted]:
    """`output` is the type of the result, given the type that the inputs are promoted to."""

    def count(known: tuple[Argument, ...]) -> _Counted:
        tensors = [argument for argument in known if argument.kind == "tensor"]
        common = promoted(tensors)
        if common is None:
            raise _NoFormulaError("it has no tensor")
        elements = prod(_broadcast(*(tensor.shape for tensor in tensors)))
        text = f"{operations} * {elements} elements"
        return _Counted(operations * elements, text, elements, output_bytes=type_bytes(output(common)))

    return count


def _truth(_: str) -> str:
    return "bool"


def _copy(known: tuple[Argument, ...]) -> _Counted:
    """Reads the source and writes the target; both are arguments already."""
    target, source = _tensor(known, 0), _tensor(known, 1)
    _broadcast(target.shape, source.shape)
    return _Counted(0, "0: moves data", 0)


def _clone(known: tuple[Argument, ...]) -> _Counted:
    return _Counted(0, "0: moves data", _tensor(known, 0).elements)


_LAYER_NORM = _per_element(7, "mean, variance, normalise, scale, shift")
_RMS_NORM = _per_element(4, "square, sum, normalise, scale")

# Elementwise operators by the number of arguments in their schemas (native_functions.yaml): tensors behind are `out=`.
_ONE = {
    1: "relu neg abs square floor ceil round",
    2: "mul maximum minimum pow clamp_min clamp_max leaky_relu",
    3: "add sub rsub threshold clamp hardtanh",
}
_ONE_FLOATING = {1: "sqrt rsqrt exp log tanh sigmoid silu mish sin cos reciprocal erf", 2: "div gelu"}
_TWO = {
    2: "silu_backward tanh_backward sigmoid_backward",
    3: "lerp gelu_backward threshold_backward",
    4: "addcmul addcdiv",
}
_COMPARE = {1: "isnan isinf logical_not", 2: "eq ne lt le gt ge logical_and logical_or"}


def _each(
    names: dict[int, str], count: Callable[[tuple[Argument, ...]], _Counted]
) -> dict[str, _Formula]:
    return {name: _Formula(count, number) for number, listed in names.items() for name in listed.split()}


def _all(*names: str, count: Callable[[tuple[Argument, ...]], _Counted]) -> dict[str, _Formula]:
    """Operators whose `out=` variants nobody calls: every tensor is read."""
    return dict.fromkeys(names, _Formula(count))


_FORMULAS: dict[str, _Formula] = {
    "mm": _Formula(_mm(0), 2),
    "_scaled_mm": _Formula(_scaled_mm, 8),
    "addmm": _Formula(_mm(1), 5),
    "_addmm_activation": _Formula(_mm(1), 6),
    "bmm": _Formula(_mm(0, batched=True), 2),
    "baddbmm": _Formula(_mm(1, batched=True), 5),
    "linear": _Formula(_linear, 3),
    "rocm_unquantized_gemm": _Formula(_linear),
    **dict.fromkeys(("matmul", "mv", "dot"), _Formula(_matmul, 2)),
    **_all("conv1d", "conv2d", "conv3d", count=_convolution(3, 4, 5)),
    **_all("convolution", "_convolution", count=_convolution(3, 4, 5, 6)),
    **_all("miopen_convolution", count=_convolution(4, 3, 5)),
    **_all("cudnn_convolution", count=_convolution(3, 2, 4)),
    **_all("convolution_backward", count=_convolution_backward),
    **_all("scaled_dot_product_attention", count=_attention(5)),
    **_all(
        "_scaled_dot_product_flash_attention",
        "_scaled_dot_product_flash_attention_for_cpu",
        count=_attention(4),
    ),
    **_all(
        "_scaled_dot_product_efficient_attention", "_scaled_dot_product_cudnn_attention", count=_attention(6)
    ),
    **_all("_flash_attention_forward", count=_attention(8, heads_first=False, packed=3)),
    **_all("_efficient_attention_forward", count=_attention(9, heads_first=False, packed=4)),
    **_all(
        "_scaled_dot_product_flash_attention_backward",
        "_scaled_dot_product_efficient_attention_backward",
        count=_attention(11, first=1, products=5),
    ),
    **_all(
        "_flash_attention_backward", count=_attention(11, first=1, heads_first=False, packed=6, products=5)
    ),
    **_all("layer_norm", "native_layer_norm", count=_LAYER_NORM),
    **_all("rms_norm", "_fused_rms_norm", count=_RMS_NORM),
    **_all(
        "batch_norm",
        "native_batch_norm",
        "miopen_batch_norm",
        "cudnn_batch_norm",
        "_batch_norm_impl_index",
        count=_batch_norm,
    ),
    **dict.fromkeys(("softmax", "_softmax", "log_softmax", "_log_softmax"), _Formula(_softmax, 3)),
    **_each(_ONE, _elementwise(1)),
    **_each(_ONE_FLOATING, _elementwise(1, floating)),
    **_each(_TWO, _elementwise(2)),
    **_each(_COMPARE, _elementwise(1, _truth)),
    "copy_": _Formula(_copy),
    **_all("clone", "contiguous", count=_clone),
}


def _formula(name: str) -> _Formula | None:
    """The formula for the name without its library; `add_` computes what `add` does, in place."""
    bare = name.rsplit("::", maxsplit=1)[-1]
    if bare in _FORMULAS:
        return _FORMULAS[bare]
    plain = _FORMULAS.get(bare.removesuffix("_"))
    return replace(plain, in_place=True) if plain else None
