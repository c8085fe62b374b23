"""What a worker does with one rank."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.make_ranks import simulated_rank, write_rank

from rocm_perf.fleet.cluster.ranks import RankFiles
from rocm_perf.fleet.cluster.work import UnfitWorkerError, contribute
from rocm_perf.version import __version__


def _rank(file: Path) -> RankFiles:
    return RankFiles(0, file.name, (file,))


def test_a_rank_that_is_cut_off_is_a_failure_with_its_reason(tmp_path: Path) -> None:
    file = write_rank(simulated_rank(steps=1, pairs=1), 0, tmp_path)
    file.write_bytes(file.read_bytes()[:5000])
    failures = contribute(_rank(file), None, __version__)["failures"]
    assert failures["is_loss"].to_list() == [True]
    assert file.name in failures["reason"][0]


def test_a_file_that_is_not_a_recording_is_no_loss(tmp_path: Path) -> None:
    file = tmp_path / "README.txt"
    file.write_text("how this was recorded")
    assert contribute(_rank(file), None, __version__)["failures"]["is_loss"].to_list() == [False]


def test_a_rank_that_does_not_fit_is_not_tried(tmp_path: Path) -> None:
    file = write_rank(simulated_rank(steps=1, pairs=1), 0, tmp_path)
    (reason,) = contribute(_rank(file), 1_000_000, __version__)["failures"]["reason"]
    assert "does not fit into the memory of a worker" in reason
    assert "--worker-memory" in reason


def test_what_is_the_workers_fault_is_not_the_ranks(tmp_path: Path) -> None:
    file = tmp_path / "rank0_results.db"
    with pytest.raises(UnfitWorkerError, match=rf"does not see {file}\. Put the recordings into a folder"):
        contribute(_rank(file), None, __version__)
    with pytest.raises(UnfitWorkerError, match=rf"has rocm-perf {__version__}, and 0\.0\.9 asks"):
        contribute(_rank(file), None, "0.0.9")
