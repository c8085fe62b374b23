"""Memory snapshots of torch, as several releases write them."""

from __future__ import annotations

import gzip
import pickle
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rocm_perf.errors import EmptyCaptureError, InputError, NotARecordingError
from rocm_perf.ingest.load import load
from rocm_perf.ingest.torch_memory.snapshot import NO_HISTORY, NO_STACKS, NO_TIMES
from rocm_perf.ingest.torch_memory.stacks import Stacks
from rocm_perf.model.trace import Trace
from tests.torch_allocator import RELEASES, Allocator, frames
from tests.torch_training import train


def written(folder: Path, content: Any, protocol: int = 4) -> Path:
    path = folder / "snapshot.pickle"
    path.write_bytes(pickle.dumps(content, protocol))
    return path


def levels(trace: Trace) -> list[int]:
    events = trace.table("allocations").filter(pl.col("operation") != "OOM")
    sign = pl.when(pl.col("operation") == "ALLOC").then(1).otherwise(-1)
    return events.select((sign * pl.col("size_bytes")).cum_sum()).to_series().to_list()


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("protocol", [2, 4, 5])  # C++ writes 2
def test_what_is_given_out_ends_with_what_is_allocated(tmp_path: Path, release: str, protocol: int) -> None:
    allocator = train()
    trace = load(written(tmp_path, allocator.snapshot(release), protocol))
    assert levels(trace)[-1] == allocator.allocated
    blocks = trace.table("memory_blocks")
    assert blocks["size_bytes"].sum() == allocator.reserved
    assert blocks.filter(pl.col("state") == "allocated")["size_bytes"].sum() == allocator.allocated
    assert trace.table("stacks")["frames"].str.contains("train.py").all()
    assert (NO_TIMES in trace.run.notices) == (release in ("1.13", "2.1"))


