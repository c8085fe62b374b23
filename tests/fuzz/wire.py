"""Changes to binary recordings that keep their structure: protobuf field by field, pickles opcode by opcode. They know
what hurts a reader of either: lengths that overlap, numbers without an end, depth, what repeats by reference, and names
that come twice or are a megabyte long."""

from __future__ import annotations

import pickle
import pickletools
import struct
from collections.abc import Iterator
from contextlib import suppress
from random import Random
from typing import Any, NamedTuple

from rocm_perf.ingest.io.plain_pickle import load_plain
from rocm_perf.ingest.io.protobuf import BYTES, FIXED32, FIXED64, VARINT, BrokenMessageError, fields, varint
from tests.fuzz.hostile import HOSTILE, HOSTILE_WORDS
from tests.xplane import varint as written

_HIDDEN = 6  # levels of messages that are looked into
_LONG = 100_000
_TEXTS = (
    b"", b"\xed\xa0\x80\xed\xb0\x80", b"\xff\xfe\x00", b"\x1b[2J\xe2\x80\xae", b"x" * _LONG, b"(" * 5000, b"1 " * 5000,
    "\U0001f4a3".encode() * 5000, *(text.encode() for text in HOSTILE),
)  # fmt: skip
_BUNCHES = (2, 2, 3, 50, 3000)  # copies


class Part(NamedTuple):
    """A field of a message, the levels above it, and where it begins, its value starts, and it ends."""

    above: tuple[Part, ...]
    number: int
    kind: int
    begin: int
    start: int
    end: int


def is_protobuf(data: bytes) -> bool:
    """Whether the content begins with fields of a message, as traces of Perfetto and of JAX do."""
    with suppress(BrokenMessageError):
        return data[:1] == b"\x0a" and next(fields(data)).kind == BYTES
    return False


def change_protobuf(data: bytes, random: Random) -> bytes | None:
    """One field, or a bunch of them, changed; the lengths of the messages around it are right again, mostly."""
    parts = list(_parts(data))
    if not parts:
        return None
    part = random.choice(parts)
    whole, value = data[part.begin : part.end], data[part.start : part.end]
    way = random.random()
    if way < 0.3:
        new = _with_other_value(part, value, random)
    elif way < 0.4:
        new = b""
    elif way < 0.55:
        new = whole * random.choice(_BUNCHES)
    elif way < 0.65:
        other = random.choice(parts)
        new = data[other.begin : other.end] + random.choice((b"", whole))
    elif way < 0.75:
        new = _nested(part, value, random)
    elif way < 0.85:
        new = _with_wrong_length(part, value, random)
    elif way < 0.95:
        return _in_another_order(data, random)
    else:
        new = whole + bytes(random.choice((1, 5, 3000))) + random.randbytes(random.choice((0, 1, 8)))
    return _replaced(data, part, new, keep_lengths=random.random() < 0.05)


def _parts(data: bytes) -> Iterator[Part]:
    """All fields, those of messages inside others included: bytes that read as a message are taken for one."""
    pending: list[tuple[tuple[Part, ...], int, int]] = [((), 0, len(data))]
    while pending:
        above, start, end = pending.pop()
        with suppress(BrokenMessageError):
            for at in list(fields(data, start, end)):
                part = Part(above, *at)
                yield part
                if part.kind == BYTES and len(above) < _HIDDEN and _is_message(data, part):
                    pending.append(((*above, part), part.start, part.end))


def _is_message(data: bytes, part: Part) -> bool:
    try:
        return part.end > part.start and all(at.number < 200 for at in fields(data, part.start, part.end))
    except BrokenMessageError:
        return False


def _with_other_value(part: Part, value: bytes, random: Random) -> bytes:
    if part.kind == BYTES:
        text = random.choice(_TEXTS)
        return _tag(part, BYTES) + written(len(text)) + text
    if part.kind == VARINT:
        return _tag(part, VARINT) + _hostile_varint(value, random)
    if part.kind == FIXED64:
        real = random.choice((float("nan"), float("inf"), -1e308, 5e-324, 0.0))
        return _tag(part, FIXED64) + random.choice((struct.pack("<d", real), random.randbytes(8)))
    return _tag(part, FIXED32) + random.randbytes(4)


def _hostile_varint(value: bytes, random: Random) -> bytes:
    number = varint(value, 0, len(value))[0] if value else 0
    return random.choice(
        (
            written(random.choice(HOSTILE_WORDS)),
            written(random.choice((number + 1, number - 1, number ^ 1, -number, number << 32))),
            b"\xff" * 9 + b"\x01",
            b"\xff" * random.choice((10, 11, 50)) + b"\x01",  # longer than a number may be
            b"\x81" + b"\x80" * 8 + b"\x00",  # 1, in ten bytes
        )
    )


def _nested(part: Part, value: bytes, random: Random) -> bytes:
    """The message inside itself, many times over."""
    nested = value
    for _ in range(random.choice((1, 20, 90, 101, 500))):
        nested = _tag(part, BYTES) + written(len(nested)) + nested
    return _tag(part, BYTES) + written(len(nested)) + nested


def _with_wrong_length(part: Part, value: bytes, random: Random) -> bytes:
    """So that it ends inside the next field, or beyond the file."""
    size = len(value) + random.choice((1, -1, 7, 1 << 20, 1 << 34, (1 << 64) - 1))
    return _tag(part, BYTES) + written(size) + value


