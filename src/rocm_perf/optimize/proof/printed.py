"""What a program printed or wrote, compared number by number. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from rocm_perf.replay.tolerance import Tolerance

_BETWEEN = re.compile(r"([\s,;:=()\[\]{}|]+)")
_SHOWN = 40  # characters of a word


@dataclass(frozen=True)
class Expected:
    """What the original left, and what of it counts."""

    data: bytes
    tolerances: tuple[Tolerance, ...] = ()
    ignored: frozenset[tuple[int, int]] = (
        frozenset()
    )  # line and word that two runs of the original do not agree on
    left_out: str = ""  # why it is not compared, or not all of it

    @property
    def is_compared(self) -> bool:
        return bool(self.ignored) or not self.left_out

    def fault(self, got: bytes) -> str:
        """What is wrong with what another build left; empty: nothing."""
        if not self.is_compared or got == self.data:
            return ""
        wanted_lines, got_lines = _lines(self.data), _lines(got)
        if wanted_lines is None or got_lines is None:
            return self._binary_fault(got)
        if len(wanted_lines) != len(got_lines):
            return f"{len(got_lines)} lines instead of {len(wanted_lines)}"
        for number, (wanted, new) in enumerate(zip(wanted_lines, got_lines, strict=True)):
            if fault := self._line_fault(number, wanted, new):
                return f"line {number + 1}: {fault}"
        return ""

    def _line_fault(self, number: int, wanted: Sequence[str], got: Sequence[str]) -> str:
        if len(wanted) != len(got):
            return f"{_shown(''.join(got))} instead of {_shown(''.join(wanted))}"
        pairs = enumerate(zip(wanted, got, strict=True))
        wrong = (
            pair
            for place, pair in pairs
            if (number, place) not in self.ignored and not is_same(*pair, self.tolerances)
        )
        first = next(wrong, None)
        return f"{_shown(first[1])} instead of {_shown(first[0])}" if first else ""

    def _binary_fault(self, got: bytes) -> str:
        if len(got) != len(self.data):
            return f"{len(got):,} bytes instead of {len(self.data):,}"
        if any(not tolerance.far_off(self.data, got) for tolerance in self.tolerances):
            return ""
        return "other bytes than the original writes"


def expected_of(first: bytes, second: bytes | None, given: tuple[Tolerance, ...] = ()) -> Expected:
    """What counts of two runs' outputs: all where they are the same, else where they agree."""
    if second is None:
        return Expected(
            first, left_out="not compared, because only one of two runs of the original writes it"
        )
    if first == second:
        return Expected(first, given)
    places = _disagreements(_lines(first), _lines(second))
    if not places:
        return Expected(first, left_out="not compared, because two runs of the original differ")
    count = f"{len(places)} number{'s' if len(places) > 1 else ''}"
    reason = f"{count} not compared, because two runs of the original differ there"
    return Expected(first, given, places, reason)


def is_same(wanted: str, got: str, tolerances: Sequence[Tolerance]) -> bool:
    """Whether two words are the same, or numbers within a tolerance; NaN is right only where NaN is wanted."""
    if wanted == got:
        return True
    one, other = _number(wanted), _number(got)
    if one is None or other is None:
        return False
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    return one == other or any(
        math.isclose(one, other, rel_tol=each.relative, abs_tol=each.absolute) for each in tolerances
    )


def _disagreements(
    first: list[list[str]] | None, second: list[list[str]] | None
) -> frozenset[tuple[int, int]]:
    """Lines and words where two texts differ; nothing where they are not built alike."""
    if first is None or second is None or list(map(len, first)) != list(map(len, second)):
        return frozenset()
    return frozenset(
        (number, place)
        for number, (one, other) in enumerate(zip(first, second, strict=True))
        for place, (word, twin) in enumerate(zip(one, other, strict=True))
        if word != twin
    )


def _lines(data: bytes) -> list[list[str]] | None:
    """The words of each line, with what lies between them; None where the data is not a text."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else [_BETWEEN.split(line) for line in text.splitlines()]


def _number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None


def _shown(word: str) -> str:
    return repr(word if len(word) <= _SHOWN else f"{word[:_SHOWN]}...")
