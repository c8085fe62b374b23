"""Perfetto traces: slices become what their category says, exact to the nanosecond."""

from __future__ import annotations

import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from rocm_perf.errors import EmptyCaptureError, InputError
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Part
from rocm_perf.ingest.peek import Peek
from rocm_perf.ingest.perfetto import pftrace
from rocm_perf.ingest.rocprofv3 import csv_traces

START = 9007199254740993  # one more than a float can hold
PROCESS, THREAD, QUEUE = 1, 2, 3
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4


class Writer:
    """Writes the packets of a small trace, names interned as the real tracer does."""

    def __init__(self) -> None:
        self.packets: list[Any] = []
        self._iids: dict[str, int] = {}
        system = self._packet()
        system.system_info.utsname.sysname = "Linux"
        process = self._packet().track_descriptor
        process.uuid, process.process.pid = PROCESS, 70
        process.process.cmdline.extend(["./app", "1"])
        thread = self._packet().track_descriptor
        thread.uuid, thread.parent_uuid, thread.thread.pid, thread.thread.tid = THREAD, PROCESS, 70, 77
        queue = self._packet().track_descriptor
        queue.uuid, queue.parent_uuid, queue.name = QUEUE, PROCESS, "COMPUTE AGENT [4] QUEUE [0] (GPU)"

    def slice(
        self, name: str, category: str, start: int, end: int, track: int = THREAD, **notes: Any
    ) -> Writer:
        self.event(BEGIN, start, track, name, category, **notes)
        return self.event(END, end, track)

    def event(
        self,
        kind: int,
        time: int,
        track: int,
        name: str = "",
        category: str = "",
        *,
        clock: int = 6,
        **notes: Any,
    ) -> Writer:
        packet = self._packet()
        packet.timestamp, packet.timestamp_clock_id = time, clock
        event = packet.track_event
        event.type, event.track_uuid = kind, track
        if name:
            event.name_iid = self._intern(packet.interned_data.event_names, name)
            event.category_iids.append(self._intern(packet.interned_data.event_categories, category))
        for key, value in notes.items():
            note = event.debug_annotations.add()
            note.name_iid = self._intern(packet.interned_data.debug_annotation_names, key)
            field = {int: "uint_value", str: "string_value", float: "double_value"}[type(value)]
            setattr(note, field, value)
        return self

    def counter(self, time: int, track: int, name: str, value: int, multiplier: int = 1) -> Writer:
        described = self._packet().track_descriptor
        described.uuid, described.name, described.parent_uuid = track, name, PROCESS
        described.counter.unit_multiplier, described.counter.unit = multiplier, 3
        packet = self._packet()
        packet.timestamp, packet.timestamp_clock_id = time, 6
        packet.track_event.type, packet.track_event.track_uuid = COUNTER, track
        packet.track_event.counter_value = value
        return self

    def snapshot(self, *clocks: tuple[int, int], incremental: bool = False) -> Writer:
        packet = self._packet()
        for number, time in clocks:
            clock = packet.clock_snapshot.clocks.add()
            clock.clock_id, clock.timestamp, clock.is_incremental = number, time, incremental and number >= 64
        return self

    def data(self) -> bytes:
        return b"".join(pb.Trace(packet=[packet]).SerializeToString() for packet in self.packets)

    def _packet(self) -> Any:
        self.packets.append(pb.TracePacket(trusted_packet_sequence_id=2, sequence_flags=2))
        return self.packets[-1]

    def _intern(self, table: Any, text: str) -> int:
        if text not in self._iids:
            self._iids[text] = len(self._iids) + 1
        table.add(iid=self._iids[text], name=text)
        return self._iids[text]


def _kernel(**more: Any) -> Writer:
    notes = {
        "begin_ns": START,
        "end_ns": START + 9,
        "agent": "Agent-4",
        "queue": 1,
        "tid": 77,
        "corr_id": 5,
        "workgroup_size": 256,
        "grid_size": 1024,
        "LDS_Block_Size": 512,
        "VGPR_Count": 8,
        "stream_ID": 2,
    }
    return Writer().slice("k(float*) [clone .kd]", "kernel_dispatch", START, START + 9, QUEUE, **notes | more)


def _source(folder: Path, data: bytes) -> Source:
    file = folder / "trace"
    file.write_bytes(data)
    return Source(file)


def _read(folder: Path, writer: Writer) -> Part:
    source = _source(folder, writer.data())
    assert pftrace.ADAPTERS[0].claims(Peek(source))
    return pftrace.read_trace(source)


