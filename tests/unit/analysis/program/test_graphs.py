"""Graphs as units: with and without a capture."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.overview import examine
from rocm_perf.analysis.program.graphs import graphs
from rocm_perf.analysis.program.replays import graph_numbers
from rocm_perf.ingest.captures.adopt import adopt
from rocm_perf.model.trace import Trace
from rocm_perf.render.sections.graphs import graphs_section
from tests.unit.analysis.traces import kernel, trace
from tests.unit.graph_traces import capture, execution

LONG = [f"k{place}" for place in range(20)]
SHORT = ["a", "b"]


def test_a_graph_is_one_unit_with_its_launches_its_period_and_its_order() -> None:
    first, second = graphs(execution([LONG, SHORT, LONG, SHORT, LONG])).rows
    assert (first.launches, first.kernels, first.gpu_ns, first.replay_ns) == (3, 20, 600, 200.0)
    assert first.period_ns == 200 + 200 + 200 + 20  # a launch of each, with their pauses
    assert (second.launches, second.kernels, round(second.share, 4)) == (2, 2, round(40 / 640, 4))
    assert [(row.position, row.kernel, row.dispatches) for row in second.order] == [(1, "a", 1), (2, "b", 1)]


def test_it_says_who_launched_it() -> None:
    (graph,) = graphs(execution([LONG])).rows
    assert graph.call == "hipGraphLaunch"
    assert [(row.name, row.kind, row.launches) for row in graph.callers] == [
        ("serve.py(9): replay", "python", 1)
    ]


def test_a_replay_that_lost_a_kernel_is_still_of_its_graph() -> None:
    (graph,) = graphs(execution([LONG, LONG[:4] + LONG[5:], LONG])).rows
    assert (graph.launches, graph.incomplete, graph.kernels) == (3, 1, 20)


def test_graphs_of_another_order_are_others() -> None:
    assert graph_numbers([(1, 2, 3), (3, 2, 1), (1, 2, 3)]) == {(1, 2, 3): 0, (3, 2, 1): 1}


def test_where_the_recorder_numbers_graphs_the_number_counts() -> None:
    replays = execution([SHORT, SHORT, SHORT])
    numbered = replays.table("dispatches").with_columns(
        graph_id=pl.when(pl.col("correlation_id") == 2).then(pl.lit(501, pl.Int64)).otherwise(500)
    )
    tables = {name: replays.table(name) for name in replays} | {"dispatches": numbered}
    assert [row.launches for row in graphs(Trace(tables)).rows] == [2, 1]


def test_with_a_capture_its_kernels_have_operators() -> None:
    result = graphs(adopt(execution([LONG], size=4), [capture([LONG], size=4)]))
    (graph,) = result.rows
    assert graph.captured == ("capture_4_FULL",)
    assert graph.owned_ns == result.owned_ns == graph.gpu_ns
    assert [row.operator for row in graph.order[:2]] == ["op k0", "op k1"]


def test_without_replays_there_is_a_reason() -> None:
    assert graphs(trace(dispatches=[kernel("k", 0, 5)])).unavailable == "no replay of a graph was recorded"


def test_kernels_of_one_short_name_are_told_apart_by_the_shapes_of_their_operators() -> None:
    products = ["Cijk_Alik_Bljk_BBS_BH_MT32x32x256_SN", "Cijk_Alik_Bljk_BBS_BH_MT32x32x256_WG8"]
    recording = adopt(execution([products], size=4), [capture([products], size=4)])
    (graph,) = graphs(recording).rows
    assert [row.shapes for row in graph.order] == ["[[4, 0]]", "[[4, 1]]"]
    assert len({row.short_name for row in graph.order}) == 1
    (order,) = (grid for grid in graphs_section(examine(recording, "x"), 9).grids if "order" in grid.title)
    assert (order.columns[-1].heading, list(order.columns[-1].cells)) == ("shapes", ["4x0", "4x1"])
