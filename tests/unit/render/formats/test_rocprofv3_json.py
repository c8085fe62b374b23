from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rocm_perf.errors import UsageError
from rocm_perf.ingest.load import load
from rocm_perf.model import schema
from rocm_perf.model.trace import Trace
from rocm_perf.render.formats.rocprofv3 import processes_of
from rocm_perf.render.formats.rocprofv3_json import write
from rocm_perf.sim.workload import Workload
from tests.properties import examples
from tests.recordings import recording
from tests.sim.recorded import recorded, small
from tests.sim.strategies import workloads

SPAN = {"start_ns", "end_ns", "node", "pass_id", "pid", "tid"}
SIZES = {f"{size}_{axis}" for size in ("grid", "workgroup") for axis in "xyz"}
RESOURCES = {"lds_bytes", "scratch_bytes", "vgprs", "agprs", "sgprs"}
LAUNCH = {"dispatch_id", "kernel", "agent_id", "queue_id", "correlation_id"} | SIZES | RESOURCES
# What the document carries. Not: ranks, operators, graphs, a range's depth, and what a release gives back.
CARRIED = {
    "dispatches": SPAN | LAUNCH | {"stream_id"},
    "api_calls": SPAN | {"domain", "name", "correlation_id"},
    "ranges": SPAN | {"name", "source", "on_gpu"},  # an id too, where the recording has one
    "copies": SPAN
    | {"kind", "size_bytes", "src_agent", "dst_agent", "agent_id", "stream_id", "correlation_id"},
    "allocations": SPAN | {"operation", "address", "correlation_id"},
    "processes": {"node", "pid", "command", "start_ns", "end_ns"},
    "nodes": {"node", "host", "os", "clock"},
}
EVENTS = ("dispatches", "api_calls", "ranges", "copies", "allocations")
AGENTS = set(schema.SCHEMAS["agents"].names) - {"uuid"}  # of a GPU
KERNELS = RESOURCES | {"kernel", "kernel_id"}


def _rows(frame: pl.DataFrame, columns: set[str]) -> list[tuple[object, ...]]:
    return sorted(frame.select(sorted(columns)).rows(), key=repr)


def _without_mark(frame: pl.DataFrame) -> pl.DataFrame:
    """Kernel names are read without the mark of their descriptor."""
    return frame.with_columns(pl.col("kernel").str.replace(r"\.kd$", ""))


@examples(times=0.3)
@given(workload=workloads())
def test_round_trip(workload: Workload) -> None:
    trace = recorded(workload)
    assume(any(table in trace for table in EVENTS))  # a recording of nothing is refused when read
    with tempfile.TemporaryDirectory() as folder:
        write(trace, Path(folder) / "run_results.json")
        back = load(Path(folder))
    assert not back.run.losses
    for table, columns in CARRIED.items():
        said = trace.table(table)
        expected = _without_mark(said) if table == "dispatches" else said
        if table == "processes":  # one that never called the runtime leaves nothing
            expected = said.filter(pl.col("pid").is_in([process.pid for process in processes_of(trace)]))
        assert _rows(back.table(table), columns) == _rows(expected, columns)
    gpus = pl.col("kind") == "GPU"
    assert _rows(back.table("agents").filter(gpus), AGENTS) == _rows(
        trace.table("agents").filter(gpus), AGENTS
    )
    kernels = _rows(_without_mark(trace.table("kernels")), KERNELS)
    assert set(kernels) <= set(_rows(back.table("kernels"), KERNELS))
    given_out = pl.col("operation") == "ALLOC"
    held = {"size_bytes", "agent_id", "start_ns"}
    expected = trace.table("allocations").filter(given_out)
    assert _rows(back.table("allocations").filter(given_out), held) == _rows(expected, held)


