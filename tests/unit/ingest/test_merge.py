"""Pieces of a run become one Trace: nothing twice, nothing lost, and what one file knows reaches the others."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.merge import merge
from rocm_perf.ingest.part import Adapter, Part, part
from rocm_perf.ingest.place import place_of
from rocm_perf.ingest.processes import Piece, group_by_process
from rocm_perf.ingest.rocprofv3 import csv_traces, results_json
from rocm_perf.model.trace import Trace

CSV = csv_traces.ADAPTERS[1]
OTHER = results_json.ADAPTERS[0]


def _piece(path: str, made: Part, adapter: Adapter = CSV) -> Piece:
    source = Source(Path(path))
    return Piece(source, adapter, made, place_of(source))


def _merged(*pieces: Piece) -> Trace:
    return merge(group_by_process(list(pieces)))


def _dispatches(*numbers: int | None, **columns: object) -> pl.DataFrame:
    frame = pl.DataFrame({"dispatch_id": pl.Series(numbers, dtype=pl.Int64), "kernel": ["k"] * len(numbers)})
    return frame.with_columns(**{name: pl.lit(value) for name, value in columns.items()})


def test_one_process_is_not_copied() -> None:
    made = part("x", {"dispatches": _dispatches(1, 2, pid=7, rank=1), "api_calls": _calls(7)})
    before = dict(made.tables)
    trace = _merged(_piece("a_kernel_trace.csv", made))
    assert trace.table("dispatches") is before["dispatches"]
    assert trace.table("api_calls") is before["api_calls"]


def _calls(*pids: int) -> pl.DataFrame:
    return pl.DataFrame({"domain": "hip", "name": "hipMalloc", "pid": pids, "start_ns": 1, "end_ns": 2})


def test_the_pid_of_one_file_reaches_its_siblings() -> None:
    trace = _merged(
        _piece("a_kernel_trace.csv", part("x", {"dispatches": _dispatches(1, 2)})),
        _piece("a_hip_api_trace.csv", part("x", {"api_calls": _calls(42)})),
        _piece("b_kernel_trace.csv", part("x", {"dispatches": _dispatches(1)})),
    )
    assert trace.table("dispatches")["pid"].to_list() == [42, 42, None]
    assert trace.table("processes")["pid"].to_list() == [42]


def test_two_pids_are_not_guessed_between() -> None:
    trace = _merged(
        _piece("a_kernel_trace.csv", part("x", {"dispatches": _dispatches(1)})),
        _piece("a_hip_api_trace.csv", part("x", {"api_calls": _calls(42, 43)})),
    )
    assert trace.table("dispatches")["pid"].to_list() == [None]


def test_a_dispatch_in_two_files_is_one_row_that_knows_both() -> None:
    trace = _merged(
        _piece(
            "a_kernel_trace.csv", part("x", {"dispatches": _dispatches(1, 2, start_ns=5, end_ns=9, pid=7)})
        ),
        _piece(
            "a_counter_collection.csv",
            part(
                "x",
                {"dispatches": _dispatches(2, 3, vgprs=24, sgprs=48, lds_bytes=1, scratch_bytes=1, pid=7)},
            ),
        ),
    )
    rows = trace.table("dispatches").select("dispatch_id", "start_ns", "vgprs").rows()
    assert rows == [(1, 5, None), (2, 5, 24), (3, None, 24)]


def test_dispatches_without_a_number_are_never_taken_for_one() -> None:
    first, second = (part("x", {"dispatches": _dispatches(None, None, pid=7)}) for _ in range(2))
    trace = _merged(_piece("a_kernel_trace.csv", first), _piece("b_kernel_trace.csv", second))
    assert trace.rows("dispatches") == 4


def test_one_number_at_two_times_is_two_dispatches() -> None:
    first = part("x", {"dispatches": _dispatches(1, 2, pid=7, start_ns=5)})
    second = part("x", {"dispatches": _dispatches(1, 2, pid=7, start_ns=500)})
    trace = _merged(_piece("step1.json", first), _piece("step2.json", second))
    assert trace.rows("dispatches") == 4


def test_two_formats_of_one_process_keep_each_table_once() -> None:
    csv = part("x", {"dispatches": _dispatches(1, 2, pid=7)})
    json = part("x", {"dispatches": _dispatches(1, 2, pid=7), "api_calls": _calls(7)})
    trace = _merged(_piece("7_kernel_trace.csv", csv), _piece("7_results.json", json, OTHER))
    assert (trace.rows("dispatches"), trace.rows("api_calls")) == (2, 1)
    assert trace.run.notices == (
        "dispatches of 7_results.json left out: 7_kernel_trace.csv holds the same run",
    )


def test_hosts_become_nodes() -> None:
    def made() -> Part:
        return part("x", {"dispatches": _dispatches(1)}, clock="boot", os="Linux")

    trace = _merged(_piece("o/n1/1.csv", made()), _piece("o/n2/2.csv", made()), _piece("o/n1/3.csv", made()))
    assert trace.table("dispatches").select("node", "pid").rows() == [(0, 1), (1, 2), (0, 3)]
    assert trace.table("nodes").rows() == [(0, "n1", "Linux", "boot"), (1, "n2", "Linux", "boot")]
    assert trace.run.hosts == ("n1", "n2")


def test_a_file_that_lists_machines_keeps_them() -> None:
    nodes = pl.DataFrame({"node": [0, 1], "host": ["a", "b"], "clock": ["boot", "boot"]})
    dispatches = pl.concat([_dispatches(1, node=0), _dispatches(1, node=1)])
    both = part("x", {"dispatches": dispatches, "nodes": nodes})
    trace = _merged(_piece("o/n1/1.csv", part("x", {"dispatches": _dispatches(1)})), _piece("both.db", both))
    assert trace.table("dispatches")["node"].to_list() == [0, 1, 2]
    assert trace.table("nodes")["host"].to_list() == ["n1", "a", "b"]
    assert trace.run.hosts == ("n1", "a", "b")


@pytest.mark.parametrize(("name", "rank"), [("rank_3.json", 3), ("trace.json", None)])
def test_ranks(name: str, rank: int | None) -> None:
    trace = _merged(_piece(name, part("x", {"dispatches": _dispatches(1)})))
    assert trace.table("dispatches")["rank"].to_list() == [rank]
    own = _merged(_piece(name, part("x", {"dispatches": _dispatches(1)}, rank=9)))
    assert own.table("dispatches")["rank"].to_list() == [9]


@pytest.mark.parametrize("number", [2**64 - 1, 2**200, -1])
def test_a_pid_and_a_rank_that_no_column_holds_are_unknown(number: int) -> None:
    odd = part("x", {"dispatches": _dispatches(1)}, pid=number, rank=number)
    trace = _merged(_piece("a.json", odd), _piece("b.json", part("x", {"dispatches": _dispatches(2)}, pid=5)))
    assert trace.table("dispatches")["pid"].to_list() == [None, 5]
    assert trace.table("dispatches")["rank"].to_list() == [None, None]


def test_agents_are_merged_and_completed() -> None:
    plain = pl.DataFrame({"agent_id": [4], "kind": ["GPU"], "gfx": ["gfx942"]})
    named = pl.DataFrame({"agent_id": [4, 5], "name": ["MI300X", "MI300X"]})
    trace = _merged(
        _piece("a_agent_info.csv", part("x", {"agents": plain})),
        _piece("b.json", part("x", {"agents": named})),
    )
    assert trace.table("agents").select("agent_id", "gfx", "name").rows() == [
        (4, "gfx942", "MI300X"),
        (5, None, "MI300X"),
    ]


def test_the_run_says_what_was_read(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("12345")
    made = part(
        "rocprofv3", {"dispatches": _dispatches(1)}, tool_version="7", command="./app", asked=("hip",)
    )
    trace = _merged(
        _piece(str(file), made), _piece(str(tmp_path / "gone.csv"), part("torch", {}, clock="epoch"))
    )
    run = trace.run
    assert (run.tool, run.tool_version, run.command, run.clock) == (
        "rocprofv3 + torch",
        "7",
        "./app",
        "epoch",
    )
    assert [(source.size_bytes, source.format, source.sha256) for source in run.sources] == [
        (5, CSV.name, None),
        (0, CSV.name, None),
    ]


def test_a_file_without_counters_is_no_part_of_a_counter_pass() -> None:
    """Even if its times are of no use, and its dispatches have other numbers."""
    bare = part("x", {"dispatches": _dispatches(1, 2, 3)})
    names = pl.DataFrame({"dispatch_id": [0], "counter": ["SQ_WAVES"], "value": [1.0]})
    counted = part("x", {"dispatches": _dispatches(0, 1, 2), "counters": names})
    trace = _merged(_piece("timestamps.csv", bare), _piece("SQ_LEVEL_WAVES.csv", counted))
    assert trace.table("dispatches")["pass_id"].to_list() == [0, 0, 0, 1, 1, 1]
    assert trace.table("counters")["pass_id"].to_list() == [1]
