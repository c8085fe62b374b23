"""Memory after a replay against memory after the application's kernel, byte by byte."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Literal

from rocm_perf.errors import InputError
from rocm_perf.model.results.replay import Difference
from rocm_perf.replay import reading
from rocm_perf.replay.plan import Range, dump_path
from rocm_perf.replay.snapshot import Region
from rocm_perf.replay.tolerance import Tolerance, values

_BLOCK = 64 << 10
_CHUNK = 16 * _BLOCK
_SHOWN_BYTES = 16

# What the captured kernel did with memory; overwritten: with the values that were there before.
Fate = Literal["left alone", "changed", "overwritten"]


@dataclass(frozen=True)
class Piece:
    """A stretch of a region with one fate; of what the kernel wrote, at most a block."""

    region: Region
    offset: int
    length: int
    fate: Fate

    @property
    def is_output(self) -> bool:
        return self.fate != "left alone"

    @property
    def address(self) -> int:
        return self.region.base + self.offset

    def meets(self, following: Piece) -> bool:
        """Whether the other one goes on where this ends, with the same fate."""
        same = (self.region.base, self.fate) == (following.region.base, following.fate)
        return same and self.offset + self.length == following.offset


@dataclass(frozen=True)
class Mismatch:
    """Where two files differ in a piece."""

    piece: Piece
    first: int  # offset in the region
    count: int  # bytes


def pieces(region: Region, overwritten: Iterable[Range] = ()) -> list[Piece]:
    """The whole region, cut where what the kernel wrote begins and ends. The overwritten lies beside the changed.

    What it wrote is cut into blocks, so that a tolerance that one value needs excuses only those near it.
    """
    fates: list[tuple[Range, Fate]] = [(one, "changed") for one in region.changed]
    fates += [(one, "overwritten") for one in overwritten]
    cut: list[Piece] = []
    at = 0
    for (offset, length), fate in sorted(fates):
        if offset > at:
            cut.append(Piece(region=region, offset=at, length=offset - at, fate="left alone"))
        end = offset + length
        marks = [offset, *range((offset // _BLOCK + 1) * _BLOCK, end, _BLOCK), end]
        cut += [
            Piece(region=region, offset=start, length=stop - start, fate=fate)
            for start, stop in pairwise(marks)
        ]
        at = end
    if at < region.size:
        cut.append(Piece(region=region, offset=at, length=region.size - at, fate="left alone"))
    return cut


def expected_file(piece: Piece, files: Mapping[str, Path]) -> Path:
    """Where the state after the application's kernel lies: what it did not change is as before."""
    return files[piece.region.after if piece.fate == "changed" else piece.region.before]


def mismatches(some: Iterable[Piece], files: Mapping[str, Path], work: Path) -> list[Mismatch]:
    """Where the dumps below `work` are not as the application's kernel left the memory."""
    compared = (mismatch(piece, expected_file(piece, files), dump_path(work, piece.region)) for piece in some)
    return [one for one in compared if one is not None]


def joined(mismatches: Iterable[Mismatch]) -> list[Mismatch]:
    """The mismatches with those of neighbouring pieces made one, as people would say it."""
    merged: list[Mismatch] = []
    for one in mismatches:
        last = merged[-1] if merged else None
        if last and last.piece.meets(one.piece):
            piece = replace(last.piece, length=last.piece.length + one.piece.length)
            merged[-1] = Mismatch(piece, last.first, last.count + one.count)
        else:
            merged.append(one)
    return merged


def mismatch(piece: Piece, one: Path, other: Path) -> Mismatch | None:
    """The differences of two files in a piece."""
    first, count = -1, 0
    for offset, left, right in differing_blocks(piece, one, other):
        bits = int.from_bytes(left, "big") ^ int.from_bytes(right, "big")
        difference = bits.to_bytes(len(left), "big")
        count += len(difference) - difference.count(0)
        if first < 0:
            first = offset + len(difference) - len(difference.lstrip(b"\0"))
    return Mismatch(piece, first, count) if count else None


def differing_blocks(piece: Piece, one: Path, other: Path) -> Iterator[tuple[int, bytes, bytes]]:
    """Blocks of the piece that are not the same in both files, with their offset in the region."""
    with ExitStack() as stack:
        left, right = (stack.enter_context(reading.opened(path.parent, path.name)) for path in (one, other))
        for start in range(piece.offset, piece.offset + piece.length, _CHUNK):
            length = min(_CHUNK, piece.offset + piece.length - start)
            ours, theirs = read_at(left, start, length, one), read_at(right, start, length, other)
            if ours == theirs:
                continue
            for at in range(0, length, _BLOCK):
                pair = ours[at : at + _BLOCK], theirs[at : at + _BLOCK]
                if pair[0] != pair[1]:
                    yield start + at, *pair


def is_close(mismatch: Mismatch, files: Mapping[str, Path], work: Path, tolerance: Tolerance) -> bool:
    """Whether all values of the piece are within the tolerance."""
    piece = mismatch.piece
    blocks = differing_blocks(piece, expected_file(piece, files), dump_path(work, piece.region))
    return all(not tolerance.far_off(ours, theirs) for _, ours, theirs in blocks)


def described(mismatch: Mismatch, files: Mapping[str, Path], work: Path) -> Difference:
    """The first differing bytes, and what they mean as numbers."""
    piece, first = mismatch.piece, mismatch.first
    region, room = piece.region, piece.offset + piece.length
    paths = expected_file(piece, files), dump_path(work, region)
    expected, got = (_bytes_at(path, first, min(_SHOWN_BYTES, room - first)) for path in paths)
    expected_f32, got_f32 = (_value(path, "f32", first, room) for path in paths)
    expected_f16, got_f16 = (_value(path, "f16", first, room) for path in paths)
    return Difference(
        region=f"0x{region.base:x}",
        offset=first,
        address=f"0x{region.base + first:x}",
        differing_bytes=mismatch.count,
        compared_bytes=piece.length,
        is_output=piece.is_output,
        expected=expected.hex(),
        got=got.hex(),
        expected_f32=expected_f32,
        got_f32=got_f32,
        expected_f16=expected_f16,
        got_f16=got_f16,
    )


def _value(path: Path, dtype: str, at: int, end: int) -> float | None:
    size = 4 if dtype == "f32" else 2
    start = at // size * size
    if start + size > end:
        return None
    return float(values("f32" if size == 4 else "f16", _bytes_at(path, start, size)).item())


def _bytes_at(path: Path, offset: int, size: int) -> bytes:
    with reading.opened(path.parent, path.name) as handle:
        return read_at(handle, offset, size, path)


def read_at(handle: int, offset: int, size: int, path: Path) -> bytes:
    """So many bytes of a file, refused where it ends before: a dump that is too short is not a result."""
    data = reading.piece(handle, offset, size, path)
    if len(data) < size:
        raise InputError(f"{path.name} is too short", f"it ends before byte {offset + size}")
    return data