def test_names_go_through_the_strings(tmp_path: Path) -> None:
    write(small(), tmp_path / "x.json")
    (process,) = json.loads((tmp_path / "x.json").read_text())["rocprofiler-sdk-tool"]
    kinds, buffers = process["strings"]["buffer_records"], process["buffer_records"]
    called = [kinds[call["kind"]]["operations"][call["operation"]] for call in buffers["hip_api"]]
    assert called == ["hipMalloc", "hipMemcpyAsync", "hipLaunchKernel", "hipDeviceSynchronize", "hipFree"]
    assert {kinds[call["kind"]]["kind"] for call in buffers["hip_api"]} == {"HIP_RUNTIME_API_EXT"}
    (mark,), (range_,) = process["strings"]["marker_api"], buffers["marker_api"]
    assert mark == {"key": range_["correlation_id"]["internal"], "value": "step"}
    (dispatch,) = buffers["kernel_dispatch"]
    symbols = {symbol["kernel_id"]: symbol for symbol in process["kernel_symbols"]}
    symbol = symbols[dispatch["dispatch_info"]["kernel_id"]]
    assert symbol["formatted_kernel_name"] == 'void f<int, 3>(char const*, "x")'
    assert dispatch["dispatch_info"]["agent_id"] in [agent["id"] for agent in process["agents"]]


def test_ranges_with_one_id_keep_their_own_words(tmp_path: Path) -> None:
    ranges = pl.DataFrame(
        {
            "name": ["a", "b", "c"],
            "source": "roctx",
            "start_ns": [1, 2, 3],
            "end_ns": 9,
            "correlation_id": [5, 5, None],
        }
    ).with_columns(pid=7)
    write(Trace({"ranges": schema.conform("ranges", ranges)}), tmp_path / "x.json")
    back = load(tmp_path / "x.json").table("ranges")
    assert back["name"].to_list() == ["a", "b", "c"]
    assert back["correlation_id"].to_list() == [5, 6, 7]


def test_one_kernel_with_other_registers_is_another_symbol(tmp_path: Path) -> None:
    dispatches = pl.DataFrame(
        {
            "kernel": ["k", "k"],
            "vgprs": [8, 16],
            "start_ns": [1, 3],
            "end_ns": [2, 4],
            "agent_id": [4, 4],
            "pid": 7,
        }
    )
    write(Trace({"dispatches": schema.conform("dispatches", dispatches)}), tmp_path / "x.json")
    back = load(tmp_path / "x.json")
    assert back.table("dispatches").select("vgprs", "agent_id").rows() == [(8, 4), (16, 4)]
    assert back.table("kernels")["kernel_id"].to_list() == [1, 2]


@st.composite
def counted(draw: st.DrawFn) -> Trace:
    passes = sorted(draw(st.sets(st.integers(1, 9), min_size=1, max_size=3)))
    dispatches, counters = [], []
    for pass_id in passes:
        names = draw(st.sets(st.sampled_from(["SQ_WAVES", "TCC_HIT_sum", "GRBM_COUNT"]), min_size=1))
        for number in range(1, draw(st.integers(2, 4))):
            where = {
                "pass_id": pass_id,
                "pid": 50 + pass_id,
                "dispatch_id": number,
                "agent_id": number % 2 + 4,
            }
            times = {"start_ns": 10**9 * pass_id + number, "end_ns": 10**9 * pass_id + number + 1}
            dispatches.append({**where, **times, "kernel": f"k{number % 2}", "grid_x": 64, "vgprs": 8})
            values = st.floats(0, 1e18)
            counters += [{**where, "counter": name, "value": draw(values)} for name in sorted(names)]
    tables = {"dispatches": pl.DataFrame(dispatches), "counters": pl.DataFrame(counters)}
    return Trace({name: schema.conform(name, frame) for name, frame in tables.items()})


