"""FLOPs and bytes of one HLO operation, from the shapes in its program.

The conventions are those of XLA's HloCostAnalysis: a multiply-add is two FLOPs, an elementwise operation one for each
element, a reduction one for each element that it takes in beyond those it writes, moving data none. A fusion computes
what is inside it, and moves its operands and its result alone; of an operand that it only slices, the slices. Other
than there, exp, tanh and their like count as one, and the padding of a convolution is counted too.
"""

from __future__ import annotations

from collections import defaultdict
from math import prod
from typing import NamedTuple

import msgspec

from rocm_perf.ingest.xplane.fused_attention import attention_work, is_fused_attention
from rocm_perf.ingest.xplane.hlo import COLLECTIVES, Instruction, Program, Shape

_ELEMENTWISE = frozenset(
    [
        "abs",
        "add",
        "and",
        "atan2",
        "cbrt",
        "ceil",
        "clamp",
        "compare",
        "convert",
        "cosine",
        "count-leading-zeros",
        "divide",
        "erf",
        "exponential",
        "exponential-minus-one",
        "floor",
        "imag",
        "is-finite",
        "log",
        "log-plus-one",
        "logistic",
        "maximum",
        "minimum",
        "multiply",
        "negate",
        "not",
        "or",
        "popcnt",
        "power",
        "real",
        "remainder",
        "round-nearest-afz",
        "round-nearest-even",
        "rsqrt",
        "select",
        "shift-left",
        "shift-right-arithmetic",
        "shift-right-logical",
        "sign",
        "sine",
        "sqrt",
        "subtract",
        "tan",
        "tanh",
        "xor",
    ]
)
_REDUCING = ("reduce", "reduce-window", "select-and-scatter")
_FREE = ("parameter", "constant", "bitcast", "tuple", "get-tuple-element")  # they move nothing
_SLICING = ("slice", "dynamic-slice", "gather")
_DEEPEST = 8  # fusions inside fusions
_MOST = 1 << 62  # FLOPs or bytes
_GEMM = "__cublas$"  # what XLA calls the libraries of AMD too
_CONVOLUTION = "__cudnn$conv"


class Cost(NamedTuple):
    """What one operation computes and moves; FLOPs are None where only its library knows, both where they overflow."""

    flops: int | None
    bytes: int | None
    formula: str
    doubt: str = ""  # what makes the FLOPs a bound


class _Gemm(msgspec.Struct, frozen=True):
    lhs_contracting_dimensions: tuple[int | str, ...] = ()


class _GemmConfig(msgspec.Struct, frozen=True):
    dot_dimension_numbers: _Gemm = _Gemm()


class _Config(msgspec.Struct, frozen=True):
    """What XLA tells the library of a matrix product."""

    gemm_backend_config: _GemmConfig = _GemmConfig()


def cost_of(program: Program, instruction: Instruction) -> Cost:
    """The cost of one execution."""
    moved = _moved(program, instruction)
    if is_fused_attention(instruction):
        work = attention_work(instruction)
        cost = Cost(work.flops, moved, work.formula, work.doubt)
    else:
        flops, formula = _flops(program, instruction, 0)
        cost = Cost(flops, moved, formula)
    if max(cost.flops or 0, moved) < _MOST and min(cost.flops or 0, moved) >= 0:
        return cost
    return Cost(None, None, "its sizes are none that a machine could hold")


def holds_products(program: Program, instruction: Instruction, depth: int = 0) -> bool:
    """Whether it multiplies matrices or convolves: what matrix units do."""
    known = program.products.get((instruction, depth))
    if known is None:
        known = program.products[instruction, depth] = _holds_products(program, instruction, depth)
    return known


def _holds_products(program: Program, instruction: Instruction, depth: int) -> bool:
    multiplies = instruction.opcode in ("dot", "convolution") or is_fused_attention(instruction)
    if multiplies or instruction.target.startswith((_GEMM, _CONVOLUTION)):
        return True
    inner = program.inside(instruction) if depth < _DEEPEST else ()
    return any(holds_products(program, each, depth + 1) for each in inner)


def _flops(program: Program, instruction: Instruction, depth: int) -> tuple[int | None, str]:
    """FLOPs, and how they are counted: once for each operation, however many call what holds it."""
    known = program.flops.get((instruction, depth))
    if known is None:
        known = program.flops[instruction, depth] = _counted_flops(program, instruction, depth)
    return known


def _counted_flops(program: Program, instruction: Instruction, depth: int) -> tuple[int | None, str]:
    opcode, elements = instruction.opcode, sum(shape.elements for shape in instruction.result)
    if opcode == "dot":
        dims = list(instruction.message.dot_dimension_numbers.lhs_contracting_dimensions)
        return _product(instruction, dims)
    if opcode == "custom-call":
        return _library(instruction)
    if opcode == "convolution":
        return _convolution(instruction, "Forward")
    if opcode in _ELEMENTWISE:
        return elements, f"{elements} elements"
    if opcode in _REDUCING:
        taken = sum(shape.elements for shape in _first_operand(instruction)[:1])
        return max(0, taken - elements), f"{taken} elements reduced to {elements}"
    if instruction.called and opcode not in COLLECTIVES and depth < _DEEPEST:
        return _together(program, instruction, depth)
    return 0, "0: moves data"


