from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.analysis.graph import Graph, build, forward, retimed_wall_ns, slack
from rocm_perf.analysis.path.critical_path import path_nodes
from rocm_perf.analysis.time.busy import wall_ns
from rocm_perf.model.trace import Trace
from rocm_perf.sim.engine import simulate
from rocm_perf.sim.gpu import find_gpu
from rocm_perf.sim.record import record
from rocm_perf.sim.steps import Workload
from tests.sim.recorded import recorded
from tests.sim.strategies import workloads
from tests.unit.analysis.traces import call, kernel, trace
from tests.unit.sim.runs import run_steps, thread

GPU = find_gpu("sim:MI300X")
PROCESS: dict[str, Any] = {"pid": 7, "tid": 1}


def edges_of(graph: Graph) -> list[tuple[str, str, str, str]]:
    """Kind, rule, cause and effect of every edge that says something; names stand for nodes."""
    names = graph.nodes.select(
        pl.col("kind").cast(pl.String) + " " + pl.col("name").cast(pl.String)
    ).to_series()
    edges = graph.edges.select(
        pl.col("kind").cast(pl.String),
        pl.col("rule").cast(pl.String),
        cause=names.gather(graph.edges["cause"]),
        effect=names.gather(graph.edges["effect"]),
    )
    return [row for row in edges.rows() if row[0] not in ("end", "call")]


def causes_of(graph: Graph, effect: str) -> set[tuple[str, str]]:
    return {(kind, cause) for kind, _, cause, to in edges_of(graph) if to == effect}


def launched(name: str, start: int, length: int, correlation: int, stream: int = 0) -> dict[str, object]:
    more = {"correlation_id": correlation, "stream_id": stream, "pid": 7}
    return dict(kernel(name, start, start + length, **more))


def test_a_launch_and_its_stream() -> None:
    graph = build(
        trace(
            api_calls=[
                call("hipLaunchKernel", 0, 5, 1, **PROCESS),
                call("hipLaunchKernel", 10, 15, 2, **PROCESS),
            ],
            dispatches=[launched("a", 20, 30, 1), launched("b", 60, 10, 2)],
        )
    )
    assert ("program", "thread", "api hipLaunchKernel", "api hipLaunchKernel") in edges_of(graph)
    assert causes_of(graph, "kernel a") == {("launch", "api hipLaunchKernel")}
    assert causes_of(graph, "kernel b") == {("launch", "api hipLaunchKernel"), ("stream", "kernel a")}
    assert graph.wall_ns == 70
    assert graph.missing == ()


def test_kernels_of_one_stream_that_overlap_have_no_edge() -> None:
    rows = [kernel("a", 0, 50), kernel("b", 40, 70), kernel("c", 60, 90)]
    graph = build(trace(dispatches=rows))
    assert [(cause, effect) for kind, _, cause, effect in edges_of(graph) if kind == "stream"] == [
        ("kernel a", "kernel c")
    ]
    assert graph.missing == ("no API calls: launches and waits of the host are not seen",)


def test_a_call_within_another_is_part_of_it() -> None:
    calls = [
        call("hipLaunchKernel", 0, 20, **PROCESS),
        call("hsa_signal_store", 5, 10, 3, domain="hsa", **PROCESS),
    ]
    graph = build(trace(api_calls=calls, dispatches=[launched("a", 30, 5, 3)]))
    assert causes_of(graph, "kernel a") == {("launch", "api hipLaunchKernel")}
    assert graph.nodes.filter(pl.col("kind") == "api").height == 1


def test_queues_stand_in_for_streams() -> None:
    rows = [kernel("a", 0, 5, stream_id=None, queue_id=1), kernel("b", 9, 12, stream_id=None, queue_id=1)]
    graph = build(trace(dispatches=rows))
    assert [rule for kind, rule, _, _ in edges_of(graph) if kind == "stream"] == ["queue"]
    assert any("without a stream" in line for line in graph.missing)


