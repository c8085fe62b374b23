"""Operators that move data: copies, concatenation, indexing, embeddings, fills, padding, pooling."""

from __future__ import annotations

from math import prod

from rocm_perf.analysis.operators.work.call import (
    Call,
    Count,
    Counted,
    NoFormulaError,
    broadcast,
    element_bytes,
)
from rocm_perf.analysis.operators.work.reductions import reduced
from rocm_perf.analysis.operators.work.signature import Formula, formulas

_MOVES = "0: moves data"


def _copy(call: Call) -> Counted:
    """Reads the source and writes the target; both are arguments."""
    broadcast(call.tensor("self").shape, call.tensor("source").shape)
    return Counted(0, _MOVES)


def _clone(call: Call) -> Counted:
    data = call.tensor("self")
    width = call.asked_bytes("dtype") or element_bytes(data)
    return Counted(0, _MOVES, width * data.elements)


def _fill(call: Call) -> Counted:
    call.tensor("self")
    return Counted(0, "0: writes a value")


def _joined(call: Call) -> Counted:
    """Every tensor is read, and written once more as a part of the result."""
    call.tensors("tensors")
    return Counted(0, _MOVES, call.size("tensors") if call.list_element_bytes else 0)


def _rows(table: str, index: str) -> Count:
    """Rows of a table, one for each index: [rows, ...] -> [indices, ...]."""

    def count(call: Call) -> Counted:
        rows, places = call.tensor(table), call.tensor(index)
        moved = places.elements * prod(rows.shape[1:]) * element_bytes(rows)
        return Counted(0, _MOVES, moved, touched_bytes=moved, touched="a row for each index")

    return count


def _select(call: Call) -> Counted:
    data, index = call.tensor("self"), call.tensor("index")
    axis = call.integer("dim")
    taken = reduced(data.shape, [axis]) * index.elements * element_bytes(data)
    return Counted(0, _MOVES, taken, touched_bytes=taken, touched="a slice for each index")


def _gather(call: Call) -> Counted:
    taken = call.tensor("index").elements * element_bytes(call.tensor("self"))
    return Counted(0, _MOVES, taken, touched_bytes=taken, touched="an element for each index")


def _scatter(operations: int) -> Count:
    """An element of the target is written for each index, and read where it is added to."""

    def count(call: Call) -> Counted:
        source = call.given("source") or call.tensor("index")
        moved = source.elements * element_bytes(call.tensor("self")) * (1 + operations)
        return Counted(
            flops=operations * source.elements,
            formula=f"{operations} * {source.elements} elements" if operations else _MOVES,
            touched_bytes=moved,
            touched="an element of the target for each of the source",
        )

    return count


def _index(call: Call) -> Counted:
    """`self[i, j, ...]` with a tensor for each of the first axes."""
    data, places = call.tensor("self"), call.tensors("indices")
    if len(places) > len(data.shape):
        raise NoFormulaError("it has more indices than axes")
    taken = prod(broadcast(*places)) * prod(data.shape[len(places) :]) * element_bytes(data)
    index_bytes = 8 * sum(prod(shape) for shape in places)
    return Counted(
        0,
        _MOVES,
        taken,
        touched_bytes=taken + index_bytes,
        touched="an element for each result, and the indices (int64)",
    )


def _index_put(call: Call) -> Counted:
    target = call.tensor("self")
    data, places = target.shape, call.tensors("indices")
    put = prod(broadcast(*places)) * prod(data[len(places) :])
    times = 2 if call.is_true("accumulate") else 1
    flops = put if times == 2 else 0
    moved = times * put * element_bytes(target) + 8 * sum(prod(shape) for shape in places)
    return Counted(
        flops,
        f"{flops}: adds" if flops else _MOVES,
        touched_bytes=moved,
        touched="an element of the target for each value, and the indices (int64)",
    )


def _embedding_backward(call: Call) -> Counted:
    gradient = call.tensor("grad")
    table = call.integer("rows") * gradient.shape[-1]
    return Counted(
        gradient.elements, f"1 * {gradient.elements} elements: add", element_bytes(gradient) * table
    )


def _pad(call: Call) -> Counted:
    data, pads = call.tensor("self"), call.integers("pad")
    sizes = list(data.shape)
    for axis, (before, after) in enumerate(zip(pads[::2], pads[1::2], strict=True), start=1):
        sizes[-axis] += before + after
    return Counted(0, _MOVES, element_bytes(data) * prod(sizes))


def _repeat(call: Call) -> Counted:
    data = call.tensor("self")
    return Counted(0, _MOVES, element_bytes(data) * data.elements * prod(call.integers("repeats")))