def _together(program: Program, instruction: Instruction, depth: int) -> tuple[int | None, str]:
    """The FLOPs of what a fusion holds; the largest part gives the formula."""
    parts = [_flops(program, each, depth + 1) for each in program.inside(instruction)]
    if any(flops is None for flops, _ in parts):
        return None, next(formula for flops, formula in parts if flops is None)
    known = [(flops or 0, formula) for flops, formula in parts]
    total = sum(flops for flops, _ in known)
    most, formula = max(known, default=(0, "0: moves data"))
    return total, formula if total == most else f"{formula} and {total - most} more"


def _product(instruction: Instruction, contracted: list[int]) -> tuple[int | None, str]:
    sizes = next((shape.sizes for shape in _first_operand(instruction)), ())
    fits = len(set(contracted)) == len(contracted) and all(0 <= axis < len(sizes) for axis in contracted)
    if not instruction.result or not fits:
        return None, "the sizes of the product do not fit its dimensions"
    inner, outputs = prod(sizes[axis] for axis in contracted), instruction.result[0].elements
    return 2 * outputs * inner, f"2 * {outputs} outputs * {inner}"


def _first_operand(instruction: Instruction) -> tuple[Shape, ...]:
    return instruction.operands[0].result if instruction.operands else ()


def _library(instruction: Instruction) -> tuple[int | None, str]:
    """The FLOPs of a call of a library: of matrix products and convolutions."""
    target = instruction.target
    if target.startswith(_GEMM):
        try:
            config = msgspec.json.decode(instruction.message.backend_config, type=_Config)
            named = config.gemm_backend_config.dot_dimension_numbers.lhs_contracting_dimensions
            return _product(instruction, [int(axis) for axis in named])
        except (msgspec.MsgspecError, ValueError):
            return None, f"{target} does not say which dimensions it contracts"
    if target.startswith(_CONVOLUTION):
        return _convolution(instruction, target.removeprefix(_CONVOLUTION))
    return None, f"no formula for the custom call {target or instruction.name}"


def _convolution(instruction: Instruction, direction: str) -> tuple[int | None, str]:
    """Both passes of the gradient cost what the forward pass does: one multiply-add for each weight of an output."""
    shapes = [*(shape for operand in instruction.operands[:2] for shape in operand.result[:1])]
    if len(shapes) < 2 or not instruction.result:
        return None, "the operands of the convolution are not recorded"
    data, weights, output = shapes[0], shapes[1], instruction.result[0]
    if direction.startswith("BackwardInput"):
        data, output = output, data
    elif direction.startswith("BackwardFilter"):
        weights, output = output, weights
    axis = instruction.message.convolution_dimension_numbers.kernel_output_feature_dimension
    features = weights.sizes[axis] if 0 <= axis < len(weights.sizes) else 0
    if not features:
        return None, "the dimensions of the convolution do not fit its weights"
    each = weights.elements // features
    return 2 * output.elements * each, f"2 * {output.elements} outputs * {each} weights"


def _moved(program: Program, instruction: Instruction) -> int:
    """Each operand read once and the result written once."""
    if instruction.opcode in _FREE:
        return 0
    if instruction.opcode == "fusion":
        return _moved_by_fusion(program, instruction)
    written = _size(instruction.written)
    if instruction.opcode in _SLICING:
        return 2 * written + sum(_size(each.result) for each in instruction.operands[1:])
    if instruction.opcode == "dynamic-update-slice" and len(instruction.operands) > 1:
        return 2 * _size(instruction.operands[1].result)
    return _size(instruction.arguments) + written


def _moved_by_fusion(program: Program, instruction: Instruction) -> int:
    inner = tuple(program.inside(instruction))
    parameters = [each for each in inner if each.opcode == "parameter"]
    users = _users(inner)
    read = sum(_read(each, users[id(each)]) for each in parameters)
    root = inner[-1] if inner else None
    if root is not None and root.opcode == "dynamic-update-slice" and len(root.operands) > 1:
        return read + _size(root.operands[1].result)
    return read + _size(instruction.written)


def _users(inner: tuple[Instruction, ...]) -> dict[int, list[Instruction]]:
    users: dict[int, list[Instruction]] = defaultdict(list)
    for each in inner:
        for operand in each.operands:
            users[id(operand)].append(each)
    return users


def _read(parameter: Instruction, users: list[Instruction]) -> int:
    """What a fusion reads of an operand: all of it, unless it only takes slices, or writes into it."""
    whole = _size(parameter.result)
    parts = 0
    for user in users:
        if not user.operands or user.operands[0] is not parameter:
            return whole
        if user.opcode in _SLICING:
            parts += _size(user.result)
        elif user.opcode != "dynamic-update-slice":
            return whole
    return min(whole, parts)


def _size(shapes: tuple[Shape, ...]) -> int:
    return sum(shape.size_bytes for shape in shapes)
