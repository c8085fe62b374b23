"""Comparing memory: against a comparison byte by byte."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.errors import InputError
from rocm_perf.replay.differences import Mismatch, Piece, is_close, joined, mismatch, mismatches, pieces
from rocm_perf.replay.plan import dump_path
from rocm_perf.replay.snapshot import Region
from rocm_perf.replay.tolerance import Tolerance

BLOCK = 64 << 10


def region(size: int, *changed: tuple[int, int]) -> Region:
    return Region(base=0x1000, size=size, kind="device", changed=changed)


def test_pieces_cover_the_region() -> None:
    cut = pieces(region(1000, (0, 100), (300, 200)))
    assert [(one.offset, one.length, one.is_output) for one in cut] == [
        (0, 100, True),
        (100, 200, False),
        (300, 200, True),
        (500, 500, False),
    ]
    assert [(one.offset, one.length) for one in pieces(region(10))] == [(0, 10)]
    assert [(one.offset, one.length) for one in pieces(region(10, (0, 10)))] == [(0, 10)]
    assert [(one.offset, one.length) for one in pieces(region(10, (0, 9)))] == [(0, 9), (9, 1)]


def test_what_the_kernel_wrote_is_cut_into_blocks() -> None:
    cut = pieces(region(5 * BLOCK, (BLOCK, 2 * BLOCK)), [(4 * BLOCK - 7, 20), (3 * BLOCK + 9, 1)])
    assert [(one.offset, one.length, one.fate) for one in cut] == [
        (0, BLOCK, "left alone"),
        (BLOCK, BLOCK, "changed"),
        (2 * BLOCK, BLOCK, "changed"),
        (3 * BLOCK, 9, "left alone"),
        (3 * BLOCK + 9, 1, "overwritten"),
        (3 * BLOCK + 10, BLOCK - 17, "left alone"),
        (4 * BLOCK - 7, 7, "overwritten"),
        (4 * BLOCK, 13, "overwritten"),
        (4 * BLOCK + 13, BLOCK - 13, "left alone"),
    ]


def test_a_piece_is_close_only_if_all_of_it_is(tmp_path: Path) -> None:
    whole = Piece(region(2 * BLOCK), 0, 2 * BLOCK, "overwritten")
    (tmp_path / "before").write_bytes(struct.pack("<f", 1.0) * (2 * BLOCK // 4))
    files = {whole.region.before: tmp_path / "before"}
    dump = dump_path(tmp_path, whole.region)
    dump.parent.mkdir()
    for values, expected in ((1.001, 1.001), True), ((1.001, 2.0), False), ((2.0, 1.001), False):
        dump.write_bytes(b"".join(struct.pack("<f", one) * (BLOCK // 4) for one in values))
        (found,) = mismatches([whole], files, tmp_path)
        assert is_close(found, files, tmp_path, Tolerance("f32", 0.0, 0.01)) is expected


def test_mismatches_that_meet_are_joined() -> None:
    behind = Region(base=0x1000 + 2 * BLOCK, size=3 * BLOCK, kind="device", changed=((2 * BLOCK, BLOCK),))
    some = [*pieces(region(2 * BLOCK, (0, 2 * BLOCK))), pieces(behind)[1]]
    found = joined(Mismatch(piece, piece.offset + 3, 5) for piece in some)
    assert [(one.piece.address, one.piece.length, one.first, one.count) for one in found] == [
        (0x1000, 2 * BLOCK, 3, 10),
        (behind.base + 2 * BLOCK, BLOCK, 2 * BLOCK + 3, 5),  # of another region
    ]


@given(
    st.integers(1, 40 * BLOCK),
    st.dictionaries(st.integers(0, 40 * BLOCK), st.integers(1, 255), max_size=6),
    st.integers(0, 1 << 20),
)
def test_first_and_count(
    tmp_path_factory: pytest.TempPathFactory, size: int, flips: dict[int, int], start: int
) -> None:
    folder = tmp_path_factory.mktemp("pair")
    one, other = folder / "one", folder / "other"
    one.write_bytes(bytes(size))
    changed = bytearray(size)
    for place, bits in flips.items():
        if place < size:
            changed[place] = bits
    other.write_bytes(changed)
    offset = start % size
    found = mismatch(Piece(region(size), offset, size - offset, "changed"), one, other)
    places = sorted(place for place in flips if offset <= place < size)
    if not places:
        assert found is None
    else:
        assert found is not None
        assert (found.first, found.count) == (places[0], len(places))


def test_differences_in_several_blocks(tmp_path: Path) -> None:
    size = 20 * BLOCK
    places = [BLOCK + 7, 3 * BLOCK, 18 * BLOCK + 9, size - 1]
    data = bytearray(size)
    for place in places:
        data[place] = 1
    (tmp_path / "one").write_bytes(bytes(size))
    (tmp_path / "other").write_bytes(data)
    found = mismatch(Piece(region(size), 0, size, "changed"), tmp_path / "one", tmp_path / "other")
    assert found is not None
    assert (found.first, found.count) == (places[0], len(places))


def test_a_dump_that_is_too_short(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(bytes(100))
    (tmp_path / "other").write_bytes(bytes(99))
    with pytest.raises(InputError, match="too short"):
        mismatch(Piece(region(100), 0, 100, "changed"), tmp_path / "one", tmp_path / "other")
