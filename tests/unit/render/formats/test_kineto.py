"""torch.profiler traces: what is written is read back exactly, and looks like what Kineto writes."""

from __future__ import annotations

import gzip
import json
import re
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from polars.testing import assert_frame_equal

from rocm_perf.errors import UsageError
from rocm_perf.ingest.load import load
from rocm_perf.model import schema
from rocm_perf.model.trace import Trace
from rocm_perf.render.formats import kineto
from rocm_perf.sim.engine import simulate
from rocm_perf.sim.gpu import find_gpu
from rocm_perf.sim.record import record
from rocm_perf.sim.workload import Workload, parse_workload
from tests.properties import examples
from tests.recordings import recording
from tests.sim.strategies import workloads

TIMES = ["start_ns", "end_ns"]
ON_GPU = [*TIMES, "agent_id", "stream_id", "correlation_id"]
ON_HOST = ["name", *TIMES, "pid", "tid"]
CARRIED = {
    "dispatches": ["kernel", *ON_GPU, "op_id", "node", "pass_id"],
    "api_calls": ["domain", *ON_HOST, "correlation_id", "op_id"],
    "copies": ["kind", "size_bytes", *ON_GPU, "op_id"],
    "ops": [*ON_HOST, "category", "op_id", "parent_id", "sequence", "shapes", "dtypes", "strides", "inputs"],
    "ranges": ["name", *TIMES, "on_gpu", "agent_id", "stream_id", "tid"],
    "collectives": ["name", "group", "group_size", "dtype", *ON_GPU],
}
GEOMETRY = [f"{size}_{axis}" for size in ("grid", "workgroup") for axis in "xyz"]
DESCRIBED = [
    "agent_id",
    "kind",
    "gfx",
    "name",
    "vendor",
    "cu_count",
    "wave_size",
    "lds_bytes",
    "memory_bytes",
]

WORKLOAD = """
[kernel.gemm]
duration_us = 5.5
grid = [2560, 4, 1]
[kernel.softmax]
duration_us = 2.1
symbol = 'softmax<"x">(int)'
[graph.decode]
steps = [{launch = "gemm"}, {copy = "D2D", bytes = 100}]
[[thread]]
steps = [
  {push = "a"}, {launch = "gemm"}, {copy = "H2D", bytes = 100, stream = "side"}, {graph = "decode"},
  {cpu = "tokenize", us = 3.0}, {launch = "softmax"}, {sync = "device"}, {pop = "a"},
]
"""


def recorded(workload: Workload) -> Trace:
    return record(simulate(workload, find_gpu("sim:MI300X")))


def made(**tables: list[dict[str, Any]]) -> Trace:
    frames = {name: pl.DataFrame(rows, infer_schema_length=None) for name, rows in tables.items()}
    return Trace({name: schema.conform(name, frame) for name, frame in frames.items()})


def of_process(trace: Trace, table: str, pid: int) -> pl.DataFrame:
    frame = trace.table(table).filter(pl.col("pid") == pid)
    if table == "api_calls":
        return frame.filter(pl.col("domain") == "hip")
    # Kineto takes the geometry from the launch, which a kernel of a graph does not have.
    in_graph = pl.col("graph_id").is_not_null() if table == "dispatches" else pl.lit(False)
    sizes = [pl.when(~in_graph).then(pl.col(name)).alias(name) for name in GEOMETRY if name in frame.columns]
    return frame.with_columns(sizes)


def assert_same(left: pl.DataFrame, right: pl.DataFrame, columns: list[str]) -> None:
    assert_frame_equal(left.select(columns).sort(pl.all()), right.select(columns).sort(pl.all()))