def test_memory_from_before_the_history_is_known_from_blocks_and_releases(tmp_path: Path) -> None:
    allocator = train()
    snapshot = allocator.snapshot()
    whole = levels(load(written(tmp_path, snapshot)))
    events = snapshot["device_traces"][0]
    snapshot["device_traces"] = [events[len(events) // 2 :]]  # as the ring leaves them
    trace = load(written(tmp_path, snapshot))
    late = levels(trace)
    earlier = int(trace.table("allocations")["earlier"].sum())
    assert earlier > 0
    assert late[-1] == whole[-1] == allocator.allocated
    missed = [full - part for full, part in zip(whole[::-1], late[:earlier:-1], strict=False)]
    assert 0 <= min(missed) <= max(missed) <= 4 << 20  # remainders of blocks in segments from before


def test_reserved_memory_over_time_is_counted_back_from_the_segments(tmp_path: Path) -> None:
    allocator = train()
    readings = load(written(tmp_path, allocator.snapshot())).table("samples")
    assert readings["metric"].unique().to_list() == ["torch_reserved_bytes"]
    assert (readings["value"][0], readings["value"][-1]) == (0.0, allocator.reserved)


def test_a_list_of_segments_is_a_state_without_history(tmp_path: Path) -> None:
    allocator = train()
    trace = load(written(tmp_path, allocator.snapshot()["segments"]))
    assert levels(trace)[-1] == allocator.allocated
    assert NO_HISTORY in trace.run.notices


def test_ranges_and_failures_are_kept(tmp_path: Path) -> None:
    allocator = train()
    allocator.run_out(1 << 30, frames("/home/me/train.py:12:forward"))
    trace = load(written(tmp_path, allocator.snapshot()))
    assert trace.table("ranges")["name"].to_list() == [f"ProfilerStep#{number}" for number in range(6)]
    failed = trace.table("allocations").filter(pl.col("operation") == "OOM")
    assert failed.select("size_bytes", "address").rows() == [(1 << 30, None)]


def test_without_stacks_it_says_so(tmp_path: Path) -> None:
    allocator = Allocator()
    allocator.allocate(100)
    assert NO_STACKS in load(written(tmp_path, allocator.snapshot())).run.notices


def test_one_that_constructs_something_is_refused_by_name(tmp_path: Path) -> None:
    content = b"\x80\x04\x95" + bytes(8) + b"}\x94(\x8c\x08segments\x94\x8c\x02os\x8c\x06system\x93."
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"snapshot.pickle is not read: it tries to construct os\.system"):
        load(path)


def test_rows_repeated_by_reference_are_not_unfolded(tmp_path: Path) -> None:
    trace = [{"action": "alloc", "addr": 1, "size": 1}] * 10_000
    with pytest.raises(InputError, match="repeats its rows by reference"):
        load(written(tmp_path, {"segments": [], "device_traces": [trace] * 10_000}))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ({"device_traces": [[{"action": "alloc", "addr": 1, "time_us": 2**62}]]}, "time_us"),
        ({"device_traces": [[{"action": "alloc", "addr": 1, "stream": 2**64}]]}, "stream"),
        (
            {
                "segments": [
                    {"address": 1, "total_size": 1, "segment_type": "\ud800", "blocks": [{"size": 1}]}
                ]
            },
            "surrogates",
        ),
        ({"segments": [{"address": "x", "total_size": 1}]}, r"segments\[0\].address"),
        ({"segments": [{"address": 1, "total_size": -1}]}, r"total_size"),
        ({"segments": 7, "device_traces": []}, r"segments"),
        (("segments", 7), "holds no dictionary"),
        ({"segments": [], "device_traces": [[{"\ud800": 1}]]}, "surrogates not allowed"),
    ],
)
def test_what_is_not_a_snapshot_says_why(tmp_path: Path, content: Any, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        load(written(tmp_path, content))


def test_other_pickles_are_not_recordings(tmp_path: Path) -> None:
    with pytest.raises(NotARecordingError, match="a Python pickle, but not of a torch memory snapshot"):
        load(written(tmp_path, {"weights": [1, 2, 3]}))


def test_an_empty_one_holds_no_memory(tmp_path: Path) -> None:
    with pytest.raises(EmptyCaptureError, match="holds no memory"):
        load(written(tmp_path, {"segments": [], "device_traces": [[], []]}))


def test_a_packed_one_that_breaks_off_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "snapshot.pickle.gz"
    packed = gzip.compress(pickle.dumps(train().snapshot()))
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(InputError, match="breaks off"):
        load(path)


def test_small_rows_repeated_by_reference_are_counted_wherever_they_are(tmp_path: Path) -> None:
    history = [{"real_size": 1, "frames": []}] * 2000
    block = {"size": 512, "state": "active_allocated", "history": history}
    segment = {"address": 0, "total_size": 512, "blocks": [dict(block) for _ in range(500)]}
    with pytest.raises(InputError, match="repeats its rows by reference"):
        load(written(tmp_path, {"segments": [segment], "device_traces": []}))


def test_a_long_name_is_not_repeated_by_reference(tmp_path: Path) -> None:
    name = "x" * 1_000_000
    ranges = [{"name": name, "stage": "START", "time_us": number, "device": 0} for number in range(100)]
    with pytest.raises(InputError, match="repeats long names by reference"):
        load(written(tmp_path, {"segments": [], "device_traces": [], "external_annotations": ranges}))


def test_stacks_of_shared_frames_take_no_more_than_their_share() -> None:
    frames = [{"name": "f" * 900, "filename": f"/a/{number}.py", "line": 1} for number in range(200)]
    stacks = Stacks(most_bytes=2 << 20)
    numbers = [stacks.number([*frames[start:], *frames[:start]]) for start in range(200)]
    kept = stacks.frame()
    assert 0 < kept["frames"].str.len_bytes().sum() <= 2 << 20
    assert stacks.left_out == numbers.count(None) == 200 - kept.height
    assert stacks.number(frames) == numbers[0]  # one that is known stays known


def test_stacks_that_were_left_out_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocm_perf.ingest.torch_memory.snapshot.Stacks", lambda: Stacks(most_bytes=200))
    losses = load(written(tmp_path, train().snapshot())).run.losses
    assert [loss.what for loss in losses] == ["call stacks, because the texts of all take too much memory"]


def test_a_frame_holds_texts_alone(tmp_path: Path) -> None:
    doubled: list[Any] = []
    for _ in range(60):
        doubled = [doubled, doubled]
    frame = {"name": doubled, "filename": doubled, "line": doubled}
    event = {"action": "alloc", "addr": 1, "size": 512, "frames": [frame]}
    trace = load(written(tmp_path, {"segments": [], "device_traces": [[event]]}))
    assert NO_STACKS in trace.run.notices
