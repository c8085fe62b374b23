"""The gate `safety`: barriers, fences, atomics and exchanges between lanes are as before, in number, order and nesting,
and nothing new is assumed about the size of a wave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher

from tree_sitter import Node

from rocm_perf.optimize.gates import Passage
from rocm_perf.optimize.guards.changed_kernel import ChangedKernel, KernelText, changed_kernel
from rocm_perf.optimize.source.constants import integer
from rocm_perf.optimize.source.kernels import plain_name
from rocm_perf.optimize.source.thread_values import depends_on
from rocm_perf.optimize.source.tree import ancestors, line_of, text_of
from rocm_perf.optimize.source.vocabulary import FENCES, is_atomic, is_barrier, is_lane_operation

_WAVE_SIZES = frozenset((31, 32, 63, 64))
_CONTROL = (
    "for_statement",
    "while_statement",
    "do_statement",
    "for_range_loop",
    "if_statement",
    "switch_statement",
)
_BY_LANE = frozenset(("%", "&", "/", ">>"))


def safety_passage(original: bytes, candidate: bytes, kernel: str) -> Passage:
    """Whether threads wait for one another and exchange values as before."""
    change = changed_kernel(original, candidate, kernel)
    if isinstance(change, str):
        return Passage("safety", False, change)
    reason = _synchronisation(change) or _wave_size(change)
    count = len(list(_operations(change.old)))
    words = (
        f"barriers, atomics and exchanges as before ({count})"
        if count
        else "no barriers, atomics or exchanges"
    )
    return Passage("safety", reason is None, reason or words)


def _synchronisation(change: ChangedKernel) -> str | None:
    old, new = list(_operations(change.old)), list(_operations(change.new))
    before, after = (list(map(plain_name, each)) for each in (old, new))
    for how, start, _, start_new, _ in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if how == "delete":
            return f"{before[start]} of line {line_of(old[start])} is missing"
        if how == "insert":
            return f"{after[start_new]} in line {line_of(new[start_new])} is new"
        if how == "replace":
            where = line_of(new[start_new])
            return f"{after[start_new]} in line {where} stands where {before[start]} stood before"
    moved = [later for earlier, later in zip(old, new, strict=True) if _nesting(earlier) != _nesting(later)]
    if moved:
        return f"{plain_name(moved[0])} in line {line_of(moved[0])} is under other loops or conditions than before"
    return None


def _operations(text: KernelText) -> Iterator[Node]:
    """Names of the calls in which threads meet, in the order of the text."""
    return (each for each in text.called if _meets(plain_name(each)))


def _meets(name: str) -> bool:
    return is_barrier(name) or is_atomic(name) or is_lane_operation(name) or name in FENCES


def _nesting(function: Node) -> list[str]:
    """The loops and conditions around an operation."""
    return [each.type for each in ancestors(function) if each.type in _CONTROL]


def _wave_size(change: ChangedKernel) -> str | None:
    before = Counter(text_of(each) for each in _lane_numbers(change.old))
    for number in _lane_numbers(change.new):
        before[text_of(number)] -= 1
        if before[text_of(number)] < 0:
            return f"{text_of(number)} in line {line_of(number)} assumes the size of a wave"
    return None


def _lane_numbers(text: KernelText) -> Iterator[Node]:
    """Sizes of a wave that stand in calls of lane operations, or beside a thread's own number."""
    for number in text.below("number_literal"):
        if integer(text_of(number)) in _WAVE_SIZES and _is_about_lanes(text, number):
            yield number


def _is_about_lanes(text: KernelText, number: Node) -> bool:
    has_lanes = any(is_lane_operation(plain_name(each)) for each in _operations(text))
    for each in ancestors(number):
        if each.type == "call_expression" and is_lane_operation(
            text_of(each.child_by_field_name("function"))
        ):
            return True
        if each.type == "binary_expression" and text_of(each.child_by_field_name("operator")) in _BY_LANE:
            return has_lanes or depends_on(text.kernel.node, each, "threadIdx.x")
        if each.type == "for_statement":
            return has_lanes
    return False
