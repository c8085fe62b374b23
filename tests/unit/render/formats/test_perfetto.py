"""Perfetto traces: read back exactly, and well formed by the rules that Perfetto's own reader keeps."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2
from polars.testing import assert_frame_equal

from rocm_perf import api
from rocm_perf.analysis.timeline.derived import derived_tracks
from rocm_perf.cli.demo import workload_file
from rocm_perf.errors import UsageError
from rocm_perf.ingest.load import load
from rocm_perf.model import schema
from rocm_perf.model.trace import Trace
from rocm_perf.render.formats import perfetto
from rocm_perf.sim.engine import simulate
from rocm_perf.sim.gpu import find_gpu
from rocm_perf.sim.record import record
from rocm_perf.sim.workload import Workload
from tests.properties import examples
from tests.sim.strategies import workloads

WHERE = ["start_ns", "end_ns", "pid", "tid", "correlation_id", "node", "pass_id"]
CARRIED = {
    "dispatches": [
        *("dispatch_id", "kernel", *WHERE, "agent_id", "queue_id", "stream_id"),
        *("lds_bytes", "scratch_bytes", "vgprs", "agprs", "sgprs"),
        *(f"{size}_{axis}" for size in ("grid", "workgroup") for axis in "xyz"),
    ],
    "copies": ["kind", "size_bytes", "src_agent", "dst_agent", "agent_id", "stream_id", *WHERE],
    "api_calls": ["domain", "name", *WHERE],
    "ranges": ["name", "source", *WHERE],
    "ops": ["name", "category", *WHERE],
    "samples": ["time_ns", "agent_id", "metric", "value", "unit"],
    "processes": ["pid", "command"],
}
SHOWN = ("dispatches", "copies", "api_calls", "ranges", "ops")


def made(**tables: list[dict[str, Any]]) -> Trace:
    frames = {name: pl.DataFrame(rows, infer_schema_length=None) for name, rows in tables.items()}
    return Trace({name: schema.conform(name, frame) for name, frame in frames.items()})


def assert_same(left: pl.DataFrame, right: pl.DataFrame, columns: list[str]) -> None:
    assert_frame_equal(left.select(columns).sort(pl.all()), right.select(columns).sort(pl.all()))


def packets_of(path: Path) -> list[Any]:
    return list(perfetto_trace_pb2.Trace.FromString(path.read_bytes()).packet)


def shown_slices(packets: list[Any]) -> list[tuple[int, int]]:
    """Begins and ends as Perfetto's reader pairs them: by time, then by place in the file, per track a stack."""
    events = [packet for packet in packets if packet.HasField("track_event")]
    stacks: dict[int, list[int]] = defaultdict(list)
    found = []
    for packet in sorted(events, key=lambda packet: int(packet.timestamp)):
        track = packet.track_event.track_uuid
        if packet.track_event.type == 1:
            stacks[track].append(packet.timestamp)
        elif packet.track_event.type == 2:
            found.append((stacks[track].pop(), packet.timestamp))
    assert not any(stacks.values())
    return sorted(found)


def recorded_slices(trace: Trace) -> list[tuple[int, int]]:
    rows = [row for table in SHOWN for row in trace.table(table).select("start_ns", "end_ns").iter_rows()]
    return sorted(rows)


def assert_well_formed(packets: list[Any]) -> None:
    """Everything that an event refers to was said before it, on its sequence."""
    tracks, names, notes, texts, categories = (set[int]() for _ in range(5))
    cleared = False
    for packet in packets:
        cleared = cleared or bool(packet.sequence_flags & 1)
        names.update(entry.iid for entry in packet.interned_data.event_names)
        notes.update(entry.iid for entry in packet.interned_data.debug_annotation_names)
        texts.update(entry.iid for entry in packet.interned_data.debug_annotation_string_values)
        categories.update(entry.iid for entry in packet.interned_data.event_categories)
        if packet.HasField("track_descriptor"):
            assert packet.track_descriptor.uuid not in tracks
            assert packet.track_descriptor.parent_uuid in {0, *tracks}
            tracks.add(packet.track_descriptor.uuid)
        if packet.HasField("track_event"):
            event = packet.track_event
            assert cleared
            assert packet.trusted_packet_sequence_id == 2
            assert event.track_uuid in tracks
            if event.type == 1:
                assert packet.sequence_flags == 2
                assert event.name_iid in names
                assert set(event.category_iids) <= categories
                assert {note.name_iid for note in event.debug_annotations} <= notes
                assert {note.string_value_iid for note in event.debug_annotations} <= {0, *texts}
    assert packets[0].clock_snapshot.primary_trace_clock == 6


@examples(times=0.6)
@given(workloads())
def test_a_random_run_is_read_back_and_well_formed(workload: Workload) -> None:
    trace = record(simulate(workload, find_gpu("sim:MI300X")))
    assume(any(trace.has(table) for table in SHOWN))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "1_results.pftrace"
        perfetto.write(trace, path)
        packets, back = packets_of(path), load(path)
    for table, columns in CARRIED.items():
        assert_same(trace.table(table), back.table(table), columns)
    assert not back.run.losses
    assert_well_formed(packets)
    assert shown_slices(packets) == recorded_slices(trace)


