"""Values and messages between the judge and the judged process: a JSON header, then the raw bytes of the arrays. What
arrives may come from hostile code: nothing is unpickled, and every length is checked before memory is taken for it."""

from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from rocm_perf.bench.judge import series
from rocm_perf.bench.judge.values import ITEM_BYTES, Array, Layout, Scalar, UnsupportedValueError, Value

MAX_HEADER_BYTES = 64 << 20
MAX_PAYLOAD_BYTES = 1 << 36
_MAX_DIMENSIONS = 64
_MAX_COUNT = 1 << 40
_FRAME = struct.Struct(">4sIQ")  # magic, bytes of the header, bytes of the payload
_MAGIC = b"RPJ1"
_PIECE = 1 << 20
_SHORTEST_S = 1e-3  # 0 would mean not to wait at all


class WireError(Exception):
    """What arrived is not a message."""


Bytes = bytes | bytearray | memoryview


def encode(value: Value, payload: list[Bytes]) -> Any:
    """The value as JSON; the bytes of its arrays and lists of numbers are appended to the payload."""
    if isinstance(value, Array):
        payload.append(value.data)
        layout = value.layout
        fields = (layout.library, layout.dtype, layout.shape, layout.strides, layout.device)
        return ["array", *fields]
    if isinstance(value, (list, tuple)):
        kind = "list" if isinstance(value, list) else "tuple"
        if numbers := series.packed(value):
            payload.append(numbers[1])
            return [f"{kind} of numbers", numbers[0], len(value)]
        return [kind, [encode(item, payload) for item in value]]
    if isinstance(value, dict):
        return ["dict", [[_encode_scalar(key), encode(item, payload)] for key, item in value.items()]]
    return _encode_scalar(value)


def _encode_scalar(value: Scalar) -> Any:
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return ["int", hex(value)]
    if isinstance(value, float):
        return ["float", value.hex()]
    if isinstance(value, complex):
        return ["complex", value.real.hex(), value.imag.hex()]
    if isinstance(value, bytes):
        return ["bytes", value.hex()]
    raise UnsupportedValueError(f"a value of type {type(value).__name__} cannot be handed over")


def decode(node: Any, payload: memoryview) -> Value:
    """The value behind its JSON; arrays take their bytes from the payload, which must be used up."""
    reader = _Reader(payload)
    try:
        value = reader.value(node)
    except (TypeError, ValueError, IndexError, OverflowError, RecursionError) as error:
        raise WireError(f"a value is not well-formed ({error})") from error
    if reader.position != len(payload):
        raise WireError(f"{len(payload) - reader.position:,} bytes belong to no array")
    return value


class _Reader:
    """Decodes one value."""

    def __init__(self, payload: memoryview) -> None:
        self._payload = payload
        self.position = 0

    def value(self, node: Any) -> Value:
        if isinstance(node, list) and node:
            if node[0] == "array":
                return self._array(*node[1:])
            if node[0] == "list":
                return [self.value(item) for item in node[1]]
            if node[0] == "tuple":
                return tuple(self.value(item) for item in node[1])
            if node[0] == "list of numbers":
                return self._numbers(*node[1:])
            if node[0] == "tuple of numbers":
                return tuple(self._numbers(*node[1:]))
            if node[0] == "dict":
                return {_decode_scalar(key): self.value(item) for key, item in node[1]}
        return _decode_scalar(node)

    def _array(self, library: Any, dtype: Any, shape: Any, strides: Any, device: Any) -> Array:
        if library not in ("numpy", "torch") or dtype not in ITEM_BYTES or not isinstance(device, str):
            _malformed("an array has an unknown type")
        sizes = _whole_numbers(shape, least=0)
        layout = Layout(library, dtype, sizes, _whole_numbers(strides, least=-_MAX_COUNT), device)
        if len(layout.strides) != len(sizes):
            _malformed("an array has more or fewer strides than dimensions")
        return Array(layout, self._bytes(layout.size_bytes))

    def _numbers(self, code: Any, count: Any) -> list[Value]:
        (checked,) = _whole_numbers([count], least=0)
        return [*series.unpacked(code, self._bytes(checked * series.ITEM_BYTES))]

    def _bytes(self, count: int) -> memoryview:
        start, self.position = self.position, self.position + count
        if self.position > len(self._payload):
            _malformed("an array is longer than what was sent")
        return self._payload[start : self.position]


def _whole_numbers(numbers: Any, *, least: int) -> tuple[int, ...]:
    if not isinstance(numbers, list) or len(numbers) > _MAX_DIMENSIONS:
        _malformed("an array has no shape")
    if not all(type(number) is int and least <= number <= _MAX_COUNT for number in numbers):
        _malformed("a shape or stride is not a whole number within reason")
    return tuple(numbers)


def _decode_scalar(node: Any) -> Scalar:
    if node is None or isinstance(node, (bool, str)):
        return node
    if isinstance(node, list) and len(node) >= 2 and all(isinstance(part, str) for part in node):
        if node[0] == "int":
            return int(node[1], 16)
        if node[0] == "float":
            return float.fromhex(node[1])
        if node[0] == "complex":
            return complex(float.fromhex(node[1]), float.fromhex(node[2]))
        if node[0] == "bytes":
            return bytes.fromhex(node[1])
    raise ValueError("it is of no known kind")


def _malformed(reason: str) -> NoReturn:
    raise ValueError(reason)


def send(connection: socket.socket, header: Mapping[str, Any], *values: Value) -> None:
    """Send a message; its values travel under "values"."""
    payload: list[Bytes] = []
    nodes = [encode(value, payload) for value in values]
    text = json.dumps({**header, "values": nodes}).encode()
    connection.sendall(_FRAME.pack(_MAGIC, len(text), sum(map(len, payload))) + text)
    for data in payload:
        connection.sendall(data)


def receive(
    connection: socket.socket, *, deadline: float | None = None
) -> tuple[dict[str, Any], list[Value]]:
    """The next message: its header and its values. EOFError where the other side has closed, TimeoutError where the
    message is not complete by the deadline on the monotonic clock."""
    magic, header_bytes, payload_bytes = _FRAME.unpack(_exactly(connection, _FRAME.size, deadline))
    if magic != _MAGIC or header_bytes > MAX_HEADER_BYTES or payload_bytes > MAX_PAYLOAD_BYTES:
        raise WireError("it does not begin as a message does, or is too long")
    try:
        header = json.loads(_exactly(connection, header_bytes, deadline))
    except (ValueError, RecursionError) as error:
        raise WireError("its header is not JSON") from error
    payload = memoryview(_exactly(connection, payload_bytes, deadline))
    if not isinstance(header, dict) or not isinstance(header.get("values"), list):
        raise WireError("its header is not that of a message")
    return header, list(_decode_all(header.pop("values"), payload))


def _decode_all(nodes: list[Any], payload: memoryview) -> Iterator[Value]:
    value = decode(["list", nodes], payload)
    assert isinstance(value, list)
    yield from value


def _exactly(connection: socket.socket, count: int, deadline: float | None) -> bytearray:
    """So many bytes, or EOFError; memory is taken as they arrive, not as they were announced."""
    data = bytearray()
    while len(data) < count:
        if deadline is not None:
            connection.settimeout(max(deadline - time.monotonic(), _SHORTEST_S))
        piece = connection.recv(min(_PIECE, count - len(data)))
        if not piece:
            raise EOFError("the other side has closed the connection")
        data += piece
    return data
