from __future__ import annotations

import csv
import tempfile
from pathlib import Path
from typing import get_args

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.errors import UsageError
from rocm_perf.ingest.load import load, load_path
from rocm_perf.model import schema
from rocm_perf.model.trace import Trace
from rocm_perf.render.formats.rocprofv3 import (
    agent_info,
    processes_of,
    target_version,
    write_csv,
)
from rocm_perf.render.formats.rocprofv3_columns import COLUMNS, Layout
from rocm_perf.sim.workload import Workload
from tests.properties import examples
from tests.sim.recorded import recorded, small
from tests.sim.strategies import workloads

LAYOUTS: tuple[Layout, ...] = get_args(Layout)
NEW: tuple[Layout, ...] = ("7.0", "converted")

# What each file carries, beyond which a row comes back with nulls.
SPAN = {"start_ns", "end_ns", "node", "pid", "correlation_id"}
SIZES = {f"{size}_{axis}" for size in ("grid", "workgroup") for axis in "xyz"}
DISPATCHES = SPAN | SIZES | {"kernel", "agent_id", "queue_id", "lds_bytes", "scratch_bytes"}
CALLS = SPAN | {"domain", "name", "tid"}
RANGES = SPAN - {"correlation_id"} | {"name", "source", "on_gpu", "tid"}  # the simulator gives ranges no id
COPIES = SPAN | {"kind", "src_agent", "dst_agent", "agent_id"}
ALLOCATIONS = SPAN | {"operation"}  # an allocation's size and GPU too, but not a release's
AGENTS = set(schema.SCHEMAS["agents"].names) - {"uuid"}  # of a GPU


def _carried(layout: Layout) -> dict[str, set[str]]:
    numbered = set() if layout == "6.1" else {"tid", "dispatch_id"}
    registers = {"stream_id", "vgprs", "agprs", "sgprs"} if layout in NEW else set()
    return {
        "dispatches": DISPATCHES | numbered | registers,
        "api_calls": CALLS,
        "ranges": RANGES,
        "copies": COPIES | ({"stream_id"} if layout in NEW else set()),
        **({} if layout in ("6.1", "6.2") else {"allocations": ALLOCATIONS}),
    }


def _rows(frames: list[pl.DataFrame], columns: set[str]) -> list[tuple[object, ...]]:
    rows = [row for frame in frames for row in frame.select(sorted(columns)).rows()]
    return sorted(rows, key=repr)


