"""The ledger as a table: rows that add up to all of the judged time."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from rocm_perf.model.document import Document
from rocm_perf.model.quantity import Quantity
from rocm_perf.render.grid import GridColumn, Value
from rocm_perf.render.sections.ledger import idle_words, ledger_section
from rocm_perf.render.sections.section import Grid
from tests.recordings import sampled
from tests.unit.render.documents import H200, WORKLOADS, recorded, simulated
from tests.unit.render.ledgers import EXAMPLE, entry, kernel_entry, ledger


def column(grid: Grid, heading: str) -> GridColumn:
    return next(column for column in grid.columns if column.heading == heading)


def number(value: Value) -> float:
    if isinstance(value, Quantity):
        assert value.value is not None
        return value.value
    assert value is not None
    return value


def example() -> Document:
    """A document about the whole of a run, with the ledger made by hand."""
    return replace(simulated("sync_in_loop"), ledger=EXAMPLE, steady=False)


def test_small_entries_stand_together_above_the_sum() -> None:
    (grid,) = ledger_section(example(), 20).grids
    rows = list(
        zip(*(column(grid, name).cells for name in ("share", "time", "what", "known", "where")), strict=True)
    )
    assert rows == [
        ("40.0 %", "400 ns", "idle: host launches", "inferred", ""),
        ("30.0 %", "300 ns", "matrix products", "recorded", "gemm_a"),
        ("10.0 %", "100 ns", "matrix products", "recorded", "gemm_b"),
        ("8.5 %", "85 ns", "elementwise kernels", "recorded", "add"),
        ("6.0 %", "60 ns", "copies to the GPU", "recorded", ""),
        ("2.1 %", "21 ns", "idle: host waits for the GPU", "recorded", "hipStreamSynchronize"),
        ("1.5 %", "15 ns", "softmax", "recorded", "tiny"),
        ("1.0 %", "10 ns", "idle: nothing launched", "unknown", ""),
        ("0.5 %", "5 ns", "idle: MPI", "recorded", "MPI_Allreduce"),
        ("0.4 %", "4 ns", "1 other entry", "", ""),
        ("100.0 %", "1.00 us", "sum", "", ""),
    ]


def test_rows_beyond_the_top_are_among_the_others() -> None:
    (grid,) = ledger_section(example(), 2).grids
    assert column(grid, "what").cells == ["idle: host launches", "matrix products", "8 other entries", "sum"]
    assert column(grid, "time").cells == ["400 ns", "300 ns", "300 ns", "1.00 us"]


def test_times_are_those_of_a_mean_step_of_one_gpu() -> None:
    """Two GPUs with two steps of 500 ns each."""
    rows = (kernel_entry("k", 600), entry("idle", "launching", 400))
    document = simulated("sync_in_loop")
    steps = replace(document.phases, steps=2, step_ns=Quantity(500, "ns", "median"))
    told = replace(document, ledger=ledger(rows, rows), phases=steps, steady=True)
    (grid,) = ledger_section(told, 9).grids
    assert column(grid, "per step").cells == ["150 ns", "150 ns", "100 ns", "100 ns", "500 ns"]


def check_sums(document: Document) -> None:
    section = ledger_section(document, 20)
    if section.unavailable:
        return
    for name in ("share", "per step" if document.judged_steps else "time"):
        *parts, whole = [number(value) for value in column(section.grids[0], name).values]
        assert sum(parts) == pytest.approx(whole, rel=1e-9)
    assert number(column(section.grids[0], "share").values[-1]) == 1


@pytest.mark.parametrize("name", sampled(H200))
@pytest.mark.whole
def test_rows_of_recordings_add_up(name: str) -> None:
    check_sums(recorded(name))


@pytest.mark.parametrize("name", WORKLOADS)
def test_rows_of_simulated_runs_add_up(name: str) -> None:
    check_sums(simulated(name))


def test_gpus_that_differ_have_a_line_each() -> None:
    one = (kernel_entry("k", 600), entry("idle", "launching", 400))
    other = (kernel_entry("k", 900), entry("idle", "mpi", 100))
    document = simulated("sync_in_loop")
    (_, each) = ledger_section(replace(document, ledger=ledger(one, other)), 9).grids
    assert column(each, "kernels").cells == ["60.0 %", "90.0 %"]
    assert column(each, "idle").cells == ["40.0 %", "10.0 %"]
    assert column(each, "most idle time").cells == ["host launches", "MPI"]
    assert len(ledger_section(replace(document, ledger=ledger(one, one)), 9).grids) == 1


def test_idle_time_is_said_in_words_where_there_are_several_causes() -> None:
    assert idle_words(EXAMPLE) == (
        "host launches 40.0 %, host waits for the GPU 2.1 %, nothing launched 1.0 %, MPI 0.5 %"
    )
    assert idle_words(ledger((kernel_entry("k", 600), entry("idle", "launching", 400)))) == ""
    assert idle_words(replace(EXAMPLE, idle_unknown="the rest is the profiler's")) == ""
