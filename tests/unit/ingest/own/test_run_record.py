"""Reading back what `profile` recorded."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import msgspec
import pytest

from rocm_perf.errors import InputError
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.load import load, load_path
from rocm_perf.ingest.own.run_record import read
from rocm_perf.ingest.sniff import sniff
from rocm_perf.model.collection import FILE_NAME, CollectionRecord, PassRecord

HEADER = (
    "Kind,Agent_Id,Queue_Id,Thread_Id,Dispatch_Id,Kernel_Id,Kernel_Name,Correlation_Id,Start_Timestamp,End_Timestamp,"
    "Private_Segment_Size,Group_Segment_Size,Workgroup_Size_X,Workgroup_Size_Y,Workgroup_Size_Z,Grid_Size_X,"
    "Grid_Size_Y,Grid_Size_Z\n"
)


def _record(**facts: object) -> CollectionRecord:
    usual: dict[str, object] = {
        "run_id": "job", "host": "h", "pid": 1, "command": ("./app", "a b"), "folder": "/",
        "started_at": "2026-01-01T00:00:00Z",
        "profiler": "rocprofv3", "state": "done", "asked": ("kernel", "hip"),
    }  # fmt: skip
    return CollectionRecord(**{**usual, **facts})  # type: ignore[arg-type]


def _pass(folder: str, outcome: str = "recorded", **facts: object) -> PassRecord:
    usual: dict[str, object] = {"number": 1, "profiler": "rocprofv3", "purpose": "trace", "argv": ("x",)}
    return PassRecord(**{**usual, "folder": folder, "outcome": outcome, **facts})  # type: ignore[arg-type]


def _write(folder: Path, record: CollectionRecord) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FILE_NAME).write_bytes(msgspec.json.format(msgspec.json.encode(record)))
    return folder


def _kernels(file: Path, start: int, count: int = 1) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    rows = (
        f"KERNEL_DISPATCH,4,1,9,{n},1,k,{n},{start + 10 * n},{start + 10 * n + 5},0,0,64,1,1,64,1,1\n"
        for n in range(1, count + 1)
    )
    file.write_text(HEADER + "".join(rows))


def test_the_record_is_told_by_its_content(tmp_path: Path) -> None:
    folder = _write(tmp_path, _record(could_not=("counters: none here",), notices=("a note",)))
    moved = folder / "renamed.txt"
    (folder / FILE_NAME).rename(moved)
    assert sniff(Source(moved)).name == "rocm-perf-run"
    part = read(Source(moved))
    assert (part.command, part.asked, part.host) == ("./app 'a b'", ("kernel", "hip"), "h")
    assert part.notices == ("a note",)


@pytest.mark.parametrize("text", ['{"kind": "rocm-perf run", "run_id"', '{"kind": "rocm-perf run"}'])
def test_half_a_record_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE_NAME).write_text(text)
    with pytest.raises(InputError, match="not a complete record"):
        load(tmp_path / FILE_NAME)


def test_a_later_version_is_refused(tmp_path: Path) -> None:
    _write(tmp_path, _record(version=99))
    with pytest.raises(InputError, match="version 99"):
        load(tmp_path / FILE_NAME)


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (
            {"state": "running", "host": socket.gethostname(), "pid": 2**22 + 1},
            "interrupted: what is here is what was",
        ),
        ({"state": "running", "host": socket.gethostname(), "pid": os.getpid()}, "still being recorded"),
        ({"state": "running", "host": "elsewhere"}, "not finished when it was copied"),
        ({"state": "interrupted"}, "interrupted: what is here"),
        ({"state": "timed out"}, "stopped by the timeout"),
        ({"state": "failed", "passes": (_pass("p", exit_status=7, explanation="it failed"),)}, "it failed"),
    ],
)
def test_the_state_is_told(tmp_path: Path, facts: dict[str, object], words: str) -> None:
    _write(tmp_path, _record(**facts))
    assert words in read(Source(tmp_path / FILE_NAME)).notices[0]


def test_only_the_passes_that_count_are_read(tmp_path: Path) -> None:
    home = tmp_path / "job" / "h" / "rank3-10"
    passes = (
        _pass("pass_1"),
        _pass("pass_2", "failed"),
        _pass("pass_3", "empty"),
        _pass("", purpose="unprofiled"),
    )
    _write(home, _record(rank=3, passes=passes))
    for number in (1, 2, 3, 4):
        _kernels(home / f"pass_{number}" / "h" / "rank-77_kernel_trace.csv", 1000 * number, number)
    (home / "pass_1" / "counters.txt").write_text("pmc: A\n")
    for path in (tmp_path, tmp_path / "job", home):
        trace = load(path)
        rows = trace.table("dispatches").select("pass_id", "rank", "pid").rows()
        assert rows == [(1, 3, 77)]
        assert trace.run.hosts == ("h",)
        assert trace.run.tool == "rocprofv3"
        assert not [notice for notice in trace.run.notices if "not read" in notice]


def test_a_run_that_was_killed_shows_what_was_flushed(tmp_path: Path) -> None:
    home = _write(tmp_path / "job" / "h" / "rank-10", _record(state="running"))
    _kernels(home / "pass_1" / "h" / "rank-77_kernel_trace.csv", 1000, 2)
    trace = load(tmp_path)
    assert trace.rows("dispatches") == 2
    assert trace.table("dispatches")["rank"].null_count() == 2


def test_ranks_hosts_and_passes_of_one_id_are_one_run_whatever_their_times(tmp_path: Path) -> None:
    for rank, host in ((0, "n1"), (1, "n1"), (2, "n2")):
        home = tmp_path / "job" / host / f"rank{rank}-10"
        _write(home, _record(host=host, rank=rank, passes=(_pass("pass_1"), _pass("pass_2"))))
        for number in (1, 2):
            start = 10**12 * (rank + 1) + 10**10 * number
            _kernels(home / f"pass_{number}" / host / f"rank{rank}-77_kernel_trace.csv", start)
    other = tmp_path / "job2" / "n1" / "rank0-10"
    _write(other, _record(run_id="job2", host="n1", rank=0, passes=(_pass("pass_1"),)))
    _kernels(other / "pass_1" / "n1" / "rank0-77_kernel_trace.csv", 10**12)
    trace = load(tmp_path / "job")
    assert trace.table("dispatches").select("rank", "pass_id").sort("rank", "pass_id").rows() == [
        (rank, number) for rank in range(3) for number in (1, 2)
    ]
    assert trace.run.hosts == ("n1", "n2")
    runs = [run.trace for run in load_path(tmp_path) if run.trace]
    assert sorted(run.rows("dispatches") for run in runs) == [1, 6]


def test_several_ranks_below_one_rocm_perf_keep_their_ranks(tmp_path: Path) -> None:
    home = _write(tmp_path / "rank-10", _record(passes=(_pass("pass_1"),)))
    for rank in range(2):
        _kernels(home / "pass_1" / "h" / f"rank{rank}-{70 + rank}_kernel_trace.csv", 1000)
    rows = load(home).table("dispatches").select("rank", "pid").sort("rank").rows()
    assert rows == [(0, 70), (1, 71)]


def test_timing_alone_is_a_run_with_words(tmp_path: Path) -> None:
    _write(
        tmp_path / "job" / "h" / "rank-1", _record(profiler="timing", passes=(_pass("", profiler="timing"),))
    )
    trace = load(tmp_path)
    assert trace.run.collection is not None
    assert (trace.run.tool, trace.run.notices) == ("timing", ())
