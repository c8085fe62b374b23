"""The rank that the others wait for."""

from __future__ import annotations

from collections.abc import Sequence

from rocm_perf.analysis.idle.communication import communication_findings
from rocm_perf.analysis.idle.stragglers import straggler
from rocm_perf.model.results.communication import RankWait
from rocm_perf.model.trace import Trace
from tests.unit.analysis.documents import document
from tests.unit.analysis.traces import Row, kernel, trace

REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"


def reduced(starts: Sequence[Sequence[int]], **more: object) -> Trace:
    """All-reduces that end 10 ns after the last rank has come; one row of starts for each."""
    rows: list[Row] = [
        {
            "name": "allreduce",
            "start_ns": start,
            "end_ns": max(turn) + 10,
            "rank": rank,
            "agent_id": rank,
            "group": "0",
            "group_size": len(turn),
            **more,
        }
        for turn in starts
        for rank, start in enumerate(turn)
        if start >= 0
    ]
    kernels = [kernel(REDUCE, row["start_ns"], row["end_ns"], agent_id=row["agent_id"]) for row in rows]  # type: ignore[arg-type]
    return trace(collectives=rows, dispatches=kernels)


ALWAYS_LAST = [(at, at + 20, at + 50) for at in range(0, 1000, 100)]


def test_the_rank_that_is_always_last_is_named() -> None:
    late = straggler(reduced(ALWAYS_LAST))
    assert late is not None
    assert (late.rank, late.last_in, late.collectives, late.together_ns) == ("rank 2", 10, 10, 100)
    assert late.waits == (RankWait("rank 0", 500), RankWait("rank 1", 300))


def test_the_finding_is_worth_what_the_last_but_one_waits() -> None:
    (finding,) = communication_findings(document(reduced(ALWAYS_LAST)))
    assert (finding.id, finding.kind, finding.time_at_stake_ns) == ("late-rank", "communication", 300)
    assert "rank 2" in finding.title
    assert "rank 0 500 ns, rank 1 300 ns" in finding.evidence[1]


def test_ranks_that_take_turns_to_be_late_have_no_straggler() -> None:
    turns = [
        tuple(at + (50 if rank == at // 100 % 3 else 0) for rank in range(3)) for at in range(0, 1000, 100)
    ]
    recording = reduced(turns)
    assert straggler(recording) is None
    assert [finding.id for finding in communication_findings(document(recording))] == [
        "exposed-communication"
    ]


def test_ranks_that_come_together_have_no_straggler() -> None:
    assert straggler(reduced([(at, at, at) for at in range(0, 1000, 100)])) is None


def test_other_clocks_are_not_compared() -> None:
    apart = [(at, at + 100_000, at + 200_000) for at in range(0, 1000, 100)]
    rows = [(start, start + 1_000_000, start + 5_000_000) for start, _, _ in apart]
    ends = reduced(rows)
    collectives = ends.table("collectives")
    lone = collectives.with_columns(end_ns=collectives["start_ns"] + 10)
    assert straggler(Trace({"collectives": lone})) is None


def test_a_window_may_cut_off_the_first_collective_of_some_ranks() -> None:
    cut = [(-1, -1, 50), *ALWAYS_LAST[1:]]
    late = straggler(reduced(cut))
    assert late is not None
    assert (late.rank, late.last_in, late.collectives) == ("rank 2", 9, 9)


def test_gpus_stand_for_ranks_that_are_not_recorded() -> None:
    kernels = reduced(ALWAYS_LAST).table("dispatches")
    late = straggler(Trace({"dispatches": kernels}))
    assert late is not None
    assert late.rank == "GPU 2"


def test_one_rank_alone_does_not_communicate() -> None:
    recording = reduced([(at,) for at in range(0, 1000, 100)])
    assert straggler(recording) is None
    assert communication_findings(document(recording)) == []
