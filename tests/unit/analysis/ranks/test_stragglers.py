"""The rank that the others wait for is named with its cause; equal ranks are not."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from random import Random

import pytest

from rocm_perf.analysis.overview import examine
from rocm_perf.analysis.ranks.build import ranks
from rocm_perf.analysis.ranks.findings import rank_findings
from rocm_perf.model.document import Document
from rocm_perf.model.trace import Trace
from rocm_perf.sim.jobs import Job, simulate_job
from tests.unit.analysis.documents import document
from tests.unit.analysis.ranks.jobs import ALWAYS_LAST, reduced
from tests.unit.analysis.traces import Row, kernel, trace

PLANTED = {"compute": "compute", "data_loader": "data loader", "host": "host", "link": "slow link"}


@cache
def job(cause: str) -> tuple[Job, Document]:
    made = simulate_job(ranks=4, steps=16, seed=3, cause=cause, ranks_per_node=2)
    return made, examine(made.trace, "job")


@pytest.mark.parametrize("cause", PLANTED)
@pytest.mark.whole
def test_the_first_finding_names_the_rank_and_the_cause(cause: str) -> None:
    made, found = job(cause)
    (late,) = found.ranks.stragglers
    assert (late.ranks, late.cause) == ((f"rank {made.planted.rank}",), PLANTED[cause])
    first = found.findings[0]
    assert first.id == ("slow-link" if cause == "link" else "late-rank")
    assert f"rank {made.planted.rank}" in first.title
    assert late.repair is not None
    assert first.time_at_stake_ns == late.repair.saved_ns
    assert first.next_command == f"rocm-perf whatif job {late.command}"


def test_equal_ranks_are_not_named() -> None:
    found = job("none")[1]
    assert found.ranks.stragglers == ()
    assert not {"late-rank", "slow-link"} & {finding.id for finding in found.findings}


def test_ranks_that_come_by_chance_are_not_named_however_late() -> None:
    draw = Random(1)
    turns = [[at + draw.randrange(50) for _ in range(4)] for at in range(0, 6000, 100)]
    assert ranks(reduced(turns)).stragglers == ()


def test_one_accident_names_nobody() -> None:
    turns = [(at, at, at + (900 if at == 3000 else 0)) for at in range(0, 20_000, 1000)]
    assert ranks(reduced(turns)).stragglers == ()


def test_a_recording_of_nothing_but_collectives_cannot_say_why() -> None:
    recorded = document(reduced(ALWAYS_LAST))
    (finding,) = rank_findings(recorded)
    assert (
        finding.title
        == "The other ranks wait for rank 2: it comes late to collectives, and why was not recorded"
    )
    assert any("nothing but collectives" in line for line in finding.evidence)
    (late,) = recorded.ranks.stragglers
    assert (late.last_in, late.collectives, late.cause) == (15, 15, None)


def test_one_rank_alone_says_so() -> None:
    alone = ranks(reduced([(at,) for at in range(0, 1000, 100)]))
    assert alone.unavailable == "no collective that several recorded ranks took part in"


def test_the_parts_of_a_rank_sum_to_the_time_that_is_looked_at() -> None:
    rows = job("compute")[1].ranks.rows
    sums = {
        row.computing_ns
        + row.copying_ns
        + row.waiting_ns
        + row.communicating_ns
        + row.loading_ns
        + row.idle_ns
        for row in rows
    }
    assert len(sums) == 1


def grouped(*, late_group: int | None = None, slow_group: int | None = None) -> Trace:
    """Two groups of two ranks that reduce among themselves after a kernel, then all four together. In a late group the
    kernel of its second rank takes longer, in a slow one the transfer."""
    collectives: list[Row] = []
    kernels: list[Row] = []
    for at in range(0, 80_000, 2000):
        left = []
        for group in (0, 1):
            ends = [at + 100 + (700 if rank and group == late_group else 0) for rank in (0, 1)]
            done = max(ends) + (900 if group == slow_group else 200)
            for rank, end in enumerate(ends):
                where = {"rank": 2 * group + rank, "agent_id": 2 * group + rank}
                kernels.append(kernel("gemm", at, end, **where))
                collectives.append(reduction(f"tp{group}", end, done, 2, where))
            left.append(done)
        for rank in range(4):
            where = {"rank": rank, "agent_id": rank}
            collectives.append(reduction("dp", left[rank // 2], max(left) + 50, 4, where))
    return trace(collectives=collectives, dispatches=kernels)


def reduction(group: str, start: int, end: int, size: int, where: Mapping[str, object]) -> Row:
    span = {"start_ns": start, "end_ns": end}
    return {"name": "allreduce", "group": group, "group_size": size, "size_bytes": 1 << 20, **span, **where}


def test_a_rank_that_was_held_up_is_not_the_one_to_blame() -> None:
    (late,) = ranks(grouped(late_group=1)).stragglers
    assert (late.ranks, late.cause) == (("rank 3",), "compute")


def test_a_slow_group_is_late_where_all_meet() -> None:
    (late,) = ranks(grouped(slow_group=0)).stragglers
    assert (set(late.ranks), late.cause) == ({"rank 0", "rank 1"}, "slow link")
    assert late.evidence == ("its collectives take 4.50 times as long as the same among other ranks",)
