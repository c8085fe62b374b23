"""--kernel as the captured program's library understands it: a POSIX extended regular expression.

The C library matches it there. C++'s own matcher overflows the stack on the long names of templates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rocm_perf.errors import UsageError

_CLASSES = {"d": "0-9", "w": "[:alnum:]_", "s": "[:space:]"}
_CONTROL = {"n": "\n", "t": "\t"}
_SPECIAL = frozenset(".^$*+?()[]{}|\\")
_REPEAT = re.compile(r"\{(\d+(,\d*)?|,\d+)\}")
_GROUP = re.compile(r"\?(?:P<\w+>|:)")
_IGNORE_CASE = "(?i)"


@dataclass(frozen=True)
class Pattern:
    """What the library is given."""

    text: str
    ignore_case: bool = False


def extended(pattern: str) -> Pattern:
    """The same expression in POSIX's words; refused where it has none."""
    try:
        re.compile(pattern)
    except re.error as error:
        raise UsageError(f"--kernel {pattern!r} is not a regular expression", str(error)) from error
    ignore_case = pattern.startswith(_IGNORE_CASE)
    body = pattern[len(_IGNORE_CASE) :] if ignore_case else pattern
    return Pattern("".join(_translated(body, pattern)), ignore_case)


def _translated(body: str, whole: str) -> Iterator[str]:
    at, repeated = 0, False  # repeated: what was just written was a repetition
    while at < len(body):
        char, rest = body[at], body[at + 1 :]
        repeats = _REPEAT.match(body, at)
        if char == "\\":
            text, taken = _escaped(rest[:1], whole), 2
        elif char == "[":
            text, taken = _bracket(body[at:], whole)
        elif char == "(" and rest.startswith("?"):
            named = _GROUP.match(rest)
            if named is None:
                raise _unknown(whole, f"({rest[:2]}")
            text, taken = "(", 1 + named.end()
        elif repeated and char == "?":
            text, taken = "", 1  # a lazy repetition matches the same names
        elif repeated and char == "+":
            raise _unknown(whole, f"{body[at - 1]}+")
        elif repeats:
            text, taken = repeats[0].replace("{,", "{0,"), len(repeats[0])
        else:
            text, taken = (f"\\{char}" if char in "{}" else char), 1
        yield text
        repeated = char in "*+?" or bool(repeats)
        at += taken


def _escaped(char: str, whole: str) -> str:
    if char.lower() in _CLASSES:
        return f"[{'^' if char.isupper() else ''}{_CLASSES[char.lower()]}]"
    if char in "bB":
        return f"\\{char}"  # a GNU extension
    if char in "AZ":
        return "^" if char == "A" else "$"
    return _literal(char, whole)


def _literal(char: str, whole: str) -> str:
    """An escaped character that stands for one character."""
    if char in _CONTROL:
        return _CONTROL[char]
    if char.isalnum():
        raise _unknown(whole, f"\\{char}")
    return f"\\{char}" if char in _SPECIAL else char  # GNU gives \\< and \\' meanings of their own


def _bracket(text: str, whole: str) -> tuple[str, int]:
    """A set of characters. POSIX knows no escapes within: what would need one goes where it needs none."""
    negated = text.startswith("[^")
    at = start = 2 if negated else 1
    members: list[str] = []
    while at == start or text[at] != "]":
        if text[at] == "\\" and text[at + 1].lower() in _CLASSES:
            if text[at + 1].isupper():
                raise _unknown(whole, text[at : at + 2])
            members.append(_CLASSES[text[at + 1]])
            at += 2
            continue
        char, at = _member(text, at, whole)
        if text[at] == "-" and text[at + 1] != "]":
            last, at = _member(text, at + 1, whole)
            members.append(f"{char}-{last}")
        else:
            members.append(char)
    return _arranged(members, negated), at + 1


def _member(text: str, at: int, whole: str) -> tuple[str, int]:
    if text[at] != "\\":
        return text[at], at + 1
    char = text[at + 1]
    if char.isalnum() and char not in _CONTROL:
        raise _unknown(whole, text[at : at + 2])
    return _CONTROL.get(char, char), at + 2


def _arranged(members: list[str], negated: bool) -> str:
    """`]` comes first, `^` not first, `-` last."""
    first = "]" if "]" in members else ""
    last = ("^" if "^" in members else "") + ("-" if "-" in members else "")
    middle = "".join(member for member in members if member not in ("]", "^", "-"))
    if last == "^" and not (first or middle or negated):
        return "\\^"
    return f"[{'^' if negated else ''}{first}{middle}{last}]"


def _unknown(whole: str, part: str) -> UsageError:
    why = f"names are matched inside of the program, by the C library, which has no {part}"
    return UsageError(f"--kernel {whole!r} cannot be used", why, "Write it without.")
