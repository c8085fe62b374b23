"""The rank that the others wait for is named with its cause, from what each rank contributes by itself."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from random import Random

import msgspec
import polars as pl
import pytest
from bench.straggler_matrix import merged
from msgspec.structs import replace

from rocm_perf.analysis.ranks.build import ranks
from rocm_perf.analysis.reduction.contribution import contribution
from rocm_perf.analysis.reduction.document import reduced
from rocm_perf.analysis.reduction.tables import Tables, added
from rocm_perf.fleet.cluster.clocks import on_one_clock
from rocm_perf.model.document import Document
from rocm_perf.model.results.ranks import Ranks
from rocm_perf.model.trace import Trace
from rocm_perf.sim.jobs import Job, simulate_job
from tests.unit.analysis.ranks.jobs import ALWAYS_LAST
from tests.unit.analysis.ranks.jobs import reduced as reduced_by_hand
from tests.unit.analysis.ranks.test_stragglers import PLANTED, grouped
from tests.unit.analysis.traces import trace

pytestmark = pytest.mark.whole

RANKS = 4


@cache
def _job(cause: str) -> tuple[Job, list[Tables]]:
    """A job on clocks that differ, and what each of its ranks contributes."""
    job = simulate_job(RANKS, 12, seed=3, cause=cause)
    return job, _contributions(job.recordings)


def _contributions(recordings: Sequence[Trace]) -> list[Tables]:
    return [contribution(recording, place, f"rank {place}") for place, recording in enumerate(recordings)]


def _each_rank(whole: Trace) -> list[Trace]:
    """The recordings of the ranks of one that has all of them."""
    tables = {name: whole.table(name) for name in whole}
    host = trace(nodes=[{"node": 0, "host": "a", "clock": "boot"}]).table("nodes")
    return [
        Trace({**{name: table.filter(rank=rank) for name, table in tables.items()}, "nodes": host})
        for rank in sorted(whole.table("collectives")["rank"].unique())
    ]


def _together(parts: Sequence[Tables]) -> Document:
    return reduced(added(parts), "job", aligned=on_one_clock)


@pytest.mark.parametrize("cause", PLANTED)
def test_rank_cause_and_evidence_are_those_of_one_process(cause: str) -> None:
    job, parts = _job(cause)
    document, whole = _together(parts), ranks(merged(job))
    (late,), (expected,) = document.ranks.stragglers, whole.stragglers
    assert (late.ranks, late.cause) == ((f"rank {job.planted.rank}",), PLANTED[cause])
    assert (late.ranks, late.cause, late.evidence) == (expected.ranks, expected.cause, expected.evidence)
    assert late.delayed_ns == pytest.approx(
        expected.delayed_ns, abs=100
    )  # clocks are rounded at other places
    first = document.findings[0]
    assert first.title.startswith(f"The other ranks wait for rank {job.planted.rank}: ")
    assert first.time_at_stake_ns == late.delayed_ns
    assert "whatif" not in first.next_command


def test_the_time_of_each_rank_is_that_of_one_process_but_for_work_beside_collectives() -> None:
    job, parts = _job("data_loader")
    together, whole = _together(parts).ranks, ranks(merged(job))
    assert together.collectives == whole.collectives
    for ours, theirs in zip(_in_order(together), _in_order(whole), strict=True):
        for part in ("computing", "copying", "loading", "idle", "delayed"):
            assert ours[f"{part}_ns"] == pytest.approx(theirs[f"{part}_ns"], abs=5_000), part
        in_collectives = [row["waiting_ns"] + row["communicating_ns"] for row in (ours, theirs)]
        assert in_collectives[0] == pytest.approx(in_collectives[1], abs=5_000)


def _in_order(answer: Ranks) -> list[dict[str, int]]:
    return sorted(map(msgspec.to_builtins, answer.rows), key=lambda row: row["rank"])


def test_equal_ranks_are_not_named() -> None:
    document = _together(_job("none")[1])
    assert document.ranks.stragglers == ()
    assert document.ranks.rows


def test_any_order_and_grouping_of_additions_says_the_same() -> None:
    parts = list(_job("host")[1])
    expected = msgspec.to_builtins(_together(parts).ranks)
    for seed in range(4):
        Random(seed).shuffle(parts)
        cut = 1 + seed % (RANKS - 1)
        some, others = added(parts[:cut]), added(parts[cut:])
        assert msgspec.to_builtins(_together([others, some]).ranks) == expected


@pytest.mark.parametrize("absent", ["nodes", "agents", "processes", "dispatches", "collectives"])
def test_a_rank_without_some_table_does_not_lose_the_others(absent: str) -> None:
    job, parts = _job("host")
    second = job.recordings[1]
    kept = {name: second.table(name) for name in second if name != absent}
    poor = contribution(Trace(kept, second.run), 1, "rank 1")
    others = [part for place, part in enumerate(parts) if place != 1]
    busy, of_others = ({gpu.busy_ns for gpu in _together(some).devices} for some in ([*others, poor], others))
    assert len(of_others) == RANKS - 1
    assert of_others <= busy


def test_a_machine_that_no_table_lists_is_the_host_of_its_run() -> None:
    """As a bundle without the table `nodes` has it: the rank counts as if it were there."""
    job, parts = _job("host")
    unlisted = [_without_nodes(recording) for recording in job.recordings]
    assert msgspec.to_builtins(_together(_contributions(unlisted))) == msgspec.to_builtins(_together(parts))


def _without_nodes(recording: Trace) -> Trace:
    tables = {name: recording.table(name) for name in recording if name != "nodes"}
    return Trace(tables, replace(recording.run, clock=recording.table("nodes")["clock"][0]))


def test_a_rank_of_which_only_collectives_were_recorded_cannot_say_why() -> None:
    document = _together(_contributions(_each_rank(reduced_by_hand(ALWAYS_LAST))))
    (late,) = document.ranks.stragglers
    assert (late.ranks, late.cause) == (("rank 2",), None)
    assert late.reason == "nothing but collectives was recorded of it"
    assert "why was not recorded" in document.findings[0].title


def test_idle_before_it_comes_with_nothing_of_its_host_cannot_say_why() -> None:
    job, _ = _job("host")
    recordings = [_without_host(recording) for recording in job.recordings]
    (late,) = _together(_contributions(recordings)).ranks.stragglers
    assert late.cause is None
    assert late.reason == "its GPU is idle before it arrives, and what its host did is not recorded"


def _without_host(recording: Trace) -> Trace:
    kept = [name for name in recording if name not in ("api_calls", "ops", "ranges")]
    return Trace({name: recording.table(name) for name in kept}, recording.run)


def test_a_rank_that_was_held_up_elsewhere_is_not_the_one_to_blame() -> None:
    """Groups of two reduce among themselves before all four do: what those do is part of a stretch of these."""
    parts = _contributions(_each_rank(grouped(late_group=1)))
    (late,) = _together(parts).ranks.stragglers
    assert (late.ranks, late.cause) == (("rank 3",), "compute")


def test_more_kernels_are_told_from_slower_ones() -> None:
    recordings = _each_rank(grouped(late_group=1))
    recordings[3] = _split(recordings[3])
    (late,) = _together(_contributions(recordings)).ranks.stragglers
    assert "it runs 80 kernels, the others 40" in late.evidence[0]


def _split(recording: Trace) -> Trace:
    """The same with two kernels for each."""
    kernels = recording.table("dispatches")
    middle = (pl.col("start_ns") + pl.col("end_ns")) // 2
    halves = pl.concat([kernels.with_columns(end_ns=middle), kernels.with_columns(start_ns=middle)])
    tables = {name: recording.table(name) for name in recording}
    return Trace({**tables, "dispatches": halves.sort("start_ns")}, recording.run)


def test_a_lower_clock_is_said() -> None:
    whole = grouped(late_group=1)
    read = trace(
        samples=[
            {"metric": "clock_mhz", "time_ns": at, "value": 1400.0 if rank == 3 else 2100.0, "agent_id": rank}
            for at in (10, 20)
            for rank in range(4)
        ]
    )
    recordings = [
        Trace(
            {
                **{name: one.table(name) for name in one},
                "samples": read.table("samples").filter(agent_id=rank),
            }
        )
        for rank, one in enumerate(_each_rank(whole))
    ]
    (late,) = _together(_contributions(recordings)).ranks.stragglers
    assert late.evidence[-1] == "its GPU runs at 1,400 MHz, the others at 2,100 MHz"
