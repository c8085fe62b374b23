"""rocprof (v1) outputs: read back exactly, and the bytes of the real tool where they can be compared."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest
from hypothesis import assume, given
from polars.testing import assert_frame_equal

from rocm_perf.errors import UsageError
from rocm_perf.ingest.load import load
from rocm_perf.model import schema
from rocm_perf.model.trace import Trace
from rocm_perf.render.formats import rocprof_v1
from rocm_perf.sim.engine import simulate
from rocm_perf.sim.gpu import find_gpu
from rocm_perf.sim.record import record
from rocm_perf.sim.workload import Workload, parse_workload
from tests.properties import examples
from tests.sim.strategies import workloads

WHERE = ["start_ns", "end_ns", "pid", "tid", "node", "pass_id"]
ON_GPU = [*WHERE, "agent_id", "queue_id"]
RESOURCES = ["lds_bytes", "scratch_bytes", "vgprs", "agprs", "sgprs", *(f"grid_{axis}" for axis in "xyz")]
CSV_CARRIES = ["dispatch_id", "kernel", *ON_GPU, *RESOURCES, *(f"workgroup_{axis}" for axis in "xyz")]
JSON_CARRIES = {
    "dispatches": ["kernel", *ON_GPU, "stream_id"],
    "copies": ["kind", *ON_GPU, "stream_id"],
    "api_calls": ["domain", "name", *WHERE],
    "ranges": ["name", "source", *WHERE],
}
AGENT = [
    *("agent_id", "kind", "gfx", "vendor", "cu_count", "simd_count", "wave_size"),
    *("max_waves_per_simd", "clock_mhz"),
]
HAZY = "HazyResearch_HipKittens__basic_col_results"


def recorded(workload: Workload) -> Trace:
    return record(simulate(workload, find_gpu("sim:MI300X")))


def only(trace: Trace, *names: str) -> Trace:
    return Trace({name: trace.table(name) for name in names if trace.has(name)})


def with_products(dispatches: pl.DataFrame) -> pl.DataFrame:
    """rocprof writes only the products of sizes."""
    sizes = [
        pl.col(f"{size}_x") * pl.col(f"{size}_y") * pl.col(f"{size}_z") for size in ("grid", "workgroup")
    ]
    ones = [pl.lit(1, pl.Int64).alias(f"{size}_{axis}") for size in ("grid", "workgroup") for axis in "yz"]
    return dispatches.with_columns(*sizes).with_columns(ones)


def assert_same(left: pl.DataFrame, right: pl.DataFrame, columns: list[str]) -> None:
    assert_frame_equal(left.select(columns).sort(pl.all()), right.select(columns).sort(pl.all()))


@examples(times=0.6)
@given(workloads())
def test_results_csv_of_a_random_run_is_read_back(workload: Workload) -> None:
    trace = recorded(workload)
    assume(trace.has("dispatches"))
    with TemporaryDirectory() as folder:
        rocprof_v1.write_csv(trace, Path(folder) / "results.csv")
        back = load(Path(folder) / "results.csv")
    assert_same(with_products(trace.table("dispatches")), back.table("dispatches"), CSV_CARRIES)
    assert not back.run.losses


@examples(times=0.6)
@given(workloads())
def test_results_json_of_a_random_run_is_read_back(workload: Workload) -> None:
    trace = recorded(workload)
    assume(trace.has("api_calls"))
    with TemporaryDirectory() as folder:
        rocprof_v1.write_json(trace, Path(folder) / "results.json")
        back = load(Path(folder) / "results.json")
    for table, columns in JSON_CARRIES.items():
        assert_same(carried(trace, table), back.table(table), columns)
    assert_same(trace.table("agents").filter(kind="GPU"), back.table("agents").filter(kind="GPU"), AGENT)
    for table in ("dispatches", "copies"):
        # Flows are kept in whole microseconds: one that fits two operations fits none.
        both = trace.table(table).join(back.table(table), on=["start_ns", "end_ns", "pid", "stream_id"])
        found, known = both["correlation_id_right"], both["correlation_id"]
        assert (found.is_null() | (found == known)).all()


def carried(trace: Trace, table: str) -> pl.DataFrame:
    frame = trace.table(table)
    if table == "api_calls":
        return frame.filter(pl.col("domain") == "hip")
    if table == "dispatches":  # the tracer writes no mark that could tell a name from its descriptor
        return frame.with_columns(pl.col("kernel").str.replace(r"\.kd$", ""))
    return frame


WORKLOAD = """
[kernel.gemm]
duration_us = 5.5
[kernel.softmax]
duration_us = 2.1
symbol = 'softmax<"x", 4>(int)'
[[thread]]
steps = [{repeat = 3, steps = [{launch = "gemm"}, {copy = "H2D", bytes = 9}, {launch = "softmax"}]}, {sync = "device"}]
"""


def test_a_call_and_its_kernels_stay_joined(tmp_path: Path) -> None:
    trace = recorded(parse_workload(WORKLOAD))
    rocprof_v1.write_json(trace, tmp_path / "results.json")
    back = load(tmp_path / "results.json")
    for table in ("dispatches", "copies"):
        assert back.table(table)["correlation_id"].to_list() == trace.table(table)["correlation_id"].to_list()
    launched = back.table("api_calls").drop_nulls("correlation_id")
    assert_same(
        launched, trace.table("api_calls").join(launched, on="start_ns", how="semi"), ["correlation_id"]
    )
    assert launched.height == 9


def test_without_calls_the_profiler_alone_writes_kernels(tmp_path: Path) -> None:
    trace = only(recorded(parse_workload(WORKLOAD)), "dispatches", "agents")
    rocprof_v1.write_json(trace, tmp_path / "results.json")
    back = load(tmp_path / "results.json")
    columns = [name for name in CSV_CARRIES if name != "dispatch_id"]  # numbers are left out there
    assert_same(with_products(trace.table("dispatches")), back.table("dispatches"), columns)


def test_a_gpu_of_any_number_costs_one_label(tmp_path: Path) -> None:
    row = {"dispatch_id": 0, "kernel": "k", "agent_id": 2**40, "start_ns": 1, "end_ns": 2}
    trace = Trace({"dispatches": schema.conform("dispatches", pl.DataFrame([row]))})
    rocprof_v1.write_json(trace, tmp_path / "results.json")
    assert (tmp_path / "results.json").stat().st_size < 20_000


def counted(trace: Trace) -> Trace:
    """Counters of two passes, each a process of its own; a metric, and a gap."""
    rows = [
        {"pass_id": 0, "pid": 4000, "dispatch_id": number, "counter": "SQ_WAVES", "value": 64.0 * number}
        for number in range(1, 7)
    ]
    rows += [
        {"pass_id": 1, "pid": 4100, "dispatch_id": number, "counter": "VALUBusy", "value": 0.1 * number}
        for number in range(1, 6)
    ]
    tables = {
        "dispatches": trace.table("dispatches"),
        "counters": schema.conform("counters", pl.DataFrame(rows)),
    }
    return Trace(tables)


def test_counters_of_all_passes_are_columns(tmp_path: Path) -> None:
    trace = counted(recorded(parse_workload(WORKLOAD)))
    rocprof_v1.write_csv(trace, tmp_path / "results.csv")
    header, first, *_ = (tmp_path / "results.csv").read_text().splitlines()
    assert '"obj","SQ_WAVES","VALUBusy","DispatchNs"' in header
    assert ',"0x0","0x0",64,0.1,0,' in first
    back = load(tmp_path / "results.csv")
    assert_same(trace.table("counters"), back.table("counters"), ["dispatch_id", "counter", "value"])


def test_a_run_without_times_has_no_columns_for_them(tmp_path: Path) -> None:
    row = {"dispatch_id": 0, "kernel": "k", "agent_id": 1}
    trace = Trace({"dispatches": schema.conform("dispatches", pl.DataFrame([row]))})
    rocprof_v1.write_csv(trace, tmp_path / "results.csv")
    assert "BeginNs" not in (tmp_path / "results.csv").read_text()
    assert_same(
        trace.table("dispatches"), load(tmp_path / "results.csv").table("dispatches"), ["kernel", "start_ns"]
    )


def test_stats_are_sums(tmp_path: Path) -> None:
    lengths = {"gemm": [5500, 5500, 5502], 'softmax<"x", 4>(int)': [2100, 2100, 2100]}
    rows = [
        {"kernel": name, "start_ns": 7, "end_ns": 7 + ns} for name, times in lengths.items() for ns in times
    ]
    copy = {"kind": "H2D", "start_ns": 1, "end_ns": 1}
    tables = {"dispatches": pl.DataFrame(rows), "copies": pl.DataFrame([copy])}
    trace = Trace({name: schema.conform(name, frame) for name, frame in tables.items()})
    paths = rocprof_v1.write_stats(trace, tmp_path, "results")
    assert [path.name for path in paths] == ["results.stats.csv", "results.copy_stats.csv"]
    assert paths[1].read_text().splitlines()[1] == '"CopyHostToDevice",1,0,0,0.0'
    assert paths[0].read_text().splitlines() == [
        '"Name","Calls","TotalDurationNs","AverageNs","Percentage"',
        f'"gemm.kd",3,16502,5500,{16502 * 100.0 / 22802}',
        f'"softmax<""x"", 4>(int) [clone .kd]",3,6300,2100,{6300 * 100.0 / 22802}',
    ]
    summaries = load(tmp_path / "results.stats.csv").table("summaries")
    assert summaries["name"].to_list() == ["gemm", 'softmax<"x", 4>(int)']
    with pytest.raises(UsageError, match="exists"):
        rocprof_v1.write_stats(trace, tmp_path, "results")


def test_stats_of_a_real_run_are_the_real_bytes(specimens: Path, tmp_path: Path) -> None:
    folder = specimens / "rocprof_v1"
    rocprof_v1.write_stats(load(folder / f"{HAZY}.json.gz"), tmp_path, HAZY)
    for kind in ("hip_stats", "hsa_stats", "copy_stats"):
        name = f"{HAZY}.{kind}.csv"
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


def test_results_csv_of_a_real_run_differs_only_in_what_a_trace_does_not_hold(
    specimens: Path, tmp_path: Path
) -> None:
    real = specimens / "rocprof_v1" / "hpcgarage_spatter__results.csv"
    rocprof_v1.write_csv(load(real), tmp_path / "results.csv")
    left, right = (path.read_text().splitlines() for path in (real, tmp_path / "results.csv"))
    assert left[0] == right[0]
    unknown = {name: pl.lit(None) for name in ("queue-index", "wave_size", "obj", "DispatchNs", "CompleteNs")}
    frames = [pl.read_csv(path).with_columns(**unknown) for path in (real, tmp_path / "results.csv")]
    assert_frame_equal(*frames)
    assert re.sub(r"\d+", "0", left[1]).startswith(re.sub(r"\d+", "0", right[1].split(',,"0x0"')[0]))


def test_results_json_of_a_real_run_reads_like_the_real_one(specimens: Path, tmp_path: Path) -> None:
    real = specimens / "rocprof_v1" / f"{HAZY}.json.gz"
    trace = load(real)
    rocprof_v1.write_json(trace, tmp_path / "results.json")
    left, right = gzip.decompress(real.read_bytes()).decode(), (tmp_path / "results.json").read_text()
    assert left.splitlines()[:7] == right.splitlines()[:7]
    shapes = [
        [
            (event.get("ph"), list(event), list(event.get("args", ())))
            for event in json.loads(text)["traceEvents"]
        ]
        for text in (left, right)
    ]
    assert {str(shape) for shape in shapes[0]} == {str(shape) for shape in shapes[1]}
    flows = [[line for line in text.splitlines() if "DataFlow" in line] for text in (left, right)]
    assert sorted(flows[0]) == sorted(flows[1])
    for table in trace:
        assert_frame_equal(trace.table(table), load(tmp_path / "results.json").table(table))
