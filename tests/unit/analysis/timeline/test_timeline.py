"""The timeline says what the recording and the document say, event by event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl
import pytest
from hypothesis import given

from rocm_perf.analysis.overview import examine, overview
from rocm_perf.analysis.timeline.build import timeline
from rocm_perf.model.document import Document
from rocm_perf.model.results.gaps import CAUSE_NAMES
from rocm_perf.model.results.timeline import Timeline, Track
from rocm_perf.model.trace import Trace
from rocm_perf.sim.steps import Workload
from rocm_perf.sim.workload import parse_workload
from tests.sim.recorded import recorded, small
from tests.sim.strategies import workloads
from tests.unit.analysis.traces import Row, call, kernel, trace

GPU_WORK = ("queue", "copies")


def drawn(recording: Trace, document: Document | None = None, **options: int) -> Timeline:
    shown = timeline(recording, document or overview(recording, "test"), **options)
    assert shown is not None
    return shown


def tracks(shown: Timeline, *kinds: str) -> Iterator[tuple[Track, pl.DataFrame]]:
    for track in shown.tracks:
        if track.kind in kinds:
            yield track, shown.slices_of(track)


def names(shown: Timeline, slices: pl.DataFrame) -> list[str]:
    return [shown.names[number] for number in slices["name"]]


def detail(shown: Timeline, track: Track, label: str) -> list[Any]:
    """What is known under a label of the slices of a track, texts as texts."""
    for known in shown.details:
        place = track.first - known.first
        if known.label == label and 0 <= place < known.values.len():
            values = known.values.slice(place, track.length).to_list()
            return [shown.names[value] if known.is_text and value is not None else value for value in values]
    return [None] * track.length


def lengths(frame: pl.DataFrame, by: Sequence[str]) -> list[tuple[int, int]]:
    """Count and summed time of each group, without saying which it is."""
    length = (pl.col("end_ns") - pl.col("start_ns")).sum()
    return sorted(frame.group_by(by).agg(pl.len(), length).select("len", "end_ns").iter_rows())


@given(workloads())
@pytest.mark.whole
def test_it_says_what_the_recording_and_the_document_say(workload: Workload) -> None:
    recording = recorded(workload)
    document = examine(recording, "test")
    shown = drawn(recording, document)
    check_queues(shown, recording)
    check_flows(shown, recording)
    check_gaps(shown, document)
    check_path(shown, document)
    check_lines(shown)


def check_queues(shown: Timeline, recording: Trace) -> None:
    """Every kernel and every copy is in one slice of its queue."""
    for kind, table in zip(GPU_WORK, ("dispatches", "copies"), strict=True):
        rows = recording.table(table)
        own = [slices for _, slices in tracks(shown, kind)]
        assert sum(int(slices["count"].sum()) for slices in own) == rows.height
        sums = sorted((slices.height, int(slices["busy_ns"].sum())) for slices in own)
        assert sums == lengths(rows, ["node", "agent_id", "queue_id", "stream_id"])


def check_flows(shown: Timeline, recording: Trace) -> None:
    """Flows lead from the call to the work that has its correlation id."""
    columns = ("pid", "correlation_id", "start_ns")
    calls = recording.table("api_calls").sort("start_ns", descending=True).select(columns)
    called = {(pid, correlation): start for pid, correlation, start in calls.iter_rows()}
    work = pl.concat([recording.table(name).select(columns) for name in ("dispatches", "copies")])
    expected = Counter(
        (called[pid, correlation] - shown.begin_ns, start - shown.begin_ns)
        for pid, correlation, start in work.iter_rows()
        if (pid, correlation) in called
    )
    starts = shown.slices["start_ns"]
    assert Counter((starts[cause], starts[effect]) for cause, effect in shown.flows.iter_rows()) == expected


def check_gaps(shown: Timeline, document: Document) -> None:
    """The causes of each gap sum to it, the longest one names it, and all together they are the document's."""
    totals: Counter[str] = Counter()
    for track, slices in tracks(shown, "gaps"):
        known = {words: detail(shown, track, words) for words in CAUSE_NAMES.values()}
        for place, (name, length) in enumerate(zip(names(shown, slices), slices["busy_ns"], strict=True)):
            parts = {words: values[place] for words, values in known.items() if values[place]}
            assert sum(parts.values()) == length
            assert parts[name] == max(parts.values())
            totals.update(parts)
    assert totals == {CAUSE_NAMES[row.cause]: row.total_ns for row in document.gaps.causes}


