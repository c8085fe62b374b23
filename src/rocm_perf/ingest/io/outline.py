"""The bracket structure of JSON text, found without decoding it: where a truncated document can be closed, and where
the elements of an array end. Every function is linear in its input, whatever the content."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

# A run is a bracket and the text up to the next one. The counted repeats bound the memory of `re`;
# what they leave is the next run, which then starts without a bracket.
_RUN = re.compile(rb'[\[\]{}]?[^\[\]{}"]*(?:"[^"\\]*(?:\\.[^"\\]*){0,500}"[^\[\]{}"]*){0,500}', re.DOTALL)
_STRING_PART = re.compile(rb'[^"\\]*(?:\\.[^"\\]*){0,500}', re.DOTALL)
_CLOSER = {ord("["): ord("]"), ord("{"): ord("}")}
_CLOSERS = frozenset(_CLOSER.values())
_QUOTE = ord('"')
MAX_DEPTH = 10_000  # no decoder goes as deep


def runs(data: bytes, position: int = 0) -> Iterator[tuple[int, int]]:
    """Start and end of each run, up to the first string that the data does not close."""
    size = len(data)
    while position < size:
        match = _RUN.match(data, position)
        end = match.end() if match else position
        open_string = None
        if end < size and data[end] == _QUOTE:
            open_string, end = end, string_end(data, end)
        if end > size:
            assert open_string is not None
            if open_string > position:
                yield position, open_string
            return
        yield position, end
        position = end


def string_end(data: bytes, start: int) -> int:
    """The position after the string that opens at `start`; beyond the data if it is not closed."""
    position, size = start + 1, len(data)
    while position < size:
        match = _STRING_PART.match(data, position)
        position = match.end() if match else size
        if position < size and data[position] == _QUOTE:
            return position + 1
        if position == size - 1:  # a backslash, and what it escapes is missing
            break
    return size + 1


def last_comma(data: bytes, start: int, end: int) -> int:
    """The last comma of a run that is not part of a string; -1 if there is none."""
    comma = -1
    while start < end:
        quote = data.find(b'"', start, end)
        comma = max(comma, data.rfind(b",", start, end if quote < 0 else quote))
        start = end if quote < 0 else string_end(data, quote)
    return comma


class _Open(NamedTuple):
    """A bracket that is not closed yet, and the ones around it."""

    closer: int
    may_be_cut: bool
    around: _Open | None
    depth: int


def mend(data: bytes) -> bytes:
    """A truncated document, closed after its last complete record. A list element is kept whole or not at all, unless
    it contains lists of objects itself (a process and its records): then it is kept as far as it goes.
    """
    top: _Open | None = None
    run_start, cut = 0, (0, 0, top)
    for start, end in runs(data):
        bracket = data[start]
        if bracket in _CLOSER:
            depth = top.depth + 1 if top else 1
            if depth > MAX_DEPTH:
                break
            top = _Open(_CLOSER[bracket], _may_be_cut(data, start, end, top), top, depth)
            run_start = start + 1
        elif bracket in _CLOSERS:
            if top is None or top.closer != bracket:
                break
            top = top.around
            run_start = start + 1
            if top is None:
                return data[:run_start]
        if top is not None and top.may_be_cut:
            cut = (run_start, end, top)
    begin, end, top = cut
    comma = last_comma(data, begin, end)
    return data[: begin if comma < 0 else comma] + _closers(top)


def _may_be_cut(data: bytes, start: int, end: int, around: _Open | None) -> bool:
    if around is None:
        return True
    if data[start : start + 1] == b"[" and data[end : end + 1] == b"{" and not data[start + 1 : end].strip():
        return True
    return around.closer == ord("}") and around.may_be_cut


def _closers(top: _Open | None) -> bytes:
    closers = bytearray()
    while top is not None:
        closers.append(top.closer)
        top = top.around
    return bytes(closers)


class Outline:
    """Where the elements of an array end, in a buffer that starts inside it and may still grow."""

    def __init__(self) -> None:
        self.end: int | None = None  # where the array closes
        self._depth = 0
        self._position = 0
        self._run = (0, 0)  # the last run between elements

    def extend(self, buffer: bytes) -> None:
        """Continue from where the buffer ended before."""
        for start, end in runs(buffer, self._position):
            bracket = buffer[start]
            if bracket in _CLOSER:
                self._depth += 1
            elif bracket in _CLOSERS:
                if self._depth == 0:
                    self.end = start
                    return
                self._depth -= 1
                if self._depth == 0:
                    self._run = (start + 1, end)
            if self._depth == 0:
                self._run = (self._run[0], end)
            self._position = end

    def last_comma(self, buffer: bytes) -> int:
        """The last comma between two elements; -1 if there is none after the last complete one."""
        return last_comma(buffer, *self._run)

    def whole(self, buffer: bytes) -> int:
        """The end of the last element that is certainly complete."""
        comma = self.last_comma(buffer)
        return self._run[0] if comma < 0 else comma


def elements(data: bytes) -> list[bytes]:
    """The elements of an array without its brackets, split at the commas."""
    commas: list[int] = []
    depth = 0
    for start, end in runs(data):
        bracket = data[start]
        depth += (bracket in _CLOSER) - (bracket in _CLOSERS)
        if depth == 0:
            commas.extend(_commas(data, start, end))
    edges = [-1, *commas, len(data)]
    return [data[left + 1 : right] for left, right in pairwise(edges)]


def _commas(data: bytes, start: int, end: int) -> Iterator[int]:
    while start < end:
        quote = data.find(b'"', start, end)
        stop = end if quote < 0 else quote
        while (comma := data.find(b",", start, stop)) >= 0:
            yield comma
            start = comma + 1
        start = stop if quote < 0 else string_end(data, quote)