def test_clock_domains_start_together_and_do_not_touch() -> None:
    rows = [kernel("a", 1000, 1050), kernel("b", 5, 25, node=1), kernel("c", 30, 65, node=1)]
    graph = build(trace(dispatches=rows))
    assert graph.wall_ns == 60
    starts = dict(graph.nodes.select(pl.col("name").cast(pl.String), "start_ns").iter_rows())
    assert (starts["a"], starts["b"], starts["c"]) == (0, 0, 25)
    assert any("clocks" in line for line in graph.missing)


def test_operators_stand_in_for_calls() -> None:
    ops = [
        {"name": name, "category": "operator", "start_ns": start, "end_ns": end, **PROCESS}
        for name, start, end in (("outer", 0, 50), ("inner", 10, 20), ("next", 60, 80))
    ]
    graph = build(trace(ops=ops))
    assert causes_of(graph, "op next") == {("program", "op outer")}
    assert graph.wall_ns == 80
    assert graph.missing[0].startswith("no timed kernels")


def test_nothing_recorded_is_a_graph_of_nothing() -> None:
    graph = build(Trace({}))
    assert graph.empty
    assert (graph.wall_ns, retimed_wall_ns(graph)) == (0, 0)


def test_a_wait_for_the_device_waits_for_every_stream() -> None:
    steps = '{launch = "small"}, {launch = "small", stream = "s"}, {sync = "device"}'
    graph = build(record(run_steps(steps)))
    assert [rule for kind, rule, _, _ in edges_of(graph) if kind == "sync"] == ["device sync"] * 2


def test_a_wait_for_a_stream_waits_for_the_one_that_explains_its_return() -> None:
    steps = '{launch = "small", stream = "s"}, {launch = "big"}, {sync = "stream", stream = "s"}, {cpu = "x", us = 50}'
    graph = build(record(run_steps(steps)))
    assert [cause for kind, _, cause, _ in edges_of(graph) if kind == "sync"] == ["kernel small"]


def test_work_that_ends_while_a_call_returns_is_not_what_it_waited_for() -> None:
    alone = '{launch = "small", stream = "s"}, {sync = "stream", stream = "s"}'
    steps = f'{alone}, {alone}, {alone}, {{launch = "small", stream = "s"}}, {{launch = "small"}}'
    graph = build(record(run_steps(steps + ', {sync = "stream", stream = "s"}')))
    waits = graph.edges.filter(pl.col("kind") == "sync")
    assert waits.height == 4
    assert graph.nodes["lane"].gather(waits["cause"]).n_unique() == 1


def test_an_event_holds_the_other_stream() -> None:
    steps = '{launch = "big", stream = "s"}, {record = "e", stream = "s"}, {wait = "e"}, {launch = "small"}'
    graph = build(record(run_steps(steps)))
    assert ("event", "kernel big") in causes_of(graph, "kernel small")
    without = record(run_steps(steps))
    tables = {name: without.table(name) for name in without if name != "links"}
    inferred = build(Trace(tables))
    assert ("event", "wait", "kernel big", "kernel small") in edges_of(inferred)
    assert any("inferred from times" in line for line in inferred.missing)


def test_a_kernel_that_finds_no_room_waits_for_the_one_that_leaves() -> None:
    graph = build(record(run_steps('{launch = "big"}, {launch = "big", stream = "s"}')))
    assert [(rule, cause) for kind, rule, cause, _ in edges_of(graph) if kind == "capacity"] == [
        ("room", "kernel big")
    ]


def test_a_blocking_copy_holds_its_call_and_an_asynchronous_one_does_not() -> None:
    blocking = build(
        record(run_steps('{copy = "H2D", bytes = 1000000, blocking = true}, {launch = "small"}'))
    )
    assert ("sync", "own copy", "copy H2D", "return hipMemcpy") in edges_of(blocking)
    free = build(record(run_steps('{copy = "H2D", bytes = 1000000}, {launch = "small"}')))
    assert not [edge for edge in edges_of(free) if edge[0] == "sync"]


