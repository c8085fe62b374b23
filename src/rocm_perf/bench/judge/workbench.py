"""Calls of one function on arguments that lie ready in slots, beside the judged code. What it says of its own time is
only ever compared with the judge's clock."""

from __future__ import annotations

import json
import sys
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rocm_perf.bench.judge.arrays import live, plain
from rocm_perf.bench.judge.values import Value
from rocm_perf.bench.judge.wire import Bytes, encode


@dataclass(frozen=True)
class Terms:
    """How a function is called. In-place arguments are named by position, or by keyword."""

    in_place: tuple[int | str, ...] = ()
    reuses_buffers: bool = True  # new values are written where the old ones were
    is_lenient: bool = False  # about what counts as a result


class CallError(Exception):
    """The function raised, or returned what is not a result."""


class Workbench:
    """Slots with arguments, and the results of the last calls."""

    def __init__(self, function: Callable[..., object], terms: Terms) -> None:
        self._function = function
        self._terms = terms
        self._arguments: dict[int, Any] = {}
        self._results: dict[int, object] = {}
        self._kept: list[Any] = []

    def put(self, slot: int, arguments: Value) -> None:
        """Lay arguments ready: a tuple or list of them, or a dictionary of keyword arguments."""
        previous = self._arguments.get(slot)
        if not self._terms.reuses_buffers:
            self._kept.append(previous)  # so that no address comes again
            previous = None
        self._arguments[slot] = live(arguments, previous)

    def run(self, slots: Sequence[int], nonce: int) -> tuple[int, list[int]]:
        """Call the function once per slot; returns its own idea of the time it took in nanoseconds, and a checksum
        per slot of what is there now."""
        self._results = {}
        stop = _own_clock()
        for slot in slots:
            self._results[slot] = self._call(slot)
        own_ns = stop()
        return own_ns, self.checksums(slots, nonce)

    def checksums(self, slots: Sequence[int], nonce: int) -> list[int]:
        """A checksum per slot of its result and its in-place arguments."""
        return [checksum(self._outputs(slot), nonce) for slot in slots]

    def read(self, slot: int) -> tuple[Value, Value]:
        """The result in a slot, and the arguments as the call left them, when all work on the GPU has ended: a checksum
        of what was there before tells whether some had not."""
        if has_device_events():
            sys.modules["torch"].cuda.synchronize()
        return self._plain(self._results.get(slot)), plain(self._arguments[slot])

    def _call(self, slot: int) -> object:
        arguments = self._arguments[slot]
        try:
            if isinstance(arguments, dict):
                return self._function(**arguments)
            return self._function(*arguments)
        except (Exception, SystemExit) as error:
            raise CallError(f"it raised {type(error).__name__}: {error}") from error

    def _outputs(self, slot: int) -> Value:
        arguments = self._arguments[slot]
        changed = [plain(arguments[name]) for name in self._terms.in_place]
        return [self._plain(self._results[slot]), changed]

    def _plain(self, result: object) -> Value:
        try:
            return plain(result, lenient=self._terms.is_lenient)
        except (
            TypeError,
            ValueError,
            RuntimeError,
        ) as error:  # a container that holds itself is a RuntimeError
            raise CallError(f"its result cannot be judged: {error}") from error


def checksum(value: Value, nonce: int) -> int:
    """The CRC-32 of a value, begun at a number that nobody knew before the call."""
    payload: list[Bytes] = []
    text = json.dumps(encode(value, payload)).encode()
    crc = zlib.crc32(text, nonce)
    for data in payload:
        crc = zlib.crc32(data, crc)
    return crc


def has_device_events() -> bool:
    """Whether this process uses a GPU through torch, whose events then tell the time."""
    torch = sys.modules.get("torch")
    return torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized()


def _own_clock() -> Callable[[], int]:
    """Start this process's own clock, device events where there are some; the returned function stops it."""
    if has_device_events():
        torch = sys.modules["torch"]
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()

        def elapsed_ns() -> int:
            end.record()
            end.synchronize()
            return int(begin.elapsed_time(end) * 1e6)

        return elapsed_ns
    started = time.perf_counter_ns()
    return lambda: time.perf_counter_ns() - started
