"""Comparing memory: against a comparison byte by byte."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.errors import InputError
from rocm_perf.replay.differences import Piece, mismatch, pieces
from rocm_perf.replay.snapshot import Region

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
