"""rocprof results.json: process numbers are kinds of records, times are strings."""

from __future__ import annotations

import gzip
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.errors import EmptyCaptureError, InputError
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Part
from rocm_perf.ingest.rocprof import v1_json
from rocm_perf.ingest.sniff import sniff

BASE = 9007199254740993000  # more than a float can hold


def _span(
    section: object, lane: object, begin: int, length: int, name: str, **args: object
) -> dict[str, Any]:
    exact = {
        "BeginNs": str(begin),
        "EndNs": str(begin + length),
        "Name": name,
        "pid": "57",
        **{key: str(value) for key, value in args.items()},
    }
    return {
        "ph": "X",
        "name": name,
        "pid": str(section),
        "tid": str(lane),
        "ts": str(begin // 1000),
        "dur": str(length // 1000),
        "args": exact,
    }


def _gpu(section: int, begin: int, name: str, **args: object) -> dict[str, Any]:
    return _span(
        section, 1, begin, 5000, name, **{"dev-id": 2, "queue-id": 0, "stream-id": 1, "tid": 58, **args}
    )


def _flow(phase: str, number: int, section: int, lane: int, time_us: int) -> dict[str, Any]:
    return {
        "ts": time_us,
        "ph": phase,
        "cat": "DataFlow",
        "id": number,
        "pid": section,
        "tid": lane,
        "name": "dep",
    }


def _label(section: int, name: str) -> dict[str, Any]:
    return {"args": {"name": name}, "ph": "M", "pid": section, "name": "process_name", "sort_index": 0}


LABELS = [
    _label(2, "CPU HIP API"),
    _label(3, "CPU HSA API"),
    _label(1, "COPY"),
    _label(8, "GPU2"),
    _label(520, "GPU Barriers2"),
]
TRACED = [
    *LABELS,
    _span(0, 58, BASE, 9, "a range", tid=58),
    _span(2, 58, BASE + 1, 20_000, "hipLaunchKernel", tid=58, args="( stream(1))"),
    _span(2, 58, BASE + 30_001, 20_000, "hipFree", tid=58),
    _span(3, 58, BASE + 2, 3, "hsa_signal_create", tid=58),
    _span(
        1,
        0,
        BASE + 70_003,
        4000,
        "CopyHostToDevice",
        **{"dev-id": 2, "queue-id": 0, "stream-id": 0, "tid": 58},
    ),
    _gpu(8, BASE + 100_007, "gemm(float*, int) [clone .kd]"),
    _gpu(8, BASE + 200_007, "<barrier packet>"),
    _gpu(520, BASE + 300_007, "<barrier packet>"),
    _flow("s", 44, 2, 58, BASE // 1000 + 10),
    _flow("t", 44, 8, 1, (BASE + 100_007) // 1000),
    _flow("s", 45, 2, 58, BASE // 1000 + 25),  # while no call runs
    _flow("t", 45, 1, 0, (BASE + 70_003) // 1000),
]
OTHER = {
    "CMD": "rocminfo",
    "Agent1.Name": "EPYC",
    "Agent1.Node": "0",
    "Agent1.DeviceType": "CPU",
    "Agent2.Name": "gfx942",
    "Agent2.Node": "2",
    "Agent2.DeviceType": "GPU",
    "Agent2.ComputeUnit": "304",
    "Agent2.SIMDsperCU": "4",
    "Agent2.MemoryProperties.WavefrontSize": "64(0x40)",
    "Agent2.MemoryProperties.MaxWavesPerCU": "32(0x20)",
}
KERNEL = {
    "KernelName": "fill.kd",
    **dict.fromkeys(["queue-id", "queue-index", "lds", "scr", "accum_vgpr"], "0"),
    "gpu-id": "2",
    "pid": "57",
    "tid": "58",
    "grd": "256",
    "wgr": "64",
    "arch_vgpr": "16",
    "sgpr": "128",
    "wave_size": "32",
    "sig": "0x0",
    "obj": "0x7",
    "SQ_WAVES": "4",
    "DispatchNs": "1",
    "CompleteNs": "3",
    "BeginNs": str(BASE + 7),
    "EndNs": str(BASE + 9),
    "DurationNs": "2",
}


def _text(events: list[dict[str, Any]]) -> str:
    return (
        '{ "traceEvents":[{}\n'
        + "".join(f",{json.dumps(event)}\n" for event in events)
        + '],\n"otherData": '
        + json.dumps(OTHER)
        + "}"
    )


def _profiled(*args: dict[str, str]) -> list[dict[str, Any]]:
    return [
        {"ph": "X", "name": values["KernelName"], "pid": 8, "tid": 58, "ts": "1", "dur": "1", "args": values}
        for values in args
    ]


def _read(folder: Path, text: str) -> Part:
    file = folder / "anything.dat"
    file.write_text(text)
    source = Source(file)
    adapter = sniff(source)
    assert adapter.name == "rocprof-json"
    return adapter.read(source)


def test_every_kind_of_record(tmp_path: Path) -> None:
    part = _read(tmp_path, _text(TRACED))
    assert (part.tool, part.losses) == ("rocprof", ())
    assert part.tables["dispatches"].select(
        "kernel", "start_ns", "end_ns", "agent_id", "queue_id", "stream_id", "pid", "tid"
    ).rows() == [("gemm(float*, int)", BASE + 100_007, BASE + 105_007, 2, 0, 1, 57, 58)]
    assert part.tables["copies"].select("kind", "start_ns", "size_bytes").rows() == [
        ("H2D", BASE + 70_003, None)
    ]
    assert part.tables["api_calls"].select("domain", "name", "start_ns").rows() == [
        ("hip", "hipLaunchKernel", BASE + 1),
        ("hip", "hipFree", BASE + 30_001),
        ("hsa", "hsa_signal_create", BASE + 2),
    ]
    assert part.tables["ranges"].select("name", "source", "start_ns", "tid").rows() == [
        ("a range", "roctx", BASE, 58)
    ]


def test_a_flow_joins_the_call_that_ran_with_the_operation_it_meets(tmp_path: Path) -> None:
    tables = _read(tmp_path, _text(TRACED)).tables
    assert tables["api_calls"]["correlation_id"].to_list() == [44, None, None]
    assert tables["dispatches"]["correlation_id"].to_list() == [44]
    assert tables["copies"]["correlation_id"].to_list() == [None]


def test_agents_of_other_data(tmp_path: Path) -> None:
    agents = _read(tmp_path, _text(TRACED)).tables["agents"]
    columns = ("agent_id", "kind", "gfx", "cu_count", "simd_count", "wave_size", "max_waves_per_simd")
    assert agents.select(columns).rows() == [
        (0, "CPU", None, None, None, None, None),
        (2, "GPU", "gfx942", 304, 1216, 64, 8),
    ]


def test_sections_without_a_label(tmp_path: Path) -> None:
    tables = _read(tmp_path, _text(TRACED[len(LABELS) :])).tables
    assert {name: tables[name].height for name in ("dispatches", "copies", "api_calls", "ranges")} == {
        "dispatches": 1, "copies": 1, "api_calls": 3, "ranges": 1,
    }  # fmt: skip


def test_kernels_of_the_profiler_with_counters(tmp_path: Path) -> None:
    part = _read(tmp_path, _text(_profiled(KERNEL, {**KERNEL, "pid": "99"}, {**KERNEL, "SQ_WAVES": "5"})))
    rows = (
        part.tables["dispatches"]
        .select("dispatch_id", "kernel", "start_ns", "pid", "grid_x", "workgroup_x", "vgprs")
        .rows()
    )
    assert rows == [
        (0, "fill", BASE + 7, 57, 256, 64, 16),
        (0, "fill", BASE + 7, 99, 256, 64, 16),
        (1, "fill", BASE + 7, 57, 256, 64, 16),
    ]
    assert part.tables["counters"].select("pid", "dispatch_id", "counter", "value").rows() == [
        (57, 0, "SQ_WAVES", 4.0),
        (99, 0, "SQ_WAVES", 4.0),
        (57, 1, "SQ_WAVES", 5.0),
    ]


def test_kernels_recorded_twice_count_once(tmp_path: Path) -> None:
    part = _read(tmp_path, _text([*TRACED, *_profiled(KERNEL)]))
    assert part.tables["dispatches"]["kernel"].to_list() == ["fill"]
    assert len(part.notices) == 1


def test_names_of_2021_where_tid_is_the_stream(tmp_path: Path) -> None:
    span = _span(8, 3, BASE, 5, "gemm", **{"dev-id": 0, "queue-id": 0, "proc-id": 61, "tid": 3})
    row = _read(tmp_path, _text([span])).tables["dispatches"].row(0, named=True)
    assert (row["pid"], row["tid"], row["stream_id"]) == (61, None, 3)


def test_damage_is_told(tmp_path: Path) -> None:
    text = _text([*TRACED, _span(2, 58, 10**30, 1, "hipFree", tid=58)])
    part = _read(tmp_path, text[: text.index('],\n"otherData"')])
    assert part.tables["dispatches"].height == 1
    assert ["breaks off" in part.losses[0].what, part.losses[1].records] == [True, 1]


def test_what_holds_nothing(tmp_path: Path) -> None:
    with pytest.raises(EmptyCaptureError, match="rocprof wrote one line"):
        _read(tmp_path, json.dumps(_label(1, "COPY")))
    with pytest.raises(EmptyCaptureError):
        _read(tmp_path, _text(LABELS))
    file = tmp_path / "x.json"
    file.write_text('{"traceEvents": 5}')
    with pytest.raises(InputError):
        v1_json.read_trace(Source(file))


WHOLE = _text([*TRACED, *_profiled(KERNEL)]).encode()


@given(cut=st.integers(0, len(WHOLE)), at=st.integers(0, len(WHOLE)), junk=st.binary(max_size=12))
def test_no_damage_gives_a_traceback(
    tmp_path_factory: pytest.TempPathFactory, cut: int, at: int, junk: bytes
) -> None:
    file = tmp_path_factory.getbasetemp() / "v1_mutated.json"
    file.write_bytes((WHOLE[:at] + junk + WHOLE[at:])[: cut + len(junk)])
    with suppress(InputError, EmptyCaptureError):
        assert isinstance(v1_json.read_trace(Source(file)), Part)


odd = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2),
)


@given(
    at=st.integers(0, len(TRACED) - 1),
    key=st.sampled_from(["ph", "name", "pid", "tid", "ts", "dur", "id", "args"]),
    value=odd,
)
def test_no_odd_value_gives_a_traceback(
    tmp_path_factory: pytest.TempPathFactory, at: int, key: str, value: object
) -> None:
    file = tmp_path_factory.getbasetemp() / "v1_odd.json"
    events = [{**event, key: value} if index == at else event for index, event in enumerate(TRACED)]
    file.write_text(_text(events).replace("NaN", "0").replace("-Infinity", "0").replace("Infinity", "0"))
    part = v1_json.read_trace(Source(file))
    assert part.tables["api_calls"].height >= 2


@pytest.mark.parametrize(("name", "rows"), [("hpcgarage_spatter", 520), ("JoursBleu_llama.cpp", 1963)])
def test_specimens_of_the_profiler(specimens: Path, name: str, rows: int) -> None:
    file = specimens / "rocprof_v1" / f"{name}__results.json.gz"
    table = sniff(Source(file)).read(Source(file)).tables["dispatches"]
    with gzip.open(file) as stream:
        spans = [event["args"] for event in json.load(stream)["traceEvents"] if event.get("ph") == "X"]
    assert table.height == rows
    assert table["start_ns"].to_list() == [int(args["BeginNs"]) for args in spans]
    assert table["grid_x"].to_list() == [int(args["grd"]) for args in spans]
    assert table["dispatch_id"].to_list() == list(range(rows))


def test_specimen_of_the_tracer(specimens: Path) -> None:
    file = specimens / "rocprof_v1" / "HazyResearch_HipKittens__basic_col_results.json.gz"
    part = sniff(Source(file)).read(Source(file))
    assert {name: table.height for name, table in part.tables.items()} == {
        "api_calls": 1943,
        "copies": 44,
        "dispatches": 11,
        "agents": 3,
    }
    assert part.tables["dispatches"].row(0, named=True)["start_ns"] == 2578606303367673
    launches = part.tables["api_calls"].drop_nulls("correlation_id")
    assert set(launches["name"]) == {"hipModuleLaunchKernel"}
    assert launches["correlation_id"].to_list() == part.tables["dispatches"]["correlation_id"].to_list()
    assert (launches["start_ns"] < part.tables["dispatches"]["start_ns"]).all()


def test_specimen_of_a_crashed_run(specimens: Path) -> None:
    source = Source(specimens / "rocprof_v1" / "Minimap2onGPU_mm2-gb__results.json")
    with pytest.raises(EmptyCaptureError):
        sniff(source).read(source)