def _pooled(call: Call, operations: int, more: int) -> Counted:
    """A window slides over the last axes; `more` bytes of an index beside each result."""
    data = call.tensor("self")
    window = call.integers("kernel_size")
    axes = len(window)
    steps = call.integers("stride") or window
    pads = call.integers("padding") or [0] * axes
    sizes = [
        (size + 2 * pad - tap) // step + 1
        for size, pad, tap, step in zip(data.shape[-axes:], pads, window, steps, strict=True)
    ]
    results = prod(data.shape[:-axes]) * prod(sizes)
    taps = prod(window)
    return Counted(
        flops=operations * results * taps,
        formula=f"{operations} * {results} results * {taps} of the window",
        output_bytes=(element_bytes(data) + more) * results,
    )


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


def _communicates(_: Call) -> Counted:
    why = "it communicates: the topic communication has its bytes and rates"
    return Counted(None, "", flops_missing=why, bytes_missing=why)


def _resized(call: Call) -> Counted:
    data, sizes = call.tensor("self"), call.integers("output_size")
    if not sizes:
        raise NoFormulaError("the size of its result is not recorded")
    results = prod(data.shape[: -len(sizes)]) * prod(sizes)
    return Counted(0, _MOVES, element_bytes(data) * results)


FORMULAS: tuple[Formula, ...] = (
    *formulas(
        _communicates,
        "record_param_comms(...)",
        "c10d::*(...)",
        "nccl:*(...)",
        "_c10d_functional::*(...)",
        "_C_custom_ar::all_reduce(...)",
        "vllm::all_reduce*(...)",
        "vllm::all_gather*(...)",
        "vllm::reduce_scatter*(...)",
        "sglang::*all_reduce*(...)",
        "sgl_kernel::*all_reduce*(...)",
        "aiter::*all_reduce*(...)",
        "aiter::*allreduce*(...)",
    ),
    *formulas(_copy, "aten::copy_(self!, source, non_blocking)"),
    *formulas(
        _clone,
        "aten::clone(self, memory_format)",
        "aten::contiguous(self, memory_format)",
        "aten::_to_copy(self, dtype, ...)",
        "aten::roll(self, shifts, dims)",
        "aten::flip(self, dims)",
        "aten::tril(self, diagonal)",
        "aten::triu(self, diagonal)",
        "sgl_kernel::copy_to_gpu_no_ce(self, out!)",
    ),
    *formulas(
        _fill,
        "aten::fill_(self!, value)",
        "aten::zero_(self!)",
        "aten::normal_(self!, mean, std, generator)",
        "aten::uniform_(self!, from, to, generator)",
        "aten::random_(self!, ...)",
        "aten::exponential_(self!, lambd, generator)",
        "aten::bernoulli_(self!, p, generator)",
        "aten::log_normal_(self!, mean, std, generator)",
        "aten::cauchy_(self!, median, sigma, generator)",
    ),
    *formulas(
        _joined,
        "aten::cat(tensors, dim)",
        "aten::stack(tensors, dim)",
        "aten::concat(tensors, dim)",
    ),
    *formulas(
        _rows("weight", "indices"),
        "aten::embedding(weight~, indices, padding_idx, scale_grad_by_freq, sparse)",
    ),
    *formulas(_select, "aten::index_select(self~, dim, index)"),
    *formulas(_gather, "aten::gather(self~, dim, index, sparse_grad)"),
    *formulas(
        _scatter(0),
        "aten::scatter_(self~, dim, index, source)",
        "aten::scatter(self~, dim, index, source)",
        "aten::index_copy_(self~, dim, index, source)",
        "aten::index_fill_(self~, dim, index, value)",
    ),
    *formulas(
        _scatter(1),
        "aten::scatter_add_(self~, dim, index, source)",
        "aten::scatter_add(self~, dim, index, source)",
        "aten::index_add_(self~, dim, index, source, alpha)",
        "aten::scatter_reduce_(self~, dim, index, source, reduce, include_self)",
    ),
    *formulas(_index, "aten::index(self~, indices~)"),
    *formulas(
        _index_put,
        "aten::index_put_(self~, indices~, values, accumulate)",
        "aten::_index_put_impl_(self~, indices~, values, accumulate, unsafe)",
    ),
    *formulas(
        _embedding_backward,
        "aten::embedding_dense_backward(grad, indices, rows, padding_idx, scale_grad_by_freq)",
    ),
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
        lambda call: _pooled(call, 1, 8),
        "aten::max_pool2d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode)",
        "aten::max_pool3d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode)",
    ),
    *formulas(
        lambda call: _pooled(call, 1, 0),
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
        _resized,
        "aten::upsample_nearest1d(self, output_size, scales)",
        "aten::upsample_nearest2d(self, output_size, scales_h, scales_w)",
        "aten::upsample_nearest3d(self, output_size, scales_d, scales_h, scales_w)",
        "aten::_upsample_nearest_exact2d(self, output_size, scales_h, scales_w)",
    ),
)
