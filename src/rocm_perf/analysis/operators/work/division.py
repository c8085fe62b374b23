"""The work of one call divided among the kernels that it launched."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import msgspec

from rocm_perf.analysis.basis.names import short_name
from rocm_perf.model.torch_call import Argument

# Kernels that prepare or finish a product, convolution or attention: they move and convert what it needs or leaves.
_HELPER = re.compile(
    r"memset|fill|copy|cast|convert|transpose|reduce|combine|PostGSU|elementwise|preprocess|postprocess|dot_do_o|OGradDotO|"
    r"nchwToNhwc|nhwcToNchw|im(?:\d+d)?2col|col2im|SubTensor|generateWinograd|compute\w*Offsets|quantize|rng_state|batched_transpose|CatArray",
    re.IGNORECASE,
)

# Passes of normalisations over tensors as large as the input, by the names of torch's kernels (ATen/native/cuda).
_PASSES = (
    (re.compile(r"batch_norm_collect_statistics|RowwiseMoments"), 1, "reads the input"),
    (re.compile(r"batch_norm_transform_input|GroupNorm\w*Forward"), 2, "reads the input, writes the result"),
    (
        re.compile(r"batch_norm_backward_reduce|GammaBetaBackward|ComputeInternalGradients"),
        2,
        "reads gradient and input",
    ),
    (
        re.compile(r"batch_norm_backward_elemt|layer_norm_grad_input"),
        3,
        "reads gradient and input, writes a gradient",
    ),
)

_OF_INPUT = re.compile(r"dgrad|bwd_?data|backward_?data|BwdData", re.IGNORECASE)
_OF_WEIGHT = re.compile(r"wgrad|bwd_?weight|wrw|BwdWeight", re.IGNORECASE)
_CONVOLUTION_BACKWARD = "convolution_backward"
_GRADIENTS = 2  # of input and of weight, each with half of the FLOPs


class Share(msgspec.Struct, frozen=True):
    """What of a call's work one launch of a kernel does: fractions, the bytes of its own pass, or why it is unknown."""

    flops: float | None = 1.0
    bytes: float | None = 1.0
    own_bytes: int | None = None
    note: str = ""
    reason: str = ""


def share(
    operator: str, on_matrix: bool, kernel: str, launched: Counter[str], known: Sequence[Argument]
) -> Share:
    """The share of one launch of `kernel` among all that a call launched, counted by name."""
    if len(launched) == 1:
        return Share() if launched[kernel] == 1 else _evenly(launched[kernel])
    if on_matrix:
        return _of_the_product(operator, kernel, launched)
    own = next(((count, what) for pattern, count, what in _PASSES if pattern.search(kernel)), None)
    if own is None:
        return _undivided(operator, launched)
    passes, what = own
    largest = max((argument.elements * (argument.element_bytes or 0) for argument in known), default=0)
    moved = passes * largest // launched[kernel]
    return Share(flops=None, bytes=None, own_bytes=moved, note=f"its own pass: {what}")


def _evenly(count: int) -> Share:
    return Share(1 / count, 1 / count, note=f"divided evenly among the {count} launches of one call")


def _of_the_product(operator: str, kernel: str, names: Counter[str]) -> Share:
    """The one kernel that multiplies does the work; what prepares or finishes it does none."""
    main = {name: count for name, count in names.items() if not _HELPER.search(short_name(name))}
    if kernel not in main:
        return beside(operator)
    if len(main) == 1:
        counts = main[kernel]
        return Share(
            1 / counts,
            1 / counts,
            note=f"all of the work of {operator}: its other kernels prepare or finish it",
        )
    if operator.endswith(_CONVOLUTION_BACKWARD) and sum(main.values()) == _GRADIENTS:
        return Share(
            1 / _GRADIENTS, None, note="one of two gradients, which take the same number of operations"
        )
    return _undivided(operator, names)


def beside(operator: str) -> Share:
    """Of a kernel that does none of the work."""
    return Share(
        None, None, reason=f"it prepares or finishes the work of {operator}, which another kernel does"
    )


def _undivided(operator: str, launched: Counter[str]) -> Share:
    why = f"{operator} launched {sum(launched.values())} kernels, among which its work cannot be divided"
    return Share(None, None, reason=why)


def asked_gradient(operator: str, kernel: str, inputs: str | None) -> str | None:
    """The recorded scalar arguments as if only the gradient were asked for that the kernel's name says it computes."""
    if inputs is None or not operator.endswith(_CONVOLUTION_BACKWARD):
        return inputs
    for pattern, mask in ((_OF_INPUT, "[True, False, False]"), (_OF_WEIGHT, "[False, True, False]")):
        if pattern.search(kernel):
            return re.sub(r"\[(?:True|False)(?:, (?:True|False)){2}\]", mask, inputs)
    return inputs
