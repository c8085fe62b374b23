"""From which number a launch takes the size of its blocks, and how its grid follows from that."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from rocm_perf.optimize.candidate import Edit
from rocm_perf.optimize.source.constants import Constant, constants_at, integer
from rocm_perf.optimize.source.launches import Launch, launches_of, other_mentions
from rocm_perf.optimize.source.model import Kernel, Span
from rocm_perf.optimize.source.parse import Source
from rocm_perf.optimize.source.tree import ancestors, below, line_of, span_of, text_of


@dataclass(frozen=True)
class BlockOrigin:
    """The number behind the blocks of all launches of a kernel."""

    size: int
    name: str | None  # of the constant; None: it is written in the launches themselves
    literals: tuple[tuple[Span, int], ...]  # where the number stands, and what is added to it there: 0 or -1
    keeps_items: bool
    launches: tuple[Launch, ...]

    def edits(self, size: int) -> tuple[Edit, ...]:
        """The text with another size."""
        return tuple(Edit(span.start, span.end, str(size + added).encode()) for span, added in self.literals)


def block_origin(source: Source, kernel: Kernel) -> BlockOrigin | str:
    """The one number from which all blocks come, or why there is none."""
    launches = launches_of(source, kernel)
    if not launches:
        return "it is not launched in this file"
    if lines := other_mentions(source, kernel):
        return f"line {lines[0]} uses the kernel in another way than a launch"
    if any(len(each.block) != 1 for each in launches):
        return "its blocks have more than one dimension"
    if any(each.shared is not None and text_of(each.shared) not in ("0", "nullptr") for each in launches):
        return "a launch gives it dynamic shared memory, whose size may follow the block"
    blocks = [each.block[0] for each in launches]
    if (line := _given_to_kernel(launches)) is not None:
        return f"the launch in line {line} gives the size to the kernel as an argument too"
    if all(each.type == "identifier" for each in blocks) and len({text_of(each) for each in blocks}) == 1:
        return _by_name(source, kernel, launches)
    if all(each.type == "number_literal" for each in blocks) and len({text_of(each) for each in blocks}) == 1:
        return _by_literals(launches)
    return "its blocks do not come from one literal or one named constant"


def _by_name(source: Source, kernel: Kernel, launches: tuple[Launch, ...]) -> BlockOrigin | str:
    name = text_of(launches[0].block[0])
    constants = {constants_at(source.tree.root_node, each.block[0]).get(name) for each in launches}
    constant = constants.pop() if len(constants) == 1 else None
    if constant is None or constant.literal is None:
        return f"{name} is not one constant that is written as a number"
    if (line := _used_elsewhere(source, kernel, launches, constant=constant)) is not None:
        return f"{name} is used in line {line} too"
    ties = {_tie(each, name=name, size=constant.value) for each in launches}
    if len(ties) != 1 or None in ties:
        return f"the grid depends on {name} in a way that is not (items + {name} - 1) / {name}"
    return BlockOrigin(
        size=constant.value,
        name=name,
        literals=((constant.literal, 0),),
        keeps_items=ties == {"items"},
        launches=launches,
    )


def _by_literals(launches: tuple[Launch, ...]) -> BlockOrigin | str:
    size = integer(text_of(launches[0].block[0]))
    if size is None:
        return "its block is not an integer"
    ties = {_tie(each, name=None, size=size) for each in launches}
    if len(ties) != 1 or None in ties:
        return f"the grid depends on {size} in a way that is not (items + {size - 1}) / {size}"
    places = {span_of(each.block[0]): 0 for each in launches}
    if ties == {"items"}:
        for launch in launches:
            grid = _followed(launch.grid[0])
            places |= {span_of(each): integer(text_of(each)) - size for each in _sizes(grid, size)}  # type: ignore[operator]
    return BlockOrigin(
        size=size, name=None, literals=tuple(places.items()), keeps_items=ties == {"items"}, launches=launches
    )


def _tie(launch: Launch, *, name: str | None, size: int) -> str | None:
    """How the grid follows the block: "items" for (n + B - 1) / B, "blocks" for not at all, None for anything else."""
    if not launch.grid:
        return None
    first, *others = (_followed(each) for each in launch.grid)
    if any(_depends(each, name, size) for each in others):
        return None
    if not _depends(first, name, size):
        return "blocks"
    return "items" if _is_rounded_up(first, name, size) else None


def _depends(expression: Node, name: str | None, size: int) -> bool:
    if name is not None:
        return any(text_of(each) == name for each in below(expression, "identifier", "type_identifier"))
    return any(True for _ in _sizes(expression, size))


def _given_to_kernel(launches: tuple[Launch, ...]) -> int | None:
    """The line of a launch whose arguments, of the template too, have the size of the block among them."""
    for launch in launches:
        size = text_of(launch.block[0])
        template = launch.template_arguments.strip("<>").replace(",", " ").split()
        names = {
            text_of(node) for each in launch.arguments for node in below(each, "identifier", "number_literal")
        }
        if size in names or size in template:
            return launch.line
    return None


def _sizes(expression: Node, size: int) -> Iterator[Node]:
    """Numbers that are the block's size, or one less."""
    return (
        each for each in below(expression, "number_literal") if integer(text_of(each)) in (size, size - 1)
    )


