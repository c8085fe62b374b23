"""Operators that take or set elements by indices: embeddings, gathering and scattering.

Of a table only what the indices name is touched; indices that were given as a list, as in `x[i, j]`, are recorded by
no version of torch.profiler that we know.
"""

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
_INDEX_BYTES = 8  # torch indexes by int64
_NO_INDICES = "its indices are not recorded, and so not how many elements it takes"
_BY_VALUES = "the size of its result follows from values, which are not recorded"


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


def _filled(call: Call) -> Counted:
    """A value for each place in the slices that the indices name."""
    data, index = call.tensor("self"), call.tensor("index")
    slices = reduced(data.shape, [call.integer("dim")]) * index.elements
    return Counted(
        0, _MOVES, touched_bytes=slices * element_bytes(data), touched="a slice of the target for each index"
    )


def _index(call: Call) -> Counted:
    """`self[i, j, ...]` with a tensor for each of the first axes."""
    data, places = call.tensor("self"), call.arguments.get("indices")
    if places is None or places.kind != "tensors":
        return Counted(0, _MOVES, bytes_missing=_NO_INDICES)
    if len(places.shapes) > len(data.shape):
        raise NoFormulaError("it has more indices than axes")
    rest = prod(data.shape[len(places.shapes) :])
    taken = prod(broadcast(*places.shapes)) * rest * element_bytes(data)
    read = taken + _INDEX_BYTES * places.elements
    return Counted(
        0, _MOVES, taken, touched_bytes=read, touched="an element for each result, and the indices"
    )


def _index_put(call: Call) -> Counted:
    """As many elements of the target as there are values, read too where they are added to."""
    values, target = call.tensor("values"), call.tensor("self")
    adds = call.is_true("accumulate")
    moved = (1 + adds) * values.elements * element_bytes(target)
    text = f"1 * {values.elements} elements: add" if adds else _MOVES
    return Counted(adds * values.elements, text, touched_bytes=moved, touched="an element for each value")


def _embedding_backward(call: Call) -> Counted:
    gradient = call.tensor("grad")
    table = call.integer("rows") * gradient.shape[-1]
    return Counted(
        gradient.elements, f"1 * {gradient.elements} elements: add", element_bytes(gradient) * table
    )


def _by_values(_: Call) -> Counted:
    return Counted(0, _MOVES, bytes_missing=_BY_VALUES)


FORMULAS: tuple[Formula, ...] = (
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
    ),
    *formulas(_filled, "aten::index_fill_(self~, dim, index, value)"),
    *formulas(
        _scatter(1),
        "aten::scatter_add_(self~, dim, index, source)",
        "aten::scatter_add(self~, dim, index, source)",
        "aten::index_add_(self~, dim, index, source, alpha)",
        "aten::scatter_(self~, dim, index, source, reduce)",
        "aten::scatter(self~, dim, index, source, reduce)",
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
        _by_values,
        "aten::nonzero(self)",
        "aten::where(condition)",
        "aten::masked_select(self, mask)",
        "aten::_unique2(self, sorted, return_inverse, return_counts)",
        "aten::repeat_interleave(self, repeats, dim, output_size)",
    ),
)
