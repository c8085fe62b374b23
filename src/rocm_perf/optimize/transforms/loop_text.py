"""What a loop must be like for its text to be written anew, and the pieces of that text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rocm_perf.optimize.candidate import Edit, applied
from rocm_perf.optimize.source.contents import has_label
from rocm_perf.optimize.source.loops import Induction, Loop, is_changed
from rocm_perf.optimize.source.parse import Source
from rocm_perf.optimize.source.tree import below, text_of, walk

_COUNTERS = frozenset(("int", "unsigned", "unsigned int", "size_t", "long long", "int32_t", "uint32_t"))
_READ_ANEW = (
    "call_expression",
    "subscript_expression",
    "pointer_expression",
    "assignment_expression",
    "update_expression",
)


@dataclass(frozen=True)
class Head:
    """`for (TYPE NAME = START; NAME < BOUND; NAME += STEP)`."""

    type: str
    name: str
    start: str
    bound: str
    step: str


def head_of(induction: Induction) -> Head:
    """The parts of a loop's head as text."""
    return Head(
        type=induction.type,
        name=induction.name,
        start=text_of(induction.start),
        bound=text_of(induction.bound),
        step=text_of(induction.step) or "1",
    )


def reason_not_rewritten(loop: Loop) -> str | None:
    """Why the text of a loop cannot be written anew. None: it can."""
    induction, contents = loop.induction, loop.contents
    if induction is None or induction.comparison != "<" or induction.change != "+=":
        return "it does not count upwards to a bound"
    if induction.type not in _COUNTERS:
        return f"its variable is of type {induction.type}, which may wrap around"
    if loop.pragma is not None:
        return f"#pragma {loop.pragma} is there already"
    if contents.loops:
        return f"it has a loop in it (line {contents.loops[0].line})"
    for mentions in (contents.barriers, contents.fences, contents.atomics, contents.lane_operations):
        if mentions:
            return f"other threads take part in what it does ({mentions[0]})"
    for mentions in (contents.exits, contents.continues, contents.unknown_calls, contents.assembly):
        if mentions:
            return f"it has {mentions[0]}"
    if any(each.type.startswith("preproc") for each in walk(loop.node)):
        return "it has directives of the preprocessor"
    if has_label(loop.node):
        return "it has a label, which cannot stand there twice"
    return _reason_of_bounds(loop, induction)


def _reason_of_bounds(loop: Loop, induction: Induction) -> str | None:
    for expression in (induction.bound, induction.step):
        if expression is None:
            continue
        for name in below(expression, "identifier"):
            if text_of(name) == induction.name or is_changed(text_of(name), loop.node):
                return f"{text_of(name)} changes within it"
        if next(below(expression, *_READ_ANEW), None) is not None:
            return "its bound or step is computed anew for every iteration"
    return None


def unused_name(source: Source, wanted: str) -> str:
    """A name that does not stand in the text yet."""
    name, number = wanted, 2
    while name.encode() in source.text:
        name, number = f"{wanted}_{number}", number + 1
    return name


def body_text(source: Source, loop: Loop, edits: Iterable[Edit] = ()) -> str:
    """The statements of a loop's body, with edits whose positions are those of the file."""
    moved = [Edit(each.start - loop.body.start, each.end - loop.body.start, each.text) for each in edits]
    text = (
        applied(source.text[loop.body.start : loop.body.end], moved).decode(errors="surrogateescape").strip()
    )
    return text[1:-1].strip() if text.startswith("{") else text


def grouped(expression: str) -> str:
    """An expression that stands as a factor: in parentheses where it is not a single word."""
    is_word = expression.replace("_", "a").replace(".", "a").isalnum()
    return expression if is_word else f"({expression})"


def times(factor: int, expression: str) -> str:
    """A multiple of an expression."""
    if factor == 1:
        return expression
    return str(factor) if expression == "1" else f"{factor} * {grouped(expression)}"


def replaced(source: Source, loop: Loop, text: str) -> Edit:
    """A loop that is written anew, laid out as deep as it was."""
    column = loop.span.start - source.text.rfind(b"\n", 0, loop.span.start) - 1
    laid_out = _laid_out(text, column).lstrip()
    return Edit(loop.span.start, loop.span.end, laid_out.encode(errors="surrogateescape"))


def _laid_out(text: str, column: int) -> str:
    """Lines indented by their braces."""
    depth, lines = 0, []
    for line in (each.strip() for each in text.splitlines()):
        closing = len(line) - len(line.lstrip("}"))
        lines.append(" " * (column + 2 * max(0, depth - closing)) + line if line else "")
        depth += line.count("{") - line.count("}")
    return "\n".join(lines)
