from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rocm_perf.analysis.graph import Graph, build, forward, retimed_wall_ns, slack
from rocm_perf.analysis.graph.graph import START
from rocm_perf.analysis.path.changes import FasterKernels, SyncsRemoved
from rocm_perf.analysis.path.critical_path import critical_path, path_nodes
from rocm_perf.analysis.path.whatif import whatif
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


def test_kernels_of_one_stream_that_overlap_by_more_than_a_drain_are_not_in_its_order() -> None:
    rows = [kernel("a", 0, 50), kernel("b", 40, 70), kernel("c", 60, 90)]
    graph = build(trace(dispatches=rows))
    in_order = [(cause, effect) for _, rule, cause, effect in edges_of(graph) if rule == "stream"]
    assert in_order == [("kernel a", "kernel c")]
    assert graph.missing == ("no API calls: launches and waits of the host are not seen",)


def test_a_kernel_that_starts_while_the_one_before_drains_is_after_it() -> None:
    calls = [call("hipLaunchKernel", at, at + 5, at + 1, **PROCESS) for at in (0, 10, 20)]
    rows = [launched("a", 30, 1000, 1), launched("b", 1010, 500, 11), launched("c", 1500, 9, 21)]
    graph = build(trace(api_calls=calls, dispatches=rows))
    assert ("stream", "kernel a") in causes_of(graph, "kernel b")
    assert ("stream", "kernel b") in causes_of(graph, "kernel c")
    assert forward(graph).to_list() == graph.nodes["start_ns"].to_list()
    assert critical_path(graph).by_kind["kernel"] == 980 + 490 + 9
    assert whatif(graph, FasterKernels("a", 2)).saved_ns == 490


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


def test_what_has_no_stream_keeps_its_place_in_its_queue() -> None:
    """As kernels of a graph, of which no stream is recorded, among kernels of a stream that shares their queue."""
    graph = build(
        trace(
            api_calls=[call("hipLaunchKernel", at, at + 1, at + 1, **PROCESS) for at in (0, 2, 4)],
            dispatches=[
                dict(launched("a", 10, 10, 1), queue_id=3),
                dict(launched("b", 20, 30, 3), queue_id=3, stream_id=None),
                dict(launched("c", 50, 10, 5), queue_id=3),
                dict(launched("elsewhere", 10, 40, 1), queue_id=4, stream_id=None),
            ],
        )
    )
    in_order = {(rule, cause, effect) for kind, rule, cause, effect in edges_of(graph) if kind == "stream"}
    assert in_order == {("queue", "kernel a", "kernel b"), ("stream", "kernel b", "kernel c")}
    assert graph.missing[-1].startswith("2 items of the GPU without a stream")


def test_without_synchronisations_a_queue_still_takes_its_work() -> None:
    """Where the host waited for a kernel of a stream before it launched one of which no stream is recorded."""
    names = ["hipLaunchKernel", "hipStreamSynchronize"] * 2
    spans = [(0, 1), (2, 105), (106, 107), (108, 215)]
    graph = build(
        trace(
            api_calls=[
                call(name, *span, span[0], **PROCESS) for name, span in zip(names, spans, strict=True)
            ],
            dispatches=[
                dict(launched("a", 5, 95, 0), queue_id=3),
                dict(launched("b", 110, 100, 106), queue_id=3, stream_id=None),
            ],
        )
    )
    assert whatif(graph, SyncsRemoved()).wall_ns >= 195


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
    assert forward(graph).to_list() == graph.nodes["start_ns"].to_list()


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


def two_threads(last: int) -> Trace:
    """A GPU that is busy to 1030, its thread waiting, beside a thread with a call at 5 and one at `last`."""
    aside: dict[str, Any] = {"pid": 7, "tid": 2}
    calls = [
        call("cuDeviceGet", 5, 6, **aside),
        call("cuDriverGetVersion", last, last + 1, **aside),
        call("hipLaunchKernel", 0, 10, 1, **PROCESS),
        call("hipDeviceSynchronize", 12, 1040, **PROCESS),
    ]
    return trace(api_calls=calls, dispatches=[launched("a", 30, 1000, 1)])


@pytest.mark.parametrize("last", [1200, 500_000])
def test_the_silence_of_a_thread_that_nothing_waits_for_is_not_on_the_path(last: int) -> None:
    graph = build(two_threads(last))
    path = critical_path(graph)
    assert path.total_ns == path.wall_ns == graph.wall_ns == last + 1
    assert path.by_kind["kernel"] == 1000
    assert path.by_kind["unrecorded"] == last + 1 - 1040
    assert whatif(graph, FasterKernels("a", 4)).saved_ns == 750


