"""rocprofv3 JSON: every record list becomes its table, names resolved."""

from __future__ import annotations

import copy
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
from rocm_perf.ingest.peek import Peek
from rocm_perf.ingest.rocprofv3 import results_json

START = 9007199254740993  # one more than a float can hold
LAUNCH = {
    "agent_id": {"handle": 700},
    "queue_id": {"handle": 3},
    "kernel_id": 2,
    "dispatch_id": 11,
    "private_segment_size": 16,
    "group_segment_size": 2048,
    "workgroup_size": {"x": 64, "y": 2, "z": 1},
    "grid_size": {"x": 640, "y": 20, "z": 1},
}


def _span(kind: int, operation: int, correlation: int = 5) -> dict[str, Any]:
    return {
        "size": 96,
        "kind": kind,
        "operation": operation,
        "thread_id": 77,
        "correlation_id": {"internal": correlation, "external": 0},
        "start_timestamp": START,
        "end_timestamp": START + 6,
    }


def _sample(**more: Any) -> dict[str, Any]:
    common = {"exec_mask": 2**64 - 1, "timestamp": START, "dispatch_id": 11, "corr_id": {"internal": 5}}
    return {"record": common | more, "inst_index": 1}


PROCESS: dict[str, Any] = {
    "metadata": {
        "node": {"hostname": "n1", "system_name": "Linux", "release": "6.1"},
        "pid": 70,
        "init_time": 1,
        "fini_time": 9,
        "command": ["./app", "a b"],
    },
    "agents": [
        {"id": {"handle": 699}, "type": 1, "node_id": 0, "name": "EPYC", "hive_id": 2**64 - 1},
        {
            "id": {"handle": 700},
            "type": 2,
            "node_id": 4,
            "name": "gfx942",
            "product_name": "unknown",
            "model_name": "MI300X",
            "local_mem_size": 0,
            "mem_banks": [{"heap_type": 1, "size_in_bytes": 1000}],
            "lds_size_in_kb": 64,
        },
    ],
    "counters": [
        {
            "agent_id": {"handle": 700},
            "id": {"handle": 40},
            "name": "SQ_WAVES",
            "block": "SQ",
            "is_derived": 0,
        }
    ],
    "strings": {
        "buffer_records": [
            {"kind": "NONE", "operations": []},
            {"kind": "HIP_RUNTIME_API_EXT", "operations": ["none", "hipLaunchKernel"]},
            {"kind": "MEMORY_COPY", "operations": ["NONE", "MEMORY_COPY_DEVICE_TO_HOST"]},
            {
                "kind": "MEMORY_ALLOCATION",
                "operations": ["NONE", "MEMORY_ALLOCATION_VMEM_ALLOCATE", "MEMORY_ALLOCATION_FREE"],
            },
            {"kind": "SCRATCH_MEMORY", "operations": ["NONE", "SCRATCH_MEMORY_ALLOC"]},
            {"kind": "MARKER_CORE_RANGE_API", "operations": ["roctxMarkA", "roctxRangePush"]},
            {"kind": "RCCL_API", "operations": ["ncclAllReduce"]},
        ],
        "marker_api": [{"key": 8, "value": 'step, "one"'}],
        "pc_sample_instructions": ["s_nop", "v_add"],
        "pc_sample_comments": ["", "a.cpp:3"],
    },
    "code_objects": [{"code_object_id": 1, "uri": "file://a.out"}],
    "kernel_symbols": [
        {"kernel_id": 0, "kernel_name": "", "formatted_kernel_name": "0"},
        {
            "kernel_id": 2,
            "code_object_id": 1,
            "kernel_name": "_Z1kPf.kd",
            "formatted_kernel_name": "k(float*, int) [clone .kd]",
            "arch_vgpr_count": 8,
            "accum_vgpr_count": 4,
            "sgpr_count": 32,
        },
    ],
    "callback_records": {
        "counter_collection": [
            {
                "thread_id": 77,
                "dispatch_data": {"correlation_id": {"internal": 5}, "dispatch_info": LAUNCH},
                "records": [
                    {"counter_id": {"handle": 40}, "value": 1.5},
                    {"counter_id": {"handle": 40}, "value": 2},
                ],
            }
        ]
    },
    "buffer_records": {
        "kernel_dispatch": [_span(0, 2) | {"dispatch_info": LAUNCH, "stream_id": {"handle": 6}}],
        "hip_api": [_span(1, 1)],
        "rccl_api": [_span(6, 0)],
        "marker_api": [_span(5, 1, correlation=8)],
        "memory_copy": [
            _span(2, 1) | {"src_agent_id": {"handle": 700}, "dst_agent_id": {"handle": 699}, "bytes": 4096}
        ],
        "memory_allocation": [
            _span(3, 1)
            | {"agent_id": {"handle": 700}, "address": "0x00007f0000000000", "allocation_size": 512},
            _span(3, 2) | {"agent_id": {"handle": 0}, "address": "0x00007f0000000000", "allocation_size": 0},
        ],
        "scratch_memory": [
            _span(4, 1) | {"agent_id": {"handle": 700}, "queue_id": {"handle": 3}, "flags": 2}
        ],
        "pc_sample_host_trap": [_sample()],
        "pc_sample_stochastic": [
            _sample(
                wave_issued=0,
                inst_type="ROCPROFILER_PC_SAMPLING_INSTRUCTION_TYPE_NO_INST",
                wave_cnt=3,
                snapshot={"stall_reason": "ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_WAITCNT"},
            )
        ],
    },
}
WHOLE = json.dumps({"rocprofiler-sdk-tool": [PROCESS]}).encode()