@examples(times=1.5)
@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 6)), min_size=1, max_size=12))
def test_overlapping_kernels_keep_their_times(spans: list[tuple[int, int]]) -> None:
    rows = [
        {"kernel": f"k{number}", "start_ns": start, "end_ns": start + length, "agent_id": 2, "queue_id": 1}
        for number, (start, length) in enumerate(spans)
    ]
    trace = made(dispatches=rows)
    with TemporaryDirectory() as folder:
        perfetto.write(trace, Path(folder) / "t.pftrace")
        packets = packets_of(Path(folder) / "t.pftrace")
        back = load(Path(folder) / "t.pftrace")
    assert_same(
        trace.table("dispatches"), back.table("dispatches"), ["kernel", "start_ns", "end_ns", "queue_id"]
    )
    assert shown_slices(packets) == recorded_slices(trace)


def test_tracks_are_named_as_rocprofv3_names_them(tmp_path: Path) -> None:
    where = {"start_ns": 10, "end_ns": 20, "pid": 7, "tid": 8, "agent_id": 4}
    trace = made(
        dispatches=[{"kernel": "f(int)", **where, "queue_id": 0}, {"kernel": "g", **where, "stream_id": 3}],
        copies=[{"kind": "D2H", "src_agent": 4, "dst_agent": 0, **where, "stream_id": 3}],
        agents=[{"agent_id": 4, "kind": "GPU", "name": "MI300X"}, {"agent_id": 0, "kind": "CPU"}],
        samples=[{"time_ns": 11, "agent_id": 4, "metric": "power_w", "value": 1.5, "unit": "W"}],
    )
    perfetto.write(trace, tmp_path / "t.pftrace")
    packets = packets_of(tmp_path / "t.pftrace")
    assert {packet.track_descriptor.name for packet in packets} - {""} == {
        *("GPU [4] MI300X", "GPU [4] MI300X: sensors"),
        "COMPUTE AGENT [4] QUEUE [0] (GPU)",
        "COMPUTE AGENT [4] STREAM [3] (GPU)",
        "COPY to AGENT [0] STREAM [3] (CPU)",
        "AGENT [4] PMC power_w",
    }
    names = {entry.name for packet in packets for entry in packet.interned_data.event_names}
    assert names == {"f(int)", "g", "MEMORY_COPY_DEVICE_TO_HOST"}


def test_a_call_and_its_kernel_share_a_flow(tmp_path: Path) -> None:
    call = {"domain": "hip", "name": "hipLaunchKernel", "start_ns": 1, "end_ns": 3, "pid": 7, "tid": 7}
    kernel = {"kernel": "k", "start_ns": 5, "end_ns": 9, "agent_id": 1, "queue_id": 0}
    trace = made(
        api_calls=[call | {"correlation_id": 6}, call | {"start_ns": 3, "correlation_id": None}],
        dispatches=[kernel | {"pid": 7, "correlation_id": 6}, kernel | {"pid": None, "correlation_id": 6}],
    )
    perfetto.write(trace, tmp_path / "t.pftrace")
    packets = packets_of(tmp_path / "t.pftrace")
    flows = [list(packet.track_event.flow_ids) for packet in packets if packet.track_event.type == 1]
    assert sorted(flows) == [[], [], [1], [1]]


def test_the_launch_of_a_graph_has_a_flow_to_each_of_its_kernels(tmp_path: Path) -> None:
    call = {"domain": "hip", "name": "hipGraphLaunch", "start_ns": 1, "end_ns": 3, "pid": 7, "tid": 7}
    kernels = [
        {"kernel": "k", "start_ns": start, "end_ns": start + 1, "agent_id": 1, "queue_id": 0, "pid": 7}
        for start in (5, 7, 9)
    ]
    trace = made(
        api_calls=[call | {"correlation_id": 6}],
        dispatches=[kernel | {"correlation_id": 6} for kernel in kernels],
    )
    perfetto.write(trace, tmp_path / "t.pftrace")
    flows = [list(packet.track_event.flow_ids) for packet in packets_of(tmp_path / "t.pftrace")]
    assert [numbers for numbers in flows if numbers] == [[1, 2, 3], [1], [2], [3]]


def test_counters_are_annotations_of_their_kernel(tmp_path: Path) -> None:
    kernels = [
        {
            "kernel": "k",
            "dispatch_id": number,
            "start_ns": number,
            "end_ns": number + 1,
            "pid": 7,
            "agent_id": 2,
        }
        for number in (1, 2)
    ]
    counters = [
        {"dispatch_id": 1, "pid": 7, "agent_id": 2, "counter": "SQ_WAVES", "value": 3.0},
        {"dispatch_id": 1, "pid": 7, "agent_id": 2, "counter": "VALUBusy", "value": 0.1},
        {"dispatch_id": 2, "pid": 7, "agent_id": 2, "counter": "SQ_WAVES", "value": 0.0},
    ]
    trace = made(dispatches=kernels, counters=counters)
    perfetto.write(trace, tmp_path / "t.pftrace")
    back = load(tmp_path / "t.pftrace")
    assert_same(
        trace.table("counters"),
        back.table("counters"),
        ["dispatch_id", "pid", "agent_id", "counter", "value"],
    )