def test_ranks_meet_in_a_collective() -> None:
    steps = '{{cpu = "load", us = {}}}, {{collective = "all_reduce", bytes = 50000}}, {{sync = "device"}}'
    graph = build(record(run_steps(thread(steps.format(10), 0), thread(steps.format(500), 1))))
    counts = dict(graph.nodes["kind"].cast(pl.String).value_counts().iter_rows())
    assert (counts["arrival"], counts["meeting"], counts["collective"]) == (2, 1, 2)
    waits = slack(graph).filter(graph.nodes["kind"] == "arrival").sort()
    assert waits.to_list() == [0, 490_000]


def test_a_graph_launch_holds_its_first_kernel() -> None:
    graph = build(
        trace(
            api_calls=[call("hipGraphLaunch", 0, 40, 1, **PROCESS)],
            dispatches=[launched(name, start, 10, 1) for name, start in (("a", 20), ("b", 31), ("c", 45))],
        )
    )
    assert [effect for kind, _, _, effect in edges_of(graph) if kind == "launch"] == ["kernel a"]
    assert forward(graph) == graph.nodes["start_ns"].to_list()


def test_work_launched_before_the_recording_is_waited_for() -> None:
    early = dict(kernel("early", 10, 200, correlation_id=99, pid=7))
    late = launched("late", 400, 10, 5)
    calls = [
        call("hipDeviceSynchronize", 5, 206, 1, **PROCESS),
        call("hipLaunchKernel", 300, 310, 5, **PROCESS),
    ]
    graph = build(trace(api_calls=calls, dispatches=[early, late]))
    assert ("sync", "kernel early") in causes_of(graph, "return hipDeviceSynchronize")
    assert any("without a recorded launch" in line for line in graph.missing)


@given(workloads())
def test_the_graph_reproduces_the_recording(workload: Workload) -> None:
    made = record(simulate(workload, GPU))
    graph = build(made)
    assert graph.wall_ns == (wall_ns(made) or 0)
    assert forward(graph) == graph.nodes["start_ns"].to_list()
    assert (graph.edges["cause"] < graph.edges["effect"]).all()
    assert graph.edges.filter("binding").height == graph.nodes.height - 1


@given(workloads(), st.data())
def test_slack_is_what_a_node_can_be_late(workload: Workload, data: st.DataObject) -> None:
    graph = build(recorded(workload))
    free = slack(graph)
    assert free.min() >= 0  # type: ignore[operator]
    path = path_nodes(graph)
    assert free.gather(path).max() == 0
    node = data.draw(st.integers(0, graph.nodes.height - 2))  # any but the end
    longer = with_duration(graph, node, graph.nodes["duration_ns"][node] + free[node])
    assert retimed_wall_ns(longer) == graph.wall_ns
    beyond = with_duration(graph, node, graph.nodes["duration_ns"][node] + free[node] + 1)
    assert retimed_wall_ns(beyond) == graph.wall_ns + 1
    if node not in path:
        assert retimed_wall_ns(with_duration(graph, node, 0)) == graph.wall_ns


def with_duration(graph: Graph, node: int, duration_ns: int) -> Graph:
    durations = graph.nodes["duration_ns"].to_list()
    durations[node] = duration_ns
    return replace(graph, nodes=graph.nodes.with_columns(duration_ns=pl.Series(durations)))


@pytest.mark.parametrize("table", ["api_calls", "links", "ranges", "ops", "copies"])
def test_a_recording_without_a_table_still_gives_a_graph(table: str) -> None:
    ranged = '{push = "r"}, {copy = "H2D", bytes = 9}, {launch = "big"}, {cpu = "x", us = 3}, {pop = true}'
    whole = record(run_steps(ranged + ', {sync = "device"}'))
    graph = build(Trace({name: whole.table(name) for name in whole if name != table}))
    assert retimed_wall_ns(graph) == graph.wall_ns > 0
