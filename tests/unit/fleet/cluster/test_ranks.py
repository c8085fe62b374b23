"""Which files are which rank."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from rocm_perf.errors import EmptyCaptureError, InputError, NotSupportedError
from rocm_perf.fleet.cluster.ranks import ranks_at
from rocm_perf.model.collection import FILE_NAME


def _laid_out(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text('{"kind": "rocm-perf-bundle"}')


def test_files_of_one_prefix_are_one_rank(tmp_path: Path) -> None:
    _laid_out(
        tmp_path, "a/7_kernel_trace.csv", "a/7_hip_api_trace.csv", "a/8_kernel_trace.csv", "b/7_results.db"
    )
    ranks = ranks_at(tmp_path)
    assert [len(rank.paths) for rank in ranks] == [2, 1, 1]
    assert [rank.place for rank in ranks] == [0, 1, 2]


def test_a_folder_that_rocm_perf_recorded_is_one_rank_with_all_its_passes(tmp_path: Path) -> None:
    home = "run/host/rank3-77"
    _laid_out(
        tmp_path, f"{home}/rocm-perf-run.json", f"{home}/pass_0/x_results.db", f"{home}/pass_1/y_results.db"
    )
    (rank,) = ranks_at(tmp_path)
    assert rank.label.endswith(home)
    assert len(rank.paths) == 3


def test_a_bundle_is_one_rank(tmp_path: Path) -> None:
    _laid_out(tmp_path, "rank0/manifest.json", "rank1/manifest.json")
    assert [rank.label.rsplit("/", 1)[-1] for rank in ranks_at(tmp_path)] == ["rank0", "rank1"]


def test_passes_that_only_reading_can_join_are_refused(tmp_path: Path) -> None:
    _laid_out(tmp_path, "pmc_1/host/7_counter_collection.csv", "pmc_2/host/9_counter_collection.csv")
    with pytest.raises(NotSupportedError, match=r"one of several passes.*without --cluster"):
        ranks_at(tmp_path)


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(EmptyCaptureError, match="is empty"):
        ranks_at(tmp_path)
    with pytest.raises(InputError, match="does not exist"):
        ranks_at(tmp_path / "absent")


def test_a_command_line_names_a_rank_by_what_is_there(tmp_path: Path) -> None:
    _laid_out(
        tmp_path,
        "a/7_kernel_trace.csv",
        "a/7_hip_api_trace.csv",
        "b c/8_results.db",
        "run/rank3-77/rocm-perf-run.json",
        "run/rank3-77/pass_0/x_results.db",
        "z/manifest.json",
    )
    named = [shlex.split(rank.argument) for rank in ranks_at(tmp_path)]
    assert all(Path(name).exists() for names in named for name in names)
    assert [len(names) for names in named] == [2, 1, 1, 1]
    assert named[2] == [str(tmp_path / "run/rank3-77")]


def test_the_launches_of_a_rank_are_one_rank(tmp_path: Path) -> None:
    """Counters take a launch each, and every launch of a rank records into a folder of its own."""
    for name in ("n1/rank0-7", "n1/rank0-9", "n2/rank1-7", "n1/rank-3", "n1/rank-4"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / FILE_NAME).touch()
    ranks = {rank.label.removeprefix(f"{tmp_path.resolve()}/"): rank for rank in ranks_at(tmp_path)}
    assert sorted(ranks) == ["n1/rank-3", "n1/rank-4", "n1/rank0-7", "n2/rank1-7"]
    assert [path.parent.name for path in ranks["n1/rank0-7"].paths] == ["rank0-7", "rank0-9"]
