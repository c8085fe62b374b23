"""torch.profiler traces: categories, exact times, graphs, clipped windows, backends."""

from __future__ import annotations

import contextlib
import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.analysis.verdict.doubts import doubts
from rocm_perf.errors import EmptyCaptureError, InputError, RocmPerfError
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.kineto import trace as kineto
from rocm_perf.ingest.load import load
from rocm_perf.ingest.part import Part
from rocm_perf.ingest.sniff import sniff
from rocm_perf.model.run import Numbering
from rocm_perf.model.time_window import Span
from tests.recordings import recording

BASE_NS = 1_700_000_000_000_000_000


def span(category: str, name: str, ts: str, dur: str, **args: Any) -> str:
    pid, tid = (2, 3) if category in ("kernel", "gpu_memcpy") else (77, 78)
    head = f'"ph": "X", "cat": "{category}", "name": {json.dumps(name)}, "pid": {pid}, "tid": {tid}'
    return f'{{{head}, "ts": {ts}, "dur": {dur}, "args": {json.dumps(args)}}}'


LAUNCH = span("cuda_runtime", "hipLaunchKernel", "100.001", "4.000", correlation=9, **{"External id": 5})
KERNEL = span(
    "kernel",
    "void k<1, 2>(int)",
    "110.123",
    "7.001",
    device=2,
    stream=3,
    correlation=9,
    grid=[10, 2, 1],
    block=[64, 1, 1],
)
OP = span(
    "cpu_op",
    "aten::mm",
    "99.5",
    "9",
    **{"External id": 5, "Input Dims": [[4, 8], [8, 2]], "Input type": ["float", "float"]},
)


def trace(
    *events: str,
    header: str = '"schemaVersion": 1, "deviceProperties": []',
    tail: str = f', "baseTimeNanoseconds": {BASE_NS}',
) -> str:
    return f'{{{header}, "traceEvents": [\n{", ".join(events)}\n]{tail}}}'


def read(tmp_path: Path, text: str) -> Part:
    file = tmp_path / "trace"
    file.write_text(text)
    source = Source(file)
    adapter = sniff(source)
    assert adapter.name == "torch-profiler-json"
    return adapter.read(source)


def test_events_become_tables_with_exact_times(tmp_path: Path) -> None:
    part = read(tmp_path, trace(LAUNCH, KERNEL, OP))
    dispatch = part.tables["dispatches"].row(0, named=True)
    assert (dispatch["start_ns"], dispatch["end_ns"]) == (BASE_NS + 110_123, BASE_NS + 117_124)
    assert (dispatch["agent_id"], dispatch["stream_id"], dispatch["pid"], dispatch["correlation_id"]) == (
        2,
        3,
        77,
        9,
    )
    assert (dispatch["grid_x"], dispatch["grid_y"], dispatch["workgroup_x"]) == (640, 2, 64)
    call = part.tables["api_calls"].row(0, named=True)
    assert (call["domain"], call["name"], call["op_id"], call["tid"]) == ("hip", "hipLaunchKernel", 5, 78)
    op = part.tables["ops"].row(0, named=True)
    assert (op["category"], op["op_id"], json.loads(op["shapes"]), json.loads(op["dtypes"])) == (
        "operator",
        5,
        [[4, 8], [8, 2]],
        ["float", "float"],
    )
    assert op["strides"] is None
    assert part.clock == "epoch"


@pytest.mark.parametrize("separators", [(",", ":"), (" ,\n     ", " : ")])
def test_arguments_are_the_same_text_however_the_file_is_laid_out(
    tmp_path: Path, separators: tuple[str, str]
) -> None:
    rewritten = json.dumps(json.loads(trace(OP)), separators=separators)
    (op,) = read(tmp_path, rewritten).tables["ops"].to_dicts()
    assert (op["shapes"], op["dtypes"]) == ("[[4, 8], [8, 2]]", '["float", "float"]')


@given(st.integers(0, 8 * 10**15), st.integers(0, 10**12))
def test_every_microsecond_below_two_to_the_43_is_exact(start_ns: int, length_ns: int) -> None:
    times = pl.Series("t", [float(f"{value // 1000}.{value % 1000:03d}") for value in (start_ns, length_ns)])
    from rocm_perf.ingest.kineto.columns import nanoseconds

    assert nanoseconds(times).to_list() == [start_ns, length_ns]


def test_epoch_microseconds_with_decimals_stay_exact(tmp_path: Path) -> None:
    part = read(tmp_path, trace(span("kernel", "k", "1694039959123456.789", "0.001", device=0), tail=""))
    assert part.tables["dispatches"]["start_ns"].to_list() == [1694039959123456789]
    assert part.tables["dispatches"]["end_ns"].to_list() == [1694039959123456790]


