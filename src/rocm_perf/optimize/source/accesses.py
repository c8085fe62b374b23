"""How a kernel uses the memory that a name points to: read, written, changed atomically, or handed on to where that
is not known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from tree_sitter import Node

from rocm_perf.optimize.source.contents import Mention
from rocm_perf.optimize.source.kernels import plain_name
from rocm_perf.optimize.source.model import Function
from rocm_perf.optimize.source.tree import ancestors, below, children, line_of, text_of
from rocm_perf.optimize.source.vocabulary import COMPUTES, is_atomic

Use = Literal["read", "write", "atomic", "escape", "reassign", "derive"]
_READS = frozenset(("__ldg", "__ldcg", "__ldca", "__ldcs", "__ldlu", "__ldcv"))
_CASTS = frozenset(("reinterpret_cast", "static_cast", "const_cast"))
# Assembly, and methods of an element: `x->f()`.
_UNKNOWN = ("gnu_asm_output_operand", "gnu_asm_input_operand", "call_expression")
# What keeps an address where it is not followed; `&x` is the address of the pointer itself.
_HANDING_ON = ("return_statement", "lambda_capture_specifier", "initializer_list", "pointer_expression")
_THROUGH = ("parenthesized_expression", "cast_expression", "conditional_expression", "comma_expression")


@dataclass(frozen=True)
class Access:
    """One use of a pointer or array."""

    use: Use
    mention: Mention
    element: Node | None  # the expression that is read or written: `x[i]`


@dataclass(frozen=True)
class Accesses:
    """Every use of what a name points to."""

    all: tuple[Access, ...]

    def by(self, *uses: Use) -> tuple[Access, ...]:
        """Those of some kinds."""
        return tuple(each for each in self.all if each.use in uses)

    @property
    def written(self) -> tuple[Access, ...]:
        """Where it is changed, or may be."""
        return self.by("write", "atomic", "escape")


def accesses_of(name: str, function: Node, functions: tuple[Function, ...]) -> Accesses:
    """How a function uses what a parameter, variable or array of it points to, through pointers derived from it too."""
    return Accesses(tuple(_accesses(name, function, {each.name: each for each in functions}, depth=0)))


def based_on(name: str, function: Node) -> frozenset[str]:
    """The name, and local pointers that are made from it."""
    names = {name}
    while True:
        grown = names | {each for each in _derived(function, names) if each}
        if grown == names:
            return frozenset(names)
        names = grown


def _derived(function: Node, names: set[str]) -> Iterator[str]:
    for declarator in below(function, "init_declarator"):
        target, value = declarator.child_by_field_name("declarator"), declarator.child_by_field_name("value")
        if (
            target is not None
            and value is not None
            and _points(declarator, target)
            and _hands_on(value, names)
        ):
            yield text_of(next(below(target, "identifier"), None))
    for declarator in below(
        function, "function_declarator"
    ):  # `float* p(x);` looks like a function to the grammar
        if any(text_of(each) in names for each in below(declarator, "type_identifier")):
            yield text_of(declarator.child_by_field_name("declarator"))
    for assignment in below(function, "assignment_expression"):
        left, right = assignment.child_by_field_name("left"), assignment.child_by_field_name("right")
        if left is not None and left.type == "identifier" and right is not None and _hands_on(right, names):
            yield text_of(left)


def _points(declarator: Node, target: Node) -> bool:
    is_auto = (
        declarator.parent is not None and text_of(declarator.parent.child_by_field_name("type")) == "auto"
    )
    return is_auto or target.type in ("pointer_declarator", "reference_declarator")


def _hands_on(value: Node, names: set[str]) -> bool:
    """Whether the address itself is in a value, not only what it points to."""
    return any(
        text_of(each) in names and _use(each, value) == "derive"
        for each in (value, *below(value, "identifier"))
        if each.type == "identifier"
    )


def _accesses(name: str, function: Node, functions: dict[str, Function], depth: int) -> Iterator[Access]:
    names = based_on(name, function)
    for identifier in below(function, "identifier"):
        if text_of(identifier) in names and not _is_declared_here(identifier):
            is_own = (
                text_of(identifier) == name
            )  # another may point elsewhere later, without harm to this one
            uses = _followed(identifier, functions, depth)
            yield from (each for each in uses if is_own or each.use != "reassign")


def _followed(identifier: Node, functions: dict[str, Function], depth: int) -> Iterator[Access]:
    """The use of one occurrence; where it is an argument of a function of the file, the uses there."""
    use, at, element = _classified(identifier)
    if isinstance(use, tuple):
        called, position = use
        function = functions.get(called)
        if function is None or depth > 8 or position >= len(function.parameters):
            yield Access("escape", Mention(f"{called}()", line_of(at)), element)
        elif function.parameters[position].depth:
            yield from _accesses(function.parameters[position].name, function.node, functions, depth + 1)
        elif function.parameters[position].reference and not function.parameters[position].const:
            yield Access("write", Mention(f"{called}()", line_of(at)), element)
        else:
            yield Access("read", Mention(text_of(at)[:30], line_of(at)), element)
        return
    mention = Mention(text_of(element or at)[:30], line_of(at))
    yield Access("read" if use == "both" else use, mention, element)
    if use == "both":
        yield Access("write", mention, element)


def _use(identifier: Node, within: Node) -> str | tuple[str, int]:
    return _classified(identifier, within)[0]


def _classified(
    identifier: Node, within: Node | None = None
) -> tuple[Use | Literal["both"] | tuple[str, int], Node, Node | None]:
    """What happens to an address that stands in the text: the use, where, and the element that is touched. An
    argument of a call is the function's name with the position."""
    node, element, addressed = identifier, None, None
    while (parent := node.parent) is not None and (within is None or node.id != within.id):
        if (element is None and _dereferences(parent, node)) or (
            element is not None and _refines(parent, node)
        ):
            node = element = parent
        elif element is not None and parent.type == "pointer_expression":
            node, element, addressed = parent, None, element  # & of an element is an address again
        elif _goes_through(parent, node):
            node = parent
        elif element is None and parent.type == "binary_expression":
            if text_of(parent.child_by_field_name("operator")) not in "+-":
                return "derive", identifier, None  # compared: nothing is touched
            node = parent
        else:
            use, at, touched = _at_end(parent, node, identifier, element)
            return use, at, addressed if use == "atomic" else touched
    return ("derive" if element is None else "read"), identifier, element


