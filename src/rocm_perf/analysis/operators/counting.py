"""How many operations one call of a torch operator takes, and how many elements it writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod

from rocm_perf.analysis.operators.promotion import promoted, type_bytes
from rocm_perf.model.torch_call import Argument

Shape = tuple[int, ...]

# Floating-point types as torch numbers them in recorded arguments (c10/core/ScalarType.h), and their bytes.
_TYPE_BYTES = {"5": 2, "6": 4, "7": 8, "15": 2, "23": 1, "24": 1, "25": 1, "26": 1}


@dataclass(frozen=True)
class Counted:
    """The operations of a call and what it writes."""

    flops: int
    formula: str
    output_elements: int
    output_of: int = 0  # the argument whose type the output has
    output_bytes: int | None = None  # where the type is another


Count = Callable[[tuple[Argument, ...]], Counted]


class NoFormulaError(ValueError):
    """The recorded arguments are not those that the formula needs."""


def tensor_at(known: tuple[Argument, ...], place: int, dimensions: int | None = None) -> Argument:
    """The tensor at a place, with so many dimensions where that matters."""
    argument = known[place]
    if argument.kind != "tensor" or (dimensions is not None and len(argument.shape) != dimensions):
        raise NoFormulaError(f"argument {place} is not the tensor it expects")
    return argument


def _integers(known: tuple[Argument, ...], place: int, count: int) -> list[int]:
    """A list of integers; a single one stands for all, as in torch."""
    values = [int(word) for word in known[place].text.strip("[]() ").split(",") if word.strip()]
    if len(values) not in (1, count):
        raise NoFormulaError(f"argument {place} is not a list of {count}")
    return values * count if len(values) == 1 else values


def _asked_bytes(known: tuple[Argument, ...], place: int) -> int | None:
    """The size of the element type that the call asks for; None where it asks for none."""
    return _TYPE_BYTES.get(known[place].text) if place < len(known) else None


def _true(known: tuple[Argument, ...], place: int) -> bool:
    return place < len(known) and known[place].text in ("True", "1")


# --- matrix products -----------------------------------------------------------------------------------------


def mm(left: int, batched: bool = False) -> Count:
    def count(known: tuple[Argument, ...]) -> Counted:
        a, b = (tensor_at(known, place, 3 if batched else 2).shape for place in (left, left + 1))
        *batch, m, k = a
        if b[-2] != k:
            raise NoFormulaError("the inner sizes differ")
        many = prod(batch)
        return _product(many, m, b[-1], k, left)

    return count


def scaled_mm(known: tuple[Argument, ...]) -> Counted:
    """The product of two matrices of 8 bits. The scales moved to the third place in torch 2.5, the type behind them."""
    asked = 6 if len(known) > 3 and known[2].kind == known[3].kind == "tensor" else 3
    return replace(mm(0)(known), output_bytes=_asked_bytes(known, asked))


def _product(batch: int, m: int, n: int, k: int, output_of: int) -> Counted:
    text = f"2 * {batch} * {m} * {n} * {k}" if batch != 1 else f"2 * {m} * {n} * {k}"
    return Counted(2 * batch * m * n * k, text, batch * m * n, output_of)


def linear(known: tuple[Argument, ...]) -> Counted:
    *rows, k = tensor_at(known, 0).shape
    n, inner = tensor_at(known, 1, 2).shape
    if inner != k:
        raise NoFormulaError("the inner sizes differ")
    return _product(1, prod(rows), n, k, 0)


def matmul(known: tuple[Argument, ...]) -> Counted:
    a, b = tensor_at(known, 0).shape, tensor_at(known, 1).shape
    left = a if len(a) > 1 else (1, *a)
    right = b if len(b) > 1 else (*b, 1)
    if left[-1] != right[-2]:
        raise NoFormulaError("the inner sizes differ")
    batch = prod(_broadcast(left[:-2], right[:-2]))
    return _product(batch, left[-2], right[-1], left[-1], 0)


# --- convolutions --------------------------------------------------------------------------------------------


def convolution(stride: int, padding: int, dilation: int, transposed: int | None = None) -> Count:
    """Places of the arguments; an output element takes one multiply-add for each weight that reaches it."""

    def count(known: tuple[Argument, ...]) -> Counted:
        data, weight = tensor_at(known, 0).shape, tensor_at(known, 1).shape
        axes = len(weight) - 2
        if len(data) != axes + 2:
            raise NoFormulaError("input and weight have different numbers of axes")
        if transposed is not None and _true(known, transposed):
            raise NoFormulaError("it is transposed")
        steps, pads, gaps = (_integers(known, place, axes) for place in (stride, padding, dilation))
        sizes = [
            (size + 2 * pad - gap * (taps - 1) - 1) // step + 1
            for size, pad, gap, taps, step in zip(data[2:], pads, gaps, weight[2:], steps, strict=True)
        ]
        outputs = data[0] * weight[0] * prod(sizes)
        each = prod(weight[1:])
        return Counted(2 * outputs * each, f"2 * {outputs} outputs * {each} weights", outputs)

    return count


def convolution_backward(known: tuple[Argument, ...]) -> Counted:
    """The gradients of input and weight cost what the forward pass costs, each where it is asked for."""
    gradient, data, weight = (tensor_at(known, place) for place in range(3))
    transposed = _true(known, 7)
    each = prod(weight.shape[1:])
    points = data.elements if transposed else gradient.elements
    asked = [word.strip() == "True" for word in known[10].text.strip("[]").split(",")][:2]
    outputs = asked[0] * data.elements + asked[1] * weight.elements
    flops = 2 * points * each * sum(asked)
    return Counted(flops, f"2 * {points} outputs * {each} weights * {sum(asked)} gradients", outputs)


# --- attention -----------------------------------------------------------------------------------------------


def attention(
    causal: int, *, first: int = 0, heads_first: bool = True, packed: int | None = None, products: int = 2
) -> Count:
    """Places of query and of the causal flag; `packed` is where sequence offsets are, if given."""

    def count(known: tuple[Argument, ...]) -> Counted:
        if packed is not None and packed < len(known) and known[packed].kind == "tensor":
            raise NoFormulaError("the sequences are packed and their lengths are not recorded")
        query, key, value = (tensor_at(known, first + place, 4).shape for place in range(3))
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
        return Counted(flops, text, outputs, first)

    return count


def _causal_pairs(rows: int, columns: int) -> int:
    """Row i sees the first i + 1 columns, and never more than there are."""
    triangle = min(rows, columns)
    return triangle * (triangle + 1) // 2 + max(0, rows - columns) * columns


# --- normalisation, softmax, elementwise ---------------------------------------------------------------------


def _per_element(operations: int, steps: str) -> Count:
    def count(known: tuple[Argument, ...]) -> Counted:
        elements = tensor_at(known, 0).elements
        return Counted(operations * elements, f"{operations} * {elements} elements: {steps}", elements)

    return count


def batch_norm(known: tuple[Argument, ...]) -> Counted:
    training = _true(known, 5)
    steps = "mean, variance, scale, shift" if training else "scale and shift by recorded statistics"
    return _per_element(7 if training else 4, steps)(known)


def softmax(known: tuple[Argument, ...]) -> Counted:
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
            raise NoFormulaError("the shapes do not broadcast")
        sizes.append(wide.pop() if wide else 1)
    return tuple(sizes)


def elementwise(operations: int, output: Callable[[str], str] = str) -> Count:
    """`output` is the type of the result, given the type that the inputs are promoted to."""

    def count(known: tuple[Argument, ...]) -> Counted:
        tensors = [argument for argument in known if argument.kind == "tensor"]
        common = promoted(tensors)
        if common is None:
            raise NoFormulaError("it has no tensor")
        elements = prod(_broadcast(*(tensor.shape for tensor in tensors)))
        text = f"{operations} * {elements} elements"
        return Counted(operations * elements, text, elements, output_bytes=type_bytes(output(common)))

    return count


def truth(_: str) -> str:
    return "bool"


def copy(known: tuple[Argument, ...]) -> Counted:
    """Reads the source and writes the target; both are arguments already."""
    target, source = tensor_at(known, 0), tensor_at(known, 1)
    _broadcast(target.shape, source.shape)
    return Counted(0, "0: moves data", 0)


def clone(known: tuple[Argument, ...]) -> Counted:
    return Counted(0, "0: moves data", tensor_at(known, 0).elements)


LAYER_NORM = _per_element(7, "mean, variance, normalise, scale, shift")
RMS_NORM = _per_element(4, "square, sum, normalise, scale")
