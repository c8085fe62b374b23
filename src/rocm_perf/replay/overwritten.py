"""What a kernel overwrites with the values that were there before, as every loop over the same inputs does.

There a replay that does nothing looks right. So memory that an argument points to is filled with one byte, and in
another replay with another byte, before the kernel runs: where both come out alike, the kernel wrote. Such places can
be spoilt before a replay, which must then bring back the application's values.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from rocm_perf.replay import reading
from rocm_perf.replay.differences import Piece, expected_file, pieces, read_at
from rocm_perf.replay.errors import KernelFailedError, ReplayTimeoutError
from rocm_perf.replay.plan import Options, Poison, Range, dump_path
from rocm_perf.replay.replayer import Replayer
from rocm_perf.replay.snapshot import KERNARG, Region, Snapshot

Stretches = Mapping[int, tuple[Range, ...]]  # by the region's base

_FILLS = (0x5A, 0xA5)
_MOST_TRIED = 16  # pointers: each takes two replays
_MOST_STRETCHES = 4096  # they are filled one by one before a launch
_BLOCK = 64 << 10
_ALIKE = re.compile(rb"\0+")


@dataclass(frozen=True)
class Span:
    """Memory from where an argument points to where the next one does, or to the region's end."""

    region: Region
    offset: int
    length: int

    @property
    def end(self) -> int:
        return self.offset + self.length


def overwritten(replayer: Replayer) -> Stretches:
    """Where the kernel puts the application's values, whatever was there, though they were there already."""
    arguments = replayer.files[KERNARG]
    kernarg = reading.contents(arguments.parent, arguments.name, replayer.snapshot.dispatch.kernarg.size)
    stretches: dict[int, list[Range]] = {}
    for span in argument_spans(replayer.snapshot, kernarg)[:_MOST_TRIED]:
        stretches.setdefault(span.region.base, []).extend(_overwritten(replayer, span))
    return _longest(stretches)


def argument_spans(snapshot: Snapshot, kernarg: bytes) -> list[Span]:
    """A span for every word among the arguments that is an address of saved memory."""
    pointers = {word for (word,) in struct.iter_unpack("<Q", kernarg[: len(kernarg) // 8 * 8])}
    spans = []
    for region in snapshot.saved:
        if region.is_global:
            continue
        starts = sorted(word - region.base for word in pointers if region.base <= word < region.end)
        ends = [*starts[1:], region.size]
        spans += [Span(region, start, end - start) for start, end in zip(starts, ends, strict=False)]
    return spans


def _overwritten(replayer: Replayer, span: Span) -> list[Range]:
    """The stretches of a span that the kernel overwrites; none where it reads them as well: a kernel that follows a
    spoilt index fails, or writes other values."""
    dumps: list[Path] = []
    try:
        for fill in _FILLS:
            poison = Poison(span.region.base + span.offset, span.length, fill)
            replayer.run(Options(poison=(poison,), dumps=(span.region,)))
            folder = replayer.keep_dumps(f"filled-{span.region.base:x}-{span.offset:x}-{fill:x}")
            dumps.append(dump_path(folder, span.region))
        return _alike(span, replayer.files, dumps)
    except (KernelFailedError, ReplayTimeoutError):
        return []
    finally:
        for dump in dumps:
            dump.unlink()


def _alike(span: Span, files: Mapping[str, Path], dumps: list[Path]) -> list[Range]:
    """Stretches that came out alike of both fillings, without those that changed in the application; none at all if
    the kernel wrote other values somewhere."""
    merged: list[Range] = []
    for piece in _pieces_within(span):
        for offset, wanted, first, second in _blocks(piece, expected_file(piece, files), *dumps):
            for start, end in _equal_stretches(first, second):
                if first[start:end] != wanted[start:end]:
                    return []
                if piece.fate == "left alone":
                    _append(merged, offset + start, end - start)
    return merged


def _pieces_within(span: Span) -> Iterator[Piece]:
    for piece in pieces(span.region):
        start, end = max(piece.offset, span.offset), min(piece.offset + piece.length, span.end)
        if start < end:
            yield Piece(region=span.region, offset=start, length=end - start, fate=piece.fate)


def _equal_stretches(first: bytes, second: bytes) -> list[tuple[int, int]]:
    """The beginnings and ends of stretches that are the same in both."""
    if first == second:
        return [(0, len(first))]
    difference = int.from_bytes(first, "big") ^ int.from_bytes(second, "big")
    return [match.span() for match in _ALIKE.finditer(difference.to_bytes(len(first), "big"))]


def _blocks(piece: Piece, *files: Path) -> Iterator[tuple[int, bytes, bytes, bytes]]:
    with ExitStack() as stack:
        handles = [(stack.enter_context(reading.opened(file.parent, file.name)), file) for file in files]
        end = piece.offset + piece.length
        for offset in range(piece.offset, end, _BLOCK):
            size = min(_BLOCK, end - offset)
            wanted, first, second = (read_at(handle, offset, size, file) for handle, file in handles)
            yield offset, wanted, first, second


def _append(merged: list[Range], offset: int, length: int) -> None:
    if merged and sum(merged[-1]) == offset:
        offset, length = merged[-1][0], merged.pop()[1] + length
    merged.append((offset, length))


def _longest(stretches: Mapping[int, list[Range]]) -> Stretches:
    lengths = sorted((length for ranges in stretches.values() for _, length in ranges), reverse=True)
    least = lengths[_MOST_STRETCHES] + 1 if len(lengths) > _MOST_STRETCHES else 1
    kept = {
        base: tuple(one for one in sorted(ranges) if one[1] >= least) for base, ranges in stretches.items()
    }
    return {base: ranges for base, ranges in kept.items() if ranges}
