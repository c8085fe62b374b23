"""What tells kernels of one short name apart: template arguments, parameters, namespaces or words that differ."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_LONGEST = 16_384  # characters of a name that are looked at
_MOST = 3  # differing arguments that are shown
_ROOM = 28  # characters of one of them
_OPEN, _CLOSE = "<([{", ">)]}"
_ARROW = re.compile(r"->|<=>|<<=?|>>=|<=|>=|operator[<>]")  # brackets that are none
_CAST = re.compile(r"^\(([\w:]+(?: [\w:]+)*)\)(?=[\w-])")  # "(ggml_type)8": the number says it
_WORD = re.compile(r"[\w~]+")
_NUMBER = re.compile(r"\d+u?l*|true|false|\(?\w*\)?\d+")
_LITERAL = re.compile(r"L[ijlmbxy](\d{1,9})E")  # a number among the template arguments of a mangled name
_LENGTH = re.compile(r"[1-9]\d{0,3}")
Column = tuple[str, ...]  # what each of several names has at one place


def names_apart(short: str, kernels: Sequence[str]) -> Mapping[str, str]:
    """Return a name for each of several kernels of one short name, longer where there is more than one."""
    if len(kernels) == 1:
        return {kernels[0]: short}
    names = [_with(short, parts) for parts in differing_parts(kernels)]
    numbered = {name: iter(range(1, len(names) + 1)) for name in names if names.count(name) > 1}
    return {
        kernel: f"{name} ({next(numbered[name])})" if name in numbered else name
        for kernel, name in zip(kernels, names, strict=True)
    }


def _with(short: str, parts: Sequence[str]) -> str:
    """Return the short name with these arguments behind those that it has."""
    said = ", ".join(part for part in parts if part)
    if not said:
        return short
    return f"{short[:-1]}, {said}>" if short.endswith(">") and "<" in short else f"{short}<{said}>"


def differing_parts(names: Sequence[str]) -> list[list[str]]:
    """Return, for each of several full names of kernels, the fewest parts that tell it from the others: first of its
    template arguments, then of its parameters, its namespaces, and words within one name."""
    texts = [name[:_LONGEST] for name in names]
    columns = [
        column
        for divide in (_template_arguments, _parameters, _namespaces, _literals, _identifiers, _words)
        for column in sorted(_columns([divide(text) for text in texts]), key=_is_of_numbers)
    ]
    return _telling(columns, len(names))


def _telling(columns: Sequence[Column], rows: int) -> list[list[str]]:
    """Return of each row the parts that tell the rows apart, as few as do."""
    shown: list[list[str]] = [[] for _ in range(rows)]
    kinds = 1
    for column in columns:
        together = [[*parts, part] for parts, part in zip(shown, column, strict=True)]
        if (more := len(set(map(tuple, together)))) > kinds:
            shown, kinds = together, more
        if kinds == rows or len(shown[0]) == _MOST:
            break
    return shown


def _is_of_numbers(column: Column) -> bool:
    """Return whether the parts are numbers and truths, which say less than types."""
    return all(_NUMBER.fullmatch(part) for part in column if part)


def _columns(rows: Sequence[Sequence[str]]) -> list[Column]:
    """Return what stands where the rows differ; arguments of one template are looked into."""
    length = max((len(row) for row in rows), default=0)
    filled = [[*row, *[""] * (length - len(row))] for row in rows]
    return [finer for column in zip(*filled, strict=True) if len(set(column)) > 1 for finer in _finer(column)]


def _finer(column: Column) -> list[Column]:
    """Return what tells the arguments at one place apart: their own arguments where all are of one template."""
    if len({_head(argument) for argument in column}) == 1 and all("<" in argument for argument in column):
        inner = _columns([_template_arguments(argument) for argument in column])
        if inner:
            return inner
    return [tuple(_plain(argument) if argument else "" for argument in column)]


def _head(argument: str) -> str:
    return argument.partition("<")[0].strip()


def _plain(argument: str) -> str:
    """Return an argument without namespaces, and without the arguments and parameters of its own."""
    text = _CAST.sub("", argument.replace("(anonymous namespace)::", "").strip())
    lambdas = re.search(r"\{lambda\([^{}]*\)(#\d+)\}", text)
    head = re.sub(r"\(.*", "", _outside(text)).strip() or text
    name = head.split("::")[-1].strip() or text
    kept = f"{name} {lambdas[1]}" if lambdas else name
    return kept if len(kept) <= _ROOM else f"{kept[: _ROOM // 2]}…{kept[-(_ROOM // 2 - 1) :]}"


def _outside(text: str) -> str:
    """Return the text without what stands in angle brackets."""
    kept, depth = [], 0
    for character in text:
        depth += character == "<"
        if not depth:
            kept.append(character)
        depth -= character == ">" and depth > 0
    return "".join(kept)


def _template_arguments(text: str) -> list[str]:
    """Return the arguments of the first template in the name, outside of parentheses before it."""
    masked = _masked(text)
    start = masked.find("<")
    return [] if start < 0 or text.startswith("_Z") else _split(text, masked, start)


def _parameters(text: str) -> list[str]:
    """Return the parameters of a function: what stands in the last parentheses."""
    masked = _masked(text.replace("(anonymous namespace)", " anonymous namespace "))
    depth, start = 0, -1
    for place, character in enumerate(masked):
        if character in "<(":
            start = place if character == "(" and depth == 0 else start
            depth += 1
        elif character in ">)":
            depth -= 1
    return _split(text, masked, start) if start >= 0 else []


def _namespaces(text: str) -> list[str]:
    """Return the words of the name before its arguments and parameters."""
    plain = text.replace("(anonymous namespace)::", "")
    return [] if text.startswith("_Z") or "::" not in plain else _WORD.findall(re.split(r"[<(]", plain)[0])


def _literals(text: str) -> list[str]:
    """Return the numbers among the template arguments of a mangled name."""
    return _LITERAL.findall(text) if text.startswith("_Z") else []


def _identifiers(text: str) -> list[str]:
    """Return the identifiers in a mangled name, each of which stands behind its length."""
    found: list[str] = []
    at = 0
    while text.startswith("_Z") and (length := _LENGTH.search(text, at)):
        name = text[length.end() : length.end() + int(length[0])]
        at = length.end() + (len(name) if name.isidentifier() else 0)
        found += [name] if name.isidentifier() else []
    return found


def _words(text: str) -> list[str]:
    """Return the words that underscores join in a name without arguments, as Tensile writes its switches."""
    return [] if "<" in text or "(" in text or text.startswith("_Z") else text.split("_")


def _masked(text: str) -> str:
    """Return the text with spaces in the place of arrows and comparisons, which are no brackets."""
    return _ARROW.sub(lambda match: " " * len(match[0]), text)


def _split(text: str, masked: str, start: int) -> list[str]:
    """Return what stands between the bracket at this place and its end, divided at commas of its level."""
    parts, depth, begin = [], 0, start + 1
    for place in range(start, len(masked)):
        character = masked[place]
        if character in _OPEN:
            depth += 1
        elif character in _CLOSE:
            depth -= 1
            if depth == 0:
                parts.append(text[begin:place].strip())
                return parts
        elif character == "," and depth == 1:
            parts.append(text[begin:place].strip())
            begin = place + 1
    return [*parts, text[begin:].strip()]