@pytest.mark.parametrize("time", ['"nan"', '"sNaN"', '"-inf"', '"1e999999"', "1e308", "-9e15"])
def test_what_is_not_a_time_among_exact_ones(tmp_path: Path, time: str) -> None:
    spans = [span("kernel", "k", each, "0.001", device=0) for each in ("1694039959123456.789", time)]
    part = read(tmp_path, trace(*spans, tail=""))
    assert part.tables["dispatches"]["start_ns"].to_list() == [1694039959123456789, None]


def test_a_first_event_without_a_time_among_exact_ones(tmp_path: Path) -> None:
    first = '{"ph": "X", "cat": "kernel", "name": "k", "dur": 1, "args": {"device": 0}}'
    exact = span("kernel", "k", "1694039959123456.789", "0.001", device=0)
    part = read(tmp_path, trace(first, exact, tail=""))
    assert part.tables["dispatches"]["start_ns"].to_list() == [None, 1694039959123456789]


def test_rows_of_several_frames_and_pieces_stay_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rocm_perf.ingest.kineto.columns.FRAME_ROWS", 3)
    monkeypatch.setattr("rocm_perf.ingest.io.json.PIECE_BYTES", 400)
    monkeypatch.setattr("rocm_perf.ingest.io.source.CHUNK_BYTES", 400)
    spans = [span("kernel", f"k{i % 4}", str(i), "1", device=0) for i in range(50)]
    dispatches = read(tmp_path, trace(*spans, tail="")).tables["dispatches"]
    assert dispatches["kernel"].to_list() == [f"k{i % 4}" for i in range(50)]
    assert dispatches["start_ns"].to_list() == [1000 * i for i in range(50)]


def test_an_operator_with_a_stream_is_not_gpu_work(tmp_path: Path) -> None:
    part = read(tmp_path, trace(span("cpu_op", "aten::x", "1", "1", stream=7, device=0), KERNEL))
    assert part.tables["dispatches"]["kernel"].to_list() == ["void k<1, 2>(int)"]


def test_ranges_that_2021_wrote_as_operators_are_ranges(tmp_path: Path) -> None:
    """PyTorch 1.8 to 1.10 had one category for operators, autograd nodes and the user's ranges."""
    part = read(
        tmp_path,
        trace(
            span("Operator", "ProfilerStep#5", "90", "30", **{"External id": 1}),
            span("Operator", "Optimizer.step#SGD.step", "95", "3", **{"External id": 2}),
            span("Operator", "my forward", "99", "9", **{"External id": 3}),
            span("Operator", "aten::mm", "99.5", "8", **{"External id": 4}),
            span("Operator", "AddmmBackward", "100", "2", **{"External id": 5, "Sequence number": 7}),
            span("Operator", "detach_", "101", "1", **{"External id": 6, "Input Dims": [[32]]}),
        ),
    )
    assert part.tables["ops"]["name"].to_list() == ["aten::mm", "AddmmBackward", "detach_"]
    assert part.tables["ranges"]["name"].to_list() == [
        "ProfilerStep#5",
        "Optimizer.step#SGD.step",
        "my forward",
    ]
    assert set(part.tables["ranges"]["source"]) == {"record_function"}


def test_kernels_without_a_launch_are_kept(tmp_path: Path) -> None:
    assert read(tmp_path, trace(KERNEL)).tables["dispatches"].height == 1


def test_kernels_of_a_graph_launch_share_its_id(tmp_path: Path) -> None:
    graph = span("cuda_runtime", "hipGraphLaunch", "1", "1", correlation=44)
    kernels = [span("kernel", f"k{i}", str(5 + i), "1", device=0, stream=0, correlation=44) for i in range(3)]
    file = tmp_path / "trace.json"
    file.write_text(trace(graph, *kernels, KERNEL))
    dispatches = load(file).table("dispatches")
    assert dispatches["graph_id"].to_list() == [44, 44, 44, None]
    assert dispatches["grid_x"].to_list() == [None, None, None, 640]


def test_a_grid_given_in_work_items_is_not_multiplied(tmp_path: Path) -> None:
    launch = span("cuda_runtime", "hipExtModuleLaunchKernel", "100.001", "4.000", correlation=9)
    part = read(tmp_path, trace(launch, KERNEL))
    row = part.tables["dispatches"].row(0, named=True)
    assert (row["grid_x"], row["grid_y"], row["workgroup_x"]) == (10, 2, 64)


