"""Kernel names as Nsight Compute and Nsight Systems write them, brought to the demangler's spelling, which every other
recorder uses: `k<(int)4, float>(const T2 *, <unnamed>::S)` -> `k<4, float>(float const*, (anonymous namespace)::S)`.

Since 2025 Nsight Compute also leaves namespaces out and writes `0` for `false` and for enumerators. What is missing
cannot be brought back from the name alone: `rocm_perf.ingest.kernel_names` compares such names.
"""

from __future__ import annotations

import re

_VALUE = re.compile(r"\((bool|int|unsigned int|long|unsigned long|long long|unsigned long long)\)(-?\d+)")
_SUFFIXES = {
    "int": "",
    "unsigned int": "u",
    "long": "l",
    "unsigned long": "ul",
    "long long": "ll",
    "unsigned long long": "ull",
}
_BEFORE_MARK = re.compile(r"\s+(?=[*&])|(?<=\*)(?=(?:const|volatile)\b)")
_LAMBDA = re.compile(r"\[(\w[\w ]*?)(\([^\[\]]*\))? \(instance (\d+)\)\]")
_CALL_OPERATOR = re.compile(r"\boperator\s+(?=\(\))")
LONGEST = 16_384  # characters; what is longer stays as it is
_QUALIFIERS = ("const ", "volatile ")
_ENDS = "*&,)>"
_PARAMETER = re.compile(r"\bT(\d{1,3})\b")
_PACK = re.compile(r"\bT(\d{1,3})\b(?=[^,]*\.\.\.$)")
_MOST_GROWTH = 8  # times the length of the name: what would become longer keeps its T1, T2
_DEEPEST = 64  # brackets within brackets; real names have about 20


def demangled_spelling(name: str) -> str:
    """Return the name as a demangler writes it; text that is no C++ name stays as it is."""
    if len(name) > LONGEST:
        return name
    text = name.replace("<unnamed>", "(anonymous namespace)")
    text = _CALL_OPERATOR.sub("operator", _VALUE.sub(_value, text))
    text = _BEFORE_MARK.sub(lambda gap: "" if gap.group() else " ", text)
    text = _LAMBDA.sub(lambda each: f"{{{each[1]}{each[2] or ''}#{each[3]}}}", text)
    if any(word in text for word in _QUALIFIERS):
        text = _qualifiers_behind(text)
    return _with_arguments(text) if _PARAMETER.search(text) else text


def _value(match: re.Match[str]) -> str:
    kind, number = match.groups()
    if kind == "bool":
        return "true" if number != "0" else "false"
    return number + _SUFFIXES[kind]


def _qualifiers_behind(text: str) -> str:
    """`const T` -> `T const`, wherever a type begins: after a bracket or a comma."""
    written: list[str] = []
    waiting: list[str] = [""]  # for each open bracket: the qualifiers that wait for the end of their type
    position, begins = 0, False
    while position < len(text):
        character = text[position]
        qualifier = next((word for word in _QUALIFIERS if begins and text.startswith(word, position)), "")
        if qualifier:
            waiting[-1] += " " + qualifier.strip()
            position += len(qualifier)
            continue
        if character in _ENDS and waiting[-1]:
            written.append(waiting[-1])
            waiting[-1] = ""
        if character in "<(":
            waiting.append("")
        elif character in ">)" and len(waiting) > 1:
            waiting.pop()
        begins = character in "<(," or (begins and character == " ")
        written.append(character)
        position += 1
    return "".join(written)


def _with_arguments(name: str) -> str:
    """Return the name with template arguments in place of `T1`, `T2`: `k<int>(T1)` -> `k<int>(int)`.

    A name with a parameter that has no argument, or which would become far longer, stays as it is.
    """
    try:
        text, end = _substituted(name, 0, _MOST_GROWTH * max(len(name), 128))
    except (IndexError, RecursionError):
        return name
    return text if end == len(name) else name


def _substituted(text: str, position: int, most: int, depth: int = 0) -> tuple[str, int]:
    """The text up to the bracket that ends it, and where that is. Inner functions have parameters of their own."""
    if depth > _DEEPEST:
        raise IndexError(depth)
    written: list[str] = []
    arguments: list[str] = []  # of the template whose brackets were closed last
    length = 0
    while position < len(text) and text[position] not in ">)":
        character = text[position]
        if character in "<(":
            inner, end = _substituted(text, position + 1, most, depth + 1)
            if end >= len(text):
                raise IndexError(end)
            closed = written[-1:] == [">"]
            written.append(character)
            if character == "<":
                arguments = _items(inner)
            elif closed:
                inner = _filled(inner, arguments, most)
            written += [inner, text[end]]
            length += len(inner)
            position = end + 1
        else:
            written.append(character)
            position += 1
        if length > most:
            raise IndexError(length)
    return "".join(written), position


def _filled(parameters: str, arguments: list[str], most: int) -> str:
    """The list of parameters with the template's arguments; raises IndexError if there are not enough."""
    kept: list[str] = []
    for parameter in _items(parameters):
        pack = _PACK.search(parameter)
        number = int(pack[1]) if pack else 0
        pattern = parameter.removesuffix("...") if pack else parameter
        for argument in arguments[number - 1 :] if pack else [""]:
            known = [*arguments]
            if pack:
                known[number - 1] = argument
            kept.append(_filled_in(pattern, known, most))
    return ", ".join(kept)


def _filled_in(pattern: str, arguments: list[str], most: int) -> str:
    """One parameter with the arguments in it."""
    if sum(len(arguments[int(number) - 1]) for number in _PARAMETER.findall(pattern)) > most:
        raise IndexError(most)
    return _PARAMETER.sub(lambda each: arguments[int(each[1]) - 1], pattern)


def _items(text: str) -> list[str]:
    """The parts of a list that commas outside of brackets divide."""
    parts, depth, start = [], 0, 0
    for position, character in enumerate(text):
        if character in "<([{":
            depth += 1
        elif character in ">)]}":
            depth -= 1
        elif character == "," and not depth:
            parts.append(text[start:position].strip())
            start = position + 1
    return [*parts, text[start:].strip()] if text.strip() else []
