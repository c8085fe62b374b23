"""Macros that stand where attributes do (`__global__ WORKGROUP(256) void k`, `float* RESTRICT x`): the grammar
cannot know them, so it reads a copy of the text in which they are blank; everything else keeps its position."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tree_sitter import Node, Tree

from rocm_perf.optimize.source.model import Span
from rocm_perf.optimize.source.tree import leaves, text_of

_NAMES = ("identifier", "type_identifier", "namespace_identifier", "field_identifier")
_OWN = {"void", "static", "inline", "extern", "template", "auto", "constexpr"}  # words of C++ before a name


def attribute_macros(tree: Tree) -> tuple[Span, ...]:
    """Where macros stand among the attributes of kernels, and behind the star of a parameter."""
    if not tree.root_node.has_error:
        return ()
    tokens = [each for each in leaves(tree.root_node) if each.text]
    return tuple(sorted({*_around_kernels(tokens), *_behind_stars(tokens)}))


def blanked(text: bytes, spans: Sequence[Span]) -> bytes:
    """The text with spaces at these places; lines stay where they are."""
    blank = bytearray(text)
    for span in spans:
        for position in range(span.start, span.end):
            if blank[position] not in b"\r\n":
                blank[position] = ord(" ")
    return bytes(blank)


def _around_kernels(tokens: Sequence[Node]) -> Iterator[Span]:
    for index, token in enumerate(tokens):
        if token.type == "__global__":
            yield from _behind_global(tokens, index + 1)
            if (macro := _call_before(tokens, index)) is not None:
                yield macro


def _behind_global(tokens: Sequence[Node], index: int) -> Iterator[Span]:
    """Names between `__global__` and the name of the kernel, which is the last before its parameters."""
    while index < len(tokens):
        token, follower = (
            text_of(tokens[index]),
            text_of(tokens[index + 1]) if index + 1 < len(tokens) else "",
        )
        if token in _OWN:
            index += 1
        elif not _is_name(tokens[index]):
            return
        elif follower == "(":
            end = _closing(tokens, index + 1)
            if end is None or text_of(tokens[end + 1] if end + 1 < len(tokens) else None) in ("{", ";", ""):
                return
            yield Span(tokens[index].start_byte, tokens[end].end_byte)
            index = end + 1
        elif follower in _OWN or (index + 1 < len(tokens) and _is_name(tokens[index + 1])):
            yield Span(tokens[index].start_byte, tokens[index].end_byte)
            index += 1
        else:
            return


def _call_before(tokens: Sequence[Node], index: int) -> Span | None:
    """`LAUNCH_BOUNDS(256)` right before `__global__`."""
    if index < 3 or text_of(tokens[index - 1]) != ")":
        return None
    depth = 0
    for back in range(index - 1, 0, -1):
        depth += {")": 1, "(": -1}.get(text_of(tokens[back]), 0)
        if depth == 0:
            name = tokens[back - 1]
            return Span(name.start_byte, tokens[index - 1].end_byte) if _is_name(name) else None
    return None


def _behind_stars(tokens: Sequence[Node]) -> Iterator[Span]:
    """The first of two names behind a star: no expression of C++ has that."""
    for star, macro, name, follower in zip(tokens, tokens[1:], tokens[2:], tokens[3:], strict=False):
        if (
            text_of(star) == "*"
            and _is_name(macro)
            and _is_name(name)
            and text_of(follower) in (",", ")", "[")
        ):
            yield Span(macro.start_byte, macro.end_byte)


def _is_name(token: Node) -> bool:
    return token.type in _NAMES and text_of(token) not in _OWN


def _closing(tokens: Sequence[Node], opening: int) -> int | None:
    depth = 0
    for index in range(opening, len(tokens)):
        depth += {"(": 1, ")": -1}.get(text_of(tokens[index]), 0)
        if depth == 0:
            return index
    return None
