"""Pickles of plain values: dicts, lists, tuples, texts, bytes and numbers. Every opcode is checked before anything is
unpickled: those that import or call are refused by name, and so are those with which a few bytes make the unpickler
reserve gigabytes. The opcodes are those of protocols 2 to 5 (Lib/pickletools.py)."""

from __future__ import annotations

import io
import pickle
import re
from collections.abc import Callable
from typing import Any, NoReturn

PROTOCOLS = range(2, 6)
_LONGEST_INT_BYTES = 16
_AT_ONCE = 1000  # opcodes that one match may cover: it remembers each of them
# Bytes that say how long the text or bytes after these opcodes are.
_LENGTH_BYTES = {0x8C: 1, ord("X"): 4, 0x8D: 8, ord("C"): 1, ord("B"): 4}
_FIXED = b"jJhqKMrG\x8a\x80\x95"  # opcodes with as many bytes as each always has
_STOP = ord(".")
_DICTIONARY = b"NQ"  # None as a persistent id: `persistent_load` makes an empty dictionary
_FEWEST_BYTES = (
    8  # of a pickle for each of its containers: a dictionary of a snapshot has three values and more
)
_CONTAINERS_FREE = 1 << 16
_FRAME, _FRAME_BYTES = 0x95, 9  # with the length of the frame
_IMPORTS = b"ci\x93"  # GLOBAL, INST, STACK_GLOBAL
_LONGEST_IMPORT = 1000  # bytes of its names
_CALLS = b"RboQP\x81\x92\x82\x83\x84"  # REDUCE, BUILD, OBJ, persistent ids, NEWOBJ, extensions


class PickleError(ValueError):
    """Why a pickle is not read."""


class _TextKeyed(dict[str, Any]):
    """A dictionary whose keys are texts. The hash of a tuple that repeats itself by reference takes for ever to find,
    that of a deep tuple overflows the stack, and numbers can be chosen to have the same one."""

    __slots__ = ()

    def __setitem__(self, key: str, value: Any, _set: Callable[..., None] = dict.__setitem__) -> None:
        if key.__class__ is not str:
            raise PickleError(
                f"a key of a dictionary is of type {type(key).__name__}; in a snapshot all are texts"
            )
        _set(self, key, value)


class _PlainUnpickler(pickle.Unpickler):
    """Python's unpickler, without the means to import anything."""

    def find_class(self, module: str, name: str, /) -> NoReturn:
        raise PickleError(_constructs(f"{module}.{name}"))

    def persistent_load(self, _nothing: object, /) -> _TextKeyed:
        """Return an empty dictionary, where `_checked` has put a persistent id in its place."""
        return _TextKeyed()


def is_pickle(head: bytes) -> bool:
    """Whether the bytes open like a pickle of a protocol that is read."""
    return head[:1] == b"\x80" and len(head) > 1 and head[1] in PROTOCOLS


def load_plain(data: bytes) -> Any:
    """The value that was pickled; raises PickleError where it is cut off, or more than plain values."""
    plain = _checked(data)
    try:
        return _PlainUnpickler(io.BytesIO(plain)).load()
    except (pickle.UnpicklingError, EOFError, IndexError, KeyError) as error:
        raise PickleError("its opcodes do not fit together") from error
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        if isinstance(error, PickleError):
            raise
        raise PickleError(f"its values do not fit together ({error})") from error


def _checked(data: bytes) -> bytes:
    """Return the pickle with every dictionary replaced by one that checks its keys; raise PickleError unless every
    opcode up to the end is one that makes plain values."""
    opcodes = _fixed_opcodes(len(data))
    runs = re.compile(rb"(?:%b|[}\]]){1,%d}" % (opcodes, _AT_ONCE), re.DOTALL)
    between = re.compile(rb"((?:%b|\])*)(?:\}|\Z)" % opcodes, re.DOTALL)
    parts: list[bytes] = []
    at = containers = 0
    while at < len(data):
        run = runs.match(data, at)
        if run is not None:
            pieces = _without_dictionaries(run.group(), between)
            parts.append(_DICTIONARY.join(pieces))
            containers += len(pieces) - 1 + run.group().count(b"]")
            at = run.end()
        elif data[at] == _STOP:
            return b"".join((*parts, b"."))
        elif data[at] == _FRAME and at + _FRAME_BYTES <= len(data):
            at += _FRAME_BYTES  # its length no longer fits
        elif data[at] in _LENGTH_BYTES:
            end = _after_sized(data, at)
            parts.append(data[at:end])
            at = end
        else:
            raise PickleError(_refusal(data, at, before=b"".join(parts)))
        if containers * _FEWEST_BYTES > len(data) + _CONTAINERS_FREE:
            raise PickleError("it holds more lists and dictionaries than a snapshot of its size")
    raise PickleError(f"it breaks off after {len(data):,} bytes")


def _without_dictionaries(run: bytes, between: re.Pattern[bytes]) -> list[bytes]:
    """What stands between the opcodes of empty dictionaries."""
    pieces: list[bytes] = between.findall(run)
    found_end_twice = sum(map(len, pieces)) + len(pieces) - 1 > len(run)
    return pieces[:-1] if found_end_twice else pieces


def _fixed_opcodes(size: int) -> bytes:
    """A pattern of the opcodes whose lengths are fixed, in a pickle of that many bytes: the number under which it
    remembers a value is never larger, and the unpickler reserves room for as many."""
    integers = b"|".join(b"\\x%02x.{%d}" % (length, length) for length in range(1, _LONGEST_INT_BYTES + 1))
    highest = min(size >> 24, 255)
    opcodes = (
        rb"[()Nuesat\x94\x85-\x89]",  # marks, tuples, what fills containers, None, True, False
        rb"[jJ].{4}",  # a remembered value, an integer
        rb"[hqK].",  # the same by one byte, and remembering one
        rb"M..",
        rb"\x8a(?:\x00|" + integers + rb")",
        rb"r.{3}[\x00-\x%02x]" % highest,
        rb"G.{8}|\x80[\x02-\x05]",  # a float, the protocol
    )
    return b"|".join(opcodes)


def _after_sized(data: bytes, at: int) -> int:
    """The place after the text or bytes at `at`."""
    start = at + 1 + _LENGTH_BYTES[data[at]]
    end = start + int.from_bytes(data[at + 1 : start], "little")
    if end > len(data):
        raise PickleError(f"it breaks off after {len(data):,} bytes")
    return end


def _refusal(data: bytes, at: int, before: bytes) -> str:
    """Why the opcode at `at` is not followed; `before` is what was checked up to it."""
    opcode = data[at]
    if opcode in _IMPORTS:
        return _imported(before + data[at : at + _LONGEST_IMPORT])
    if opcode in _CALLS:
        return _constructs("an object")
    if opcode in _FIXED and len(data) - at <= _LONGEST_INT_BYTES:
        return f"it breaks off after {len(data):,} bytes"
    return f"byte {at:,} is opcode 0x{opcode:02x} with what follows it, and plain values are not written so"


def _imported(data: bytes) -> str:
    """What a pickle asks for whose opcodes were checked up to an import, which is as far as it gets."""
    try:
        _PlainUnpickler(io.BytesIO(data)).load()
    except PickleError as error:
        return str(error)
    except Exception:  # noqa: BLE001 - what it would have imported does not matter then
        return _constructs("an object")
    return _constructs("an object")


def _constructs(what: str) -> str:
    return f"it tries to construct {what}, and only plain values are read from a pickle"
