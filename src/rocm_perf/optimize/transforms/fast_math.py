"""Intrinsics that compute faster and less exactly. They are proposed only where that is allowed."""

from __future__ import annotations

from tree_sitter import Node

from rocm_perf.optimize.candidate import Edit
from rocm_perf.optimize.source.model import Kernel
from rocm_perf.optimize.source.parse import Source
from rocm_perf.optimize.source.tree import below, text_of
from rocm_perf.optimize.transforms.setting import Setting
from rocm_perf.optimize.transforms.transform import Proposals, Transform

# CUDA C++ Programming Guide, "Intrinsic Functions"; HIP has the same names.
_FASTER = {
    "expf": "__expf",
    "exp10f": "__exp10f",
    "logf": "__logf",
    "log2f": "__log2f",
    "log10f": "__log10f",
    "sinf": "__sinf",
    "cosf": "__cosf",
    "tanf": "__tanf",
    "powf": "__powf",
    "fdividef": "__fdividef",
}


def propose(_source: Source, kernel: Kernel, setting: Setting, proposals: Proposals) -> None:
    """One change with every function for which there is a faster one."""
    calls = [
        each for call in below(kernel.node, "call_expression") if (each := _replaceable(call)) is not None
    ]
    if not calls:
        return
    replaced = ", ".join(sorted({f"{text_of(each)} by {_FASTER[text_of(each)]}" for each in calls}))
    if not setting.allow_fast_math:
        proposals.refuse(f"{replaced}", "it is less exact, and fast math is not allowed")
        return
    edits = (Edit(each.start_byte, each.end_byte, _FASTER[text_of(each)].encode()) for each in calls)
    proposals.propose(replaced, *edits)


def _replaceable(call: Node) -> Node | None:
    function = call.child_by_field_name("function")
    return function if function is not None and text_of(function) in _FASTER else None


TRANSFORM = Transform(
    name="fast math", ranks={"compute": 2, "latency": 6, "unknown": 7, "memory": 8}, propose=propose
)
