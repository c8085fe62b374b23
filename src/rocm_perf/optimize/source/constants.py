"""Named constants of a source file, and the values of expressions that consist of them."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tree_sitter import Node

from rocm_perf.optimize.source.model import ELEMENT_BYTES, Span
from rocm_perf.optimize.source.parameters import declared_name, template_parameters_of
from rocm_perf.optimize.source.tree import ancestors, below, children, line_of, span_of, text_of


@dataclass(frozen=True)
class Constant:
    """`constexpr int THREADS = 256`, `const int threads = 64`, `#define THREADS 256`."""

    name: str
    value: int
    literal: Span | None  # the number, where the value is written as one
    line: int
    declaration: Span
    scope: Span | None  # the block in which it is seen; None: the whole file


def constants_at(root: Node, place: Node) -> dict[str, Constant]:
    """Constants by name, as they are seen from a place in the text. A name that may mean several things is left out."""
    function = next((each for each in (place, *ancestors(place)) if each.type == "function_definition"), None)
    declared = Counter(_declared_names(function)) if function else Counter[str]()
    around = span_of(function or place)
    by_name: dict[str, list[Constant]] = {}
    for each in _constants(root):
        if each.scope is None or each.scope.holds(span_of(place)) or around.holds(each.declaration):
            by_name.setdefault(each.name, []).append(each)
    seen = {name: _meant(group, declared[name], around) for name, group in by_name.items()}
    return {name: each for name, each in seen.items() if each is not None}


def _meant(group: list[Constant], declared: int, around: Span) -> Constant | None:
    """The constant that a name means in a function which declares it that many times."""
    candidates = [each for each in group if around.holds(each.declaration)] if declared else group
    return candidates[0] if len(candidates) == 1 and declared <= 1 else None


def _constants(root: Node) -> list[Constant]:
    """Every constant of the file, in the order of the text."""
    constants: list[Constant] = []
    for node in below(root, "init_declarator", "preproc_def"):
        known = {
            each.name: each for each in constants if each.scope is None or each.scope.holds(span_of(node))
        }
        constant = _macro(node) if node.type == "preproc_def" else _variable(node, known)
        constants += [constant] if constant else []
    return constants


def _declared_names(function: Node) -> Iterator[str]:
    """Names of the parameters and variables of a function, and of its template's parameters."""
    parent = function.parent
    if parent is not None:
        yield from (each.name for each in template_parameters_of(parent) or ())
    for node in below(function, "declaration", "parameter_declaration", "optional_parameter_declaration"):
        for declarator in node.children_by_field_name("declarator"):
            yield text_of(declared_name(declarator))


def value_of(node: Node | None, constants: Mapping[str, Constant]) -> int | None:
    """The integer that an expression stands for. None: not known here."""
    if node is None:
        return None
    if node.type == "number_literal":
        return integer(text_of(node))
    if node.type in ("identifier", "type_identifier"):
        constant = constants.get(text_of(node))
        return constant.value if constant else None
    if node.type == "binary_expression":
        return _binary(node, constants)
    if node.type in ("parenthesized_expression", "parameter_declaration") and node.named_child_count == 1:
        return value_of(node.named_children[0], constants)
    if node.type == "sizeof_expression":
        return ELEMENT_BYTES.get(text_of(node.child_by_field_name("type")))
    return None


def integer(text: str) -> int | None:
    """The value of an integer as C++ writes it: 256, 0x40u, 1'024, 64ull."""
    bare = text.replace("'", "").rstrip("uUlL")
    octal = len(bare) > 1 and bare[0] == "0" and bare.isdigit()
    try:
        return int(bare, 8 if octal else 0)
    except ValueError:
        return None


def _binary(node: Node, constants: Mapping[str, Constant]) -> int | None:
    left, right = (value_of(node.child_by_field_name(side), constants) for side in ("left", "right"))
    calculate = _OPERATORS.get(text_of(node.child_by_field_name("operator")))
    if left is None or right is None or calculate is None:
        return None
    try:
        return calculate(left, right)
    except (ZeroDivisionError, ValueError, OverflowError):
        return None


def _shifted_left(value: int, by: int) -> int:
    if by > 64:
        raise OverflowError
    return value << by


def _divided(left: int, right: int) -> int:
    """Towards zero, as C++ divides."""
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divided,
    "%": lambda left, right: left - right * _divided(left, right),
    "<<": _shifted_left,
    ">>": operator.rshift,
}


def _variable(node: Node, constants: Mapping[str, Constant]) -> Constant | None:
    declaration, name, value = (
        node.parent,
        node.child_by_field_name("declarator"),
        node.child_by_field_name("value"),
    )
    if declaration is None or name is None or name.type != "identifier" or value is None:
        return None
    qualifiers = {text_of(each) for each in children(declaration, "type_qualifier")}
    number = value_of(value, constants)
    if not qualifiers & {"const", "constexpr"} or number is None:
        return None
    literal = span_of(value) if value.type == "number_literal" else None
    block = next((each for each in ancestors(node) if each.type == "compound_statement"), None)
    return Constant(
        name=text_of(name),
        value=number,
        literal=literal,
        line=line_of(node),
        declaration=span_of(node),
        scope=span_of(block) if block else None,
    )


def _macro(node: Node) -> Constant | None:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    number = integer(text_of(value).strip()) if value is not None else None
    if value is None or number is None:
        return None
    start = value.start_byte + len(text_of(value)) - len(text_of(value).lstrip())
    literal = Span(start, start + len(text_of(value).strip()))
    return Constant(
        name=text_of(name),
        value=number,
        literal=literal,
        line=line_of(node),
        declaration=span_of(node),
        scope=None,
    )
