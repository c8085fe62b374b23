"""Kernel names as Nsight Compute writes them, brought to the demangler's spelling, which every other recorder uses:
`k<(int)4>(const float *, T &)` -> `k<4>(float const*, T&)`."""

from __future__ import annotations

import re

_VALUE = re.compile(r"\((bool|int|unsigned int|long|unsigned long)\)(-?\d+)")
_SUFFIXES = {"int": "", "unsigned int": "u", "long": "l", "unsigned long": "ul"}
_BEFORE_MARK = re.compile(r"\s+(?=[*&])|(?<=\*)(?=const\b)")
_LONGEST = 16_384  # characters; what is longer stays as it is
_CONST = "const "
_ENDS = "*&,)>"


def demangled_spelling(name: str) -> str:
    """The name as a demangler writes it; text that is no C++ name stays as it is."""
    if len(name) > _LONGEST:
        return name
    text = _BEFORE_MARK.sub(lambda gap: "" if gap.group() else " ", _VALUE.sub(_value, name))
    return _const_behind(text) if _CONST in text else text


def _value(match: re.Match[str]) -> str:
    kind, number = match.groups()
    if kind == "bool":
        return "true" if number != "0" else "false"
    return number + _SUFFIXES[kind]


def _const_behind(text: str) -> str:
    """`const T` -> `T const`, wherever a type begins: after a bracket or a comma."""
    written: list[str] = []
    waiting: list[bool] = [False]  # for each open bracket: whether a const waits for the end of its type
    position, begins = 0, False
    while position < len(text):
        character = text[position]
        if begins and text.startswith(_CONST, position):
            waiting[-1], position, begins = True, position + len(_CONST), False
            continue
        if character in _ENDS and waiting[-1]:
            written.append(" const")
            waiting[-1] = False
        if character in "<(":
            waiting.append(False)
        elif character in ">)" and len(waiting) > 1:
            waiting.pop()
        begins = character in "<(," or (begins and character == " ")
        written.append(character)
        position += 1
    return "".join(written)
