"""Operators whose result has other sizes than their input: pooling, padding, resizing, repetition."""

from __future__ import annotations

from math import prod

from rocm_perf.analysis.operators.work.call import Call, Count, Counted, NoFormulaError, element_bytes
from rocm_perf.analysis.operators.work.signature import Formula, formulas

_MOVES = "0: moves data"
_INDEX_BYTES = 8  # where the maximum of a window lies


def _pad(call: Call) -> Counted:
    data, pads = call.tensor("self"), call.integers("pad")
    sizes = list(data.shape)
    for axis, (before, after) in enumerate(zip(pads[::2], pads[1::2], strict=True), start=1):
        sizes[-axis] += before + after
    return Counted(0, _MOVES, element_bytes(data) * prod(sizes))


def _repeat(call: Call) -> Counted:
    data = call.tensor("self")
    return Counted(0, _MOVES, element_bytes(data) * data.elements * prod(call.integers("repeats")))


def pooled(index_bytes: int) -> Count:
    """A window slides over the last axes; `index_bytes` are written beside each result."""

    def count(call: Call) -> Counted:
        data = call.tensor("self")
        window = call.integers("kernel_size")
        axes = len(window)
        steps, pads = call.integers("stride") or window, call.each("padding", axes)
        sizes = [
            (size + 2 * pad - tap) // step + 1
            for size, pad, tap, step in zip(data.shape[-axes:], pads, window, steps, strict=True)
        ]
        results = prod(data.shape[:-axes]) * prod(sizes)
        text = f"{results} results * {prod(window)} of the window"
        return Counted(results * prod(window), text, (element_bytes(data) + index_bytes) * results)

    return count


def _adaptive(call: Call) -> Counted:
    data, sizes = call.tensor("self"), call.integers("output_size")
    results = prod(data.shape[: -len(sizes)]) * prod(sizes)
    return Counted(data.elements, f"1 * {data.elements} elements: add", element_bytes(data) * results)


def _as_large(name: str, operations: int) -> Count:
    """A result as large as an argument."""

    def count(call: Call) -> Counted:
        data, read = call.tensor(name), call.tensor("grad")
        text = f"{operations} * {read.elements} elements"
        return Counted(operations * read.elements, text, element_bytes(data) * data.elements)

    return count


def resized(operations: int) -> Count:
    """Each result takes so many operations: none for the nearest, 7 for four neighbours, 31 for sixteen."""

    def count(call: Call) -> Counted:
        data, sizes = call.tensor("self"), call.integers("output_size") or _scaled(call)
        if not sizes:
            raise NoFormulaError("the size of its result is not recorded")
        results = prod(data.shape[: -len(sizes)]) * prod(sizes)
        text = f"{operations} * {results} results" if operations else _MOVES
        return Counted(operations * results, text, element_bytes(data) * results)

    return count


def _scaled(call: Call) -> list[int]:
    """The sizes of a result that is asked for by factors."""
    factors = [float(word) for word in call.text("scale_factors").strip("[]() ").split(",") if word.strip()]
    shape = call.tensor("self").shape
    if len(factors) + 2 != len(shape):
        return []
    return [int(size * factor) for size, factor in zip(shape[2:], factors, strict=True)]


_SCALED = "self, output_size, scale_factors"
_SCALED_ALIGNED = "self, output_size, align_corners, scale_factors"

FORMULAS: tuple[Formula, ...] = (
    *formulas(
        _pad,
        "aten::constant_pad_nd(self, pad, value)",
        "aten::reflection_pad1d(self, pad)",
        "aten::reflection_pad2d(self, pad)",
        "aten::replication_pad1d(self, pad)",
        "aten::replication_pad2d(self, pad)",
        "aten::replication_pad3d(self, pad)",
    ),
    *formulas(_repeat, "aten::repeat(self, repeats)"),
    *formulas(
        pooled(_INDEX_BYTES),
        "aten::max_pool2d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode)",
        "aten::max_pool3d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode)",
    ),
    *formulas(
        pooled(0),
        "aten::max_pool2d(self, kernel_size, stride, padding, dilation, ceil_mode)",
        "aten::avg_pool2d(self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)",
        "aten::avg_pool3d(self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)",
    ),
    *formulas(
        _as_large("self", 1),
        "aten::max_pool2d_with_indices_backward(grad, self~, kernel_size, stride, padding, dilation, "
        "ceil_mode, indices)",
        "aten::avg_pool2d_backward(grad, self~, kernel_size, stride, padding, ceil_mode, count_include_pad, "
        "divisor_override)",
        "aten::_adaptive_avg_pool2d_backward(grad, self~)",
    ),
    *formulas(
        _adaptive,
        "aten::_adaptive_avg_pool2d(self, output_size)",
        "aten::_adaptive_avg_pool3d(self, output_size)",
        "aten::adaptive_avg_pool1d(self, output_size)",
    ),
    *formulas(
        resized(0),
        f"aten::upsample_nearest1d({_SCALED})",  # `scales` of the other overload is one factor
        "aten::upsample_nearest2d(self, output_size, scales_h, scales_w)",
        "aten::upsample_nearest3d(self, output_size, scales_d, scales_h, scales_w)",
        "aten::_upsample_nearest_exact2d(self, output_size, scales_h, scales_w)",
        f"aten::upsample_nearest2d({_SCALED})",
        f"aten::upsample_nearest3d({_SCALED})",
        f"aten::_upsample_nearest_exact2d({_SCALED})",
    ),
    *formulas(
        resized(7),
        "aten::upsample_bilinear2d(self, output_size, align_corners, scales_h, scales_w)",
        "aten::_upsample_bilinear2d_aa(self, output_size, align_corners, scales_h, scales_w)",
        f"aten::upsample_bilinear2d({_SCALED_ALIGNED})",
        f"aten::_upsample_bilinear2d_aa({_SCALED_ALIGNED})",
    ),
    *formulas(
        resized(31),
        "aten::upsample_bicubic2d(self, output_size, align_corners, scales_h, scales_w)",
        "aten::_upsample_bicubic2d_aa(self, output_size, align_corners, scales_h, scales_w)",
        f"aten::upsample_bicubic2d({_SCALED_ALIGNED})",
        f"aten::_upsample_bicubic2d_aa({_SCALED_ALIGNED})",
    ),
)
