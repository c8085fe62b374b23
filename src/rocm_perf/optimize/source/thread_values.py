"""Which expressions of a kernel differ from thread to thread."""

from __future__ import annotations

from tree_sitter import Node

from rocm_perf.optimize.source.parameters import declared_name
from rocm_perf.optimize.source.tree import below, text_of


def depends_on(function: Node, expression: Node, origin: str) -> bool:
    """Whether a value is computed from `threadIdx.x` or the like, directly or through variables."""
    names = _computed_from(function, origin)
    return _mentions(expression, origin, names)


def _computed_from(function: Node, origin: str) -> set[str]:
    names: set[str] = set()
    while True:
        grown = names | {
            text_of(declared_name(target) or target)
            for node in below(function, "init_declarator", "assignment_expression")
            if (target := node.child_by_field_name("declarator") or node.child_by_field_name("left"))
            is not None
            and (value := node.child_by_field_name("value") or node.child_by_field_name("right")) is not None
            and _mentions(value, origin, names)
        }
        if grown == names:
            return names
        names = grown


def _mentions(expression: Node, origin: str, names: set[str]) -> bool:
    return any(text_of(each) == origin for each in below(expression, "field_expression")) or any(
        text_of(each) in names for each in below(expression, "identifier")
    )