def test_where_no_thread_works_with_a_gpu_every_thread_counts() -> None:
    calls = [call("hipInit", 0, 5, **PROCESS), call("hipInit", 50, 80, pid=7, tid=2)]
    assert critical_path(build(trace(api_calls=calls))).by_kind == {"api": 30, "host": 50}


def several_streams() -> list[dict[str, object]]:
    """A chain of long kernels on one stream, a short one on another just before the end of each; no calls."""
    long = [kernel("long", at, at + 99_000, stream_id=1) for at in range(0, 1_000_000, 100_000)]
    short = [kernel("short", at + 97_000, at + 99_500, stream_id=2) for at in range(0, 1_000_000, 100_000)]
    return [dict(row) for row in (*long, *short)]


def test_of_kernels_alone_the_running_one_owns_the_time() -> None:
    graph = build(trace(dispatches=several_streams()))
    path = critical_path(graph)
    share = {row.kernel: row.critical_path_score for row in path.by_kernel}
    assert share["long"] > 0.96
    assert any("order of streams is assumed" in line for line in path.missing)
    assert any(edge.known.startswith("assumed") for edge in path.edges)
    assert whatif(graph, FasterKernels("long", 2)).saved_ns == pytest.approx(485_000, rel=0.03)


def test_what_finds_room_while_another_stream_drains_waits_for_it() -> None:
    calls = [call("hipLaunchKernel", at, at + 5, at + 1, **PROCESS) for at in (0, 100, 200, 210)]
    rows = [
        launched("first", 10, 10, 1),
        launched("wide", 110, 1_000_000, 101),
        launched("first", 210, 10, 201, stream=2),
        launched("narrow", 950_110, 100_000, 211, stream=1),
    ]
    graph = build(trace(api_calls=calls, dispatches=rows))
    assert ("capacity", "kernel wide") in causes_of(graph, "kernel narrow")
    assert whatif(graph, FasterKernels("wide", 4)).wall_ns == 110 + 250_000 - 12_500 + 100_000


def test_a_wait_that_was_timed_on_the_host_alone_holds_the_next_launch_of_its_stream() -> None:
    calls = [
        call("cudaLaunchKernel", 0, 5, 1, **PROCESS),
        call("cudaEventRecord", 6, 7, **PROCESS),
        call("cudaLaunchKernel", 8, 9, 2, **PROCESS),
        call("cudaStreamWaitEvent", 10, 12, **PROCESS),
        call("cudaLaunchKernel", 13, 15, 3, **PROCESS),
    ]
    rows = [launched("a", 20, 100, 1), launched("b", 121, 500, 2), launched("c", 125, 10, 3, stream=4)]
    wait = {"kind": "event", "cause_track": 0, "effect_ns": 11, "effect_track": 4, "known": "recorded"}
    graph = build(trace(api_calls=calls, dispatches=rows, links=[wait]))
    assert ("event", "event", "kernel a", "kernel c") in edges_of(graph)
    assert ("event", "kernel b") not in causes_of(graph, "kernel c")


@given(workloads())
def test_the_graph_reproduces_the_recording(workload: Workload) -> None:
    made = record(simulate(workload, GPU))
    graph = build(made)
    assert graph.wall_ns == (wall_ns(made) or 0)
    assert forward(graph).to_list() == graph.nodes["start_ns"].to_list()
    assert (graph.edges["cause"] < graph.edges["effect"]).all()
    assert graph.edges.filter("binding").height == graph.nodes.height - 1


@given(workloads(), st.data())
def test_slack_is_what_a_node_can_be_late(workload: Workload, data: st.DataObject) -> None:
    graph = build(recorded(workload))
    free = slack(graph)
    assert free.min() >= 0  # type: ignore[operator]
    path = path_nodes(graph)
    assert free.gather(path).max() == 0
    node = data.draw(st.sampled_from(before_the_end(graph)))
    longer = with_duration(graph, node, graph.nodes["duration_ns"][node] + free[node])
    assert retimed_wall_ns(longer) == graph.wall_ns
    beyond = with_duration(graph, node, graph.nodes["duration_ns"][node] + free[node] + 1)
    assert retimed_wall_ns(beyond) == graph.wall_ns + 1
    if node not in path:
        assert retimed_wall_ns(with_duration(graph, node, 0)) == graph.wall_ns


def before_the_end(graph: Graph) -> list[int]:
    """The nodes that the end waits for, the start in any case."""
    waited_for = {START, graph.nodes.height - 1}
    for cause, effect in reversed(graph.edges.select("cause", "effect").rows()):
        if effect in waited_for:
            waited_for.add(cause)
    return sorted(waited_for - {graph.nodes.height - 1})


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