@examples(times=0.8)
@given(workloads())
def test_a_random_run_is_read_back_as_it_was(workload: Workload) -> None:
    trace = recorded(workload)
    with TemporaryDirectory() as folder:
        for pid, rank in trace.table("processes").select("pid", "rank").iter_rows():
            path = Path(folder) / f"{pid}.json"
            kineto.write(trace, path, pid=pid)
            back = load(path)
            for table, columns in CARRIED.items():
                geometry = GEOMETRY if table == "dispatches" else []
                assert_same(of_process(trace, table, pid), back.table(table), [*columns, *geometry])
            if rank is not None:
                assert back.table("dispatches")["rank"].drop_nulls().unique().to_list() in ([], [rank])
            used = trace.table("agents").join(back.table("agents"), on="agent_id", how="semi")
            assert_same(used, back.table("agents"), DESCRIBED)


def test_operators_python_functions_shadows_and_links_are_carried(tmp_path: Path) -> None:
    host = {"pid": 7, "tid": 8}
    trace = made(
        ops=[
            {"name": "aten::mm", "category": "operator", "start_ns": 1000, "end_ns": 9001, **host, "op_id": 3}
            | {"sequence": 5, "shapes": "[[2, 3], []]", "dtypes": '["float", ""]', "strides": "[[3, 1], []]"}
            | {"inputs": '["", "False"]'},
            {"name": "a.py(3): é", "category": "python", "start_ns": 999, "end_ns": 9100, **host, "op_id": 1},
            {"name": "b.py(4): f", "category": "python", "start_ns": 1001, "end_ns": 1002, **host}
            | {"op_id": 2, "parent_id": 1},
        ],
        ranges=[
            {"name": "step", "source": "roctx", "start_ns": 0, "end_ns": 9200, **host},
            {"name": "step", "source": "roctx", "start_ns": 3, "end_ns": 4, "on_gpu": True, "pid": 7}
            | {"agent_id": 2, "stream_id": 1},
        ],
        copies=[
            {"kind": kind, "start_ns": 10, "end_ns": 10, "agent_id": 2, "stream_id": 0, "pid": 7}
            | {"correlation_id": number, "op_id": 3}
            for number, kind in enumerate(("H2D", "D2H", "D2D", "P2P", "H2H", "MEMSET", "UNKNOWN"))
        ],
        links=[
            {"kind": "forward_backward", "known": "recorded", "pid": 7, "cause_ns": 1000, "cause_track": 8}
            | {"effect_ns": 9000, "effect_track": 9}
        ],
    )
    kineto.write(trace, tmp_path / "t.json")
    back = load(tmp_path / "t.json")
    for table in ("ops", "ranges", "copies"):
        assert_same(trace.table(table), back.table(table), CARRIED[table])
    assert_frame_equal(trace.table("links"), back.table("links"))


def test_every_nanosecond_of_an_epoch_time_survives(tmp_path: Path) -> None:
    starts = [1767189312123456789, 1767189312123456790, 1767189399999999999]
    rows = [
        {"kernel": "k", "start_ns": start, "end_ns": start + 1, "agent_id": 0, "pid": 1} for start in starts
    ]
    kineto.write(made(dispatches=rows), tmp_path / "t.json")
    assert load(tmp_path / "t.json").table("dispatches")["start_ns"].to_list() == starts
    text = (tmp_path / "t.json").read_text()
    assert '"baseTimeNanoseconds": 1767189312000000000' in text
    assert all(re.fullmatch(r"\d+\.\d{3}", time) for time in re.findall(r'"ts": (\S+), "dur"', text))


def test_a_grid_is_written_in_blocks(tmp_path: Path) -> None:
    kineto.write(recorded(parse_workload(WORKLOAD)), tmp_path / "t.json")
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    kernels = {
        event["args"]["correlation"]: event["args"] for event in events if event.get("cat") == "kernel"
    }
    assert kernels[1]["grid"] == [10, 4, 1]
    assert kernels[1]["block"] == [256, 1, 1]
    assert "grid" not in kernels[3]
    assert kernels[3]["kind"] == "Dispatch Task"


