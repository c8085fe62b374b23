"""The syntax tree of CUDA and HIP, by tree-sitter, and the few ways in which we walk it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import tree_sitter_cuda
from tree_sitter import Language, Node, Parser, Query, QueryCursor, Tree

from rocm_perf.optimize.source.model import Span


@cache
def _language() -> Language:
    return Language(tree_sitter_cuda.language())


def tree_of(text: bytes) -> Tree:
    """The syntax tree. What the grammar does not understand is in it as nodes of errors."""
    return Parser(_language()).parse(text)


def text_of(node: Node | None) -> str:
    """The text under a node, "" for none."""
    return (node.text or b"").decode(errors="replace") if node else ""


def span_of(node: Node) -> Span:
    """Where a node stands."""
    return Span(node.start_byte, node.end_byte)


def line_of(node: Node) -> int:
    """The line in which a node begins, from one."""
    return (
        node.start_point[0] + 1
    )  # not `.row`: tree-sitter 0.26 counts references to it wrongly, and crashes later


def walk(node: Node) -> Iterator[Node]:
    """The node and everything below it, in the order of the text."""
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        pending.extend(reversed(current.children))


def below(node: Node, *types: str) -> Iterator[Node]:
    """Named nodes of these types, the node itself among them, in the order of the text."""
    nodes = QueryCursor(_query(types)).captures(node).get("node", [])
    return iter(sorted(nodes, key=lambda each: (each.start_byte, -each.end_byte)))


@cache
def _query(types: tuple[str, ...]) -> Query:
    query: Query = Query(_language(), " ".join(f"({each}) @node" for each in types))
    return query


def leaves(node: Node) -> Iterator[Node]:
    """The tokens of the text, without comments."""
    return (each for each in walk(node) if not each.children and each.type != "comment")


def ancestors(node: Node) -> Iterator[Node]:
    """The parents of a node, nearest first."""
    while (parent := node.parent) is not None:
        yield parent
        node = parent


def first_error(node: Node) -> Node | None:
    """The first place below a node that the grammar does not understand."""
    if not node.has_error:
        return None
    return next((each for each in walk(node) if each.is_error or each.is_missing), node)


def children(node: Node, *types: str) -> tuple[Node, ...]:
    """Children of these types."""
    return tuple(each for each in node.children if each.type in types)


def mentions(node: Node, name: str) -> bool:
    """Whether an identifier of that name is in the node."""
    return any(text_of(each) == name for each in below(node, "identifier"))
