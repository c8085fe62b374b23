"""mpirun with four ranks on this machine."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.slurm.launches import TIME_TO_WRITE, launch

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.skipif(
        shutil.which("mpirun") is None, reason="mpirun: make test-slurm installs openmpi-bin as root"
    ),
]
FOUR = ("--ranks-per-node", "4", "--no-analyze")


def test_four_ranks_of_which_one_fails(tmp_path: Path) -> None:
    done = launch("mpi", tmp_path / "run", *FOUR, behaviour="fails alone", **TIME_TO_WRITE).finish()
    assert done.code == 3, done.errors
    assert done.databases == {0: 1, 1: 1, 2: 1, 3: 1}
    assert len({row["folder"] for row in done.ranks}) == 4
    assert done.record["missing"] == []


def test_chosen_ranks_are_recorded_and_the_others_timed(tmp_path: Path) -> None:
    done = launch("mpi", tmp_path / "run", *FOUR, "--ranks", "1-2", behaviour="ends").finish()
    assert done.code == 0, done.errors
    assert done.databases == {0: 0, 1: 1, 2: 1, 3: 0}
    assert all(row["wall_s"] > 0 and row["exit_code"] == 0 for row in done.ranks)
    assert "2 ranks recorded on 1 host, 2 only timed" in done.errors
    assert all(done.output.count(f"rank {rank} is here") == 1 for rank in range(4))  # mpirun may mix lines


def test_counters_are_an_mpirun_of_their_own(tmp_path: Path) -> None:
    asked = ("--ranks-per-node", "2", "--no-analyze", "--profiler", "rocprofv3", "--counters", "SQ_WAVES")
    done = launch("mpi", tmp_path / "run", *asked, behaviour="ends").finish()
    assert done.code == 0, done.errors
    assert "launch 2 of 2: mpirun starts the ranks again" in done.errors
    assert [done.output.count(f"rank {rank} is here") for rank in range(2)] == [2, 2]
    assert [(row["rank"], len(row["later_folders"])) for row in done.ranks] == [(0, 1), (1, 1)]
