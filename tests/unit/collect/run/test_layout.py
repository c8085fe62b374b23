"""Where runs lie: nothing collides, nothing is overwritten by accident, records are whole."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rocm_perf import environment
from rocm_perf.collect.run import layout
from rocm_perf.errors import OutputError, UsageError
from rocm_perf.model.collection import FILE_NAME, CollectionRecord


def _record(**facts: object) -> CollectionRecord:
    usual: dict[str, object] = {
        "run_id": "r", "host": "h", "pid": os.getpid(), "command": ("app",), "folder": "/", "started_at": "",
        "profiler": "x",
    }  # fmt: skip
    return CollectionRecord(**{**usual, **facts})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("environment", "rank"),
    [
        ({}, None),
        ({"RANK": "3"}, 3),
        ({"OMPI_COMM_WORLD_RANK": "4", "SLURM_PROCID": "9"}, 4),
        ({"PMI_RANK": "5"}, 5),
        ({"PMIX_RANK": "0"}, 0),
        ({"SLURM_PROCID": "6"}, 6),
        ({"FLUX_TASK_RANK": "5", "SLURM_PROCID": "6"}, 5),
        ({"RANK": "none", "SLURM_PROCID": "7"}, 7),
        ({"RANK": "9" * 5000, "SLURM_PROCID": "8"}, 8),
    ],
)
def test_the_rank_is_the_launchers(environment: dict[str, str], rank: int | None) -> None:
    assert layout.rank_of(environment) == rank


@pytest.mark.parametrize(
    ("environment", "run_id"),
    [
        ({"ROCM_PERF_RUN_ID": "mine", "SLURM_JOB_ID": "1", "SLURM_STEP_ID": "2"}, "mine"),
        ({"TORCHELASTIC_RUN_ID": "job/7"}, "torchrun-job-7"),
        ({"SLURM_JOB_ID": "1", "SLURM_STEP_ID": "2"}, "slurm-1.2"),
        ({"SLURM_JOB_ID": "1", "SLURM_STEP_ID": "2", "SLURM_RESTART_COUNT": "1"}, "slurm-1.2-restart1"),
        ({"PMIX_NAMESPACE": "prterun-n1-77@1"}, "mpi-prterun-n1-77@1"),
        (
            {"PMIX_NAMESPACE": "5", "OMPI_MCA_orte_precondition_transports": "747dc2c67c1e-05"},
            "mpi-5-747dc2c6",
        ),
        ({"FLUX_JOB_ID": "f1"}, "flux-f1"),
        ({"PALS_APID": "9"}, "pals-9"),
    ],
)
def test_ranks_of_one_job_share_a_run(environment: dict[str, str], run_id: str) -> None:
    assert layout.place_for("out", "", "h", environment).run_id == run_id


def test_a_shell_of_an_allocation_is_no_run() -> None:
    places = [layout.place_for("out", "", "h", {"SLURM_JOB_ID": "1"}) for _ in range(2)]
    assert places[0].run_id != places[1].run_id
    assert "slurm" not in places[0].run_id


def test_torchrun_without_an_id_is_told_by_its_agent() -> None:
    one_node = {"TORCHELASTIC_RUN_ID": "none", "WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "8"}
    ids = {layout.place_for("out", "", "h", one_node).run_id for _ in range(2)}
    assert len(ids) == 1
    assert f"torchrun-{os.getppid()}-" in ids.pop()


def test_ranks_of_a_node_are_one_run_where_nothing_names_the_job() -> None:
    two_nodes = {"TORCHELASTIC_RUN_ID": "none", "WORLD_SIZE": "16", "LOCAL_WORLD_SIZE": "8"}
    for unnamed in (two_nodes, {"PMI_RANK": "3"}):
        assert layout.place_for("out", "", "h", unnamed).run_id.startswith(f"node-{os.getppid()}-")
    within_slurm = {**two_nodes, "SLURM_JOB_ID": "1", "SLURM_STEP_ID": "0"}
    assert layout.place_for("out", "", "h", within_slurm).run_id == "slurm-1.0"


def test_how_many_run_together() -> None:
    assert layout.place_for("out", "", "h", {"WORLD_SIZE": "8", "SLURM_STEP_NUM_TASKS": "2"}).ranks == 8
    assert layout.place_for("out", "", "h", {"SLURM_STEP_NUM_TASKS": "2"}).ranks == 2
    assert layout.place_for("out", "", "h", {}).ranks == 1


def test_the_recorder_in_a_program_knows_the_same_launchers() -> None:
    from rocm_perf.inject.rocm_perf_torch_recorder import RANKS

    assert environment.RANKS == RANKS


def test_the_folder_is_host_rank_and_pid(tmp_path: Path) -> None:
    place = layout.place_for(str(tmp_path), "r", "node/1", {"RANK": "2"})
    folders = list(place.folders)[:2]
    assert folders == [tmp_path / "r" / "node-1" / f"rank2-{os.getpid()}{end}" for end in ("", ".2")]
    assert layout.claim(place, folders[0])
    assert not layout.claim(place, folders[0])
    without = layout.place_for("out", "r", "h", {})
    assert next(without.folders).name == f"rank-{os.getpid()}"
    assert without.output.is_absolute()


@pytest.mark.parametrize("name", ["../x", "a/b", ".hidden", "a b", "x" * 200, "a\n"])
def test_a_run_id_names_one_folder(name: str) -> None:
    with pytest.raises(UsageError, match="cannot name a run"):
        layout.place_for("out", name, "h", {})


def test_a_named_run_is_replaced_only_on_demand(tmp_path: Path) -> None:
    place = layout.place_for(str(tmp_path), "r", "h", {"RANK": "1"})
    old = tmp_path / "r" / "h" / "rank1-1"
    other = tmp_path / "r" / "h" / "rank2-1"
    for folder in (old, other):
        folder.mkdir(parents=True)
        layout.write_record(folder, _record(state="done"))
    new = next(place.folders)
    with pytest.raises(UsageError, match="--force-overwrite"):
        layout.claim(place, new)
    assert layout.claim(place, new, replace=True)
    assert [folder.exists() for folder in (old, other, new)] == [False, True, True]


def test_a_process_that_still_records_is_not_replaced(tmp_path: Path) -> None:
    place = layout.place_for(str(tmp_path), "r", "h", {})
    running = tmp_path / "r" / "h" / "rank-1"
    running.mkdir(parents=True)
    layout.write_record(running, _record(pid=os.getpid()))
    assert layout.claim(place, next(place.folders), replace=True)
    assert running.exists()


@pytest.mark.whole
def test_many_processes_never_collide(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from rocm_perf.collect.run import layout\n"
        "place = layout.place_for(sys.argv[1], '', 'h', {'ROCM_PERF_RUN_ID': 'r'})\n"
        "import dataclasses; place = dataclasses.replace(place, pid=7)\n"
        "print(next(folder for folder in place.folders if layout.claim(place, folder)))"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE)
        for _ in range(16)
    ]
    folders = {process.communicate(timeout=60)[0] for process in started}
    assert len(folders) == 16
    assert len(list((tmp_path / "r" / "h").iterdir())) == 16


def test_64_claims_at_once_are_64_folders(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    place = layout.place_for(str(tmp_path), "", "h", {"ROCM_PERF_RUN_ID": "r"})

    def claimed(_: int) -> Path:
        return next(folder for folder in place.folders if layout.claim(place, folder))

    with ThreadPoolExecutor(64) as pool:
        assert len(set(pool.map(claimed, range(64)))) == 64


def test_a_record_is_replaced_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layout.write_record(tmp_path, _record())
    assert layout.read_record(tmp_path) == _record()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match="No space left on device"):
        layout.write_record(tmp_path, _record(state="done"))
    assert layout.read_record(tmp_path) == _record()
    assert [path.name for path in tmp_path.iterdir()] == [FILE_NAME]


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    place = layout.place_for(str(tmp_path / "file"), "", "h", {})
    with pytest.raises(OutputError, match=r"cannot write to .*Not a directory"):
        layout.claim(place, next(place.folders))


def test_no_record_or_a_broken_one_is_none(tmp_path: Path) -> None:
    assert layout.read_record(tmp_path) is None
    (tmp_path / FILE_NAME).write_text('{"kind": "rocm-perf run", "run')
    assert layout.read_record(tmp_path) is None
