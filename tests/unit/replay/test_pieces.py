"""Large files in pieces: hashed by their definition, readable by zstd, damage seen in every piece."""

from __future__ import annotations

import hashlib
import random
import struct
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.errors import InputError
from rocm_perf.replay import pieces
from rocm_perf.replay.pieces import PIECE
from rocm_perf.replay.store import check, unpack
from tests.unit.replay.toys import OTHER, Toy, make_snapshot

LARGE = b"ab" * (PIECE // 2) + bytes(PIECE) + random.Random(1).randbytes(1000) * 300


@given(st.integers(0, 5 * PIECE))
def test_spans_cover_the_contents(size: int) -> None:
    found = list(pieces.spans(size))
    assert len(found) == pieces.count_of(size)
    assert sum(span.length for span in found) == size
    assert [span.offset for span in found] == list(range(0, max(size, 1), PIECE))


@pytest.mark.parametrize("compress", [True, False])
def test_a_large_file(tmp_path: Path, compress: bool) -> None:
    snapshot = make_snapshot(tmp_path, Toy(constant=LARGE), compress=compress)
    name = f"memory/region_{OTHER:x}.bin"
    sums = [hashlib.sha256(LARGE[at : at + PIECE]).digest() for at in range(0, len(LARGE), PIECE)]
    assert len(sums) == 3
    assert snapshot.manifest.files[name].sha256 == hashlib.sha256(b"".join(sums)).hexdigest()
    (tmp_path / "work").mkdir()
    assert unpack(snapshot, tmp_path / "work")[name].read_bytes() == LARGE
    if compress:
        assert snapshot.path(name).stat().st_size < len(LARGE) // 4
        with snapshot.path(name).open("rb") as file:
            reader = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
            assert reader.read(-1) == LARGE


def test_small_files_have_the_hash_that_everyone_computes(tmp_path: Path) -> None:
    snapshot = make_snapshot(tmp_path)
    data = (snapshot.folder / "kernarg.bin").read_bytes()
    assert snapshot.manifest.files["kernarg.bin"].sha256 == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("place", [10, PIECE + 10, 2 * PIECE + 10, len(LARGE) - 1])
def test_damage_in_any_piece(tmp_path: Path, place: int) -> None:
    snapshot = make_snapshot(tmp_path, Toy(constant=LARGE), compress=False)
    with snapshot.path(f"memory/region_{OTHER:x}.bin").open("r+b") as file:
        file.seek(place)
        byte = file.read(1)[0]
        file.seek(place)
        file.write(bytes([byte ^ 1]))
    with pytest.raises(InputError, match="does not have the hash"):
        check(snapshot)


def test_a_frame_that_claims_too_much_is_not_unpacked() -> None:
    bomb = zstandard.ZstdCompressor().compress(bytes(1 << 20))
    with pytest.raises(zstandard.ZstdError, match="not of its size"):
        pieces.decompressed(bomb, 100)


def test_a_frame_that_holds_more_than_it_claims_is_not_unpacked() -> None:
    honest = zstandard.ZstdCompressor().compress(bytes(1 << 20))
    bomb = honest.replace(struct.pack("<I", 1 << 20), struct.pack("<I", 1000), 1)
    assert zstandard.frame_content_size(bomb) == 1000
    with pytest.raises(zstandard.ZstdError):
        pieces.decompressed(bomb, 1000)


@pytest.mark.parametrize("more", [b"x", zstandard.ZstdCompressor().compress(b"y" * 100)])
def test_nothing_lies_behind_a_frame(more: bytes) -> None:
    frame = pieces.compressed(b"x" * 100)
    assert pieces.decompressed(frame, 100) == b"x" * 100
    with pytest.raises(zstandard.ZstdError, match="unused data"):
        pieces.decompressed(frame + more, 100)


def test_spans_are_not_all_in_memory_at_once() -> None:
    assert next(pieces.spans(1 << 62)).length == PIECE


@pytest.mark.parametrize(("size", "frames"), [(10, [5, 5]), (2 * PIECE, [5])])
def test_frames_that_are_too_few_or_too_many(size: int, frames: list[int]) -> None:
    with pytest.raises(ValueError, match=f"{len(frames)} compressed pieces cannot hold {size} bytes"):
        list(pieces.spans(size, frames))


def test_errors_come_through_in_order() -> None:
    def work(number: int) -> int:
        if number == 50:
            raise ValueError(number)
        return number

    seen: list[int] = []
    with pytest.raises(ValueError, match="50"):
        seen.extend(pieces.in_order(work, range(200)))
    assert seen == list(range(50))


def test_what_was_never_written_is_not_read(tmp_path: Path, reads: list[int]) -> None:
    """A stranger's file of holes may be far larger than all that can be read in a lifetime."""
    holes = bytes(5 * PIECE)
    snapshot = make_snapshot(tmp_path, Toy(constant=holes + b"end"), compress=False)
    reads.clear()
    check(snapshot)
    assert sum(reads) < 2 * PIECE


def test_holes(tmp_path: Path) -> None:
    with (tmp_path / "file").open("w+b") as file:
        file.truncate(3 * PIECE)
        file.seek(PIECE)
        file.write(b"x" * PIECE)
        file.flush()
        marks = [pieces.is_hole(file.fileno(), place * PIECE, PIECE) for place in range(3)]
    assert marks == [True, False, True]