def test_grid_and_block_swapped_by_the_sdk_backend_are_put_right(tmp_path: Path) -> None:
    swapped = span("kernel", "k", "1", "1", device=0, stream=0, grid=[256, 1, 1], block=[65536, 1, 1])
    part = read(tmp_path, trace(swapped, header='"schemaVersion": 1, "rocprofiler-sdk_version": 1.0'))
    row = part.tables["dispatches"].row(0, named=True)
    assert (row["grid_x"], row["workgroup_x"]) == (65536, 256)
    assert any("corrected" in notice for notice in part.notices)


def test_names_that_break_parsers_survive(tmp_path: Path) -> None:
    name = "k<\"a,b\", '}, {'>(int)[clone .kd]\\ é" + "x" * 3000
    part = read(
        tmp_path, trace(span("kernel", name, "1", "1", device=0), span("kernel", name, "2", "1", device=0))
    )
    assert part.tables["dispatches"]["kernel"].to_list() == [name, name]


def test_memory_events_become_allocations(tmp_path: Path) -> None:
    event = '{"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 7, "tid": 7, "ts": 5.5, "args": %s}'
    args = {
        "Bytes": -512,
        "Addr": 4096,
        "Device Id": 0,
        "Device Type": 1,
        "Total Allocated": 1024,
        "Total Reserved": 2048,
    }
    part = read(tmp_path, trace(event % json.dumps(args)))
    row = part.tables["allocations"].row(0, named=True)
    assert (row["operation"], row["size_bytes"], row["address"], row["start_ns"]) == (
        "FREE",
        512,
        4096,
        BASE_NS + 5500,
    )
    assert part.tables["samples"]["value"].to_list() == [1024.0, 2048.0]


def test_forward_and_backward_are_linked(tmp_path: Path) -> None:
    flow = '{"ph": "%s", "id": 3, "pid": 7, "tid": %d, "ts": %d, "cat": "fwdbwd", "name": "fwdbwd"}'
    part = read(tmp_path, trace(flow % ("s", 7, 10), flow % ("f", 8, 90), KERNEL))
    columns = ("kind", "cause_ns", "effect_ns", "cause_track", "effect_track")
    assert part.tables["links"].select(columns).rows() == [
        ("forward_backward", BASE_NS + 10_000, BASE_NS + 90_000, 7, 8)
    ]


def test_a_trace_cut_off_gives_what_is_whole(tmp_path: Path) -> None:
    text = trace(LAUNCH, KERNEL, OP)
    part = read(tmp_path, text[: text.index("aten::mm")])
    assert part.tables["dispatches"].height == 1
    assert "ops" not in part.tables
    assert part.losses
    assert "breaks off" in part.losses[0].what


def test_events_of_a_wrong_form_are_counted(tmp_path: Path) -> None:
    odd = '{"ph": "X", "cat": "kernel", "name": "odd", "ts": 1, "dur": 1, "args": {"correlation": "nine"}}'
    part = read(
        tmp_path,
        trace(
            KERNEL,
            odd,
            "7",
            '{"cat": 5}',
            '{"ph": "X", "cat": "kernel", "name": "big", "ts": 1e300, "dur": 1}',
        ),
    )
    assert part.tables["dispatches"]["kernel"].to_list() == ["void k<1, 2>(int)", "odd", "big"]
    assert part.tables["dispatches"]["start_ns"].to_list()[2] is None
    assert [loss.records for loss in part.losses] == [2]


def test_streams_written_as_hexadecimal_text(tmp_path: Path) -> None:
    part = read(tmp_path, trace(span("kernel", "k", "1", "1", device=0, stream="0x1f")))
    assert part.tables["dispatches"]["stream_id"].to_list() == [31]


def test_an_empty_window_says_so(tmp_path: Path) -> None:
    with pytest.raises(EmptyCaptureError):
        read(tmp_path, trace())


def test_a_trace_cut_off_in_its_first_event_is_damaged_rather_than_empty(tmp_path: Path) -> None:
    text = trace(LAUNCH)
    for end in (text.index("[\n") + 1, text.index("hipLaunchKernel")):
        with pytest.raises(InputError, match=r"cannot be read as a trace: .* breaks off before its end"):
            read(tmp_path, text[:end])


