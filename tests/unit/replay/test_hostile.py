"""Snapshots that somebody has tampered with, by the dozen: tests/fuzz/snapshots.py makes thousands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.snapshots import TASKS, attack, toy_bases


@pytest.mark.usefixtures("runner")
def test_tampered_snapshots_are_refused_or_replayed(tmp_path: Path) -> None:
    tally = attack(toy_bases(tmp_path), count=60, seed=7)
    assert tally.findings == []
    assert tally.tried == 60
    assert {task for task, _ in tally.statuses} == set(TASKS)


@pytest.mark.usefixtures("runner")
def test_what_is_attacked_is_right_before(tmp_path: Path) -> None:
    """Else every refusal would prove nothing."""
    for base in toy_bases(tmp_path):
        assert attack([base], count=1, seed=0, tasks=("info",), changes=()).statuses == {("info", 0): 1}
