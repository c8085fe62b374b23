"""What other code writes is restored as well, so that every launch begins with the captured state."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.replay.plan import Code, Options
from rocm_perf.replay.replayer import Replayer, ready
from rocm_perf.replay.timing import compare_codes, time_replay
from rocm_perf.replay.writes import restoring_writes_of, united
from tests.unit.replay.toys import BASE, BLOCK, COUNT, OTHER, code_text, make_snapshot

ADD = f"add 0x{BASE:x} {COUNT} 1"
RANGES = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 9)), max_size=8)


@given(RANGES)
def test_ranges_are_united(ranges: list[tuple[int, int]]) -> None:
    def places(some: list[tuple[int, int]]) -> set[int]:
        return {place for offset, length in some for place in range(offset, offset + length)}

    found = list(united(ranges))
    assert places(found) == places(ranges)
    assert all(before[0] + before[1] < after[0] for before, after in pairwise(found))


def restored(replayer: Replayer) -> list[str]:
    plan = (replayer.work / "plan.txt").read_text()
    return [line.rsplit(" ", 1)[0] for line in plan.splitlines() if line.startswith("restore")]


@pytest.mark.usefixtures("runner")
def test_other_code_that_writes_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "b.ptx").write_text(code_text(ADD, f"put 0x{OTHER + BLOCK + 7:x} 99"))
    other = Code("B", tmp_path / "b.ptx")
    usual = f"restore 0x{BASE:x} {BLOCK} 0"
    elsewhere = f"restore 0x{OTHER + BLOCK:x} {BLOCK} {BLOCK}"
    with ready(make_snapshot(tmp_path)) as replayer:
        own = Code("A", replayer.files["kernel.cubin"])
        time_replay(replayer, Options(iterations=3))
        assert restored(replayer) == [usual]
        time_replay(replayer, Options(iterations=3, codes=(own,)))
        assert restored(replayer) == [usual]
        time_replay(replayer, Options(iterations=3, codes=(other,)))
        assert restored(replayer) == [usual, elsewhere]
        compare_codes(replayer, Options(iterations=3, codes=(own, other)), ("a", "b"))
        assert restored(replayer) == [usual, elsewhere]
        time_replay(replayer, Options(iterations=3, codes=(other,), recopy=False))
        assert restored(replayer) == []


@pytest.mark.usefixtures("runner")
def test_without_outputs_there_is_nothing_to_find_out(tmp_path: Path) -> None:
    (tmp_path / "b.ptx").write_text(code_text(ADD))
    with ready(make_snapshot(tmp_path, outputs=False)) as replayer:
        assert restoring_writes_of(replayer, [Code("B", tmp_path / "b.ptx")]) is replayer