def test_a_whole_trace_of_odd_events_is_not_said_to_be_cut(tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        read(tmp_path, trace("7", '{"cat": 5}'))
    assert "2 events in it not of the form that Kineto writes" in str(refused.value)
    assert "Copy it again" not in refused.value.next_step


def test_a_part_without_events_of_a_trace_cut_off_is_empty(tmp_path: Path) -> None:
    file = tmp_path / "t"
    file.write_text(trace(OP, LAUNCH).partition("hipLaunchKernel")[0])
    with pytest.raises(EmptyCaptureError):
        kineto.read(Source(file), Span(BASE_NS + 10**12, None))


@given(data=st.data())
def test_any_damage_gives_a_part_or_a_clear_error(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    text = trace(LAUNCH, KERNEL, OP).encode()
    cut = data.draw(st.integers(0, len(text)))
    position = data.draw(st.integers(0, len(text) - 1))
    damaged = bytearray(text)
    damaged[position] = data.draw(st.integers(0, 255))
    file = tmp_path_factory.mktemp("damage") / "t"
    for content in (text[:cut], bytes(damaged)):
        file.write_bytes(content)
        with contextlib.suppress(RocmPerfError):
            assert isinstance(kineto.read(Source(file)), Part)


# (dispatches, copies, api_calls, operators, python functions, kernels whose launch was not recorded)
RECORDED = {
    "AMD-AGI_TraceLens__mi300_gaunernst_bert-small-uncased__1016001.json.gz": (60, 1, 161, 519, 1389, 0),
    "AMD-AGI_TraceLens__mi300_Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz": (1516, 1, 1707, 4619, 4266, 463),
    "AMD-AGI_TraceLens__mi300_resnet_act_checkpoint.json.gz": (2995, 658, 3100, 8004, 34405, 757),
    "AMD-AGI_TraceLens__vllm_decode_hipgraph.json.gz": (425, 9, 20, 100, 984, 0),
    "facebookresearch_HolisticTraceAnalysis__ns_resolution_rank-0.json.gz": (4350, 1745, 15329, 23910, 0, 0),
}


@pytest.mark.parametrize("name", RECORDED)
@pytest.mark.whole
def test_recorded_traces(specimens: Path, name: str) -> None:
    from rocm_perf.analysis.trust.coverage import coverage

    trace = recording(specimens / "torch_trace" / name)
    ops = trace.table("ops")["category"]
    counts = (
        trace.rows("dispatches"),
        trace.rows("copies"),
        trace.rows("api_calls"),
        (ops == "operator").sum(),
        (ops == "python").sum(),
    )
    assert counts == RECORDED[name][:5]
    assert coverage(trace).kernels_without_launches == RECORDED[name][5]


@pytest.mark.parametrize(
    "name",
    [
        "AMD-AGI_TraceLens__mi300_resnet_act_checkpoint.json.gz",
        "facebookresearch_HolisticTraceAnalysis__simple_add.json.gz",
    ],
)
def test_times_equal_an_independent_decimal_reading(specimens: Path, name: str) -> None:
    from decimal import Decimal

    file = specimens / "torch_trace" / name
    document = json.loads(gzip.decompress(file.read_bytes()), parse_float=Decimal, parse_int=Decimal)
    base = int(document.get("baseTimeNanoseconds", 0))
    expected = [
        (int(e["ts"] * 1000) + base, int((e["ts"] + e["dur"]) * 1000) + base)
        for e in document["traceEvents"]
        if e.get("cat") == "kernel"
    ]
    dispatches = kineto.read(Source(file)).tables["dispatches"]
    assert dispatches.select("start_ns", "end_ns").rows() == expected


def test_the_numbers_of_events_say_what_was_taken_out(tmp_path: Path) -> None:
    ops = [span("cpu_op", "aten::mm", str(number), "1", **{"Ev Idx": number}) for number in (4, 5, 6, 9)]
    instant = {
        "ph": "i",
        "cat": "cpu_instant_event",
        "name": "[memory]",
        "s": "t",
        "pid": 77,
        "tid": 78,
        "ts": 7,
    }
    memory = json.dumps({**instant, "args": {"Ev Idx": 7, "Bytes": 8, "Device Type": 0}})
    path = tmp_path / "thinned.json"
    path.write_text(trace(*ops, memory, LAUNCH, KERNEL))
    assert load(path).run.numbering == Numbering(counter="Ev Idx", recorded=5, numbered=6, followed=3)


def test_events_of_a_device_that_is_not_a_gpu_are_not_the_hosts(tmp_path: Path) -> None:
    label = '{"ph": "M", "name": "process_labels", "pid": 9, "tid": 0, "ts": 1, "args": {"labels": "MTIA 9"}}'
    event = '{"ph": "X", "cat": "mtia_ccp_events", "name": "dma", "pid": 9, "tid": 1, "ts": 100, "dur": 3, "args": {}}'
    path = tmp_path / "other.json"
    path.write_text(trace(OP, label, event))
    recording = load(path)
    assert recording.table("ranges").select("name", "source").rows() == [("dma", "accelerator")]
    (finding,) = doubts(recording)
    assert (finding.id, finding.kind) == ("unknown-accelerator", "cannot-tell")
    assert "rocprofv3" not in finding.remedy
