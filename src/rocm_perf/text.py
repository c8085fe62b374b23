"""Untrusted texts, made safe to show: names come from recordings, snapshots, arguments and file names, and may hold
what a terminal obeys, what turns the line round, or bytes that are not text at all."""

from __future__ import annotations

import re
from typing import Any

import msgspec

# Beyond what JSON escapes by itself: DEL and the C1 controls, line separators, and marks of direction.
_OBEYED = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")


def clean(text: str) -> str:
    """The text in one line, with a blank for everything that cannot be printed."""
    return text if text.isprintable() else "".join(each if each.isprintable() else " " for each in text)


def clean_lines(text: str) -> str:
    """The text with its lines kept, and a blank for everything else that cannot be printed."""
    return "\n".join(clean(line) for line in text.split("\n"))


def compact_json(value: object) -> bytes:
    """The value as JSON. A file name or an argument that is not UTF-8 shows its bytes as \\xNN."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_decoded(msgspec.to_builtins(value)))


def encode_json(value: object) -> bytes:
    """The value as JSON for people: indented, and with nothing in it that a terminal would obey."""
    text = msgspec.json.format(compact_json(value), indent=1).decode()
    return _OBEYED.sub(_escaped, text).encode()


def ascii_json(text: str) -> str:
    """The value as JSON in ASCII only."""
    return _BEYOND_ASCII.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    units = match.group().encode("utf-16-be")
    return "".join(f"\\u{units[place : place + 2].hex()}" for place in range(0, len(units), 2))


def _decoded(value: Any) -> Any:
    """The value with every text in UTF-8; Python keeps a foreign byte of an argument as a lone surrogate."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    if isinstance(value, dict):
        return {_decoded(key): _decoded(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_decoded(each) for each in value]
    return value