def _source(folder: Path, data: bytes) -> Source:
    file = folder / "any.name"
    file.write_bytes(data)
    return Source(file)


def _read(folder: Path, *processes: dict[str, Any]) -> Part:
    source = _source(folder, json.dumps({"rocprofiler-sdk-tool": list(processes)}).encode())
    assert results_json.ADAPTERS[0].claims(Peek(source))
    return results_json.read_results(source)


def _row(part: Part, table: str, index: int = 0) -> dict[str, Any]:
    return part.tables[table].row(index, named=True)


def test_a_dispatch_has_the_names_and_exact_times(tmp_path: Path) -> None:
    part = _read(tmp_path, PROCESS)
    row = _row(part, "dispatches")
    assert part.tables["dispatches"].height == 1
    assert (row["kernel"], row["start_ns"], row["end_ns"]) == ("k(float*, int)", START, START + 6)
    assert (row["agent_id"], row["queue_id"], row["stream_id"], row["pid"], row["tid"]) == (4, 3, 6, 70, 77)
    assert (row["grid_x"], row["grid_y"], row["workgroup_y"], row["lds_bytes"]) == (640, 20, 2, 2048)
    assert (row["vgprs"], row["agprs"], row["sgprs"], row["scratch_bytes"]) == (8, 4, 32, 16)
    assert part.losses == ()


def test_calls_and_ranges_are_named_through_the_strings(tmp_path: Path) -> None:
    part = _read(tmp_path, PROCESS)
    calls = part.tables["api_calls"].select("domain", "name", "correlation_id").rows()
    assert calls == [("hip", "hipLaunchKernel", 5), ("rccl", "ncclAllReduce", 5)]
    assert _row(part, "ranges")["name"] == 'step, "one"'
    assert _row(part, "ranges")["source"] == "roctx"


def test_memory_records(tmp_path: Path) -> None:
    part = _read(tmp_path, PROCESS)
    copied = _row(part, "copies")
    assert (copied["kind"], copied["size_bytes"], copied["src_agent"], copied["dst_agent"]) == (
        "D2H",
        4096,
        4,
        0,
    )
    assert copied["agent_id"] == 4
    allocations = (
        part.tables["allocations"].select("operation", "level", "address", "size_bytes", "agent_id").rows()
    )
    assert allocations == [
        ("ALLOC", "VIRTUAL", 0x7F0000000000, 512, 4),
        ("FREE", "REAL", 0x7F0000000000, None, None),
    ]
    assert _row(part, "scratch")["operation"] == "SCRATCH_MEMORY_ALLOC"
    assert _row(part, "scratch")["flags"] == "2"


def test_counters_are_summed_over_instances(tmp_path: Path) -> None:
    part = _read(tmp_path, PROCESS)
    assert part.tables["counters"].select("dispatch_id", "agent_id", "counter", "value").rows() == [
        (11, 4, "SQ_WAVES", 3.5)
    ]
    assert _row(part, "counter_info")["gfx"] == "gfx942"
    assert _row(part, "counter_info")["derived"] is False


def test_a_run_with_counters_only_still_has_its_dispatches(tmp_path: Path) -> None:
    process = copy.deepcopy(PROCESS)
    process["buffer_records"] = {}
    row = _row(_read(tmp_path, process), "dispatches")
    assert (row["kernel"], row["dispatch_id"], row["start_ns"]) == ("k(float*, int)", 11, None)


def test_pc_samples_of_both_methods(tmp_path: Path) -> None:
    trapped, drawn = _read(tmp_path, PROCESS).tables["pc_samples"].rows(named=True)
    assert (trapped["method"], trapped["issued"], trapped["exec_mask"]) == ("host_trap", None, 2**64 - 1)
    assert (trapped["instruction"], trapped["source"], trapped["agent_id"]) == ("v_add", "a.cpp:3", 4)
    assert (drawn["method"], drawn["issued"], drawn["stall_reason"]) == ("stochastic", False, "WAITCNT")
    assert (drawn["instruction_type"], drawn["wave_count"]) == ("NO_INST", 3)


