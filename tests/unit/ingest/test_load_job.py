"""Recordings of many ranks as one job: from bundles, torch traces and folders."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rocm_perf.cli.main import main
from rocm_perf.errors import InputError, UsageError
from rocm_perf.ingest.load import load, load_path
from rocm_perf.ingest.load_job import load_job
from rocm_perf.model import bundle
from rocm_perf.sim.jobs import Job, simulate_job

RANKS = 4
OFFSETS_US = (0.0, 1500.0, -4000.0, 2700.0)


@pytest.fixture(scope="module")
def job() -> Job:
    return simulate_job(RANKS, 5, seed=8, ranks_per_node=2)


@pytest.fixture(scope="module")
def folder(job: Job, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a bundle of each rank."""
    folder = tmp_path_factory.mktemp("job")
    for rank, recording in enumerate(job.recordings):
        bundle.write(recording, folder / f"rank{rank}")
    return folder


def test_bundles_of_ranks_are_one_job(job: Job, folder: Path) -> None:
    trace = load(folder)
    assert trace.rows("dispatches") == job.trace.rows("dispatches")
    assert trace.table("nodes")["host"].to_list() == ["sim-node-000", "sim-node-001"]
    assert set(trace.table("clocks")["domain"]) == {0}
    assert trace.table("collectives")["collective_id"].null_count() == 0
    ends = (
        trace.table("collectives")
        .filter(size_bytes=4)
        .group_by("collective_id")
        .agg(apart=pl.col("end_ns").max() - pl.col("end_ns").min())
    )
    assert ends["apart"].median() < 10_000  # type: ignore[operator]


def test_a_merged_job_is_the_same_from_any_order_of_paths(folder: Path) -> None:
    paths = [folder / f"rank{rank}" for rank in range(RANKS)]
    forward, backward = load_job(paths), load_job(paths[::-1])
    key = ["rank", "dispatch_id"]
    for table in (forward, backward):
        assert table.rows("agents") == 8
    columns = [*key, "start_ns", "end_ns"]
    one, other = (trace.table("dispatches").sort(key).select(columns) for trace in (forward, backward))
    assert one.equals(other)


def test_a_bad_rank_is_reported_and_the_others_are_kept(
    job: Job, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for rank in (0, 1):
        bundle.write(job.recordings[rank], tmp_path / f"rank{rank}")
    (tmp_path / "rank1" / "manifest.json").write_text(
        '{"kind": "rocm-perf-bundle", "version": 1, "producer": 4}'
    )
    assert main(["merge", str(tmp_path), "-o", str(tmp_path / "out")]) == 0
    assert "rank1" in capsys.readouterr().err
    assert set(bundle.read(tmp_path / "out").table("dispatches")["rank"]) == {0}


def test_merge_says_how_well_the_clocks_agree(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "out")
    assert main(["merge", str(folder), "-o", out]) == 0
    assert "4 ranks on 2 machines" in (said := capsys.readouterr().err)
    assert "4 processes on one clock, to within" in said
    assert main(["merge", str(folder), "-o", out]) != 0  # it does not replace what is there unless asked
    assert main(["merge", str(folder), "-o", out, "--force", "--json"]) == 0
    clocks = json.loads(capsys.readouterr().out)["clocks"]
    assert [row["rank"] for row in clocks["rows"]] == [0, 1, 2, 3]


def test_what_a_merge_wrote_is_not_merged_again(job: Job, tmp_path: Path) -> None:
    for rank in (0, 1):
        bundle.write(job.recordings[rank], tmp_path / f"rank{rank}")
    once = load_job([tmp_path])
    bundle.write(once, tmp_path / "merged")
    again = load_job([tmp_path])
    assert again.rows("dispatches") == once.rows("dispatches")
    assert again.run.notices == ("1 file beside it not read: merged",)


def test_a_path_that_does_not_exist_is_an_error(folder: Path) -> None:
    with pytest.raises(InputError, match="nosuch does not exist"):
        load_job([folder, folder / "nosuch"])


def test_two_jobs_are_not_merged(job: Job, folder: Path, tmp_path: Path) -> None:
    later = [_later(recording) for recording in simulate_job(2, 2, seed=1, ranks_per_node=2).recordings]
    for rank, tables in enumerate(later):
        bundle.write(tables, tmp_path / f"rank{rank}")
    with pytest.raises(UsageError, match="2 runs, not one job"):
        load_job([folder, tmp_path])


def _later(recording: Any) -> Any:
    from rocm_perf.model.clock_shift import ClockShift
    from rocm_perf.model.trace import Trace

    shift = ClockShift(offset_ns=10**12)
    return Trace({name: shift.moved(name, recording.table(name)) for name in recording}, recording.run)


# A real recording of four ranks, in which rank 3 is always last


@pytest.fixture(scope="module")
def merged_trace(specimens: Path) -> Path:
    return specimens / "torch_trace" / "amd_HPCTrainingExamples__merged_nccl_only.json.gz"


def _split(merged: Path, folder: Path, offsets_us: tuple[float, ...]) -> None:
    """Write the events of each rank as a trace of its own, on a clock of its own."""
    events = json.loads(gzip.decompress(merged.read_bytes()))["traceEvents"]
    for rank, offset in enumerate(offsets_us):
        own = [
            {**event, "ts": event["ts"] + offset}
            for event in events
            if event.get("ph") == "X" and event["args"].get("rank") == rank
        ]
        trace = {"schemaVersion": 1, "distributedInfo": {"rank": rank, "world_size": 4}, "traceEvents": own}
        (folder / f"trace_{rank}.json").write_text(json.dumps(trace))


def test_real_ranks_with_other_clocks_are_aligned(merged_trace: Path, tmp_path: Path) -> None:
    _split(merged_trace, tmp_path, OFFSETS_US)
    aligned, whole = load(tmp_path).table("collectives"), load(merged_trace).table("collectives")
    assert aligned["collective_id"].null_count() == 0
    assert aligned["collective_id"].n_unique() == whole["collective_id"].n_unique() == 21
    key = ["rank", "start_ns"]
    off = aligned.sort(key)["start_ns"] - whole.sort(key)["start_ns"]
    assert (off - off[0]).abs().max() < 15_000
    last = aligned.filter(name="all_reduce").sort("start_ns").group_by("collective_id").last()
    assert set(last["rank"]) == {3}


def test_a_copy_of_a_rank_is_refused(merged_trace: Path, tmp_path: Path) -> None:
    _split(merged_trace, tmp_path, (0.0, 0.0))
    (tmp_path / "copy.json").write_bytes((tmp_path / "trace_1.json").read_bytes())
    with pytest.raises(InputError, match="are both of rank 1"):
        load_path(tmp_path)