def _dereferences(parent: Node, node: Node) -> bool:
    if parent.type in ("subscript_expression", "field_expression"):
        argument = parent.child_by_field_name("argument")
        arrow = (
            parent.type == "subscript_expression" or text_of(parent.child_by_field_name("operator")) == "->"
        )
        return arrow and argument is not None and argument.id == node.id
    return parent.type == "pointer_expression" and text_of(parent.child_by_field_name("operator")) == "*"


def _refines(parent: Node, node: Node) -> bool:
    """`x[i].y`, `x[i][j]`."""
    argument = parent.child_by_field_name("argument")
    return (
        parent.type in ("subscript_expression", "field_expression")
        and argument is not None
        and argument.id == node.id
    )


def _goes_through(parent: Node, node: Node) -> bool:
    if parent.type in _THROUGH:
        condition = parent.child_by_field_name("condition")
        return condition is None or condition.id != node.id
    if parent.type == "argument_list" and parent.parent is not None:
        return _called(parent) in _CASTS
    return parent.type == "call_expression" and _called(node) in _CASTS


def _called(arguments: Node) -> str:
    function = arguments.parent.child_by_field_name("function") if arguments.parent else None
    return plain_name(function) if function else ""


def _at_end(
    parent: Node, node: Node, identifier: Node, element: Node | None
) -> tuple[Use | Literal["both"] | tuple[str, int], Node, Node | None]:
    if parent.type == "assignment_expression":
        return _assigned(parent, node, element), identifier, element
    if parent.type == "update_expression":
        return ("both" if element else "derive"), identifier, element
    if parent.type == "argument_list":
        return _argument(parent, node, element), parent.parent or parent, element
    if parent.type == "init_declarator":
        return _bound(parent, element), identifier, element
    if parent.type in _UNKNOWN or (element is None and parent.type in _HANDING_ON):
        return "escape", identifier, element
    return ("read" if element else "derive"), identifier, element


def _bound(declarator: Node, element: Node | None) -> Use:
    """What a variable makes of its first value: a reference may be written through later."""
    target, declaration = declarator.child_by_field_name("declarator"), declarator.parent
    if element is None:
        return "derive"
    if target is None or target.type != "reference_declarator" or declaration is None:
        return "read"
    return "read" if "const" in map(text_of, children(declaration, "type_qualifier")) else "escape"


def _assigned(parent: Node, node: Node, element: Node | None) -> Use | Literal["both"]:
    left, is_plain = (
        parent.child_by_field_name("left"),
        text_of(parent.child_by_field_name("operator")) == "=",
    )
    if left is None or left.id != node.id:  # it stands on the right
        local = left is not None and left.type == "identifier"
        return "read" if element else "derive" if local else "escape"
    if element is None:
        return "reassign" if is_plain else "derive"
    return "write" if is_plain else "both"


def _argument(arguments: Node, node: Node, element: Node | None) -> Use | tuple[str, int]:
    name = _called(arguments)
    position = [each.id for each in arguments.named_children if each.type != "comment"].index(node.id)
    if is_atomic(name) and position == 0:
        return "atomic"
    if name in _READS or (
        element is not None and (name in COMPUTES or is_atomic(name) or name.startswith("__shfl"))
    ):
        return "read"
    return name, position


def _is_declared_here(identifier: Node) -> bool:
    """Whether an occurrence only declares the name."""
    for each in ancestors(identifier):
        if each.type in ("parameter_declaration", "optional_parameter_declaration"):
            return True
        if each.type == "init_declarator":
            target = each.child_by_field_name("declarator")
            return target is not None and target.start_byte <= identifier.start_byte < target.end_byte
        if each.type == "declaration":
            return True
        if (
            each.type.endswith("_expression")
            or each.type.endswith("_statement")
            or each.type == "argument_list"
        ):
            return False
    return False