def test_a_kernel_with_what_its_annotations_say(tmp_path: Path) -> None:
    part = _read(tmp_path, _kernel())
    row = part.tables["dispatches"].row(0, named=True)
    assert (row["kernel"], row["start_ns"], row["end_ns"]) == ("k(float*)", START, START + 9)
    assert (row["agent_id"], row["queue_id"], row["stream_id"], row["pid"], row["tid"]) == (4, 1, 2, 70, 77)
    assert (row["correlation_id"], row["dispatch_id"], row["lds_bytes"], row["vgprs"]) == (5, 1, 512, 8)
    assert (row["grid_x"], row["grid_y"], row["grid_z"], row["workgroup_x"]) == (1024, 1, 1, 256)
    assert (part.tool, part.os, part.pid, part.command, part.clock) == (
        "rocprofv3",
        "Linux",
        70,
        "./app 1",
        "boot",
    )
    assert part.losses == ()


def test_sizes_written_as_text(tmp_path: Path) -> None:
    row = _read(tmp_path, _kernel(grid_size="(64,8,2)")).tables["dispatches"].row(0, named=True)
    assert (row["grid_x"], row["grid_y"], row["grid_z"]) == (64, 8, 2)


def test_counters_annotated_on_a_kernel(tmp_path: Path) -> None:
    rows = (
        _read(tmp_path, _kernel(SQ_WAVES=12.0))
        .tables["counters"]
        .select("pid", "dispatch_id", "agent_id", "counter", "value")
    )
    assert rows.rows() == [(70, 1, 4, "SQ_WAVES", 12.0)]


def test_overlapping_kernels_of_one_track_keep_their_own_ends(tmp_path: Path) -> None:
    writer = Writer()
    for start, end in ((100, 500), (200, 300)):
        writer.slice("k", "kernel_dispatch", start, end, QUEUE, begin_ns=start, end_ns=end)
    assert _read(tmp_path, writer).tables["dispatches"].select("start_ns", "end_ns").rows() == [
        (100, 500),
        (200, 300),
    ]


def test_calls_copies_ranges_and_functions(tmp_path: Path) -> None:
    writer = Writer().slice("hipMemcpy", "hip_api", 10, 20, corr_id=1)
    writer.slice(
        "MEMORY_COPY_DEVICE_TO_HOST",
        "memory_copy",
        12,
        18,
        src_agent="Agent-4",
        dst_agent="Agent-0",
        copy_bytes=64,
    )
    writer.slice("step", "marker_api", 1, 30).slice("solve", "user", 2, 29).slice("main.py", "python", 0, 40)
    writer.event(INSTANT, 33, THREAD, "mark", "user")
    tables = _read(tmp_path, writer).tables
    assert tables["api_calls"].select("domain", "name", "tid", "pid").rows() == [("hip", "hipMemcpy", 77, 70)]
    assert tables["copies"].select("kind", "size_bytes", "agent_id", "dst_agent").rows() == [
        ("D2H", 64, 4, 0)
    ]
    assert tables["ranges"].select("name", "source", "start_ns", "end_ns").rows() == [
        ("step", "roctx", 1, 30),
        ("solve", "perfetto", 2, 29),
        ("mark", "perfetto", 33, 33),
    ]
    assert tables["ops"].select("name", "category", "tid").rows() == [("main.py", "python", 77)]


def test_nested_slices_pair_from_the_inside(tmp_path: Path) -> None:
    writer = Writer().event(BEGIN, 1, THREAD, "outer", "user").event(BEGIN, 2, THREAD, "inner", "user")
    writer.event(END, 3, THREAD).event(END, 4, THREAD).event(END, 5, THREAD).event(
        BEGIN, 6, THREAD, "open", "user"
    )
    part = _read(tmp_path, writer)
    assert sorted(part.tables["ranges"].select("name", "start_ns", "end_ns").rows()) == [
        ("inner", 2, 3),
        ("outer", 1, 4),
    ]
    assert {loss.what: loss.records for loss in part.losses} == {
        "slices without an end": 1,
        "ends of slices that did not begin": 1,
    }


def test_counter_tracks(tmp_path: Path) -> None:
    writer = (
        Writer()
        .counter(5, 8, "ALLOCATE BYTES on AGENT [4] (GPU)", 3, multiplier=1024)
        .counter(6, 9, "Agent [2] PMC SQ_WAVES", 7)
    )
    rows = (
        _read(tmp_path, writer)
        .tables["samples"]
        .select("time_ns", "agent_id", "metric", "value", "unit")
        .rows()
    )
    assert rows == [(5, 4, "allocated_bytes", 3072.0, "B"), (6, 2, "SQ_WAVES", 7.0, "B")]