def test_arrows_run_from_calls_to_what_they_started(tmp_path: Path) -> None:
    kineto.write(recorded(parse_workload(WORKLOAD)), tmp_path / "t.json")
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    flows = defaultdict(list)
    for event in events:
        if event.get("cat") == "ac2g":
            flows[event["id"]].append(event["ph"])
    assert flows == {1: ["s", "f"], 2: ["s", "f"], 3: ["s", "f", "f"], 4: ["s", "f"], 5: ["f"]}


def test_several_processes_need_a_choice(tmp_path: Path) -> None:
    threads = "".join(f'[[thread]]\nrank={rank}\nsteps=[{{launch="k"}}]\n' for rank in (0, 1))
    trace = recorded(parse_workload(f"[kernel.k]\nduration_us=3.0\n{threads}"))
    with pytest.raises(UsageError, match="4000, 4001"):
        kineto.write(trace, tmp_path / "t.json")
    with pytest.raises(UsageError, match="5"):
        kineto.write(trace, tmp_path / "t.json", pid=5)
    kineto.write(trace, tmp_path / "t.json", pid=4001)
    written = json.loads((tmp_path / "t.json").read_text())
    assert written["distributedInfo"] == {"rank": 1, "world_size": 2}
    with pytest.raises(UsageError, match="exists"):
        kineto.write(trace, tmp_path / "t.json", pid=4001)
    assert [path.name for path in tmp_path.iterdir()] == ["t.json"]


def test_the_suffix_says_whether_it_is_compressed(tmp_path: Path) -> None:
    trace = recorded(parse_workload(WORKLOAD))
    for name in ("t.json", "t.json.gz", "again/t.json.gz"):
        kineto.write(trace, tmp_path / name)
    assert gzip.decompress((tmp_path / "t.json.gz").read_bytes()) == (tmp_path / "t.json").read_bytes()
    assert (tmp_path / "t.json.gz").read_bytes() == (tmp_path / "again/t.json.gz").read_bytes()
    assert load(tmp_path / "t.json.gz").rows("dispatches") == 3


def test_an_empty_trace_is_valid_json(tmp_path: Path) -> None:
    kineto.write(Trace({}), tmp_path / "t.json")
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"] == []


REAL = (
    "facebookresearch_HolisticTraceAnalysis__mi250_minitoy_train_ROCm6_2_kineto.json.gz",
    "AMD-AGI_TraceLens__vllm_decode_hipgraph.json.gz",
    "AMD-AGI_TraceLens__torch_compile_triton.json.gz",
)


def test_only_keys_that_the_real_tool_writes_are_written(specimens: Path, tmp_path: Path) -> None:
    known: dict[Any, set[str]] = defaultdict(set)
    for name in (*REAL, "AMD-AGI_TraceLens__mi300_resnet_act_checkpoint.json.gz"):
        for kind, keys in keys_of(gzip.decompress((specimens / "torch_trace" / name).read_bytes())).items():
            known[kind] |= keys
    kineto.write(recorded(parse_workload(WORKLOAD)), tmp_path / "t.json")
    for kind, keys in keys_of((tmp_path / "t.json").read_bytes()).items():
        assert keys <= known[kind], kind


def keys_of(data: bytes) -> dict[Any, set[str]]:
    document = json.loads(data)
    keys: dict[Any, set[str]] = defaultdict(set, {"top": set(document)})
    for event in document["traceEvents"]:
        kind = (event.get("cat"), event["ph"], None if "cat" in event else event["name"])
        keys[kind] |= {*event, *(f"args.{key}" for key in event.get("args", ()))}
    return keys


@pytest.mark.parametrize("name", REAL)
def test_a_real_trace_written_again_is_the_same(name: str, specimens: Path, tmp_path: Path) -> None:
    trace = recording(specimens / "torch_trace" / name)
    kineto.write(trace, tmp_path / "t.json")
    back = load(tmp_path / "t.json")
    for table, columns in CARRIED.items():
        left = trace.table(table)
        assert_same(left, back.table(table), columns)
    assert_frame_equal(trace.table("links"), back.table("links"), check_row_order=False)
