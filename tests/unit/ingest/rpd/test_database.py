"""RPD: what roctracer, rocprofiler-sdk and the two schemas put into the same tables."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from rocm_perf.errors import EmptyCaptureError, RocmPerfError
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Part
from rocm_perf.ingest.rpd import database
from rocm_perf.ingest.sniff import sniff
from tests.properties import examples

BIG = 9_007_199_254_740_993  # no float holds it
NAME = 'void gemm<float, 4>(float const*, "int")'
SCHEMA_2 = {
    "rocpd_string": "id string",
    "rocpd_api": "id pid tid start end apiName_id args_id",
    "rocpd_op": "id gpuId queueId sequenceId completionSignal start end description_id opType_id",
    "rocpd_api_ops": "id api_id op_id",
    "rocpd_kernelapi": "api_ptr_id stream gridX gridY gridZ workgroupX workgroupY workgroupZ groupSegmentSize "
    "privateSegmentSize kernelArgAddress aquireFence releaseFence codeObject_id kernelName_id",
    "rocpd_copyapi": "api_ptr_id stream size width height kind dst src dstDevice srcDevice sync pinned",
    "rocpd_kernelcodeobject": "id vgpr sgpr fbar",
    "rocpd_op_inputSignals": "id from_op_id to_op_id",
    "rocpd_monitor": "id deviceType deviceId monitorType start end value",
    "rocpd_metadata": "id tag value",
}
SCHEMA_3 = {
    **{
        name: columns
        for name, columns in SCHEMA_2.items()
        if name not in ("rocpd_op_inputSignals", "rocpd_kernelcodeobject")
    },
    "rocpd_api": "id pid tid start end domain_id category_id apiName_id args_id",
    "rocpd_op": "id gpuId queueId sequenceId start end description_id opType_id",
    "rocpd_ustring": "id string",
    "rocpd_counter": "id value op_id name_id",
}

Rows = dict[str, list[dict[str, Any]]]


class Strings(dict[str, int]):
    """The string table, filled as it is used."""

    def __missing__(self, text: str) -> int:
        self[text] = len(self) + 1
        return self[text]

    def rows(self) -> list[dict[str, Any]]:
        return [{"id": number, "string": text} for text, number in self.items()]


def _api(number: int, strings: Strings, name: str, args: str = "", **more: object) -> dict[str, Any]:
    place = {"id": number, "pid": 70, "tid": 71, "start": 1000 * number, "end": 1000 * number + 9}
    return {**place, "apiName_id": strings[name], "args_id": strings[args], **more}


def _op(number: int, strings: Strings, kind: str, description: str = "", at: int = BIG) -> dict[str, Any]:
    place = {"id": number, "gpuId": 2, "queueId": 5, "sequenceId": 0, "start": at, "end": at + 6}
    return {**place, "description_id": strings[description], "opType_id": strings[kind]}


def _launch(
    api: int, strings: Strings, name: str, grid: int, group: int = 64, **more: object
) -> dict[str, Any]:
    sizes = {"gridX": grid, "gridY": 2, "gridZ": 1, "workgroupX": group, "workgroupY": 4, "workgroupZ": 1}
    memory = {"groupSegmentSize": 256, "privateSegmentSize": 0, "codeObject_id": ""}
    return {"api_ptr_id": api, "stream": "0x7f00", **sizes, **memory, "kernelName_id": strings[name], **more}


def _write(file: Path, rows: Rows, strings: Strings, schema: dict[str, str]) -> Path:
    with closing(sqlite3.connect(file)) as connection:
        for table, columns in schema.items():
            quoted = ", ".join(f'"{name}"' for name in columns.split())
            connection.execute(f'CREATE TABLE "{table}" ({quoted})')
        for table, made in {"string": strings.rows(), **rows}.items():
            for row in made:
                names, values = ", ".join(f'"{name}"' for name in row), ", ".join(f":{name}" for name in row)
                connection.execute(f'INSERT INTO "rocpd_{table}" ({names}) VALUES ({values})', row)
        connection.commit()
    return file


def _read(tmp_path: Path, rows: Rows, strings: Strings, schema: dict[str, str] = SCHEMA_2) -> Part:
    source = Source(_write(tmp_path / "anything.bin", rows, strings, schema))
    adapter = sniff(source)
    assert adapter.name == "rpd"
    return adapter.read(source)


def _kernels(strings: Strings, launcher: str = "hipLaunchKernel") -> Rows:
    return {
        "api": [_api(1, strings, launcher)],
        "op": [_op(8, strings, "KernelExecution", NAME)],
        "api_ops": [{"id": 1, "api_id": 1, "op_id": 8}],
        "kernelapi": [_launch(1, strings, NAME, 10)],
    }


def test_a_kernel_and_the_call_that_launched_it(tmp_path: Path) -> None:
    strings = Strings()
    rows = _kernels(strings)
    rows["kernelcodeobject"] = [{"id": 3, "vgpr": 32, "sgpr": 96, "fbar": 0}]
    rows["kernelapi"][0]["codeObject_id"] = 3
    part = _read(tmp_path, rows, strings)
    (row,) = part.tables["dispatches"].rows(named=True)
    assert (row["kernel"], row["start_ns"], row["end_ns"]) == (NAME, BIG, BIG + 6)
    assert (row["agent_id"], row["queue_id"], row["stream_id"]) == (2, 5, 0x7F00)
    assert (row["dispatch_id"], row["correlation_id"], row["pid"], row["tid"]) == (8, 1, 70, 71)
    assert (row["workgroup_x"], row["workgroup_y"], row["vgprs"], row["sgprs"]) == (64, 4, 32, 96)
    (call,) = part.tables["api_calls"].rows(named=True)
    assert (call["domain"], call["name"], call["correlation_id"]) == ("hip", "hipLaunchKernel", 1)
    assert (call["start_ns"], call["end_ns"]) == (1000, 1009)
    assert (part.tool, part.pid, part.clock, part.losses) == ("rocmProfileData", 70, "boot", ())


@pytest.mark.parametrize(
    ("launcher", "also", "grid", "lds"),
    [
        ("hipLaunchKernel", "hcc_activity_callback", (640, 8), None),
        ("hipExtModuleLaunchKernel", "hcc_activity_callback", (10, 2), None),
        ("hipLaunchKernel", "RocprofDataSource::buffer_callback", (10, 2), 256),
    ],
    ids=["blocks", "work-items by the launch", "work-items by rocprofiler-sdk"],
)
def test_grids_are_work_items(
    tmp_path: Path, launcher: str, also: str, grid: tuple[int, int], lds: int | None
) -> None:
    strings = Strings()
    rows = _kernels(strings, launcher)
    rows["api"].append(_api(2, strings, also))
    part = _read(tmp_path, rows, strings)
    (row,) = part.tables["dispatches"].rows(named=True)
    assert (row["grid_x"], row["grid_y"]) == grid
    assert row["lds_bytes"] == lds
    assert part.tables["api_calls"]["domain"].to_list() == ["hip", "rpd"]


def test_kernels_without_a_launch_of_their_own_are_kept(tmp_path: Path) -> None:
    strings = Strings()
    rows = _kernels(strings, "hipGraphLaunch")
    rows["op"] += [_op(9, strings, "KernelExecution", "other.kd"), _op(10, strings, "KernelExecution")]
    rows["api_ops"].append({"id": 2, "api_id": 1, "op_id": 9})
    dispatches = _read(tmp_path, rows, strings).tables["dispatches"]
    assert dispatches["kernel"].to_list() == [NAME, "other", "KernelExecution"]
    assert dispatches["workgroup_x"].to_list() == [64, None, None]
    assert dispatches["correlation_id"].to_list() == [1, 1, None]


@pytest.mark.parametrize(
    ("arguments", "stream"),
    [("graphExec = 0x24922d90 | stream = 0x7f10", 0x7F10), ("graphExec = 0x24922d90", None), ("", None)],
)
def test_the_launch_of_a_graph_names_the_stream_of_its_kernels(
    tmp_path: Path, arguments: str, stream: int | None
) -> None:
    strings = Strings()
    rows: Rows = {
        "api": [_api(1, strings, "hipGraphLaunch", arguments)],
        "op": [
            _op(8, strings, "KernelExecution", NAME),
            _op(9, strings, "CopyDeviceToDevice", at=BIG + 10),
            _op(10, strings, "KernelExecution", "nobody's", at=BIG + 20),
        ],
        "api_ops": [{"api_id": 1, "op_id": op} for op in (8, 9)],
    }
    tables = _read(tmp_path, rows, strings).tables
    assert tables["dispatches"]["stream_id"].to_list() == [stream, None]
    assert tables["copies"]["stream_id"].to_list() == [stream]


def test_copies_by_name_or_number(tmp_path: Path) -> None:
    strings = Strings()
    ops = ["CopyHostToDevice", "Memcpy", "FillBuffer", "MEMORY_COPY_DEVICE_TO_HOST", "CopyDeviceToDevice"]
    rows: Rows = {
        "api": [_api(number, strings, "hipMemcpyAsync") for number in (1, 2, 3)],
        "op": [_op(number, strings, kind) for number, kind in enumerate(ops)],
        "api_ops": [{"api_id": api, "op_id": op} for api, op in ((1, 0), (2, 1), (3, 3), (3, 4))],
        "copyapi": [
            {"api_ptr_id": 1, "stream": "0x0", "size": 4096, "kind": 1},
            {"api_ptr_id": 2, "stream": "", "size": 12, "kind": 3},
            {"api_ptr_id": 3, "stream": "0x0", "size": 100, "kind": 4},
        ],
    }
    copies = _read(tmp_path, rows, strings).tables["copies"]
    assert copies["kind"].to_list() == ["H2D", "D2D", "MEMSET", "D2H", "D2D"]
    assert copies["size_bytes"].to_list() == [4096, 12, None, None, None]
    assert copies["stream_id"].to_list() == [0, None, None, 0, 0]


def test_signals_sensors_and_operations_that_are_not_known(tmp_path: Path) -> None:
    strings = Strings()
    rows = _kernels(strings)
    rows["op"] += [_op(9, strings, "Barrier", at=BIG + 50), _op(10, strings, "Teleport")]
    rows["op_inputSignals"] = [
        {"id": 1, "from_op_id": 8, "to_op_id": 9},
        {"id": 2, "from_op_id": 8, "to_op_id": 99},
    ]
    rows["monitor"] = [
        {"deviceType": "gpu", "deviceId": 0, "monitorType": "sclk", "start": 5, "end": 9, "value": "1700"},
        {"deviceType": "gpu", "deviceId": 0, "monitorType": "volts", "start": 9, "end": 12, "value": "N/A"},
    ]
    part = _read(tmp_path, rows, strings)
    (link,) = part.tables["links"].rows(named=True)
    assert (link["kind"], link["cause_ns"], link["effect_ns"], link["known"]) == (
        "signal",
        BIG + 6,
        BIG + 50,
        "recorded",
    )
    assert part.tables["samples"].select("time_ns", "agent_id", "metric", "value", "unit").rows() == [
        (5, 0, "clock_mhz", 1700.0, "MHz"),
        (9, 0, "volts", None, None),
    ]
    assert [(loss.what, loss.records) for loss in part.losses] == [
        ("GPU operations of unknown type (Teleport)", 1)
    ]
    assert len(part.notices) == 1
    assert part.tables["dispatches"].height == 1


def test_schema_2_tells_calls_by_their_names(tmp_path: Path) -> None:
    strings = Strings()
    names = ["hipMalloc", "OpTable::writeRows", "aten::add", "hsa_init", "UserMarker"]
    rows: Rows = {"api": [_api(number, strings, name, f"args {number}") for number, name in enumerate(names)]}
    tables = _read(tmp_path, rows, strings).tables
    assert tables["api_calls"]["domain"].to_list() == ["hip", "rpd", "hsa"]
    assert tables["ops"].select("name", "category", "op_id").rows() == [("aten::add", "operator", 2)]
    assert tables["ranges"].select("name", "source", "start_ns").rows() == [("args 4", "roctx", 4000)]


def test_schema_3_says_what_a_call_is(tmp_path: Path) -> None:
    strings, arguments = Strings(), Strings()
    strings.update({f"pad {number}": number + 1 for number in range(3)})  # ids differ between the two tables

    def api(number: int, name: str, args: str, domain: str, category: str = "") -> dict[str, Any]:
        more = {"domain_id": strings[domain], "category_id": strings[category]}
        return {**_api(number, strings, name), "args_id": arguments[args], **more}

    rows = _kernels(strings)
    rows["api"] = [
        api(1, "hipLaunchKernel", "{}", "hip"),
        api(2, "UserMarker", "my range", "roctx", "range"),
        api(3, "aten::mm", '{"seq": 41}', "torch", "function"),
        api(4, "train step", "", "torch", "user_scope"),
    ]
    rows["counter"] = [
        {"op_id": 8, "name_id": strings["SQ_WAVES"], "value": 2.5},
        {"op_id": 8, "name_id": strings["SQ_WAVES"], "value": 1.0},
    ]
    rows["ustring"] = arguments.rows()
    tables = _read(tmp_path, rows, strings, SCHEMA_3).tables
    assert tables["api_calls"].select("domain", "name").rows() == [("hip", "hipLaunchKernel")]
    ranges = tables["ranges"].select("name", "source").rows()
    assert ranges == [("my range", "roctx"), ("train step", "record_function")]
    assert tables["ops"].select("name", "sequence").rows() == [("aten::mm", 41)]
    counters = tables["counters"].select("dispatch_id", "counter", "value", "agent_id").rows()
    assert counters == [(8, "SQ_WAVES", 3.5, 2)]
    assert tables["dispatches"]["kernel"].to_list() == [NAME]


def test_an_epoch_clock_is_told_by_its_size(tmp_path: Path) -> None:
    strings = Strings()
    rows: Rows = {"op": [_op(1, strings, "KernelExecution", NAME, at=1_700_000_000_000_000_001)]}
    part = _read(tmp_path, rows, strings)
    assert part.clock == "epoch"
    assert part.tables["dispatches"]["start_ns"].to_list() == [1_700_000_000_000_000_001]


def test_nothing_recorded(tmp_path: Path) -> None:
    with pytest.raises(EmptyCaptureError, match="without any record"):
        _read(tmp_path, {}, Strings())


@examples(times=1.5, allowed=[HealthCheck.function_scoped_fixture])
@given(places=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=40))
def test_any_damage_gives_a_part_or_a_sentence(tmp_path: Path, places: list[tuple[float, int]]) -> None:
    whole = tmp_path / "whole.rpd"
    if not whole.exists():
        strings = Strings()
        _write(whole, _kernels(strings), strings, SCHEMA_2)
    data = bytearray(whole.read_bytes())
    for place, value in places:
        data[min(int(place * len(data)), len(data) - 1)] = value
    file = tmp_path / "damaged.rpd"
    file.write_bytes(data)
    with suppress(RocmPerfError):
        assert database.read(Source(file)).tables


def test_the_specimen_of_a_matrix_product(specimens: Path) -> None:
    source = Source(specimens / "rpd" / "ROCm_rocmProfileData__matmul_result.rpd")
    part = sniff(source).read(source)
    tables = part.tables
    assert {name: table.height for name, table in tables.items()} == {
        "api_calls": 125,
        "dispatches": 29,
        "copies": 56,
        "samples": 15,
    }
    assert (part.pid, part.clock, part.losses) == (1087077, "boot", ())
    gemm = tables["dispatches"].row(0, named=True)
    assert gemm["kernel"].startswith("Cijk_Ailk_Bljk_SB_MT128x64x16")
    assert (gemm["start_ns"], gemm["end_ns"], gemm["agent_id"]) == (8306020565922417, 8306020592134373, 2)
    assert (gemm["grid_x"], gemm["grid_y"], gemm["correlation_id"]) == (1792, 782, 29)
    cat = tables["dispatches"].row(1, named=True)
    assert (cat["grid_x"], cat["grid_y"], cat["workgroup_x"]) == (128, 2, 128)
    kinds = tables["copies"]["kind"].value_counts(sort=True).rows()
    assert kinds == [("D2H", 53), ("H2D", 2), ("MEMSET", 1)]
    assert tables["copies"]["size_bytes"].sum() == 2_032_000_000 + 4 + 37 * 4 + 12 * 12
    assert tables["api_calls"]["domain"].value_counts(sort=True).rows() == [("hip", 120), ("rpd", 5)]


def test_the_specimen_that_is_almost_empty(specimens: Path) -> None:
    source = Source(specimens / "rpd" / "iree-org_wave__cool.rpd.gz")
    tables = sniff(source).read(source).tables
    (call,) = tables["api_calls"].rows(named=True)
    assert (call["name"], call["correlation_id"]) == ("hipGetDeviceCount", (1 << 32) + 1)
    assert set(tables) == {"api_calls"}
