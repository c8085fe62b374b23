"""What a worker does with one rank."""

from __future__ import annotations

from pathlib import Path

from bench.make_ranks import simulated_rank, write_rank

from rocm_perf.fleet.cluster.ranks import RankFiles
from rocm_perf.fleet.cluster.work import contribute


def _rank(file: Path) -> RankFiles:
    return RankFiles(0, file.name, (file,))


def test_a_rank_that_is_cut_off_is_a_failure_with_its_reason(tmp_path: Path) -> None:
    file = write_rank(simulated_rank(steps=1, pairs=1), 0, tmp_path)
    file.write_bytes(file.read_bytes()[:5000])
    failures = contribute(_rank(file), None)["failures"]
    assert failures["is_loss"].to_list() == [True]
    assert file.name in failures["reason"][0]


def test_a_file_that_is_not_a_recording_is_no_loss(tmp_path: Path) -> None:
    file = tmp_path / "README.txt"
    file.write_text("how this was recorded")
    assert contribute(_rank(file), None)["failures"]["is_loss"].to_list() == [False]


def test_a_rank_that_does_not_fit_is_not_tried(tmp_path: Path) -> None:
    file = write_rank(simulated_rank(steps=1, pairs=1), 0, tmp_path)
    (reason,) = contribute(_rank(file), 1_000_000)["failures"]["reason"]
    assert "does not fit into the memory of a worker" in reason
    assert "--worker-memory" in reason