def _expected(trace: Trace, table: str, layout: Layout) -> pl.DataFrame:
    frame = trace.table(table)
    if table == "dispatches":
        frame = frame.with_columns(pl.col("kernel").str.replace(r"\.kd$", ""))  # read without the mark
    if table == "dispatches" and layout == "7.0":  # LDS_Block_Size counts blocks
        frame = frame.with_columns((pl.col("lds_bytes") + 511) // 512 * 512)
    return frame


@examples(times=0.3)
@given(workload=workloads(), layout=st.sampled_from(LAYOUTS), stats=st.booleans())
def test_round_trip(workload: Workload, layout: Layout, stats: bool) -> None:
    trace = recorded(workload)
    with tempfile.TemporaryDirectory() as folder:
        write_csv(trace, Path(folder), "run", layout=layout, stats=stats)
        runs = [run.trace for run in load_path(Path(folder)) if run.trace]
    assert not [loss for run in runs for loss in run.run.losses]
    for table, columns in _carried(layout).items():
        expected = _rows([_expected(trace, table, layout)], columns)
        assert _rows([run.table(table) for run in runs], columns) == expected
    gpus = pl.col("kind") == "GPU"
    for run in runs:
        assert _rows([run.table("agents").filter(gpus)], AGENTS) == _rows(
            [trace.table("agents").filter(gpus)], AGENTS
        )
    if layout not in ("6.1", "6.2"):
        given_out = pl.col("operation") == "ALLOC"
        columns = ALLOCATIONS | {"size_bytes", "agent_id"}
        expected = _rows([trace.table("allocations").filter(given_out)], columns)
        assert _rows([run.table("allocations").filter(given_out) for run in runs], columns) == expected


@pytest.mark.parametrize("layout", LAYOUTS)
def test_headers_and_quoting(layout: Layout, tmp_path: Path) -> None:
    write_csv(small(), tmp_path, "run", layout=layout)
    lines = (tmp_path / "run_kernel_trace.csv").read_text().splitlines()
    columns = COLUMNS[layout]["kernel_trace"].split()
    assert lines[0] == ",".join(f'"{column}"' for column in columns)
    row = dict(zip(columns, next(csv.reader(lines[1:])), strict=True))
    assert '"void f<int, 3>(char const*, ""x"")"' in lines[1]
    assert row["Agent_Id"] == ("Agent 2" if layout in NEW else "2")
    assert (f'"{row["Agent_Id"]}"' in lines[1]) == (layout in NEW)
    assert len(columns) == {"6.1": 16, "7.0": 22, "converted": 23}.get(layout, 18)
    assert len(COLUMNS[layout]["counter_collection"].split()) == (
        {"6.1": 15, "6.2": 16, "6.3": 18, "converted": 20}.get(layout, 19)
    )


def test_only_files_with_rows_and_agents_always(tmp_path: Path) -> None:
    names = {path.name for path in write_csv(small(), tmp_path, "run", stats=True)}
    kinds = ("kernel", "hip_api", "marker_api", "memory_copy", "memory_allocation")
    assert names == {f"run_{kind}_{end}.csv" for kind in kinds for end in ("trace", "stats")} | {
        "run_agent_info.csv",
        "run_domain_stats.csv",
    }
    assert [path.name for path in write_csv(Trace({}), tmp_path / "empty", "run")] == ["run_agent_info.csv"]


def test_a_release_is_written_as_the_tool_writes_it(tmp_path: Path) -> None:
    write_csv(small(), tmp_path, "run")
    rows = (tmp_path / "run_memory_allocation_trace.csv").read_text().splitlines()
    assert rows[2].startswith('"MEMORY_ALLOCATION","MEMORY_ALLOCATION_FREE","",0,')


def test_words_of_each_domain(tmp_path: Path) -> None:
    names = [
        "hipMalloc",
        "__hipRegisterFunction",
        "hsa_init",
        "hsa_amd_agents_allow_access",
        "ncclAllReduce",
        "cuInit",
    ]
    domains = ["hip", "hip_compiler", "hsa", "hsa", "rccl", "cuda"]
    calls = pl.DataFrame(
        {"name": names, "domain": domains, "start_ns": [1] * 6, "end_ns": [2] * 6, "pid": [7] * 6}
    )
    trace = Trace({"api_calls": schema.conform("api_calls", calls)})

    def words(layout: Layout) -> set[str]:
        written = write_csv(trace, tmp_path / layout, "run", layout=layout)
        return {
            row["Domain"]
            for path in written
            if "api" in path.name
            for row in csv.DictReader(path.read_text().splitlines())
        }

    old = {"HIP_RUNTIME_API", "HIP_COMPILER_API", "HSA_CORE_API", "HSA_AMD_EXT_API", "RCCL_API"}
    assert words("6.4") == old
    assert words("7.0") == {f"{word}_EXT" if word.startswith("HIP") else word for word in old}


def test_files_are_not_replaced_unasked(tmp_path: Path) -> None:
    write_csv(small(), tmp_path, "run")
    with pytest.raises(UsageError, match="exists"):
        write_csv(small(), tmp_path, "run")
    write_csv(small(), tmp_path, "run", overwrite=True)


def _on_nodes(nodes: list[int], pids: list[int]) -> Trace:
    count = len(nodes)
    calls = pl.DataFrame(
        {"node": nodes, "pid": pids, "name": ["hipInit"] * count, "domain": ["hip"] * count}
    ).with_columns(start_ns=10, end_ns=20)
    hosts = sorted(set(nodes))
    machines = pl.DataFrame({"node": hosts, "host": [f"host{node}" for node in hosts], "clock": "boot"})
    return Trace(
        {"api_calls": schema.conform("api_calls", calls), "nodes": schema.conform("nodes", machines)}
    )


def test_processes_of_several_nodes_are_kept_apart(tmp_path: Path) -> None:
    trace = _on_nodes([0, 1, 1], [7, 7, 8])
    assert processes_of(trace) == [(0, 7), (1, 7), (1, 8)]
    write_csv(trace, tmp_path, "run")
    assert (tmp_path / "host1" / "8_hip_api_trace.csv").is_file()
    back = load(tmp_path).table("api_calls")
    assert sorted(back.select("node", "pid").rows()) == [(0, 7), (1, 7), (1, 8)]


def test_processes_of_one_node_get_their_pid(tmp_path: Path) -> None:
    write_csv(_on_nodes([0, 0], [7, 8]), tmp_path, "run")
    assert (tmp_path / "run_8_hip_api_trace.csv").is_file()


@st.composite
def counted(draw: st.DrawFn) -> Trace:
    """Dispatches of one to three passes, each with counters of its own."""
    passes = sorted(draw(st.sets(st.integers(1, 9), min_size=1, max_size=3)))
    count = draw(st.integers(1, 4))
    dispatches, counters = [], []
    for pass_id in passes:
        names = draw(st.sets(st.sampled_from(["SQ_WAVES", "TCC_HIT_sum", "GRBM_COUNT"]), min_size=1))
        for number in range(1, count + 1):
            start = 10**9 * pass_id + 1000 * number
            where = {"pass_id": pass_id, "pid": 50 + pass_id, "dispatch_id": number, "agent_id": 4}
            shape = {
                "grid_x": 128,
                "grid_y": 2,
                "grid_z": 1,
                "workgroup_x": 64,
                "workgroup_y": 2,
                "workgroup_z": 1,
            }
            registers = {"vgprs": 8, "agprs": 4, "sgprs": 16, "lds_bytes": 512, "scratch_bytes": 0}
            times = {
                "start_ns": start,
                "end_ns": start + 500,
                "queue_id": 1,
                "tid": 9,
                "correlation_id": number,
            }
            dispatches.append({**where, "kernel": f"k{number % 2}", **times, **shape, **registers})
            values = st.one_of(st.integers(0, 2**52).map(float), st.floats(0, 1e6))
            counters += [{**where, "counter": name, "value": draw(values)} for name in sorted(names)]
    tables = {"dispatches": pl.DataFrame(dispatches), "counters": pl.DataFrame(counters)}
    return Trace({name: schema.conform(name, frame) for name, frame in tables.items()})


COUNTED = {"pid", "pass_id", "dispatch_id", "agent_id", "counter"}
# Of a dispatch a counter file holds the products of its sizes, and no stream.
COUNTED_DISPATCHES = {
    "pid",
    "pass_id",
    "dispatch_id",
    "kernel",
    "agent_id",
    "queue_id",
    "tid",
    "correlation_id",
}
COUNTED_DISPATCHES |= {"lds_bytes", "scratch_bytes", "vgprs", "sgprs"}


def _write_as_pmc_alone(trace: Trace, folder: Path, layout: Layout) -> None:
    """Only the files that a run with `--pmc` alone leaves."""
    for file in write_csv(trace, folder, "run", layout=layout):
        if not file.name.endswith(("counter_collection.csv", "agent_info.csv")):
            file.unlink()


@examples(times=0.3)
@given(trace=counted(), layout=st.sampled_from(LAYOUTS))
def test_counters_come_back_with_their_pass(trace: Trace, layout: Layout) -> None:
    with tempfile.TemporaryDirectory() as folder:
        _write_as_pmc_alone(trace, Path(folder), layout)
        back = load(Path(folder))
    several = trace.table("counters")["pass_id"].n_unique() > 1
    columns = COUNTED if several else COUNTED - {"pass_id"}
    assert _rows([back.table("counters")], columns) == _rows([trace.table("counters")], columns)
    key = ["pass_id", "dispatch_id", "counter"]
    pairs = zip(
        back.table("counters").sort(key)["value"], trace.table("counters").sort(key)["value"], strict=True
    )
    exact = layout in ("6.1", "6.2", "converted")
    for read, written in pairs:  # six decimals from 1 on, eight digits after the first below
        assert (
            read == written if exact or written == int(written) else read == pytest.approx(written, rel=1e-6)
        )
    dispatched = COUNTED_DISPATCHES if several else COUNTED_DISPATCHES - {"pass_id"}
    dispatched = dispatched | {"6.3": {"start_ns"}, "6.4": {"start_ns", "agprs"}}.get(layout, set())
    assert _rows([back.table("dispatches")], dispatched) == _rows([trace.table("dispatches")], dispatched)
    assert set(back.table("dispatches")["grid_x"]) == {256}


def test_passes_lie_in_folders_and_the_timeline_beside_them(tmp_path: Path) -> None:
    timeline = small()
    rows = timeline.table("dispatches")
    counted_rows = rows.with_columns(
        pl.lit(2, pl.Int32).alias("pass_id"), pl.col("start_ns", "end_ns") + 10**9
    )
    counters = counted_rows.select("pid", "pass_id", "dispatch_id", "agent_id").with_columns(
        counter=pl.lit("SQ_WAVES"), value=4.0
    )
    tables = {name: timeline.table(name) for name in timeline}
    tables |= {
        "dispatches": pl.concat([rows, counted_rows]),
        "counters": schema.conform("counters", counters),
    }
    write_csv(Trace(tables, timeline.run), tmp_path, "run")
    assert (tmp_path / "run_hip_api_trace.csv").is_file()
    assert (tmp_path / "pmc_2" / "run_counter_collection.csv").is_file()
    back = load(tmp_path)
    assert back.table("counters")["pass_id"].to_list() == [2] * rows.height
    assert set(back.table("dispatches")["pass_id"]) == {0, 2}


def test_gfx_names_become_target_versions() -> None:
    known = {"gfx942": 90402, "gfx90a": 90010, "gfx1100": 110000, "gfx1201": 120001, "sm_90": 0}
    assert {gfx: target_version(gfx) for gfx in known} == known


SPECIMENS: list[tuple[str, Layout, str]] = [
    ("amd_HPCTrainingExamples__readme_openmp_2_kernel_trace.csv", "6.1", "kernel_trace"),
    ("csc-training_hip-programming__kernel_trace.csv", "6.2", "kernel_trace"),
    ("HazyResearch_HipKittens__66960_kernel_trace.csv", "6.4", "kernel_trace"),
    ("iree-org_wave__3785403_kernel_trace.csv", "7.0", "kernel_trace"),
    ("amd_HPCTrainingExamples__readme_rocpd_1_kernel_trace.csv", "converted", "kernel_trace"),
    ("ROCm_rocprofiler-sdk__docs2024_hip_runtime_trace.csv", "6.2", "api_trace"),
    ("ROCm_rocm-systems__docs_hip_trace.csv", "7.0", "api_trace"),
    ("ROCm_rocm-systems__docs_rocpd-to-csv.csv", "converted", "api_trace"),
    ("ROCm_rocprofiler-sdk__docs2024_memory_copy_trace.csv", "6.2", "memory_copy_trace"),
    ("ROCm_rocm-systems__docs_memory_copy_trace.csv", "7.0", "memory_copy_trace"),
    ("ROCm_rocm-systems__docs_memory_allocation_trace.csv", "7.0", "memory_allocation_trace"),
    ("ROCm_rocm-systems__docs_scratch_memory_trace.csv", "7.0", "scratch_memory_trace"),
    ("ROCm_rocprofiler-sdk__docs2024_counter_collection.csv", "6.2", "counter_collection"),
    ("ROCm_rocm-systems__docs_counter_collection.csv", "7.0", "counter_collection"),
]


@pytest.mark.parametrize(("name", "layout", "kind"), SPECIMENS)
def test_a_specimen_is_written_as_it_was(
    name: str, layout: Layout, kind: str, specimens: Path, tmp_path: Path
) -> None:
    """Read and written again, a file of the real tool is the same file but for ids that nothing else refers to."""
    source = specimens / "rocprofv3_csv" / name
    written = write_csv(load(source), tmp_path, "run", layout=layout)
    paths = [path for path in written if path.name.endswith(f"{kind}.csv")]
    real, ours = source.read_text().splitlines(), [path.read_text().splitlines() for path in paths]
    added = ',"Allocation_Size"' if kind.startswith("scratch") else ""  # came with a later build of 7.0
    assert all(lines[0] == real[0] + added for lines in ours)
    columns = next(csv.reader(real[:1]))
    kept = [index for index, column in enumerate(columns) if column not in UNKEPT[kind]]

    def shown(lines: list[str]) -> list[list[str]]:
        return sorted([row[index] for index in kept] for row in csv.reader(lines[1:]) if row)

    assert shown([real[0], *(line for lines in ours for line in lines[1:])]) == shown(real)


# A Trace of a single CSV does not keep these.
UNKEPT = {
    "kernel_trace": {"Kernel_Id", "Guid"},
    "api_trace": {"Guid"},
    "memory_copy_trace": set(),
    "memory_allocation_trace": set(),
    "scratch_memory_trace": set(),
    "counter_collection": {"Kernel_Id"},
}


def test_statistics_are_those_of_the_tool(specimens: Path, tmp_path: Path) -> None:
    folder = specimens / "rocprofv3_csv"
    trace = load(folder / "iree-org_wave__3785403_kernel_trace.csv")
    write_csv(trace, tmp_path, "run", stats=True)
    for kind in ("kernel_stats", "domain_stats"):
        real = (folder / f"iree-org_wave__3785403_{kind}.csv").read_text().splitlines()
        assert sorted((tmp_path / f"run_{kind}.csv").read_text().splitlines()) == sorted(real)


@pytest.mark.parametrize("name", ["HazyResearch_HipKittens__66960", "iree-org_wave__3785403"])
def test_agents_have_the_columns_of_the_tool(name: str, specimens: Path, tmp_path: Path) -> None:
    source = specimens / "rocprofv3_csv" / f"{name}_agent_info.csv"
    write_csv(load(source), tmp_path, "run")
    real, ours = source.read_text().splitlines(), (tmp_path / "run_agent_info.csv").read_text().splitlines()
    assert ours[0] == real[0]
    kept: tuple[str, ...] = (
        "Node_Id",
        "Logical_Node_Id",
        "Agent_Type",
        "Simd_Count",
        "Lds_Size_In_Kb",
        "Num_Xcc",
        "Cu_Count",
    )
    kept += ("Gfx_Target_Version", "Max_Engine_Clk_Fcompute", "Name", "Vendor_Name", "Product_Name")
    for one, other in zip(csv.DictReader(ours), csv.DictReader(real), strict=True):
        assert [one[column] for column in kept] == [other[column] for column in kept]


def test_a_clock_beyond_all_integers_is_left_out() -> None:
    row = {"agent_id": 0, "kind": "GPU", "gfx": "gfx942", "clock_mhz": 2.0**63}
    agents = schema.conform("agents", pl.DataFrame([row]))
    assert agent_info(Trace({"agents": agents}), 0)["Max_Engine_Clk_Fcompute"].to_list() == [0]