def _in_another_order(data: bytes, random: Random) -> bytes:
    """The fields at the top shuffled: ends before begins, names after what uses them."""
    with suppress(BrokenMessageError):
        top = [data[at.begin : at.end] for at in fields(data)]
        random.shuffle(top)
        return b"".join(top)
    return data[::-1]


def _replaced(data: bytes, part: Part, new: bytes, *, keep_lengths: bool) -> bytes:
    """The content with another field, and the lengths of all messages around it."""
    if keep_lengths:
        return data[: part.begin] + new + data[part.end :]
    begin, end = part.begin, part.end
    for around in reversed(part.above):
        inner = data[around.start : begin] + new + data[end : around.end]
        new = _tag(around, BYTES) + written(len(inner)) + inner
        begin, end = around.begin, around.end
    return data[:begin] + new + data[end:]


def _tag(part: Part, kind: int) -> bytes:
    return written(part.number << 3 | kind)


def change_pickle(data: bytes, random: Random) -> bytes | None:
    """Opcodes changed, or values: a pickle whose values repeat by reference, are deep, or have hostile keys."""
    return _with_other_values(data, random) if random.random() < 0.6 else _with_other_opcodes(data, random)


def _with_other_opcodes(data: bytes, random: Random) -> bytes | None:
    places = []
    with suppress(Exception):  # as far as it goes
        places += [place for _, _, place in pickletools.genops(data) if place is not None]
    if len(places) < 3:
        return None
    start, end = sorted(random.sample(places, 2))
    piece = data[start:end]
    return random.choice(
        (
            data[:start] + data[end:],
            data[:end] + piece * random.choice((1, 50)) + data[end:],
            data[:start] + random.choice(_OPCODES) + data[start:],
            data[:start] + hostile_key(random) + b"K\x01s" + data[start:],
            data[:start] + bytes([random.randrange(256)]) + data[start + 1 :],
        )
    )


_OPCODES = (
    b"}", b"]", b")", b"(", b"s", b"u", b"a", b"e", b"\x85", b"\x86", b"t", b"N", b"0", b"2", b"\x94", b".", b"h\x00",
    b"h\xff",
    b"j\xff\xff\xff\xff", b"r\xff\xff\xff\xff", b"\x95" + b"\xff" * 8, b"\x8d" + b"\xff" * 8, b"\x8b\xff\xff\xff\x7f",
    b"cos\nsystem\n", b"\x8c\x02os\x8c\x06system\x93", b"R", b"\x81", b"Q", b"NQ", b"\x97", b"\x96" + b"\xff" * 8,
    b"]" * 50_000, b"}" * 50_000, b"(" * 50_000, b")" + b"\x85" * 50_000, b"]" * 50_000 + b"a" * 50_000,
)  # fmt: skip


def hostile_key(random: Random) -> bytes:
    """A key that no snapshot has: one whose hash takes for ever, or overflows the stack, or is that of many others."""
    doubled = b")" + b"".join(
        b"q" + bytes([place]) + b"h" + bytes([place]) + b"\x86" for place in range(200, 240)
    )
    colliding = (random.randrange(1, 1 << 60) * ((1 << 61) - 1)).to_bytes(16, "little")
    return random.choice(
        (
            doubled,
            b")" + b"\x85" * random.choice((1, 5000, 100_000)),
            b"\x8a\x10" + colliding,
            b"N",
            b"G" + bytes(8),
            b"C\x01x",
        )
    )


def _with_other_values(data: bytes, random: Random) -> bytes | None:
    value = None
    with suppress(Exception):  # whatever earlier changes have left
        load_plain(data)  # first: what the unpickler may be given
        value = pickle.loads(data)
    places = [] if value is None else list(_places(value, 20_000))
    if not places:
        return None
    holder, key = random.choice(places)
    with suppress(Exception):  # a list that holds itself has no order, a text may not be encoded
        holder[key] = _hostile_value(holder[key], random)
        return pickle.dumps(value, random.choice((2, 3, 4, 5)))
    return None


def _hostile_value(old: Any, random: Random) -> Any:
    deep: Any = []
    for _ in range(300):
        deep = [deep]
    doubled: Any = []
    for _ in range(40):
        doubled = [doubled, doubled]
    itself: dict[str, Any] = {}
    itself["name"] = itself
    numbers = (0, -1, 2**62, 2**63, 2**64, -(2**63) - 1, 2**120, 10**9, float("nan"), float("inf"), 1.5, True)
    texts = ("", "\ud800", "x" * _LONG, "\U0001f4a3" * 5000, "\x1b[2J", "active_allocated", "oom")
    repeated = [old] * random.choice((2, 1000, 50_000))
    others: tuple[Any, ...] = (
        None,
        [],
        {},
        (),
        deep,
        doubled,
        itself,
        b"bytes",
        (0,) * 50_000,
        {"a": old},
        {1: 2},
        {(): old},
    )
    return random.choice((*numbers, *texts, *others, repeated, repeated))


def _places(value: Any, most: int) -> Iterator[tuple[Any, Any]]:
    """Where the value holds something: (list or dict, index or key); each of them once."""
    pending, known = [value], {id(value)}
    while pending and most:
        holder = pending.pop()
        for key in list(holder) if isinstance(holder, dict) else range(min(len(holder), 200)):
            most -= 1
            yield holder, key
            inner = holder[key]
            if isinstance(inner, dict | list) and id(inner) not in known:
                known.add(id(inner))
                pending.append(inner)
