"""Operators that move data as it is: copies, concatenation, fills; and those that communicate."""

from __future__ import annotations

from rocm_perf.analysis.operators.work.call import Call, Counted, broadcast, element_bytes
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


def _joined_into(call: Call) -> Counted:
    """The tensors of a list, whose types are not recorded, into one that is given: as many elements, as large."""
    return Counted(0, _MOVES, touched_bytes=call.size("out"), touched="as much read as is written")


def _gathered_in(call: Call) -> Counted:
    """The tensors of a list into this rank's part of the buffer that is gathered next: as much written as is read."""
    call.tensors("tensors")
    return Counted(0, _MOVES, touched_bytes=call.size("tensors"), touched="of the buffer this rank's part")


def _communicates(_: Call) -> Counted:
    why = "it communicates: the topic communication has its bytes and rates"
    return Counted(None, "", flops_missing=why, bytes_missing=why)


FORMULAS: tuple[Formula, ...] = (
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
        "aten::split_with_sizes_copy(self, split_sizes, dim, out~)",
        "fsdp::split_with_sizes_copy(self, split_sizes, dim, out~)",
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
    *formulas(_joined, "aten::cat(tensors, dim)", "aten::stack(tensors, dim)", "aten::concat(tensors, dim)"),
    *formulas(_joined_into, "fsdp::chunk_cat(tensors~, dim, num_chunks, out!)"),
    *formulas(_gathered_in, "fsdp::all_gather_copy_in(tensors, out~, sizes, elements, rank)"),
    *formulas(
        _communicates,
        "record_param_comms(...)",
        "c10d::*(...)",
        "nccl:*(...)",
        "_c10d_functional::*(...)",
        "*::*all_reduce*(...)",
        "*::*allreduce*(...)",
        "*::*all_gather*(...)",
        "*::*reduce_scatter*(...)",
        "*::*all_to_all*(...)",
    ),
)