def test_curves_drawn_from_the_copies_are_kept_only_without_them(tmp_path: Path) -> None:
    writer = Writer().counter(5, 8, "COPY BYTES to AGENT [4] (GPU)", 3)
    assert _read(tmp_path, writer).tables["samples"]["metric"].to_list() == ["copy_bytes"]
    writer.slice("MEMORY_COPY_HOST_TO_DEVICE", "memory_copy", 12, 18)
    assert "samples" not in _read(tmp_path, writer).tables


def test_times_on_other_clocks_come_to_the_boot_clock(tmp_path: Path) -> None:
    writer = (
        Writer()
        .snapshot((6, 1000), (3, 400))
        .event(BEGIN, 500, THREAD, "a", "user", clock=3)
        .event(END, 510, THREAD, clock=3)
    )
    writer.snapshot((6, 2000), (64, 70), incremental=True)
    writer.event(BEGIN, 5, THREAD, "b", "user", clock=64).event(END, 3, THREAD, clock=64)
    writer.event(INSTANT, 5, THREAD, "c", "user", clock=99)
    part = _read(tmp_path, writer)
    assert part.tables["ranges"].select("name", "start_ns", "end_ns").rows() == [
        ("a", 1100, 1110),
        ("b", 2005, 2008),
    ]
    assert [loss.records for loss in part.losses] == [1]


def test_kernels_that_were_moved_apart_are_noticed(tmp_path: Path) -> None:
    writer = Writer()
    for start, end in ((100, 200), (200, 300)):
        writer.slice("k", "kernel_dispatch", start, end, QUEUE, begin_ns=start, end_ns=end, agent=4, queue=1)
    assert "end exactly where the next begins" in _read(tmp_path, writer).notices[0]


def test_deflated_packets_are_read(tmp_path: Path) -> None:
    packed = pb.TracePacket(compressed_packets=zlib.compress(_kernel().data()))
    head = Writer().data()
    part = pftrace.read_trace(_source(tmp_path, head + pb.Trace(packet=[packed]).SerializeToString()))
    assert part.tables["dispatches"].height == 1


def test_a_trace_that_breaks_off_gives_what_it_holds(tmp_path: Path) -> None:
    data = _kernel().slice("late", "hip_api", 50, 60).data()
    part = pftrace.read_trace(_source(tmp_path, data[:-3]))
    assert part.tables["dispatches"].height == 1
    assert {loss.what.split(" (")[0] for loss in part.losses} == {
        "the last packet breaks off",
        "slices without an end",
    }


def test_padding_is_skipped_and_rubbish_ends_the_trace(tmp_path: Path) -> None:
    data = Writer().data() + b"\0\0" + _kernel().data()
    assert pftrace.read_trace(_source(tmp_path, data)).losses == ()
    part = pftrace.read_trace(_source(tmp_path, data + b"\x7f\x7f\x7f"))
    assert part.tables["dispatches"].height == 1
    assert [loss.what for loss in part.losses] == [f"what follows byte {len(data):,} is not a packet"]


def test_a_full_buffer_is_told(tmp_path: Path) -> None:
    writer = _kernel()
    writer._packet().trace_stats.buffer_stats.add(chunks_discarded=3)
    assert [loss.records for loss in _read(tmp_path, writer).losses] == [3]


def test_a_time_that_no_column_can_hold_costs_one_row(tmp_path: Path) -> None:
    writer = Writer().slice("a", "user", 1, 2).slice("b", "user", 2**64 - 9, 2**64 - 1)
    part = _read(tmp_path, writer)
    assert part.tables["ranges"]["name"].to_list() == ["a"]
    assert [loss.records for loss in part.losses] == [1]


def test_a_trace_without_events_is_an_empty_capture(tmp_path: Path) -> None:
    with pytest.raises(EmptyCaptureError, match="no events"):
        _read(tmp_path, Writer())


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"\n\n\n\n\nhello, world\n",
        b"\x0a\x05abc",
        b"\x0a\x02\x08\x01",
        b"\x0a\xff\xff\xff\xff\xff\xff",
        b"\n{}" * 50,
    ],
)
def test_other_files_are_not_claimed(tmp_path: Path, data: bytes) -> None:
    assert not pftrace.ADAPTERS[0].claims(Peek(_source(tmp_path, data)))


