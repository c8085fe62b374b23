"""Unified diffs, as edits of a source. Pure: no `patch` program, no files.

People and models write diffs by hand: line numbers may be off, counts wrong, blank lines without their blank. The lines
that a hunk quotes decide where it belongs; where they are not to be found, nothing is applied.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile
from typing import NamedTuple

from rocm_perf.optimize.candidate import Edit

_HEADER = re.compile(r"@@(?: -(?P<line>\d{1,9})(?:,(?P<count>\d{1,9}))?)?[^@]*@@|@@")
_FUZZ = 2  # lines of context at either end of a hunk that may be wrong, as GNU patch allows
_NO_NEWLINE = "\\ No newline"
_SIGNATURE = "-- "  # the line before git's version, at the end of what `git format-patch` writes


class PatchError(ValueError):
    """A diff that cannot be applied; the text says why."""


class Line(NamedTuple):
    """A line of a hunk."""

    kind: str  # " " stays, "-" goes, "+" comes
    text: str
    is_ended: bool = True  # by a newline; False for the last line of a file without one


@dataclass(frozen=True)
class Hunk:
    """Lines that belong together, and where they are said to be."""

    number: int  # of the hunk in its diff, from 1
    line: int | None  # of the old text, from 1; None: the header does not say
    lines: tuple[Line, ...]

    @property
    def old(self) -> list[str]:
        """What the source must say there."""
        return [line.text for line in self.lines if line.kind != "+"]

    @property
    def expected(self) -> int | None:
        """The index of its first line in the source. A hunk that quotes nothing names the line before it."""
        return None if self.line is None else max(self.line - 1, 0) if self.old else self.line

    def trimmed(self, fuzz: int) -> Hunk:
        """The hunk without the outermost lines of its context."""
        top = min(fuzz, _context(self.lines))
        bottom = min(fuzz, _context(self.lines[::-1]))
        line = None if self.line is None else self.line + top
        return replace(self, line=line, lines=self.lines[top : len(self.lines) - bottom])


def diff_edits(diff: str, source: bytes) -> tuple[Edit, ...]:
    """The edits of the source that the diff describes. Raises PatchError where it does not fit."""
    pieces = re.findall(rb"[^\n]*\n|[^\n]+", source)
    texts = [piece.rstrip(b"\r\n").decode(errors="replace") for piece in pieces]
    edits: list[Edit] = []
    earliest = 0
    for hunk in _hunks(diff):
        placed, at = _placed(hunk, texts, earliest)
        edits += _edits(placed, at, pieces)
        earliest = at + len(placed.old)
    return tuple(edits)


def _hunks(diff: str) -> Iterator[Hunk]:
    """The hunks of a diff of one file."""
    lines = [line.removesuffix("\r") for line in diff.rstrip("\n").split("\n")]
    if len(lines) > 1 and lines[-2] == _SIGNATURE:
        del lines[-2:]
    if sum(_starts_file(*pair) for pair in pairwise(lines)) > 1:
        raise PatchError("it changes more than one file")
    heads = [index for index, line in enumerate(lines) if line.startswith("@@")]
    if not heads:
        raise PatchError("it has no hunk: a line that starts with @@ is missing")
    for number, (head, end) in enumerate(pairwise([*heads, len(lines)]), 1):
        header = _HEADER.match(lines[head])
        at, count = (header["line"], header["count"]) if header else (None, None)
        body = _body(number, lines[head + 1 : end], None if at is None else int(count or 1))
        if all(line.kind == " " for line in body):
            raise PatchError(f"hunk {number} changes nothing")
        yield Hunk(number, None if at is None else int(at), body)


def _starts_file(line: str, following: str) -> bool:
    return line.startswith("--- ") and following.startswith("+++ ")


def _body(number: int, lines: Sequence[str], old_count: int | None) -> tuple[Line, ...]:
    """The lines of a hunk. Blank ones at its end that its header does not count belong to the text around the diff."""
    body: list[Line] = []
    for line in lines:
        if line.startswith(_NO_NEWLINE):
            if body:
                body[-1] = body[-1]._replace(is_ended=False)
        elif line[:1] in ("", " ", "+", "-"):
            body.append(Line(line[:1] or " ", line[1:]))
        else:
            raise PatchError(
                f"hunk {number} has a line that starts with neither ' ', '+' nor '-': {line[:60]}"
            )
    while old_count is not None and body and body[-1].kind == " " and not body[-1].text.strip():
        if sum(line.kind != "+" for line in body) <= old_count:
            break
        body.pop()
    return tuple(body)


def _context(lines: Sequence[Line]) -> int:
    return sum(1 for _ in takewhile(lambda line: line.kind == " ", lines))


def _placed(hunk: Hunk, texts: Sequence[str], earliest: int) -> tuple[Hunk, int]:
    """The hunk, less the context that is wrong, and the index of the line where it belongs."""
    for fuzz in range(_FUZZ + 1):
        trimmed = hunk.trimmed(fuzz)
        if fuzz and not trimmed.old:
            break
        for same in (str.__eq__, _same_but_for_blanks):
            places = list(_places(trimmed.old, texts, earliest, same))
            if trimmed.expected is None and len(places) > 1:
                raise PatchError(
                    f"hunk {hunk.number} fits in {len(places)} places, and its header has no line number"
                )
            if places:
                expected = trimmed.expected or 0
                return trimmed, min(places, key=lambda place: abs(place - expected))
    raise PatchError(f"hunk {hunk.number} does not fit: {_what_is_missing(hunk, texts)}")


def _what_is_missing(hunk: Hunk, texts: Sequence[str]) -> str:
    present = {" ".join(text.split()) for text in texts}
    absent = [line.strip() for line in hunk.old if " ".join(line.split()) not in present]
    if absent:
        return f"the source has no line {absent[0][:60]!r}"
    return "the source has these lines elsewhere, in another order, or in an earlier hunk"


def _places(
    old: Sequence[str], texts: Sequence[str], earliest: int, same: Callable[[str, str], bool]
) -> Iterator[int]:
    for place in range(earliest, len(texts) - len(old) + 1):
        if all(same(text, texts[place + index]) for index, text in enumerate(old)):
            yield place


def _same_but_for_blanks(left: str, right: str) -> bool:
    return left.split() == right.split()


def _edits(hunk: Hunk, at: int, pieces: Sequence[bytes]) -> Iterator[Edit]:
    """One edit for each run of lines that go or come. What stays is not touched, whatever bytes it is made of."""
    newline = b"\r\n" if pieces and pieces[0].endswith(b"\r\n") else b"\n"
    start = sum(map(len, pieces[:at]))
    end, coming = start, b""
    for line in (*hunk.lines, Line(" ", "")):
        if line.kind == "+":
            coming += line.text.encode(errors="replace") + (newline if line.is_ended else b"")
            continue
        if line.kind == "-":
            end += len(pieces[at])
            at += 1
            continue
        if coming or end > start:
            yield _edit(start, end, coming, pieces, newline)
        start = end + (len(pieces[at]) if at < len(pieces) else 0)
        end, coming, at = start, b"", at + 1


def _edit(start: int, end: int, text: bytes, pieces: Sequence[bytes], newline: bytes) -> Edit:
    """An edit; what is added behind a last line without a newline begins with one."""
    is_behind_all = start == sum(map(len, pieces))
    needs_newline = is_behind_all and pieces and not pieces[-1].endswith(b"\n")
    return Edit(start, end, newline + text if needs_newline else text)
