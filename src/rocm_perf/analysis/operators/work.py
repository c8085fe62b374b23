"""FLOPs and bytes of one torch operator, from the recorded shapes and types alone.

Analytical: every tensor is read or written once, and an operation counts once however the kernel does it. A tensor
given as `out=` is only written; one that is changed in place is read and written. What has no formula here says so. A
multiply-add is two FLOPs; attention counts the two products of the forward pass and the five of the backward one
(FlashAttention, Dao et al. 2022, recomputes the scores).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import msgspec

from rocm_perf.analysis.operators import counting
from rocm_perf.analysis.operators.counting import Count, Counted, NoFormulaError, tensor_at
from rocm_perf.analysis.operators.promotion import floating
from rocm_perf.analysis.operators.stated import stated_work
from rocm_perf.model.quantity import Quantity, unavailable
from rocm_perf.model.torch_call import Argument, arguments

BASIS = "analytical from shapes"
_BYTES = f"each tensor read or written once ({BASIS})"


class Work(msgspec.Struct, frozen=True):
    """What one call has to compute and to move at least."""

    flops: Quantity
    bytes: Quantity


@dataclass(frozen=True)
class _Formula:
    """How an operator's work is counted."""

    count: Count
    arguments: int | None = None  # of its schema; tensors behind them are given as `out=`
    in_place: bool = False  # it writes its first argument


@lru_cache(maxsize=65_536)
def operator_work(name: str, shapes: str | None, dtypes: str | None, inputs: str | None = None) -> Work:
    """FLOPs and bytes of a call, or why they are not known."""
    stated = stated_work(inputs)
    if stated is not None:
        return Work(*stated)
    known = arguments(shapes, dtypes, None, inputs)
    if known is None:
        return _unknown("shapes were not recorded (torch.profiler: record_shapes=True)")
    formula = _formula(name)
    if formula is None:
        return _unknown(f"no formula for {name}")
    try:
        counted = formula.count(known[: formula.arguments])
        moved = _moved(known, counted, formula)
    except (NoFormulaError, IndexError, ValueError) as error:
        return _unknown(f"the recorded arguments of {name} do not fit its formula ({error})")
    return Work(Quantity(counted.flops, "FLOP", f"{counted.formula} ({BASIS})"), Quantity(moved, "B", _BYTES))


def _unknown(reason: str) -> Work:
    return Work(unavailable("FLOP", BASIS, reason), unavailable("B", BASIS, reason))


def _moved(known: tuple[Argument, ...], counted: Counted, formula: _Formula) -> int:
    given = known[formula.arguments :] if formula.arguments is not None else ()
    read = _size(known[: formula.arguments])
    written = _size(known[:1] if formula.in_place else given)
    if written:
        return read + written
    width = counted.output_bytes or tensor_at(known, counted.output_of).element_bytes or 0
    return read + width * counted.output_elements


def _size(known: tuple[Argument, ...]) -> int:
    """The bytes of the tensors among the arguments."""
    return sum(
        (argument.element_bytes or 0) * argument.elements for argument in known if argument.kind == "tensor"
    )


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


def _each(names: dict[int, str], count: Count) -> dict[str, _Formula]:
    return {name: _Formula(count, number) for number, listed in names.items() for name in listed.split()}


def _all(*names: str, count: Count) -> dict[str, _Formula]:
    """Operators whose `out=` variants nobody calls: every tensor is read."""
    return dict.fromkeys(names, _Formula(count))


_FORMULAS: dict[str, _Formula] = {
    "mm": _Formula(counting.mm(0), 2),
    "_scaled_mm": _Formula(counting.scaled_mm, 8),
    "addmm": _Formula(counting.mm(1), 5),
    "_addmm_activation": _Formula(counting.mm(1), 6),
    "bmm": _Formula(counting.mm(0, batched=True), 2),
    "baddbmm": _Formula(counting.mm(1, batched=True), 5),
    "linear": _Formula(counting.linear, 3),
    "rocm_unquantized_gemm": _Formula(counting.linear),
    **dict.fromkeys(("matmul", "mv", "dot"), _Formula(counting.matmul, 2)),
    **_all("conv1d", "conv2d", "conv3d", count=counting.convolution(3, 4, 5)),
    **_all("convolution", "_convolution", count=counting.convolution(3, 4, 5, 6)),
    **_all("miopen_convolution", count=counting.convolution(4, 3, 5)),
    **_all("cudnn_convolution", count=counting.convolution(3, 2, 4)),
    **_all("convolution_backward", count=counting.convolution_backward),
    **_all("scaled_dot_product_attention", count=counting.attention(5)),
    **_all(
        "_scaled_dot_product_flash_attention",
        "_scaled_dot_product_flash_attention_for_cpu",
        count=counting.attention(4),
    ),
    **_all(
        "_scaled_dot_product_efficient_attention",
        "_scaled_dot_product_cudnn_attention",
        count=counting.attention(6),
    ),
    **_all("_flash_attention_forward", count=counting.attention(8, heads_first=False, packed=3)),
    **_all("_efficient_attention_forward", count=counting.attention(9, heads_first=False, packed=4)),
    **_all(
        "_scaled_dot_product_flash_attention_backward",
        "_scaled_dot_product_efficient_attention_backward",
        count=counting.attention(11, first=1, products=5),
    ),
    **_all(
        "_flash_attention_backward",
        count=counting.attention(11, first=1, heads_first=False, packed=6, products=5),
    ),
    **_all("layer_norm", "native_layer_norm", count=counting.LAYER_NORM),
    **_all("rms_norm", "_fused_rms_norm", count=counting.RMS_NORM),
    **_all(
        "batch_norm",
        "native_batch_norm",
        "miopen_batch_norm",
        "cudnn_batch_norm",
        "_batch_norm_impl_index",
        count=counting.batch_norm,
    ),
    **dict.fromkeys(("softmax", "_softmax", "log_softmax", "_log_softmax"), _Formula(counting.softmax, 3)),
    **_each(_ONE, counting.elementwise(1)),
    **_each(_ONE_FLOATING, counting.elementwise(1, floating)),
    **_each(_TWO, counting.elementwise(2)),
    **_each(_COMPARE, counting.elementwise(1, counting.truth)),
    "copy_": _Formula(counting.copy),
    **_all("clone", "contiguous", count=counting.clone),
}


def _formula(name: str) -> _Formula | None:
    """The formula for the name without its library; `add_` computes what `add` does, in place."""
    bare = name.rsplit("::", maxsplit=1)[-1]
    if bare in _FORMULAS:
        return _FORMULAS[bare]
    plain = _FORMULAS.get(bare.removesuffix("_"))
    return replace(plain, in_place=True) if plain else None
