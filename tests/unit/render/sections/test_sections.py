"""Every section of every document: something to read, or one line that says why not."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.analysis.overview import overview
from rocm_perf.errors import UsageError
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding
from rocm_perf.model.quantity import Quantity
from rocm_perf.model.results.whatif import Projection
from rocm_perf.render.sections.idle import gaps_section, idle_line, sync_section
from rocm_perf.render.sections.index import SECTIONS, chosen
from rocm_perf.render.sections.kernels import kernels_section, steps_section
from rocm_perf.render.sections.operators import operators_section
from rocm_perf.render.sections.path import path_section, projections_section
from rocm_perf.render.sections.roofline import roofline_section
from rocm_perf.render.sections.section import Grid, Section, grids, number, rate, spark, text, worth
from rocm_perf.render.sections.verdicts import sanity_section
from tests.recordings import answer, sampled
from tests.unit.analysis.traces import call, kernel, trace
from tests.unit.render.documents import H200, SPECIMENS, WORKLOADS, recorded, simulated


def column(grid: Grid, heading: str) -> list[str]:
    return [*next(column.cells for column in grid.columns if column.heading == heading)]


def texts(section: Section) -> Iterator[str]:
    """Everything that is read in a section."""
    yield from (*section.lines, *section.notes)
    for item in section.items:
        yield from (item.title, *item.details, item.command)
    for grid in section.grids:
        for column in grid.columns:
            yield from column.cells


def check(document: Document) -> None:
    """A reason excludes everything else; tables are filled and rectangular."""
    for name, describe in SECTIONS.items():
        section = describe(document, 20)
        body = (section.lines, section.items, section.grids)
        assert any(body) != bool(section.unavailable), name
        assert not {"nan", "inf", "None"} & {word for line in texts(section) for word in line.split()}, name
        for grid in section.grids:
            assert len({len(column.cells) for column in grid.columns}) == 1, name
            assert len(grid.columns[0].cells) > 0, name
            assert grid.left_out >= 0, name


@pytest.mark.parametrize("name", WORKLOADS)
def test_sections_of_simulated_runs(name: str) -> None:
    check(simulated(name))


@pytest.mark.parametrize("name", sampled(H200))
def test_sections_of_recordings(name: str) -> None:
    check(recorded(name))


@pytest.mark.parametrize("name", sampled(SPECIMENS))
def test_sections_of_specimens(specimens: Path, name: str) -> None:
    check(answer(specimens / name))


def test_sections_of_an_empty_recording() -> None:
    check(overview(trace(), "empty"))


def test_gaps_are_told_by_cause() -> None:
    document = simulated("sync_in_loop")
    assert idle_line(document.gaps).startswith("host sync 46 %, launch latency 31 %")
    section = gaps_section(document, 3)
    by_cause = next(grid for grid in section.grids if grid.title == "By cause")
    assert column(by_cause, "cause")[0] == "host sync"
    worst = next(grid for grid in section.grids if grid.title == "Longest gaps")
    assert len(column(worst, "length")) == 3
    assert worst.left_out == len(document.gaps.worst) - 3


def test_waiting_is_split_into_useful_and_lost() -> None:
    section = sync_section(simulated("sync_in_loop"), 5)
    assert "360 synchronising calls" in section.lines[0]
    by_function = next(grid for grid in section.grids if grid.title == "By function")
    assert column(by_function, "name") == ["hipStreamSynchronize"]


def test_kernels_show_their_part_of_the_path() -> None:
    document = simulated("sync_in_loop")
    (grid,) = kernels_section(document, 2).grids
    assert column(grid, "path")[0] == "10.5 %"
    assert grid.left_out == document.hotspots.kernels - 2


def test_path_by_kind_sums_to_the_wall() -> None:
    document = simulated("sync_in_loop")
    section = path_section(document, 5)
    assert "It repeats 59 times" in section.lines[1]
    assert section.grids[0].title == "By kind"
    assert sum(document.path.by_kind.values()) == document.path.total_ns


def projection(change: str, wall_ns: int, *assumptions: str) -> Projection:
    return Projection(change, wall_ns, 100, 100 - wall_ns, Quantity(100 / wall_ns, "x", "f"), assumptions)


def test_projections_name_the_change_and_what_it_rests_on() -> None:
    changes = (
        projection("waits gone", 40, "own", "both"),
        projection("fused", 80, "both", "its own"),
    )
    nothing = projection("captured", 100, "both")
    document = msgspec.structs.replace(overview(trace(), "x"), projections=(*changes, nothing))
    first, second, shared = projections_section(document, 5).items
    assert (first.title, first.details) == ("waits gone: 40 ns, 2.50x", ("own",))
    assert (second.title, second.details) == ("fused: 80 ns, 1.25x", ("its own",))
    assert shared.details == ("both",)
    alone = msgspec.structs.replace(document, projections=(nothing,))
    assert projections_section(alone, 5).unavailable == "would save nothing: captured"


def test_the_projection_of_a_simulated_loop() -> None:
    titles = [item.title for item in projections_section(simulated("sync_in_loop"), 5).items]
    assert "synchronisations hoisted: 2.89 ms, 2.43x" in titles


def test_steps_and_what_fusing_would_save() -> None:
    section = steps_section(simulated("slivers"), 5)
    assert "found by" in section.lines[0]
    assert any("saves at most" in line for line in section.lines)
    assert " > " in column(section.grids[0], "sequence")[0]
    assert simulated("slivers").slivers.basis in section.notes


def test_how_fusing_is_judged_is_said_only_where_there_is_something_to_fuse() -> None:
    document = simulated("slivers")
    nothing = msgspec.structs.replace(document.slivers, rows=())
    assert steps_section(msgspec.structs.replace(document, slivers=nothing), 5).notes == ()


def test_an_empty_recording_has_nothing_that_could_be_checked() -> None:
    assert sanity_section(overview(trace(), "empty"), 5).unavailable
    assert sanity_section(simulated("slivers"), 5).lines


def test_operators_are_a_tree() -> None:
    document = recorded("eager_sync.json.gz")
    tree = operators_section(document, 5).grids[0]
    names = column(tree, "operator")
    depths = [(len(name) - len(name.lstrip())) // 2 for name in names]
    assert depths[0] == 0
    assert set(depths) == {0, 1, 2, 3}
    assert all(after <= before + 1 for before, after in pairwise(depths))


def test_roofline_shows_peaks_and_kernels() -> None:
    section = roofline_section(recorded("ncu_raw.csv"), 5)
    kernels = next(grid for grid in section.grids if grid.title == "Kernels")
    assert column(kernels, "kernel") == ["vector_add", "softmax_rows"]
    assert column(kernels, "regime") == ["memory: HBM", "memory: HBM"]


def test_roofline_says_why_work_is_not_known() -> None:
    agent = {"agent_id": 0, "kind": "GPU", "gfx": "gfx942", "name": "AMD Instinct MI300X", "cu_count": 304}
    add = {"category": "operator", "name": "aten::add", "start_ns": 0, "end_ns": 100, "tid": 1}
    shapes = {"shapes": "[[4096],[4096],[]]", "dtypes": '["float","float","Scalar"]'}
    ran = [
        kernel("elementwise", 1_000, 2_000, correlation_id=1, dispatch_id=1),
        kernel("slow", 3_000, 12_000, dispatch_id=2),
        kernel("short", 13_000, 13_050, dispatch_id=3),
    ]
    launched = [call("hipLaunchKernel", 10, 20, 1, tid=1)]
    document = overview(
        trace(agents=[agent], ops=[{**add, **shapes}], api_calls=launched, dispatches=ran), "made"
    )
    known, unknown = roofline_section(document, 5).lines
    assert known.startswith("Work is known for 1 of 3 kernels")
    assert unknown == (
        "Not known for 90.0 % of the kernel time: it was launched by no operator that is recorded (slow, short)."
    )


def test_all_and_unknown_names() -> None:
    assert chosen(["gaps", "sync", "gaps"]) == ["gaps", "sync"]
    assert chosen(["gaps", "all"]) == list(SECTIONS)
    with pytest.raises(
        UsageError, match=r"no section 'gap'. Did you mean gaps\? Sections: findings, .*gaps.*, all"
    ):
        chosen(["gap"])
    with pytest.raises(UsageError, match="no section was named"):
        chosen([])


def test_columns_without_a_value_are_left_out() -> None:
    (grid,) = grids("", [1, 2, 3], (number("n", str), text("none", lambda _: "-")), 2)
    assert [column.heading for column in grid.columns] == ["n"]
    assert grid.left_out == 1
    assert grids("", [], (number("n", str),)) == ()


def test_a_bound_is_called_at_most() -> None:
    gain = Quantity(2.0, "x", "recorded wall_ns / projected wall_ns")
    finding = Finding("x", "info", "t", time_at_stake_ns=1500, projected_speedup=gain)
    assert worth(finding) == "1.50 us at stake, projected 2.00x"
    bound = msgspec.structs.replace(gain, formula="window_ns / busy_ns: what it would gain at most")
    assert worth(msgspec.structs.replace(finding, projected_speedup=bound)).endswith("at most 2.00x")
    assert worth(Finding("x", "info", "t")) == ""
    assert worth(Finding("x", "info", "t", time_at_stake_ns=0)) == ""


def test_a_doubted_number_has_a_question_mark() -> None:
    assert rate(Quantity(104.5, "%", "f", doubt="above its peak")) == "104?"
    assert (rate(0.0001), rate(12345.6), rate(None), rate(0.0)) == ("<0.001", "12,346", "-", "0")


@given(st.lists(st.integers(0, 10**9), max_size=200), st.integers(1, 80))
def test_sparks_fit_and_show_the_peak(values: list[int], width: int) -> None:
    line = spark(values, width)
    if not any(values):
        assert line == ""
        return
    assert len(line) == min(width, len(values))
    assert "█" in line


def test_a_section_without_an_answer_keeps_the_reason() -> None:
    waits = [call("hipLaunchKernel", 0, 5, 1)]
    document = overview(trace(dispatches=[kernel("k", 10, 20, correlation_id=1)], api_calls=waits), "x")
    section: Section = SECTIONS["energy"](document, 5)
    assert section.unavailable is not None
    assert "no power was read" in section.unavailable