def test_agents_kernels_and_process(tmp_path: Path) -> None:
    part = _read(tmp_path, PROCESS)
    gpu = _row(part, "agents", 1)
    assert (gpu["agent_id"], gpu["kind"], gpu["gfx"], gpu["name"]) == (4, "GPU", "gfx942", "MI300X")
    assert (gpu["memory_bytes"], gpu["lds_bytes"]) == (1000, 65536)
    assert part.tables["kernels"].select("kernel", "symbol", "code_object_uri").rows() == [
        ("k(float*, int)", "_Z1kPf", "file://a.out")
    ]
    assert (part.host, part.os, part.pid, part.command, part.clock) == (
        "n1",
        "Linux 6.1",
        70,
        "./app 'a b'",
        "boot",
    )


def test_several_processes_share_agents_but_not_ids(tmp_path: Path) -> None:
    second = copy.deepcopy(PROCESS)
    second["metadata"]["pid"] = 71
    part = _read(tmp_path, PROCESS, second)
    assert part.tables["dispatches"]["pid"].to_list() == [70, 71]
    assert part.tables["agents"].height == 2
    assert part.pid is None


def test_a_kernel_without_a_symbol_is_kept(tmp_path: Path) -> None:
    process = copy.deepcopy(PROCESS)
    process["kernel_symbols"] = []
    assert _row(_read(tmp_path, process), "dispatches")["kernel"] == "kernel 2 (name not recorded)"


def test_a_number_that_is_too_large_costs_one_row(tmp_path: Path) -> None:
    process = copy.deepcopy(PROCESS)
    process["buffer_records"]["kernel_dispatch"].append(
        _span(0, 2) | {"dispatch_info": LAUNCH, "start_timestamp": 2**70}
    )
    part = _read(tmp_path, process)
    assert part.tables["dispatches"].height == 1
    assert [loss.records for loss in part.losses] == [1]


def test_a_document_that_breaks_off_gives_what_it_holds(tmp_path: Path) -> None:
    cut = WHOLE[: WHOLE.index(b'"rccl_api"') + 40]
    part = results_json.read_results(_source(tmp_path, cut))
    assert part.tables["dispatches"].height == 1
    assert part.tables["api_calls"]["name"].to_list() == ["hipLaunchKernel"]
    assert "incomplete" in part.losses[0].what


def test_nothing_recorded_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(EmptyCaptureError, match="no records"):
        _read(tmp_path, {"metadata": {"pid": 1}, "agents": PROCESS["agents"]})
    with pytest.raises(InputError, match="ends before its first record"):
        results_json.read_results(_source(tmp_path, WHOLE[:400]))


def test_a_schema_is_no_recording(tmp_path: Path) -> None:
    source = _source(tmp_path, b'{"$schema": "x", "properties": {"rocprofiler-sdk-tool": {"type": "array"}}}')
    claimed = [adapter for adapter in results_json.ADAPTERS if adapter.claims(Peek(source))]
    assert [adapter.name for adapter in claimed] == ["rocprofv3-json-schema"]
    with pytest.raises(InputError, match="schema"):
        claimed[0].read(source)


@given(cut=st.integers(0, len(WHOLE)), at=st.integers(0, len(WHOLE) - 1), byte=st.integers(0, 255))
def test_damage_gives_a_part_or_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, cut: int, at: int, byte: int
) -> None:
    folder = tmp_path_factory.mktemp("json")
    changed = WHOLE[:at] + bytes([byte]) + WHOLE[at + 1 :]
    for data in (WHOLE[:cut], changed):
        with suppress(InputError, EmptyCaptureError):
            results_json.read_results(_source(folder, data))


def test_the_ddp_training_specimen(specimens: Path) -> None:
    file = specimens / "rocprofv3_json" / "AMD-AGI_TraceLens__908_results.json.gz"
    part = results_json.read_results(Source(file))
    process = json.loads(gzip.decompress(file.read_bytes()))["rocprofiler-sdk-tool"][0]
    records = process["buffer_records"]["kernel_dispatch"]
    names = {symbol["kernel_id"]: symbol["formatted_kernel_name"] for symbol in process["kernel_symbols"]}
    nodes = {agent["id"]["handle"]: agent["node_id"] for agent in process["agents"]}
    table = part.tables["dispatches"]
    assert (table.height, part.tables["agents"].height, part.tables["kernels"].height) == (43915, 10, 9888)
    assert table["start_ns"].to_list() == [record["start_timestamp"] for record in records]
    assert table["kernel"].to_list() == [names[record["dispatch_info"]["kernel_id"]] for record in records]
    assert table["agent_id"].to_list() == [
        nodes[record["dispatch_info"]["agent_id"]["handle"]] for record in records
    ]
    assert part.losses == ()


@pytest.mark.parametrize(
    "name",
    [
        "ROCm_rocm-systems__rocprofv3-schema_ROCm7.0.json",
        "ROCm_rocprofiler-sdk__rocprofv3-schema_ROCm6.3.json",
    ],
)
def test_the_schema_specimens_are_refused(specimens: Path, name: str) -> None:
    peek = Peek(Source(specimens / "rocprofv3_json" / name))
    assert [adapter.name for adapter in results_json.ADAPTERS if adapter.claims(peek)] == [
        "rocprofv3-json-schema"
    ]
