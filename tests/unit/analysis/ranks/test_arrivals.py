"""Who came when to a collective, what that cost, and the class of the collective."""

from __future__ import annotations

import polars as pl
import pytest

from rocm_perf.analysis.ranks.arrivals import arrivals, classified
from rocm_perf.analysis.ranks.members import members
from rocm_perf.model.trace import Trace
from tests.unit.analysis.ranks.jobs import ALWAYS_LAST, reduced
from tests.unit.analysis.traces import trace


def test_what_is_lost_is_shared_by_those_who_have_yet_to_come() -> None:
    second = arrivals(reduced(ALWAYS_LAST[:2])).filter(meeting=1).sort("who")
    assert second["waited_ns"].to_list() == [50, 30, 0]
    # 20 ns are lost by two ranks, 30 more by the last alone.
    assert second["delayed_ns"].to_list() == [0, 10, 40]


def test_nothing_is_lost_in_the_first_collective_for_ranks_may_begin_apart() -> None:
    first = arrivals(reduced(ALWAYS_LAST)).filter(meeting=0)
    assert first["delayed_ns"].sum() == 0
    assert first["waited_ns"].sum() == 80


@pytest.mark.parametrize(
    ("skew", "transfer", "expected"),
    [(0, 100, "transfer"), (300, 10, "arrival skew"), (200, 100, "mixed")],
)
def test_a_collective_waits_or_transfers(skew: int, transfer: int, expected: str) -> None:
    (only,) = classified(reduced([(0, 0, skew)], transfer)).iter_rows(named=True)
    assert only["class"] == expected
    assert (only["waited_ns"], only["transfer_ns"]) == (pytest.approx(2 * skew / 3), transfer)


def test_a_rank_that_is_not_recorded_may_have_been_the_last() -> None:
    assert classified(reduced([(0, 0, -1)]))["class"].to_list() == ["inconclusive"]


@pytest.mark.parametrize(("error", "expected"), [(5.0, "arrival skew"), (200.0, "inconclusive")])
def test_clocks_that_differ_by_more_than_the_skew_prove_nothing(error: float, expected: str) -> None:
    rows = reduced([(0, 0, 300)], pid=1)
    clocks = trace(clocks=[{"node": 0, "pid": 1, "domain": 0, "error_ns": error}]).table("clocks")
    known = Trace({"collectives": rows.table("collectives"), "clocks": clocks})
    assert classified(known)["class"].to_list() == [expected]


def test_a_number_matches_collectives_of_several_nodes_on_one_clock() -> None:
    rows = [
        {
            "name": "allreduce",
            "collective_id": 7,
            "node": node,
            "rank": node,
            "pid": 1,
            "start_ns": node,
            "end_ns": 9,
        }
        for node in (0, 1)
    ]
    clocks = [
        {"node": node, "pid": 1, "domain": domain, "error_ns": 0.0} for node, domain in ((0, 3), (1, 3))
    ]
    assert members(trace(collectives=rows, clocks=clocks)).height == 2
    assert not members(trace(collectives=rows)).height


def test_a_window_may_cut_off_the_first_collective_of_some_ranks() -> None:
    cut = members(reduced([(-1, -1, 50), *ALWAYS_LAST[1:]]))
    assert cut["meeting"].n_unique() == len(ALWAYS_LAST) - 1


def test_gpus_stand_for_ranks_that_are_not_recorded() -> None:
    kernels = reduced(ALWAYS_LAST).table("dispatches").with_columns(rank=pl.lit(None, pl.Int32))
    assert set(members(Trace({"dispatches": kernels}))["who"]) == {"GPU 0", "GPU 1", "GPU 2"}
