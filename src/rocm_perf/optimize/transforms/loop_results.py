"""What a loop leaves in variables, where its elements go to other threads than before: it must not matter which thread
had which element."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from rocm_perf.optimize.source.contents import dynamic_shared_names
from rocm_perf.optimize.source.kernels import called_names, plain_name
from rocm_perf.optimize.source.loops import Loop
from rocm_perf.optimize.source.model import Kernel
from rocm_perf.optimize.source.parameters import declared_name
from rocm_perf.optimize.source.parse import Source
from rocm_perf.optimize.source.tree import ancestors, below, line_of, mentions, span_of, text_of
from rocm_perf.optimize.source.vocabulary import is_lane_operation
from rocm_perf.optimize.transforms.lds_padding import shared_arrays

_REDUCTIONS = frozenset(("fmaxf", "fminf", "fmax", "fmin", "max", "min"))


def reason_of_results(source: Source, kernel: Kernel, loop: Loop, *, may_reduce: bool) -> str | None:
    """Why a result of the loop depends on who had which element. `may_reduce`: the block may join sums and extremes."""
    for node in below(loop.node, "assignment_expression", "update_expression"):
        target = node.child_by_field_name("left") or node.child_by_field_name("argument")
        if target is None or target.type != "identifier" or _is_own(loop, text_of(target)):
            continue
        if not may_reduce or not _is_reduction(node, text_of(target)):
            return f"what it leaves in {text_of(target)} depends on which thread had which element"
        if (use := _use_before_joining(source, kernel, loop, text_of(target))) is not None:
            return f"{text_of(use)} is used in line {line_of(use)} before the threads of the block have joined theirs"
    return None


def _use_before_joining(source: Source, kernel: Kernel, loop: Loop, name: str) -> Node | None:
    """The first use of a thread's own sum that is not its way to the other threads of the block."""
    shared = {
        *dynamic_shared_names(source.tree.root_node, kernel.node),
        *(each for _, each, _ in shared_arrays(kernel)),
    }
    is_last = loop.node.parent is not None and span_of(loop.node.parent) == kernel.body
    for use in below(kernel.node, "identifier"):
        is_outside = not loop.span.holds(span_of(use)) and not _is_declared(use)
        if text_of(use) != name or not is_outside or (is_last and use.start_byte < loop.span.start):
            continue
        if _is_set_anew(use):
            return None
        if not any(_hands_over(kernel, each, shared) for each in _around(use)):
            return use
    return None


def _around(use: Node) -> Iterator[Node]:
    """The assignments and calls that a use is part of."""
    return (each for each in ancestors(use) if each.type in ("assignment_expression", "call_expression"))


def _hands_over(kernel: Kernel, node: Node, shared: set[str]) -> bool:
    """`part[threadIdx.x] = sum`, `block_sum(sum)`, `sum += __shfl_down(sum, 1)`."""
    if node.type == "assignment_expression":
        left = node.child_by_field_name("left")
        is_element = left is not None and left.type == "subscript_expression"
        if is_element and text_of(next(below(node, "identifier"), None)) in shared:
            return True
        return (
            left is not None and left.type == "identifier" and any(map(is_lane_operation, called_names(node)))
        )
    function = node.child_by_field_name("function")
    name = plain_name(function) if function else ""
    return is_lane_operation(name) or name in {each.name for each in kernel.calls}


def _is_set_anew(use: Node) -> bool:
    parent = use.parent
    left = parent.child_by_field_name("left") if parent and parent.type == "assignment_expression" else None
    return (
        left is not None
        and left.id == use.id
        and text_of(parent).replace(" ", "").startswith(f"{text_of(use)}=")
    )


def _is_declared(use: Node) -> bool:
    parent = use.parent
    target = parent.child_by_field_name("declarator") if parent else None
    return target is not None and target.id == use.id


def _is_own(loop: Loop, name: str) -> bool:
    """Whether a variable is declared in the loop itself, its head included."""
    return any(
        text_of(declared_name(declarator)) == name
        for declaration in below(loop.node, "declaration")
        for declarator in declaration.children_by_field_name("declarator")
    )


def _is_reduction(assignment: Node, name: str) -> bool:
    """`count++`, `sum += x`, `highest = fmaxf(highest, x)`."""
    if assignment.type == "update_expression":
        return True
    right = assignment.child_by_field_name("right")
    if right is None or text_of(assignment.child_by_field_name("operator")) in ("+=", "*=", "|=", "&=", "^="):
        return right is not None and not mentions(right, name)
    arguments = right.child_by_field_name("arguments")
    is_known = (
        right.type == "call_expression" and text_of(right.child_by_field_name("function")) in _REDUCTIONS
    )
    if text_of(assignment.child_by_field_name("operator")) != "=" or not is_known or arguments is None:
        return False
    mentioning = [each for each in arguments.named_children if mentions(each, name)]
    return len(mentioning) == 1 and text_of(mentioning[0]) == name
