"""The comparison with torch's own counters that follows a recording on a GPU: it holds where the numbers are right, and
not where one is wrong."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from rocm_perf.analysis.memory.build import memory
from rocm_perf.ingest.load import load
from rocm_perf.model.results.memory import Memory
from tests.gpu.memory.check import Check, checks, snapshot_checks
from tests.torch_training import LEAK, PARAMETERS, STEPS, train

RECORDED = Path(__file__).parents[2] / "data" / "h200" / "memory"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Memory, dict[str, int]]:
    allocator = train()
    path = tmp_path_factory.mktemp("made") / "snapshot.pickle"
    path.write_bytes(pickle.dumps(allocator.snapshot()))
    counted = {
        "allocated_current": allocator.allocated,
        "allocated_peak": allocator.peak_bytes,
        "requested_peak": allocator.peak_requested,
        "reserved_current": allocator.reserved,
        "reserved_peak": allocator.reserved,
        "inactive_split_current": allocator.inactive_split,
        "parameter_bytes": sum(PARAMETERS),
        "optimiser_bytes": 2 * sum(PARAMETERS),
        "leak_bytes_per_step": LEAK,
        "steps": STEPS,
    }
    return memory(load(path)), counted


def wrong(compared: list[Check]) -> list[str]:
    return [check.name for check in compared if not check.is_right]


def test_right_numbers_pass(made: tuple[Memory, dict[str, int]]) -> None:
    told, counted = made
    compared = list(snapshot_checks("made", told, counted))
    assert wrong(compared) == []
    assert len(compared) == 10


@pytest.mark.parametrize(
    "number", ["allocated_peak", "inactive_split_current", "optimiser_bytes", "leak_bytes_per_step"]
)
def test_a_wrong_number_does_not(made: tuple[Memory, dict[str, int]], number: str) -> None:
    told, counted = made
    changed = {**counted, number: counted[number] + 512}
    assert len(wrong(list(snapshot_checks("made", told, changed)))) == 1


@pytest.mark.skipif(not RECORDED.is_dir(), reason="tests/gpu/memory/record.py has not left a recording here")
def test_the_recording_of_the_h200_agrees_with_torch() -> None:
    assert wrong(list(checks(RECORDED))) == []
