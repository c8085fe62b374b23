"""Which recordings are ranks of one job."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from rocm_perf.errors import InputError
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.jobs import jobs_of, require_one_of_each_rank
from rocm_perf.ingest.part import Adapter, part
from rocm_perf.ingest.place import place_of
from rocm_perf.ingest.processes import Group, Piece

ADAPTER = Adapter("made-up", "", "", lambda peek: False, lambda source: part("x", {}))
SECOND = 10**9


def _group(rank: int | None, start: int, end: int, **facts: object) -> Group:
    """A recording of a rank, named after it, from one second to another."""
    source = Source(Path(f"{facts.pop('name', '')}{'' if rank is None else rank}.json"))
    names = str(facts.pop("kernels", "k")).split()
    times = {"start_ns": [start * SECOND] * len(names), "end_ns": [end * SECOND] * len(names)}
    tables = {"dispatches": pl.DataFrame({"kernel": names, **times})}
    if gfx := facts.pop("gfx", None):
        tables["agents"] = pl.DataFrame({"agent_id": [1], "kind": ["GPU"], "gfx": [gfx]})
    tool = str(facts.pop("tool", "x"))
    made = part(tool, tables, rank=rank, losses=(), **{"clock": "epoch", **facts})
    return Group((Piece(source, ADAPTER, made, place_of(source)),))


def _jobs(*groups: Group) -> list[list[str]]:
    return [
        [group.pieces[0].source.file_name.removesuffix(".json") for group in job]
        for job in jobs_of([*groups])
    ]


def test_ranks_whose_clocks_differ_are_one_job() -> None:
    assert _jobs(_group(0, 100, 101), _group(1, 102, 103), _group(2, 99, 101)) == [["2", "0", "1"]]


def test_two_runs_of_a_rank_are_two_jobs_and_each_rank_finds_its_own() -> None:
    runs = [_group(rank, start, start + 1) for start in (100, 120) for rank in (0, 1)]
    assert _jobs(*runs) == [["0", "1"], ["0", "1"]]


def test_machines_with_boot_clocks_meet_in_their_turn() -> None:
    first = [_group(0, 5, 6, clock="boot", host="a"), _group(1, 900, 901, clock="boot", host="b")]
    second = [_group(0, 15, 16, clock="boot", host="a"), _group(1, 950, 951, clock="boot", host="b")]
    assert _jobs(*first, *second) == [["0", "1"], ["0", "1"]]


def test_one_after_the_other_on_one_machine_is_not_one_job() -> None:
    assert _jobs(_group(0, 5, 6, host="a"), _group(1, 7, 8, host="a")) == [["0"], ["1"]]


def test_dates_that_are_minutes_apart_are_not_one_job() -> None:
    assert len(_jobs(_group(0, 100, 101), _group(1, 300, 301))) == 2


def test_jobs_of_different_sizes_are_not_one() -> None:
    assert len(_jobs(_group(0, 100, 101, world_size=2), _group(1, 105, 106, world_size=8))) == 2
    assert len(_jobs(_group(0, 100, 101, world_size=2), _group(1, 105, 106, world_size=2))) == 1
    assert len(_jobs(_group(0, 100, 101, world_size=2), _group(5, 105, 106, world_size=2))) == 2


def test_clocks_of_unknown_machines_say_nothing_unless_the_size_of_the_job_is_known() -> None:
    apart = {"clock": "unknown"}
    assert len(_jobs(_group(0, 5, 6, **apart), _group(1, 500, 501, **apart))) == 2
    sized = {**apart, "world_size": 2}
    assert len(_jobs(_group(0, 5, 6, **sized), _group(1, 500, 501, **sized))) == 1


def test_without_ranks_another_machine_belongs_to_the_first_run() -> None:
    boot = {"clock": "boot"}
    groups = [_group(None, 5, 6, host="a", name="x", **boot), _group(None, 9, 10, host="a", name="y", **boot)]
    assert _jobs(*groups, _group(None, 100, 101, host="b", name="z", **boot)) == [["x", "z"], ["y"]]


def test_what_two_tools_recorded_of_one_program_is_one_run() -> None:
    v3 = {"clock": "boot", "tool": "rocprofv3", "name": "v3"}
    torch = {"clock": "epoch", "tool": "torch.profiler", "name": "torch"}
    assert _jobs(
        _group(None, 5, 6, kernels="gemm add relu", **v3),
        _group(None, 10**9, 10**9 + 1, kernels="gemm add", **torch),
    ) == [["v3", "torch"]]
    assert _jobs(_group(None, 5, 6, pid=12, **v3), _group(None, 10**9, 10**9 + 1, pid=12, **torch)) == [
        ["v3", "torch"]
    ]


def test_what_two_tools_recorded_of_several_programs_is_several_runs() -> None:
    v3 = {"clock": "boot", "tool": "rocprofv3", "kernels": "gemm add relu", "name": "v3"}
    torch = {"clock": "epoch", "tool": "torch.profiler", "name": "torch"}
    assert (
        len(_jobs(_group(None, 5, 6, **v3), _group(None, 10**9, 10**9 + 1, kernels="fft copy", **torch))) == 2
    )
    other_gpu = _group(None, 10**9, 10**9 + 1, kernels="gemm add relu", gfx="gfx90a", **torch)
    assert len(_jobs(_group(None, 5, 6, gfx="gfx942", **v3), other_gpu)) == 2


def test_one_tool_on_clocks_of_two_kinds_is_two_runs() -> None:
    """A version of torch that did not write its base time, and one that did: both run the same small kernel."""
    old, new = _group(None, 5, 6, clock="unknown", name="old"), _group(None, 10**9, 10**9 + 1, name="new")
    assert _jobs(old, new) == [["old"], ["new"]]


def test_two_machines_that_ran_other_kernels_or_on_other_days_are_two_runs() -> None:
    first = _group(None, 5, 6, host="a", clock="boot", name="x")
    assert len(_jobs(first, _group(None, 7, 8, host="b", clock="boot", kernels="other", name="y"))) == 2
    assert len(_jobs(first, _group(None, 7, 8, host="b", clock="boot", tool="rpd", name="y"))) == 2
    assert len(_jobs(first, _group(None, 7, 8, host="b", clock="boot", name="y"))) == 1
    dated = _group(None, 5, 6, host="a", name="x")
    assert len(_jobs(dated, _group(None, 100_000, 100_001, host="b", name="y"))) == 2


def test_boot_clocks_of_unknown_machines_overlap_by_chance() -> None:
    one = _group(None, 5, 9, clock="boot", tool="rocprofv3", kernels="gemm", name="x")
    assert len(_jobs(one, _group(None, 6, 8, clock="boot", tool="rpd", kernels="gemm add", name="y"))) == 1
    assert len(_jobs(one, _group(None, 6, 8, clock="boot", tool="rpd", kernels="fft", name="y"))) == 2


def test_two_recordings_of_a_rank_at_one_time_are_refused() -> None:
    with pytest.raises(InputError, match=r"a0\.json and b0\.json are both of rank 0"):
        require_one_of_each_rank([_group(0, 5, 7, name="a"), _group(0, 6, 8, name="b")])


def test_two_processes_of_a_rank_are_not_a_repetition() -> None:
    require_one_of_each_rank([_group(0, 5, 7, name="a", pid=10), _group(0, 6, 8, name="b", pid=11)])
