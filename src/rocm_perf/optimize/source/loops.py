"""The loops of a kernel: what they count, how often they run where that is known, and what they contain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tree_sitter import Node

from rocm_perf.optimize.source.constants import Constant, constants_at, value_of
from rocm_perf.optimize.source.contents import Contents, contents_of, dynamic_shared_names
from rocm_perf.optimize.source.model import Kernel, LoopKind, Span
from rocm_perf.optimize.source.parse import Source
from rocm_perf.optimize.source.tree import ancestors, below, line_of, span_of, text_of

KINDS: dict[str, LoopKind] = {
    "for_statement": "for",
    "while_statement": "while",
    "do_statement": "do",
    "for_range_loop": "range",
}
_MOST_TRIPS = 4096  # that are counted one by one


@dataclass(frozen=True)
class Induction:
    """What a `for` counts: `int i = START; i < BOUND; i += STEP`."""

    name: str
    type: str
    start: Node = field(repr=False)
    comparison: str
    bound: Node = field(repr=False)
    change: str  # "+=", "-=", "*=", "/=", "<<=", ">>="; "++" is "+="
    step: Node | None = field(repr=False)  # None: one


@dataclass(frozen=True)
class Loop:
    """A loop of a kernel."""

    kind: LoopKind
    line: int
    depth: int  # how many loops of the kernel are around it
    span: Span
    body: Span
    induction: Induction | None  # None: it does not count, or not in a way that is understood
    trips: int | None  # None: not known from the text
    pragma: str | None  # what stands before it: "unroll 4"
    contents: Contents
    node: Node = field(repr=False, compare=False)


def loops_of(source: Source, kernel: Kernel) -> tuple[Loop, ...]:
    """Every loop in the body of a kernel, in the order of the text."""
    constants = constants_at(source.tree.root_node, kernel.node)
    shared = dynamic_shared_names(source.tree.root_node, kernel.node)
    return tuple(
        _loop(each, kernel, constants=constants, shared=shared) for each in below(kernel.node, *KINDS)
    )


def _loop(node: Node, kernel: Kernel, *, constants: Mapping[str, Constant], shared: frozenset[str]) -> Loop:
    body = node.child_by_field_name("body")
    induction = induction_of(node)
    return Loop(
        kind=KINDS[node.type],
        line=line_of(node),
        depth=sum(each.type in KINDS for each in ancestors(node)),
        span=span_of(node),
        body=span_of(body) if body else span_of(node),
        induction=induction,
        trips=_trips(induction, constants) if induction else None,
        pragma=_pragma_before(node),
        contents=contents_of(node, kernel.calls, shared),
        node=node,
    )


def induction_of(node: Node) -> Induction | None:
    """What a `for` counts, where it has one variable that only its head changes."""
    parts = [node.child_by_field_name(part) for part in ("initializer", "condition", "update", "body")]
    initializer, condition, update, body = parts
    if (
        node.type != "for_statement"
        or initializer is None
        or condition is None
        or update is None
        or body is None
    ):
        return None
    declarators = initializer.children_by_field_name("declarator")
    if initializer.type != "declaration" or len(declarators) != 1 or declarators[0].type != "init_declarator":
        return None
    name, start = (
        text_of(declarators[0].child_by_field_name("declarator")),
        declarators[0].child_by_field_name("value"),
    )
    change = _change(update, name)
    bound = condition.child_by_field_name("right")
    if condition.type != "binary_expression" or text_of(condition.child_by_field_name("left")) != name:
        return None
    if start is None or bound is None or change is None or is_changed(name, body):
        return None
    return Induction(
        name=name,
        type=text_of(initializer.child_by_field_name("type")),
        start=start,
        comparison=text_of(condition.child_by_field_name("operator")),
        bound=bound,
        change=change[0],
        step=change[1],
    )


def is_changed(name: str, piece: Node) -> bool:
    """Whether a variable is assigned, counted or has its address taken in a piece of a kernel."""
    for node in below(piece, "assignment_expression", "update_expression", "pointer_expression"):
        target = node.child_by_field_name("left") or node.child_by_field_name("argument")
        is_address = node.type != "pointer_expression" or text_of(node.child_by_field_name("operator")) == "&"
        if is_address and text_of(target) == name:
            return True
    return False


def _change(update: Node, name: str) -> tuple[str, Node | None] | None:
    if update.type == "update_expression" and text_of(update.child_by_field_name("argument")) == name:
        return {"++": "+=", "--": "-="}[text_of(update.child_by_field_name("operator"))], None
    if update.type == "assignment_expression" and text_of(update.child_by_field_name("left")) == name:
        return text_of(update.child_by_field_name("operator")), update.child_by_field_name("right")
    return None


def _trips(induction: Induction, constants: Mapping[str, Constant]) -> int | None:
    value, bound = value_of(induction.start, constants), value_of(induction.bound, constants)
    step = 1 if induction.step is None else value_of(induction.step, constants)
    holds, change = _COMPARISONS.get(induction.comparison), _CHANGES.get(induction.change)
    if value is None or bound is None or step is None or holds is None or change is None:
        return None
    for trips in range(_MOST_TRIPS):
        if not holds(value, bound):
            return trips
        following = change(value, step)
        if following == value:
            return None
        value = following
    return None


_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
    "!=": lambda left, right: left != right,
}
_CHANGES: dict[str, Callable[[int, int], int]] = {
    "+=": lambda value, step: value + step,
    "-=": lambda value, step: value - step,
    "*=": lambda value, step: value * step,
    "/=": lambda value, step: value // step if step > 0 and value >= 0 else value,
    "<<=": lambda value, step: value << step if 0 <= step < 32 else value,
    ">>=": lambda value, step: value >> step if step >= 0 else value,
}


def _pragma_before(node: Node) -> str | None:
    """The argument of a `#pragma` right before a loop."""
    before = node.prev_named_sibling
    while before is not None and before.type == "comment":
        before = before.prev_named_sibling
    if before is None or before.type != "preproc_call":
        return None
    return text_of(before.child_by_field_name("argument")).strip()
