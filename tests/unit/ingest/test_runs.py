"""Which files make one run."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Adapter, part
from rocm_perf.ingest.place import place_of
from rocm_perf.ingest.processes import Group, Piece, group_by_process
from rocm_perf.ingest.runs import split_runs

ADAPTER = Adapter("made-up", "", "", lambda peek: False, lambda source: part("x", {}))


def _piece(
    path: str, span: tuple[int, int] | None = None, counters: tuple[str, ...] = (), host: str | None = None
) -> Piece:
    source = Source(Path(path))
    tables = {}
    if span:
        tables["dispatches"] = pl.DataFrame({"kernel": ["k"], "start_ns": [span[0]], "end_ns": [span[1]]})
    if counters:
        tables["counters"] = pl.DataFrame({"counter": counters, "value": [1.0] * len(counters)})
    return Piece(source, ADAPTER, part("x", tables, clock="boot", host=host), place_of(source))


def _runs(*pieces: Piece) -> list[list[str]]:
    return [
        [piece.source.path.name for group in run for piece in group.pieces]
        for run in split_runs(group_by_process(list(pieces)))
    ]


def test_files_of_one_prefix_are_one_process() -> None:
    groups = group_by_process(
        [_piece("a_kernel_trace.csv"), _piece("b_results.json"), _piece("a_agent_info.csv")]
    )
    assert [[p.source.path.name for p in group.pieces] for group in groups] == [
        ["a_kernel_trace.csv", "a_agent_info.csv"],
        ["b_results.json"],
    ]


def test_a_group_knows_its_span_host_and_counters() -> None:
    group = Group(
        (_piece("a.csv", (5, 9)), _piece("a.db", (2, 7), ("SQ_WAVES",)), _piece("a.json", host="n1"))
    )
    assert (group.span, group.host, group.clock) == ((2, 9), "n1", "boot")
    assert group.counters == {"SQ_WAVES"}
    assert group.only_counters
    assert Group((_piece("a.csv"),)).span is None


def test_processes_that_overlap_are_one_run() -> None:
    assert _runs(_piece("a.csv", (0, 10)), _piece("b.csv", (9, 30)), _piece("c.csv", (25, 40))) == [
        ["a.csv", "b.csv", "c.csv"]
    ]


def test_processes_apart_in_time_are_several_runs_in_their_order() -> None:
    assert _runs(_piece("b.csv", (100, 110)), _piece("a.csv", (0, 10))) == [["a.csv"], ["b.csv"]]


def test_a_long_process_holds_the_later_ones() -> None:
    assert len(_runs(_piece("a.csv", (0, 100)), _piece("b.csv", (10, 20)), _piece("c.csv", (90, 200)))) == 1


def test_passes_in_numbered_folders_are_one_run() -> None:
    assert len(_runs(_piece("o/pmc_1/h/1.csv", (0, 10)), _piece("o/pmc_2/h/2.csv", (50, 60)))) == 1
    assert len(_runs(_piece("o/pmc_1/h/1.csv", (0, 10)), _piece("p/pmc_2/h/2.csv", (50, 60)))) == 2


def test_files_that_count_something_else_are_passes() -> None:
    trace, first = _piece("t.csv", (0, 10)), _piece("a.csv", (20, 30), ("SQ_WAVES",))
    assert len(_runs(trace, first, _piece("b.csv", (40, 50), ("GRBM_COUNT",)))) == 1
    assert len(_runs(trace, first, _piece("b.csv", (40, 50), ("SQ_WAVES",)))) == 2


def test_other_hosts_cannot_be_told_apart_by_time() -> None:
    assert (
        len(_runs(_piece("a.csv", (0, 10), host="n1"), _piece("b.csv", (10**9, 10**9 + 5), host="n2"))) == 1
    )


def test_files_without_times_go_to_the_nearest_run() -> None:
    runs = _runs(_piece("x/a.csv", (0, 10)), _piece("y/b.csv", (50, 60)), _piece("y/b2_agent_info.csv"))
    assert runs == [["a.csv"], ["b.csv", "b2_agent_info.csv"]]
    assert _runs(_piece("a_agent_info.csv"), _piece("b_agent_info.csv")) == [
        ["a_agent_info.csv", "b_agent_info.csv"]
    ]
    assert split_runs([]) == []
