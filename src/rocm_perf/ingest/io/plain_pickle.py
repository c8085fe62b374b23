"""Pickles of plain values: dicts, lists, tuples, texts, bytes and numbers. Every opcode is checked before anything is
unpickled: those that import or call are refused by name, and so are those with which a few bytes make the unpickler
reserve gigabytes. The opcodes are those of protocols 2 to 5 (Lib/pickletools.py)."""

from __future__ import annotations

import io
import pickle
import re
from typing import Any, NoReturn

PROTOCOLS = range(2, 6)
_LONGEST_INT_BYTES = 16
_AT_ONCE = 1000  # opcodes that one match may cover: it remembers each of them
# Bytes that say how long the text or bytes after these opcodes are.
_LENGTH_BYTES = {0x8C: 1, ord("X"): 4, 0x8D: 8, ord("C"): 1, ord("B"): 4}
_FIXED = b"jJhqKMrG\x8a\x80\x95"  # opcodes with as many bytes as each always has
_STOP = ord(".")
_IMPORTS = b"ci\x93"  # GLOBAL, INST, STACK_GLOBAL
_CALLS = b"RboQP\x81\x92\x82\x83\x84"  # REDUCE, BUILD, OBJ, persistent ids, NEWOBJ, extensions


class PickleError(ValueError):
    """Why a pickle is not read."""


class _PlainUnpickler(pickle.Unpickler):
    """Python's unpickler, without the means to import anything."""

    def find_class(self, module: str, name: str, /) -> NoReturn:
        raise PickleError(_constructs(f"{module}.{name}"))


def is_pickle(head: bytes) -> bool:
    """Whether the bytes open like a pickle of a protocol that is read."""
    return head[:1] == b"\x80" and len(head) > 1 and head[1] in PROTOCOLS


def load_plain(data: bytes) -> Any:
    """The value that was pickled; raises PickleError where it is cut off, or more than plain values."""
    _check(data)
    try:
        return _PlainUnpickler(io.BytesIO(data)).load()
    except (pickle.UnpicklingError, EOFError, IndexError, KeyError) as error:
        raise PickleError("its opcodes do not fit together") from error
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise PickleError(f"its values do not fit together ({error})") from error


def _check(data: bytes) -> None:
    """Raise PickleError unless every opcode up to the end is one that makes plain values."""
    fixed = _fixed_opcodes(len(data))
    at = 0
    while at < len(data):
        run = fixed.match(data, at)
        if run is not None and run.end() > at:
            at = run.end()
        elif data[at] == _STOP:
            return
        elif data[at] in _LENGTH_BYTES:
            at = _after_sized(data, at)
        else:
            raise PickleError(_refusal(data, at))
    raise PickleError(f"it breaks off after {len(data):,} bytes")


def _fixed_opcodes(size: int) -> re.Pattern[bytes]:
    """A run of opcodes whose lengths are fixed, in a pickle of that many bytes: the number under which it remembers a
    value is never larger, and the unpickler reserves room for as many."""
    integers = b"|".join(b"\\x%02x.{%d}" % (length, length) for length in range(1, _LONGEST_INT_BYTES + 1))
    highest = min(size >> 24, 255)
    opcodes = (
        rb"[(}\])Nuesat\x94\x85-\x89]",  # marks, containers, None, True, False
        rb"[jJ].{4}",  # a remembered value, an integer
        rb"[hqK].",  # the same by one byte, and remembering one
        rb"M..",
        rb"\x8a(?:\x00|" + integers + rb")",
        rb"r.{3}[\x00-\x%02x]" % highest,
        rb"G.{8}|\x80[\x02-\x05]|\x95.{8}",  # a float, the protocol, the length of a frame
    )
    return re.compile(rb"(?:" + b"|".join(opcodes) + rb"){1,%d}" % _AT_ONCE, re.DOTALL)


def _after_sized(data: bytes, at: int) -> int:
    """The place after the text or bytes at `at`."""
    start = at + 1 + _LENGTH_BYTES[data[at]]
    end = start + int.from_bytes(data[at + 1 : start], "little")
    if end > len(data):
        raise PickleError(f"it breaks off after {len(data):,} bytes")
    return end


def _refusal(data: bytes, at: int) -> str:
    """Why the opcode at `at` is not followed."""
    opcode = data[at]
    if opcode in _IMPORTS:
        return _imported(data)
    if opcode in _CALLS:
        return _constructs("an object")
    if opcode in _FIXED and len(data) - at <= _LONGEST_INT_BYTES:
        return f"it breaks off after {len(data):,} bytes"
    return f"byte {at:,} is opcode 0x{opcode:02x} with what follows it, and plain values are not written so"


def _imported(data: bytes) -> str:
    """What a pickle whose opcodes were checked up to an import asks for there, which is as far as it gets."""
    try:
        _PlainUnpickler(io.BytesIO(data)).load()
    except PickleError as error:
        return str(error)
    except Exception:  # noqa: BLE001 - what it would have imported does not matter then
        return _constructs("an object")
    return _constructs("an object")


def _constructs(what: str) -> str:
    return f"it tries to construct {what}, and only plain values are read from a pickle"
