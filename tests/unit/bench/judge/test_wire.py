"""What crosses the connection arrives as it was sent; what is not a message is refused."""

from __future__ import annotations

import json
import math
import socket
import struct
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.bench.judge.values import Array, Layout, UnsupportedValueError, Value, same_bits
from rocm_perf.bench.judge.wire import WireError, encode, receive, send

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.complex_numbers() | st.text() | st.binary()
)
KEYS = st.integers() | st.text()
ARRAYS = st.lists(st.integers(0, 255), max_size=20).map(
    lambda data: Array(Layout("numpy", "uint8", (len(data),), (1,)), bytes(data))
)
VALUES: st.SearchStrategy[Value] = st.recursive(
    SCALARS | ARRAYS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(KEYS, inner, max_size=4)
    ),
    max_leaves=12,
)


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


@given(value=VALUES)
def test_a_value_arrives_as_it_was_sent(value: Value) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        send(ours, {"request": "put", "slot": 3}, value)
        header, values = receive(theirs)
    assert header == {"request": "put", "slot": 3}
    if not isinstance(value, complex) or not (math.isnan(value.real) or math.isnan(value.imag)):
        assert str(value) == str(values[0]) or same_bits(value, values[0])


def test_large_arrays_arrive_while_they_are_sent(ends: tuple[socket.socket, socket.socket]) -> None:
    size = 5_000_000
    array = Array(Layout("torch", "float32", (size // 4,), (1,), "cuda:0"), bytes(range(250)) * (size // 250))
    sender = threading.Thread(target=send, args=(ends[0], {}, array))
    sender.start()
    _, (arrived,) = receive(ends[1])
    sender.join()
    assert isinstance(arrived, Array)
    assert arrived.layout == array.layout
    assert arrived.data == array.data


NUMBERS: list[Value] = [1.5, math.nan, -0.0, math.inf] * 5000


@pytest.mark.parametrize(
    "value", [NUMBERS, tuple(NUMBERS), [*range(-9, 9)], [2**70, 1], [1, 1.0], [True, 1], [], [[1.0], [2]]]
)
def test_lists_of_numbers_arrive_as_they_were_sent(
    ends: tuple[socket.socket, socket.socket], value: Value
) -> None:
    sender = threading.Thread(target=send, args=(ends[0], {}, value))
    sender.start()
    _, (arrived,) = receive(ends[1])
    sender.join()
    assert type(arrived) is type(value)
    assert repr(arrived) == repr(value)
    assert same_bits(arrived, value)


def test_a_list_of_numbers_travels_as_bytes() -> None:
    payload: list[Any] = []
    assert encode(NUMBERS, payload) == ["list of numbers", "d", 20_000]
    assert sum(map(len, payload)) == 160_000


def test_an_object_is_refused_before_anything_is_sent(ends: tuple[socket.socket, socket.socket]) -> None:
    value: Any = [object()]
    with pytest.raises(UnsupportedValueError, match="a value of type object cannot be handed over"):
        send(ends[0], {}, value)


def frame(header: object, payload: bytes = b"", *, announced: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (
        struct.pack(">4sIQ", b"RPJ1", len(text), len(payload) if announced is None else announced)
        + text
        + payload
    )


def array_node(**changes: Any) -> list[Any]:
    fields = {"library": "numpy", "dtype": "uint8", "shape": [4], "strides": [1], "device": "cpu", **changes}
    return ["array", *fields.values()]


HOSTILE = {
    "pickle": b"\x80\x04\x95" + b"x" * 40,
    "not JSON": frame(b"{]"),
    "no values": frame({"error": "x"}),
    "a list": frame([1, 2]),
    "unknown kind": frame({"values": [["object", "os.system"]]}),
    "bare number": frame({"values": [12]}),
    "negative size": frame({"values": [array_node(shape=[-4])]}, b"abcd"),
    "size that is not whole": frame({"values": [array_node(shape=[4.0])]}, b"abcd"),
    "huge array": frame({"values": [array_node(shape=[1 << 39])]}, b"abcd"),
    "huge announcement": frame({"values": []}, announced=1 << 60),
    "unknown type": frame({"values": [array_node(dtype="object")]}, b"abcd"),
    "strides of another array": frame({"values": [array_node(strides=[1, 2])]}, b"abcd"),
    "more bytes than arrays": frame({"values": [array_node()]}, b"abcdef"),
    "numbers of an unknown type": frame({"values": [["list of numbers", "O", 1]]}, b"8 bytes."),
    "more numbers than bytes": frame({"values": [["list of numbers", "d", 2]]}, b"8 bytes."),
    "numbers without a count": frame({"values": [["tuple of numbers", "d", "1"]]}, b"8 bytes."),
    "unhashable key": frame({"values": [["dict", [[["list", []], None]]]]}),
    "short node": frame({"values": [["array"]]}),
    "bottomless": frame(b'{"values":[' + b'["list",[' * 50_000 + b"]]" * 50_000 + b"]}"),
    "many dimensions": frame({"values": [array_node(shape=[1] * 100, strides=[1] * 100)]}, b"a"),
}


@pytest.mark.parametrize("message", HOSTILE.values(), ids=HOSTILE.keys())
def test_what_is_not_a_message_is_refused(message: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        sender = threading.Thread(target=ours.sendall, args=(message,))
        sender.start()
        theirs.settimeout(60)
        with pytest.raises(WireError):
            receive(theirs)
        theirs.close()
        sender.join()


def test_a_message_that_breaks_off_is_an_end(ends: tuple[socket.socket, socket.socket]) -> None:
    ends[0].sendall(frame({"values": []})[:-3])
    ends[0].close()
    with pytest.raises(EOFError):
        receive(ends[1])


def test_a_message_that_drips_is_given_up_at_the_deadline(ends: tuple[socket.socket, socket.socket]) -> None:
    ends[0].sendall(frame({"values": []})[:5])
    with pytest.raises(TimeoutError):
        receive(ends[1], deadline=time.monotonic() - 1)
