"""Several ranks on one clock: offsets and drifts are recovered, collectives are never numbered wrongly."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocm_perf.ingest.ranks.align import Tables, on_common_clocks
from rocm_perf.ingest.ranks.fitting import fitted_line
from rocm_perf.sim.jobs import Job, simulate_job
from tests.unit.ingest.ranks.synthetic import Clock, align, is_numbered_rightly, joined, recorded

CLOCKS = st.builds(Clock, st.floats(-5e6, 5e6), st.floats(-50, 50))


def _disagreement(collectives: pl.DataFrame) -> int:
    """By how much the ends of one turn differ at most between ranks, the median of all turns."""
    turns = collectives.group_by("correlation_id").agg(apart=pl.col("end_ns").max() - pl.col("end_ns").min())
    return int(turns["apart"].median())  # type: ignore[arg-type]


@settings(max_examples=10, deadline=None)
@given(st.lists(CLOCKS, min_size=2, max_size=5), st.integers(0, 1000))
def test_clocks_of_any_offset_and_drift_are_recovered(clocks: list[Clock], seed: int) -> None:
    aligned = align(recorded(clocks, seed=seed))
    assert set(aligned["clocks"]["domain"]) == {0}
    assert is_numbered_rightly(joined(aligned))
    assert joined(aligned)["collective_id"].null_count() == 0
    first, *others = clocks
    for rank, clock in enumerate(others, start=1):
        drift = aligned["clocks"].filter(rank=rank)["drift_ppm"].item()
        assert drift == pytest.approx(first.drift_ppm - clock.drift_ppm, abs=6)
    assert _disagreement(joined(aligned)) < 4_000


def test_the_order_of_recordings_does_not_matter() -> None:
    frames = recorded([Clock(), Clock(4e6, 20), Clock(-3e6, -35), Clock(1e6, 5)])
    forward, backward = align(frames), align(dict(reversed(frames.items())))
    assert joined(forward).equals(joined(backward))
    assert forward["clocks"].equals(backward["clocks"])


def test_one_rank_alone_is_left_as_it_is() -> None:
    frames = recorded([Clock(1e6, 10)])
    aligned = align(frames)
    assert "clocks" not in aligned
    assert joined(aligned).equals(frames[0])


def _aligned_job(job: Job) -> Tables:
    """The recordings of a job, each as a node of its own, on common clocks."""
    tables = {
        name: pl.concat(
            _on_node(recording.table(name), node) for node, recording in enumerate(job.recordings)
        )
        for name in job.recordings[0]
        if name not in ("kernels", "nodes", "agents")
    }
    return on_common_clocks(tables, dict.fromkeys(range(len(job.recordings)), "boot"))


def _on_node(frame: pl.DataFrame, node: int) -> pl.DataFrame:
    return frame.with_columns(node=pl.lit(node, pl.Int32))


def test_all_tables_of_a_rank_are_moved() -> None:
    job = simulate_job(3, 6, seed=5)
    aligned = _aligned_job(job)
    for name in ("collectives", "dispatches", "api_calls", "ranges", "copies", "links", "processes"):
        column = "effect_ns" if name == "links" else "start_ns"
        true = job.trace.table(name).select("pid", job.clocks[0].shift.at(pl.col(column)))
        pairs = aligned[name].sort("pid", column)[column] - true.sort("pid", column)[column]
        assert pairs.abs().max() < 3_000, name


def _relative_errors(job: Job) -> pl.Series:
    """By how much kernels lie off the truth after alignment. A shift that all ranks share is not an error."""
    kernels = _aligned_job(job)["dispatches"].sort("rank", "dispatch_id")
    true = job.trace.table("dispatches").sort("rank", "dispatch_id")
    expected = true.select(job.clocks[0].shift.at(pl.col("start_ns")))["start_ns"]
    off = kernels.with_columns(off=kernels["start_ns"] - expected, turn=pl.int_range(pl.len()).over("rank"))
    return off.select((pl.col("off") - pl.col("off").median().over("turn")).abs())["off"]


@pytest.mark.parametrize("cause", ["none", pytest.param("link", marks=pytest.mark.thorough)])
@pytest.mark.whole
def test_a_job_of_64_ranks_is_aligned_within_a_microsecond(cause: str) -> None:
    job = simulate_job(64, 30, seed=2, cause=cause)
    assert _relative_errors(job).max() < 1_000  # type: ignore[operator]


def test_a_rank_that_was_recorded_later_keeps_the_right_numbers() -> None:
    frames = recorded([Clock(), Clock(2e6, 10), Clock(-4e6, -10)])
    frames[1] = frames[1].slice(9)
    frames[2] = frames[2].head(44)
    collectives = joined(align(frames))
    assert is_numbered_rightly(collectives)
    assert collectives.filter(pl.col("correlation_id").is_between(9, 43))["collective_id"].null_count() == 0


def test_a_rank_that_lost_a_record_in_between_is_never_numbered_wrongly() -> None:
    frames = recorded([Clock(), Clock(2e6, 10), Clock(-4e6, -10)])
    frames[1] = frames[1].filter(pl.col("correlation_id") != 30)
    assert is_numbered_rightly(joined(align(frames)))


def test_recordings_of_different_times_are_not_one_timeline() -> None:
    one, other = recorded([Clock(), Clock()], seed=1), recorded([Clock(), Clock()], seed=2)
    aligned = align({0: one[0], 1: other[1]})
    assert aligned["clocks"]["domain"].to_list() == [0, 1]
    assert "differ by" in aligned["clocks"]["reason"][1]
    assert joined(aligned)["collective_id"].null_count() == 120
    assert aligned["clocks"]["reason"][0] is None
    assert joined(aligned).filter(rank=1)["end_ns"].equals(other[1]["end_ns"])


def test_the_others_agree_without_a_first_rank_that_does_not() -> None:
    frames, elsewhere = (
        recorded([Clock(), Clock(3e6, 9), Clock(-2e6), Clock(1e6)]),
        recorded([Clock()], seed=3),
    )
    aligned = align({**frames, 0: elsewhere[0].with_columns(group_size=pl.lit(4, pl.Int64))})
    assert aligned["clocks"]["domain"].to_list() == [0, 1, 1, 1]
    assert aligned["clocks"]["reason"].is_null().to_list() == [False, True, True, True]


def test_too_few_collectives_are_not_guessed_from() -> None:
    frames = recorded([Clock(), Clock(3e6)], turns=4)
    aligned = align(frames)
    assert aligned["clocks"]["reason"].to_list() == [
        None,
        "it shares fewer than 5 collectives with the others",
    ]
    assert aligned["clocks"]["domain"].to_list() == [0, 1]


def test_ranks_of_one_machine_are_checked_and_not_moved() -> None:
    frames = recorded([Clock(), Clock(), Clock()])
    aligned = align(frames, shared=True)
    assert set(aligned["clocks"]["basis"]) == {"shared"}
    assert aligned["clocks"]["offset_ns"].to_list() == [0.0, 0.0, 0.0]
    assert aligned["clocks"]["error_ns"].max() < 3_000  # type: ignore[operator]
    assert joined(aligned)["end_ns"].equals(pl.concat(frames.values())["end_ns"])


def test_groups_with_one_name_are_not_taken_for_one() -> None:
    frames = recorded([Clock(), Clock(), Clock(), Clock()])
    pairs = {
        rank: frame.with_columns(group=pl.lit("tp"), group_size=pl.lit(2, pl.Int64))
        for rank, frame in frames.items()
    }
    assert joined(align(pairs))["collective_id"].null_count() == 240


def test_a_line_is_found_among_points_that_are_far_off() -> None:
    x = np.linspace(0, 1e9, 100)
    y = 5e6 + 30e-6 * x
    y[::4] += 1e6
    line = fitted_line(x, y, np.ones(100))
    assert line.at_zero == pytest.approx(5e6, abs=1000)
    assert line.slope == pytest.approx(30e-6, abs=1e-6)