@examples(times=0.3)
@given(trace=counted())
def test_counters_come_back_with_their_pass(trace: Trace) -> None:
    columns = {"pid", "pass_id", "dispatch_id", "agent_id", "counter", "value"}
    launched = {
        "pid",
        "pass_id",
        "dispatch_id",
        "agent_id",
        "kernel",
        "start_ns",
        "end_ns",
        "grid_x",
        "vgprs",
    }
    with tempfile.TemporaryDirectory() as folder:
        paths = write(trace, Path(folder) / "run_results.json")
        back = load(Path(folder))
    if len(paths) == 1:  # a document does not say which pass it is; its folder does
        columns, launched = columns - {"pass_id"}, launched - {"pass_id"}
    assert _rows(back.table("counters"), columns) == _rows(trace.table("counters"), columns)
    assert _rows(back.table("dispatches"), launched) == _rows(trace.table("dispatches"), launched)


def test_a_file_is_not_replaced_unasked(tmp_path: Path) -> None:
    write(small(), tmp_path / "x.json")
    with pytest.raises(UsageError, match="exists"):
        write(small(), tmp_path / "x.json")
    write(small(), tmp_path / "x.json", overwrite=True)


_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
}
_TYPES["number"] = (int, float)


def _faults(value: Any, rule: dict[str, Any], path: str = "") -> Iterator[str]:
    """Where a document differs from a JSON schema, as far as AMD's uses it: types and required keys."""
    if not isinstance(value, _TYPES[rule["type"]]):
        yield f"{path} is no {rule['type']}"
        return
    if isinstance(value, dict):
        yield from (f"{path} lacks {key}" for key in rule.get("required", ()) if key not in value)
        for key, inner in rule.get("properties", {}).items():
            if key in value:
                yield from _faults(value[key], inner, f"{path}/{key}")
    elif isinstance(value, list) and "items" in rule:
        for entry in value:
            yield from _faults(entry, rule["items"], path)


@pytest.mark.whole
def test_it_keeps_amds_schema_as_well_as_the_tool_does(specimens: Path, tmp_path: Path) -> None:
    """The real document lacks a few keys that the schema asks for; ours lacks no other."""
    folder = specimens / "rocprofv3_json"
    rule = json.loads((folder / "ROCm_rocm-systems__rocprofv3-schema_ROCm7.0.json").read_text())
    with gzip.open(folder / "AMD-AGI_TraceLens__908_results.json.gz") as recorded:
        real = json.load(recorded)
    trace = small()
    counters = trace.table("dispatches").select("pid", "dispatch_id", "agent_id")
    counters = counters.with_columns(counter=pl.lit("SQ_WAVES"), value=4.0)
    tables = {name: trace.table(name) for name in trace} | {"counters": schema.conform("counters", counters)}
    write(Trace(tables, trace.run), tmp_path / "x.json")
    ours = json.loads((tmp_path / "x.json").read_text())
    assert set(_faults(ours, rule)) <= set(_faults(real, rule))
    (process,), (recorded_process,) = ours["rocprofiler-sdk-tool"], real["rocprofiler-sdk-tool"]
    assert list(process) == list(recorded_process)
    assert list(process["buffer_records"]) == list(recorded_process["buffer_records"])
    kinds = [kind["kind"] for kind in recorded_process["strings"]["buffer_records"]]
    assert [kind["kind"] for kind in process["strings"]["buffer_records"]] == kinds
    record_of = {name: process["buffer_records"][name][0] for name in ("kernel_dispatch",)}
    assert list(record_of["kernel_dispatch"]) == list(
        recorded_process["buffer_records"]["kernel_dispatch"][0]
    )
    assert set(process["agents"][2]) <= set(recorded_process["agents"][2])
    assert set(process["kernel_symbols"][1]) == set(recorded_process["kernel_symbols"][1])


def test_a_specimen_comes_back(specimens: Path, tmp_path: Path) -> None:
    trace = recording(specimens / "rocprofv3_json" / "AMD-AGI_TraceLens__908_results.json.gz")
    write(trace, tmp_path / "x.json")
    back = load(tmp_path / "x.json")
    for table in ("dispatches", "kernels", "processes", "nodes"):
        assert back.table(table).equals(trace.table(table))