@given(data=st.binary(max_size=300))
def test_random_bytes_are_not_claimed(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    assert not pftrace.ADAPTERS[0].claims(Peek(_source(tmp_path_factory.mktemp("pf"), data)))


WHOLE = _kernel(SQ_WAVES=1.0).snapshot((6, 5), (64, 5)).slice("r", "user", 1, 2).counter(5, 8, "c", 3).data()


@given(cut=st.integers(0, len(WHOLE)), at=st.integers(0, len(WHOLE) - 1), byte=st.integers(0, 255))
def test_damage_gives_a_part_or_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, cut: int, at: int, byte: int
) -> None:
    folder = tmp_path_factory.mktemp("pf")
    for data in (WHOLE[:cut], WHOLE[:at] + bytes([byte]) + WHOLE[at + 1 :]):
        with suppress(InputError, EmptyCaptureError):
            pftrace.read_trace(_source(folder, data))


def test_the_rocprofv3_specimen_against_the_csv_of_the_same_program(specimens: Path) -> None:
    part = pftrace.read_trace(Source(specimens / "pftrace" / "csc-training_hip-programming__results.pftrace"))
    assert {name: table.height for name, table in part.tables.items()} == {
        "dispatches": 64,
        "copies": 12,
        "api_calls": 791,
        "processes": 1,
    }
    file = specimens / "rocprofv3_csv" / "csc-training_hip-programming__kernel_trace.csv"
    csv = csv_traces.read_kernel_trace(Source(file)).tables["dispatches"]
    # another run of the same program: times and threads differ, the rest does not
    same = ["dispatch_id", "kernel", "agent_id", "queue_id", "correlation_id", "lds_bytes", "scratch_bytes"]
    sizes = [f"{size}_{axis}" for size in ("grid", "workgroup") for axis in "xyz"]
    assert part.tables["dispatches"].select(*same, *sizes).equals(csv.select(*same, *sizes))
    assert part.losses == ()


def test_the_rocprofv3_specimen_against_its_own_packets(specimens: Path) -> None:
    file = specimens / "pftrace" / "csc-training_hip-programming__results.pftrace"
    trace = pb.Trace.FromString(file.read_bytes())
    events = [
        (packet.timestamp, packet.track_event) for packet in trace.packet if packet.HasField("track_event")
    ]
    compute = next(
        packet.track_descriptor.uuid
        for packet in trace.packet
        if packet.track_descriptor.name.startswith("COMPUTE")
    )
    times = [time for time, event in events if event.track_uuid == compute]
    table = pftrace.read_trace(Source(file)).tables["dispatches"]
    assert table.select("start_ns", "end_ns").rows() == list(zip(times[::2], times[1::2], strict=True))
    assert table["start_ns"][0] == 2054412705155071


def test_the_omnitrace_specimen(specimens: Path) -> None:
    part = pftrace.read_trace(Source(specimens / "pftrace" / "hatchet_hatchet__python-source.proto"))
    assert {name: table.height for name, table in part.tables.items()} == {
        "ops": 54,
        "ranges": 5,
        "samples": 11,
        "processes": 1,
    }
    assert (part.tool, part.pid, part.losses) == ("rocprof-sys", 2116605, ())
    assert part.tables["ranges"]["name"].unique().to_list() == ["main_loop"]
    functions = part.tables["ops"].filter(pl.col("name") == "run")
    assert part.tables["ranges"]["start_ns"].min() == 1295675346737382
    assert functions["start_ns"].min() == 1295675347019905


def test_the_trace_of_a_child_process_is_an_empty_capture(specimens: Path) -> None:
    source = Source(specimens / "pftrace" / "D-W-Chiang_JACC.jl__3634736_results.pftrace")
    assert pftrace.ADAPTERS[0].claims(Peek(source))
    with pytest.raises(EmptyCaptureError, match="no events"):
        pftrace.read_trace(source)


def test_no_other_specimen_is_claimed(specimens: Path) -> None:
    others = [file for file in specimens.rglob("*") if file.is_file() and file.parent.name != "pftrace"]
    assert not [file.name for file in others if pftrace.ADAPTERS[0].claims(Peek(Source(file)))]


def test_a_long_name_that_all_slices_refer_to_is_a_bomb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rocm_perf.ingest.io.source.TEXT_FREE_BYTES", 1 << 20)
    trace = pb.Trace()
    named = trace.packet.add(trusted_packet_sequence_id=1).interned_data.event_names.add(iid=1)
    named.name = "k" * 100_000
    for number in range(4000):
        packet = trace.packet.add(trusted_packet_sequence_id=1, timestamp=number)
        packet.track_event.type, packet.track_event.track_uuid = number % 2 + 1, 1
        packet.track_event.name_iid = 1
    path = tmp_path / "names.pftrace"
    path.write_bytes(trace.SerializeToString())
    with pytest.raises(InputError, match=r"name .* of text, which those of no program do"):
        pftrace.read_trace(Source(path))
