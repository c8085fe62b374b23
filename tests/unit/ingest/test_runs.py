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
    path: str,
    span: tuple[int, int] | None = None,
    counters: tuple[str, ...] = (),
    *,
    kernel: str = "k",
    tool: str = "x",
    host: str | None = None,
    pid: int | None = None,
) -> Piece:
    source = Source(Path(path))
    tables = {}
    if span:
        tables["dispatches"] = pl.DataFrame({"kernel": [kernel], "start_ns": [span[0]], "end_ns": [span[1]]})
    if counters:
        tables["counters"] = pl.DataFrame({"counter": counters, "value": [1.0] * len(counters)})
    return Piece(source, ADAPTER, part(tool, tables, clock="boot", host=host, pid=pid), place_of(source))


def _statistics(path: str, kernel: str) -> Piece:
    source = Source(Path(path))
    rows = pl.DataFrame({"domain": ["kernel"], "name": [kernel], "calls": [1]})
    return Piece(source, ADAPTER, part("x", {"summaries": rows}), place_of(source))


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


def test_counters_of_other_kernels_are_no_pass() -> None:
    trace = _piece("t.csv", (0, 10), kernel="gemm")
    assert len(_runs(trace, _piece("a.csv", (20, 30), ("SQ_WAVES",), kernel="gemm"))) == 1
    assert len(_runs(trace, _piece("a.csv", (20, 30), ("SQ_WAVES",), kernel="fft"))) == 2


def test_processes_with_other_numbers_are_not_one_because_of_a_name() -> None:
    first, second = _piece("out.csv", (0, 10), pid=7), _piece("out.json", (1_000, 1_010), pid=8)
    assert _runs(first, second) == [["out.csv"], ["out.json"]]
    assert len(_runs(first, _piece("out.json", (1_000, 1_010), pid=7))) == 1


def test_statistics_of_other_kernels_are_a_run_of_their_own() -> None:
    trace = _piece("t_kernel_trace.csv", (0, 10), kernel="gemm")
    assert len(_runs(trace, _statistics("s_stats.csv", "gemm"))) == 1
    assert _runs(trace, _statistics("s_stats.csv", "fft")) == [["t_kernel_trace.csv"], ["s_stats.csv"]]


def test_a_workload_in_the_folder_does_not_take_in_its_neighbours() -> None:
    compute = _piece("pmc_perf.csv", (0, 10), kernel="gemm", tool="rocprof-compute")
    assert _runs(compute, _piece("t_kernel_trace.csv", (0, 9), kernel="fft")) == [
        ["pmc_perf.csv"],
        ["t_kernel_trace.csv"],
    ]


def test_workloads_in_one_folder_are_told_apart_by_their_names() -> None:
    tool = "rocprof-compute"
    files = [
        _piece("a_pmc_perf.csv", (0, 10), tool=tool),
        _piece("a_sysinfo.csv", tool=tool),
        _piece("b_pmc_perf.csv", (5, 20), tool=tool),
        _piece("b_sysinfo.csv", tool=tool),
    ]
    assert _runs(*files) == [["a_pmc_perf.csv", "a_sysinfo.csv"], ["b_pmc_perf.csv", "b_sysinfo.csv"]]
    usual = [_piece("results_pmc_perf_0.csv", (0, 10), tool=tool), _piece("sysinfo.csv", tool=tool)]
    assert len(_runs(*usual, _piece("timestamps.csv", (5, 9), tool=tool))) == 1