def _is_rounded_up(expression: Node, name: str | None, size: int) -> bool:
    """Whether it is (n + B - 1) / B."""
    dividend, divisor = (_inside(expression.child_by_field_name(side)) for side in ("left", "right"))
    if text_of(expression.child_by_field_name("operator")) != "/" or dividend is None or divisor is None:
        return False
    terms = list(_terms(dividend, 1))
    is_block = [text_of(node) == (name or str(size)) for node, _ in terms]
    if text_of(divisor) != (name or str(size)):
        return False
    numbers = sum(
        sign * (integer(text_of(node)) or 0) for node, sign in terms if node.type == "number_literal"
    )
    rest = [
        node
        for (node, _), block in zip(terms, is_block, strict=True)
        if not block and node.type != "number_literal"
    ]
    added = numbers + (
        size * sum(sign for (_, sign), block in zip(terms, is_block, strict=True) if block) if name else 0
    )
    return added == size - 1 and len(rest) == 1 and not _depends(rest[0], name, size)


def _terms(expression: Node, sign: int) -> Iterator[tuple[Node, int]]:
    """The terms of a sum with their signs."""
    inner = _inside(expression)
    if inner is not None and inner.type == "binary_expression":
        operator = text_of(inner.child_by_field_name("operator"))
        left, right = inner.child_by_field_name("left"), inner.child_by_field_name("right")
        if operator in ("+", "-") and left is not None and right is not None:
            yield from _terms(left, sign)
            yield from _terms(right, sign if operator == "+" else -sign)
            return
    yield inner or expression, sign


def _inside(node: Node | None) -> Node | None:
    while node is not None and node.type == "parenthesized_expression" and node.named_child_count == 1:
        node = node.named_children[0]
    return node


def _followed(expression: Node) -> Node:
    """The expression, or what the variable that it names is made of."""
    inner = _inside(expression) or expression
    function = next((each for each in ancestors(inner) if each.type == "function_definition"), None)
    if inner.type != "identifier" or function is None:
        return inner
    values = [
        value
        for each in below(function, "init_declarator")
        if text_of(each.child_by_field_name("declarator")) == text_of(inner)
        and (value := each.child_by_field_name("value")) is not None
    ]
    return (_inside(values[0]) or inner) if len(values) == 1 else inner


def _used_elsewhere(
    source: Source, kernel: Kernel, launches: tuple[Launch, ...], *, constant: Constant
) -> int | None:
    """A line that uses the constant for something other than this kernel and its launches."""
    feeding = [
        span_of(declarator)
        for launch in launches
        for declarator in below(source.tree.root_node, "init_declarator", "function_declarator")
        if text_of(declarator.child_by_field_name("declarator")) in launch.names
    ]
    allowed = [constant.declaration, kernel.span, *(each.span for each in launches), *feeding]
    for node in below(source.tree.root_node, "identifier", "type_identifier", "preproc_arg"):
        is_mention = (
            constant.name in text_of(node).split()
            if node.type == "preproc_arg"
            else text_of(node) == constant.name
        )
        is_seen = constant.scope is None or constant.scope.holds(span_of(node))
        if is_mention and is_seen and not any(each.holds(span_of(node)) for each in allowed):
            return line_of(node)
    return None
