"""What is said of a snapshot, beside what the allocator that wrote it knows."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.analysis.memory.build import memory
from rocm_perf.analysis.memory.growth import BY_STEP, BY_TENTH
from rocm_perf.ingest.load import load
from rocm_perf.model.results.memory import Memory
from tests.properties import examples
from tests.torch_allocator import RELEASES, Allocator, frames
from tests.torch_training import ACTIVATION, LEAK, MODEL, PARAMETERS, STEPS, train

TIMED = RELEASES[-2:]


def told(folder: Path, allocator: Allocator, release: str = RELEASES[-1]) -> Memory:
    path = folder / "snapshot.pickle"
    path.write_bytes(pickle.dumps(allocator.snapshot(release)))
    return memory(load(path))


@pytest.mark.parametrize("release", RELEASES)
def test_the_peak_and_its_owners(tmp_path: Path, release: str) -> None:
    allocator = train()
    (peak,) = told(tmp_path, allocator, release).peaks
    owners = {row.owner: row.bytes for row in peak.owners}
    assert (peak.bytes, peak.requested_bytes) == (allocator.peak_bytes, allocator.peak_requested)
    assert sum(owners.values()) == peak.bytes
    assert owners["parameters"] == sum(PARAMETERS)
    assert owners["optimiser state"] == 2 * sum(PARAMETERS)
    assert owners["activations"] == ACTIVATION * len(PARAMETERS)
    assert owners["backward pass"] == ACTIVATION
    assert owners["gradients"] == PARAMETERS[-1]  # the first that the backward pass makes


def test_the_owner_of_what_the_program_allocates_itself_is_not_known(tmp_path: Path) -> None:
    (peak,) = told(tmp_path, train()).peaks
    unknown = {row.site: row.owner for row in peak.sites}
    assert unknown["/home/me/train.py(41): step"] == "not known"


def test_several_snapshots_of_one_process_count_once(tmp_path: Path) -> None:
    early, late = train(steps=3), train(steps=6)
    for number, allocator in enumerate((early, late)):
        (tmp_path / f"snapshot-{number}.pickle").write_bytes(pickle.dumps(allocator.snapshot()))
    both = memory(load(tmp_path))
    assert both.peaks[0].bytes == late.peak_bytes
    assert [row.reserved_bytes for row in both.fragmentation] == [late.reserved]
    assert [row.per_step.value for row in both.growing] == [LEAK]


@pytest.mark.parametrize("release", TIMED)
def test_the_leak_is_found_with_its_rate(tmp_path: Path, release: str) -> None:
    (row,) = told(tmp_path, train(), release).growing
    assert (row.site, row.basis, row.per_step.value) == ("/home/me/train.py(48): remember", BY_STEP, LEAK)


def test_without_steps_the_leak_is_found_over_the_recording(tmp_path: Path) -> None:
    (row,) = told(tmp_path, train(steps=3 * STEPS), "2.1").growing
    assert (row.site, row.basis) == ("/home/me/train.py(48): remember", BY_TENTH)


def test_a_model_that_is_being_made_is_no_leak(tmp_path: Path) -> None:
    allocator = Allocator()
    for _ in range(50):
        allocator.allocate(4 << 20, MODEL)
    assert told(tmp_path, allocator, "2.1").growing == ()


@pytest.mark.parametrize("release", RELEASES)
def test_nothing_grows_in_a_loop_that_frees_everything(tmp_path: Path, release: str) -> None:
    assert told(tmp_path, train(leaks=False, steps=20), release).growing == ()


def test_torn_memory_is_measured_as_torch_does(tmp_path: Path) -> None:
    allocator = Allocator()
    blocks = [allocator.allocate(4 << 20) for _ in range(8)]
    for address in blocks[::2]:
        allocator.free(address)
    (row,) = told(tmp_path, allocator).fragmentation
    assert (row.reserved_bytes, row.allocated_bytes) == (allocator.reserved, allocator.allocated)
    assert row.split_bytes == allocator.inactive_split == 24 << 20
    assert (row.largest_free_bytes, row.rounding_bytes, row.releasable_bytes) == (8 << 20, 0, 0)


def test_an_allocation_that_failed_says_where(tmp_path: Path) -> None:
    allocator = train()
    allocator.run_out(1 << 34, frames("/home/me/train.py:12:forward"))
    (row,) = told(tmp_path, allocator).out_of_memory
    assert (row.requested_bytes, row.site) == (1 << 34, "/home/me/train.py(12): forward")


@examples(times=0.5)
@given(sizes=st.lists(st.integers(1, 24 << 20), min_size=1, max_size=30), data=st.data())
def test_any_program_ends_with_what_it_holds(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], data: st.DataObject
) -> None:
    allocator, live = Allocator(), []
    for size in sizes:
        live.append(allocator.allocate(size))
        if data.draw(st.booleans()):
            allocator.free(live.pop(data.draw(st.integers(0, len(live) - 1))))
    result = told(tmp_path_factory.mktemp("any"), allocator)
    (peak,) = result.peaks
    (use,) = [row for row in result.rows if row.level == "SNAPSHOT"]
    assert use.last_bytes == allocator.allocated
    assert (peak.requested_bytes or 0) <= allocator.peak_requested
    assert peak.bytes == allocator.peak_bytes
    assert sum(row.bytes for row in peak.owners) == peak.bytes