def test_ids_that_perfetto_cannot_hold_are_kept_as_annotations(tmp_path: Path) -> None:
    rows = [
        {
            "name": "f",
            "domain": "cuda",
            "start_ns": 1,
            "end_ns": 2,
            "pid": 2**40,
            "tid": 2**50,
            "correlation_id": -1,
        }
    ]
    perfetto.write(made(api_calls=rows), tmp_path / "t.pftrace")
    call = load(tmp_path / "t.pftrace").table("api_calls").row(0, named=True)
    assert (call["tid"], call["correlation_id"], call["name"]) == (2**50, -1, "f")


def test_what_one_clock_cannot_show_is_refused(tmp_path: Path) -> None:
    kernels = [
        {"kernel": "k", "start_ns": -5, "end_ns": 1},
        {"kernel": "k", "start_ns": 5, "end_ns": 9, "node": 1},
    ]
    with pytest.raises(UsageError, match="2 machines"):
        perfetto.write(made(dispatches=kernels), tmp_path / "t.pftrace")
    with pytest.raises(UsageError, match="before zero"):
        perfetto.write(made(dispatches=kernels[:1]), tmp_path / "t.pftrace")
    perfetto.write(made(dispatches=[kernels[1]]), tmp_path / "t.pftrace")
    with pytest.raises(UsageError, match="exists"):
        perfetto.write(made(dispatches=[kernels[1]]), tmp_path / "t.pftrace")
    assert [path.name for path in tmp_path.iterdir()] == ["t.pftrace"]


def test_what_was_derived_has_tracks_of_its_own_and_is_not_read_back(tmp_path: Path) -> None:
    trace = api.simulate(workload_file("sync_in_loop"))
    derived = derived_tracks(trace, api.analyze(trace))
    perfetto.write(trace, tmp_path / "t.pftrace", derived=derived)
    packets = packets_of(tmp_path / "t.pftrace")
    assert_well_formed(packets)
    tracks = {packet.track_descriptor.name: packet.track_descriptor for packet in packets}
    above = tracks["rocm-perf"].uuid
    own = {name for name, track in tracks.items() if track.parent_uuid == above}
    assert own >= {"phases", "steps", "critical path", "queue length: GPU 2, stream 0"}
    assert any("idle, by cause" in name for name in own)
    shown = [*recorded_slices(trace), *derived.slices.select("start_ns", "end_ns").iter_rows()]
    assert shown_slices(packets) == sorted(shown)
    back = load(tmp_path / "t.pftrace")
    for table, columns in CARRIED.items():
        assert_same(trace.table(table), back.table(table), columns)


def test_the_critical_path_is_as_long_as_the_analysis_says(tmp_path: Path) -> None:
    trace = api.simulate(workload_file("sync_in_loop"))
    document = api.analyze(trace)
    path = derived_tracks(trace, document).slices.filter(pl.col("track") == "critical path")
    assert int((path["end_ns"] - path["start_ns"]).sum()) == document.path.total_ns
    gaps = derived_tracks(trace, document).slices.filter(pl.col("track").str.contains("idle"))
    assert int((gaps["end_ns"] - gaps["start_ns"]).sum()) == document.gaps.idle_ns


def test_hostile_names_are_names(tmp_path: Path) -> None:
    names = ["<script>alert(1)</script>", "\x00\x1b[31m\n", "\u202eright to left", "x" * 10_000]
    rows = [
        {"kernel": name, "start_ns": place, "end_ns": place + 1, "queue_id": 0, "pid": 1}
        for place, name in enumerate(names)
    ]
    perfetto.write(made(dispatches=rows), tmp_path / "t.pftrace")
    assert load(tmp_path / "t.pftrace").table("dispatches")["kernel"].to_list() == names


def test_an_empty_trace_is_a_trace(tmp_path: Path) -> None:
    perfetto.write(Trace({}), tmp_path / "t.pftrace")
    assert_well_formed(packets_of(tmp_path / "t.pftrace"))


def test_the_same_trace_gives_the_same_bytes(tmp_path: Path) -> None:
    trace = made(dispatches=[{"kernel": "k", "start_ns": 5, "end_ns": 9, "pid": 1}])
    for name in ("a", "b"):
        perfetto.write(trace, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_real_trace_written_again_is_the_same(specimens: Path, tmp_path: Path) -> None:
    trace = load(specimens / "pftrace" / "csc-training_hip-programming__results.pftrace")
    perfetto.write(trace, tmp_path / "results.pftrace")
    back = load(tmp_path / "results.pftrace")
    for table in (*SHOWN, "samples", "processes"):
        assert_same(trace.table(table), back.table(table), trace.table(table).columns)
    packets = packets_of(tmp_path / "results.pftrace")
    assert_well_formed(packets)
    assert shown_slices(packets) == recorded_slices(trace)
