"""What the ranks of a run left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rocm_perf.collect.run.layout import write_record
from rocm_perf.fleet.collected import collected, exit_code_of
from rocm_perf.fleet.launch_record import LaunchRecord
from rocm_perf.fleet.launcher import Launched
from rocm_perf.fleet.ranks import rank_lines
from rocm_perf.model.collection import CollectionRecord, PassRecord
from tests.unit.fleet.jobs import job

DONE = Launched(state="done", message="", exit_code=0)


def leave(run: Path, rank: int, host: str = "n1", outcome: str = "recorded", **settings: Any) -> None:
    """Leave a rank's record in the folder of a run."""
    timed = settings.get("profiler") == "timing"
    done = PassRecord(
        number=1,
        profiler=settings.setdefault("profiler", "rocprofv3"),
        purpose="trace",
        argv=("./app",),
        wall_ns=2_000_000_000,
        outcome=outcome,  # type: ignore[arg-type]
        profiled=not timed,
    )
    usual = {"state": "done", "exit_code": 0, "passes": (done,), "started_at": "2026-01-01T00:00:00Z"}
    folder = run / host / f"rank{rank}-{settings.pop('pid', 100 + rank)}"
    folder.mkdir(parents=True)
    record = CollectionRecord(
        run_id="r1", host=host, pid=100 + rank, rank=rank, command=("./app",), folder="/", **{**usual, **settings}
    )  # fmt: skip
    write_record(folder, record)


def ended(tmp_path: Path, launched: Launched = DONE) -> LaunchRecord:
    return collected(LaunchRecord(launcher="mpi", job=job(output=str(tmp_path))), launched)


def test_all_is_well(tmp_path: Path) -> None:
    for rank, host in enumerate(("n1", "n1", "n2", "n2")):
        leave(tmp_path / "r1", rank, host)
    record = ended(tmp_path)
    assert [row.wall_s for row in record.ranks] == [2.0] * 4
    assert list(rank_lines(record.ranks, record.missing)) == ["4 ranks recorded on 2 hosts"]
    assert exit_code_of(record) == 0


def test_what_is_wrong_is_said_rank_by_rank(tmp_path: Path) -> None:
    leave(tmp_path / "r1", 0)
    leave(tmp_path / "r1", 1, state="failed", exit_code=3)
    leave(
        tmp_path / "r1", 2, state="running", exit_code=None, passes=(), notices=("recorded in /tmp/x on n1",)
    )
    record = ended(tmp_path)
    assert record.missing == (3,)
    assert list(rank_lines(record.ranks, record.missing)) == [
        "2 ranks recorded on 1 host",
        "rank 1 on n1: failed with exit code 3; what it had recorded is kept",
        "rank 2 on n1: was killed before it could write its end; recorded in /tmp/x on n1",
        "nothing came from rank 3: what the ranks printed may say why",
    ]
    assert exit_code_of(record) == 3


def test_ranks_that_are_only_timed_are_not_missing(tmp_path: Path) -> None:
    leave(tmp_path / "r1", 0)
    for rank in (1, 2, 3):
        leave(tmp_path / "r1", rank, profiler="timing")
    record = ended(tmp_path)
    assert list(rank_lines(record.ranks, record.missing)) == ["1 rank recorded on 1 host, 3 only timed"]
    assert exit_code_of(record) == 0


def test_exit_codes(tmp_path: Path) -> None:
    assert exit_code_of(ended(tmp_path)) == 5  # nothing at all
    leave(tmp_path / "r1", 0)
    assert exit_code_of(ended(tmp_path)) == 4  # three ranks are missing
    timed_out = Launched(state="timed out", message="", exit_code=137)
    assert exit_code_of(ended(tmp_path, timed_out)) == 137


def test_the_launches_of_a_rank_are_one_row(tmp_path: Path) -> None:
    for rank in range(4):
        leave(tmp_path / "r1", rank)
    later: dict[str, Any] = {"started_at": "2026-01-01T00:01:00Z", "pid": 200}
    leave(tmp_path / "r1", 0, **later)
    leave(tmp_path / "r1", 1, outcome="empty", could_not=("counters: rocprofv3 wrote nothing",), **later)
    leave(tmp_path / "r1", 2, state="failed", exit_code=3, **later)
    record = ended(tmp_path)
    assert [row.rank for row in record.ranks] == [0, 1, 2, 3]
    first, lacking, failed, _ = record.ranks
    assert (first.folder, first.later_folders) == ("n1/rank0-100", ("n1/rank0-200",))
    assert (first.wall_s, first.state) == (4.0, "done")
    assert lacking.could_not == ("counters: rocprofv3 wrote nothing",)
    assert (failed.state, failed.exit_code, failed.recorded) == ("failed", 3, True)
    assert exit_code_of(record) == 3
