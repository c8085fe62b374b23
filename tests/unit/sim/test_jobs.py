"""The simulated job of many ranks: what is planted is there, and clocks show what they should."""

from __future__ import annotations

import polars as pl
import pytest

from rocm_perf.model.trace import Trace
from rocm_perf.sim.jobs import CAUSES, Job, simulate_job
from rocm_perf.sim.ring import ring_ends

STEPS = 6


def _job(cause: str, seed: int = 4) -> Job:
    return simulate_job(6, STEPS, seed=seed, cause=cause)


def _gradients(trace: Trace) -> pl.DataFrame:
    """The all-reduces of gradient buckets, with how long after the last start each rank ended, and how late it came."""
    buckets = trace.table("collectives").filter(pl.col("size_bytes") > 1000)
    last_start = pl.col("start_ns").max().over("collective_id")
    return buckets.with_columns(
        transfer=pl.col("end_ns") - last_start,
        late=pl.col("start_ns") - pl.col("start_ns").median().over("collective_id"),
    )


def _mean(frame: pl.DataFrame, column: str, rank: int) -> float:
    return float(frame.filter(rank=rank)[column].mean())  # type: ignore[arg-type]


def test_a_seed_draws_the_same_job_again() -> None:
    one, other = (simulate_job(3, 2, seed=9) for _ in range(2))
    assert one.planted == other.planted
    assert one.clocks == other.clocks
    assert one.recordings[2].table("dispatches").equals(other.recordings[2].table("dispatches"))


def test_seeds_draw_every_cause() -> None:
    assert {simulate_job(2, 1, seed=seed).planted.cause for seed in range(40)} == set(CAUSES)


@pytest.mark.parametrize("cause", ["compute", "data_loader", "host"])
def test_the_rank_with_the_planted_cause_comes_last(cause: str) -> None:
    job = _job(cause)
    arrivals = _gradients(job.trace)
    late = {rank: _mean(arrivals, "late", rank) for rank in range(6)}
    assert max(late, key=lambda rank: late[rank]) == job.planted.rank
    assert late[job.planted.rank] > 100_000


def test_all_transfers_are_slow_behind_a_slow_link_and_its_receiver_ends_last() -> None:
    slow, usual = _job("link"), _job("none")
    transfers, before = _gradients(slow.trace), _gradients(usual.trace)
    ends = {rank: _mean(transfers, "transfer", rank) for rank in range(6)}
    assert max(ends, key=lambda rank: ends[rank]) == slow.planted.rank
    assert min(ends.values()) > 1.2 * _mean(before, "transfer", 0)


def test_without_a_cause_all_ranks_are_alike() -> None:
    arrivals = _gradients(_job("none").trace)
    assert max(abs(_mean(arrivals, "late", rank)) for rank in range(6)) < 30_000


def test_each_rank_recorded_its_own_clock() -> None:
    job = simulate_job(4, 2, seed=1, ranks_per_node=2)
    assert job.clocks[0] == job.clocks[1] != job.clocks[2]
    true = job.trace.table("dispatches").filter(rank=3)
    recorded = job.recordings[3].table("dispatches")
    moved = recorded["start_ns"] - true["start_ns"]
    assert abs(moved[0] - job.clocks[3].offset_ns) < 1000
    elapsed_ms = (true["start_ns"][-1] - true["start_ns"][0]) / 1e6
    assert moved[-1] - moved[0] == pytest.approx(job.clocks[3].drift_ppm * elapsed_ms, abs=2)


def test_a_recording_of_one_rank_knows_only_itself() -> None:
    recording = simulate_job(4, 2, seed=1, ranks_per_node=2).recordings[3]
    assert set(recording.table("dispatches")["rank"]) == {3}
    assert recording.table("agents").filter(kind="GPU")["agent_id"].to_list() == [2, 3]
    assert recording.run.hosts == ("sim-node-001",)
    assert recording.table("collectives")["collective_id"].null_count() == recording.rows("collectives")
    assert not recording.has("clocks")


def test_equal_links_end_a_ring_together() -> None:
    assert set(ring_ends((1.0,) * 8)) == {1.0}
    assert set(ring_ends((2.0,) * 8)) == {2.0}


def test_behind_a_slow_link_each_rank_of_the_ring_ends_a_little_earlier() -> None:
    ends = ring_ends((1.0, 3.0, 1.0, 1.0))
    assert ends[1] == pytest.approx(3.0)
    assert ends[1] > ends[2] > ends[3]
