"""What a piece of a kernel contains that forbids or hinders a change: barriers, atomics, exchanges between lanes,
exits, calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields

from tree_sitter import Node

from rocm_perf.optimize.source.kernels import called, plain_name
from rocm_perf.optimize.source.model import Function
from rocm_perf.optimize.source.tree import ancestors, below, children, line_of, text_of, walk
from rocm_perf.optimize.source.vocabulary import FENCES, is_atomic, is_barrier, is_known, is_lane_operation

_LOOPS = ("for_statement", "while_statement", "do_statement", "for_range_loop")
_EXITS = ("break_statement", "return_statement", "goto_statement")


@dataclass(frozen=True)
class Mention:
    """Something in the text."""

    what: str  # "__syncthreads", "break"
    line: int

    def __str__(self) -> str:
        return f"{self.what} in line {self.line}"


@dataclass(frozen=True)
class Contents:
    """What is in a piece of a kernel, and in the device functions of the file that it calls."""

    barriers: tuple[Mention, ...] = ()
    fences: tuple[Mention, ...] = ()
    atomics: tuple[Mention, ...] = ()
    lane_operations: tuple[Mention, ...] = ()
    dynamic_shared: tuple[Mention, ...] = ()
    exits: tuple[Mention, ...] = ()  # break, return and goto that leave the piece
    continues: tuple[Mention, ...] = ()
    assembly: tuple[Mention, ...] = ()
    unknown_calls: tuple[Mention, ...] = ()  # of functions whose text is not in the file
    loops: tuple[Mention, ...] = ()

    def and_(self, other: Contents) -> Contents:
        """Both together."""
        return Contents(
            *((*getattr(self, each.name), *getattr(other, each.name)) for each in fields(Contents))
        )


def contents_of(node: Node, functions: tuple[Function, ...], shared: frozenset[str]) -> Contents:
    """What is below a node. `shared` names what points to dynamic shared memory."""
    own = _own(node, shared, {each.name for each in functions})
    reached = _reached(node, {each.name: each for each in functions})
    inner = [_own(each.node, shared, {one.name for one in functions}) for each in reached]
    for each in inner:  # its own exits end the call, not the loop around it
        own = own.and_(Contents(**{**vars(each), "exits": (), "continues": ()}))
    return own


def dynamic_shared_names(root: Node, kernel: Node) -> frozenset[str]:
    """Names of `extern __shared__` arrays, in the kernel or around it, and of pointers into them."""
    names = {_declared(each) for each in below(root, "declaration") if _is_dynamic_shared(each)}
    for declarator in below(kernel, "init_declarator"):
        value = declarator.child_by_field_name("value")
        if value is not None and any(text_of(each) in names for each in below(value, "identifier")):
            target = declarator.child_by_field_name("declarator")
            if target is not None and target.type == "pointer_declarator":
                names.add(text_of(next(below(target, "identifier"), None)))
    return frozenset(names - {""})


def _is_dynamic_shared(declaration: Node) -> bool:
    storage = {text_of(each) for each in children(declaration, "storage_class_specifier", "type_qualifier")}
    return {"extern", "__shared__"} <= storage


def _declared(declaration: Node) -> str:
    declarator = declaration.child_by_field_name("declarator")
    return text_of(next(below(declarator, "identifier"), None)) if declarator else ""


def _own(node: Node, shared: frozenset[str], functions: set[str]) -> Contents:
    calls = [(plain_name(name), line_of(name)) for name in called(node)]
    return Contents(
        barriers=_mentions(calls, is_barrier),
        fences=_mentions(calls, FENCES.__contains__),
        atomics=_mentions(calls, is_atomic),
        lane_operations=_mentions(calls, is_lane_operation),
        dynamic_shared=_at(each for each in below(node, "identifier") if text_of(each) in shared),
        exits=_at(each for each in below(node, *_EXITS) if _leaves(each, node)),
        continues=_at(each for each in below(node, "continue_statement") if _target(each) == node.id),
        assembly=_at(below(node, "gnu_asm_expression")),
        unknown_calls=_mentions(calls, lambda name: not is_known(name) and name not in functions),
        loops=_at(each for each in below(node, *_LOOPS) if each.id != node.id),
    )


def _reached(node: Node, functions: dict[str, Function]) -> list[Function]:
    reached: dict[str, Function] = {}
    pending = [node]
    while pending:
        for name in map(plain_name, called(pending.pop())):
            if name in functions and name not in reached:
                reached[name] = functions[name]
                pending.append(functions[name].node)
    return list(reached.values())


def _mentions(calls: list[tuple[str, int]], belongs: Callable[[str], bool]) -> tuple[Mention, ...]:
    return tuple(Mention(name, line) for name, line in calls if belongs(name))


def _at(nodes: Iterator[Node]) -> tuple[Mention, ...]:
    return tuple(
        Mention(text_of(each).split(";")[0].split("(")[0].strip()[:30], line_of(each)) for each in nodes
    )


def _leaves(exit_node: Node, piece: Node) -> bool:
    """Whether a break, return or goto ends the piece, rather than a loop or a lambda within it."""
    for each in ancestors(exit_node):
        if each.id == piece.id:
            return True
        if each.type == "lambda_expression":
            return False
        if exit_node.type == "break_statement" and each.type in (*_LOOPS, "switch_statement"):
            return False
    return True


def _target(continue_node: Node) -> int | None:
    return next((each.id for each in ancestors(continue_node) if each.type in _LOOPS), None)


def has_label(node: Node) -> bool:
    """Whether a goto can jump into a piece."""
    return any(each.type == "labeled_statement" for each in walk(node))