def check_path(shown: Timeline, document: Document) -> None:
    """The links follow one another and sum to the path; its kernels are marked where they ran."""
    links = [slices for _, slices in tracks(shown, "path")]
    assert sum(int(slices["busy_ns"].sum()) for slices in links) == document.path.total_ns
    for slices in links:
        assert slices["end_ns"][:-1].to_list() == slices["start_ns"][1:].to_list()
    marked = {name for _, slices in tracks(shown, "queue") for name in names(shown, slices.filter("on_path"))}
    assert {row.kernel for row in document.path.by_kernel if row.path_ns} <= marked


def check_lines(shown: Timeline) -> None:
    """Slices are in the order of time, and none covers another on its line."""
    for _, slices in tracks(shown, *GPU_WORK, "thread", "ranges", "gaps", "path", "phases"):
        assert slices["start_ns"].is_sorted()
        assert (slices["end_ns"] <= shown.length_ns).all()
        for line in slices.partition_by("depth"):
            assert (line["end_ns"][:-1] <= line["start_ns"][1:]).all()


def loop() -> Trace:
    """A long start, then a loop of 20 steps."""
    steps = '{launch = "k"}, {sync = "stream"}, {cpu = "prepare", us = 4}'
    return recorded(
        parse_workload(
            "[kernel.k]\nduration_us = 10.0\n[kernel.once]\nduration_us = 50.0\n[[thread]]\n"
            'steps = [{launch = "once"}, {sync = "device"}, {cpu = "load", us = 500}, '
            f"{{repeat = 20, steps = [{steps}]}}]"
        )
    )


def test_the_judged_part_of_a_loop() -> None:
    recording = loop()
    document = examine(recording, "test")
    shown = drawn(recording, document)
    judged = document.phases.judged
    assert judged is not None
    assert shown.judged == (judged.start_ns, judged.end_ns)
    assert shown.steps.len() >= document.phases.steps > 3
    assert shown.steps.is_between(*shown.judged).sum() >= document.phases.steps
    ((track, slices),) = tracks(shown, "phases")
    assert (track.group, names(shown, slices)) == ("Recording", [row.name for row in document.phases.rows])
    for _, slices in tracks(shown, "gaps", "path"):
        assert slices["start_ns"].min() >= judged.start_ns  # type: ignore[operator]
        assert slices["end_ns"].max() <= shown.length_ns  # type: ignore[operator]


def test_a_kernel_of_the_judged_part_is_marked_where_it_is() -> None:
    """Rows of the judged part are not rows of the recording: the first kernel comes before it."""
    recording = loop()
    shown = drawn(recording, examine(recording, "test"))
    assert shown.judged is not None
    ((_, slices),) = tracks(shown, "queue")
    marked = slices.filter("on_path")
    assert marked.height
    assert marked["start_ns"].is_between(*shown.judged).all()


def test_what_is_known_of_a_kernel_and_of_a_copy() -> None:
    shown = drawn(small())
    ((track, _),) = tracks(shown, "queue")
    assert detail(shown, track, "LDS of a workgroup") == [700]
    assert str(detail(shown, track, "workgroup")[0]).count(" x ") == 2
    ((track, slices),) = tracks(shown, "copies")
    assert (names(shown, slices), detail(shown, track, "size")) == (["copy H2D"], [64])
    assert 'void f<int, 3>(char const*, "x")' in shown.names
    assert "f" in shown.labels


def test_what_is_known_of_a_collective() -> None:
    where = {"pid": 7, "agent_id": 0, "start_ns": 20, "end_ns": 90}
    recording = trace(
        dispatches=[kernel("k", 0, 10, pid=7), kernel("nccl", 20, 90, pid=7)],
        collectives=[{"name": "all_reduce", "size_bytes": 4096, "group": "default", **where}],
    )
    shown = drawn(recording)
    ((track, _),) = tracks(shown, "queue")
    assert detail(shown, track, "collective") == [None, "all_reduce"]
    assert detail(shown, track, "input of this rank") == [None, 4096]


def test_memory_in_use_from_allocations() -> None:
    recording = small()
    document = overview(recording, "test")
    shown = drawn(recording, document)
    (track,) = (track for track in shown.tracks if track.title.startswith("allocated memory"))
    values = shown.readings["value"].slice(track.first, track.length)
    assert track.unit == "B"
    assert values.max() == document.memory.rows[0].peak_bytes == 1024
    assert values[-1] == document.memory.rows[0].last_bytes


def sample(time: int, metric: str, value: float, **more: object) -> Row:
    return {"time_ns": time, "metric": metric, "value": value, "unit": "W", "agent_id": 0, **more}


def test_readings_beside_the_work_and_their_gpu() -> None:
    """A sensor counts GPUs from 0, where the profiler's first one is agent 4. Earlier and later readings go."""
    recording = trace(
        dispatches=[kernel("k", 1000, 2000, agent_id=4)],
        agents=[{"agent_id": 4, "kind": "GPU", "logical_index": 0, "gfx": "gfx942"}],
        samples=[sample(time, "power_w", time / 10) for time in (0, 1000, 1500, 2000, 9000)],
    )
    shown = drawn(recording)
    (track,) = (track for track in shown.tracks if track.kind == "counter")
    assert (track.group, track.title, track.unit) == ("GPU 4 (gfx942)", "power", "W")
    assert shown.readings.rows() == [(0, 100.0), (500, 150.0), (1000, 200.0)]


def test_a_recording_of_sensors_alone() -> None:
    recording = trace(samples=[sample(10**18 + at, "power_w", 1.0) for at in (0, 50)])
    shown = drawn(recording)
    assert (shown.begin_ns, shown.length_ns) == (10**18, 50)
    assert [track.kind for track in shown.tracks] == ["counter"]
    assert not shown.slices.height


def test_nothing_has_a_time() -> None:
    recording = trace(summaries=[{"domain": "kernel", "name": "k", "calls": 3, "total_ns": 30.0}])
    assert timeline(recording, overview(recording, "test")) is None


def test_machines_begin_together() -> None:
    recording = trace(
        dispatches=[kernel("a", 1000, 2000, node=0), kernel("b", 5_000_000, 5_000_500, node=1)],
        nodes=[{"node": 0, "host": "alpha", "clock": "boot"}, {"node": 1, "host": "beta", "clock": "boot"}],
    )
    shown = drawn(recording)
    assert shown.notes
    assert {track.group: slices["start_ns"][0] for track, slices in tracks(shown, "queue")} == {
        "alpha: GPU 0": 0,
        "beta: GPU 0": 0,
    }
    assert shown.length_ns == 1000


def test_calls_and_operators_share_a_thread() -> None:
    where = {"pid": 7, "tid": 8}
    recording = trace(
        dispatches=[kernel("k", 60, 90, correlation_id=1, pid=7)],
        api_calls=[call("launch", 20, 30, 1, pid=7, tid=8)],
        ops=[
            {"name": "add", "category": "operator", "start_ns": 10, "end_ns": 50, "shapes": "[[2]]", **where}
        ],
    )
    shown = drawn(recording)
    ((track, slices),) = tracks(shown, "thread")
    assert (track.group, track.title) == ("Process 7", "thread 8")
    assert list(zip(names(shown, slices), slices["depth"], strict=True)) == [("add", 0), ("launch", 1)]
    assert detail(shown, track, "shapes of its arguments") == ["[[2]]", None]


def test_ids_that_a_page_cannot_hold_are_texts() -> None:
    recording = trace(dispatches=[kernel("k", 1, 2, correlation_id=2**60 + 1)])
    shown = drawn(recording)
    ((track, _),) = tracks(shown, "queue")
    assert detail(shown, track, "correlation id") == [str(2**60 + 1)]


def test_the_same_recording_gives_the_same_timeline() -> None:
    one, other = (drawn(small()) for _ in range(2))
    assert one.slices.equals(other.slices)
    assert (one.names, one.flows.rows()) == (other.names, other.flows.rows())


WHEN = {"start_ns": 5, "end_ns": 5}


@pytest.mark.parametrize(
    ("kind", "recording"),
    [
        ("queue", trace(dispatches=[kernel("k", 5, 5)])),
        ("copies", trace(copies=[{"kind": "H2D", **WHEN}])),
        ("thread", trace(api_calls=[call("hipInit", 5, 5)])),
        ("thread", trace(ops=[{"name": "add", "category": "operator", **WHEN}])),
        ("ranges", trace(ranges=[{"name": "step", "source": "roctx", **WHEN}])),
    ],
)
@pytest.mark.whole
def test_one_event_that_takes_no_time(kind: str, recording: Trace) -> None:
    ((_, slices),) = tracks(drawn(recording), kind)
    assert slices["count"].to_list() == [1]
