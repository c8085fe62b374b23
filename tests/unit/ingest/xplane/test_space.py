"""XPlane files: what each kind of plane becomes, and what a broken file says."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from rocm_perf.errors import EmptyCaptureError, InputError
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.load import load
from rocm_perf.ingest.part import Part
from rocm_perf.ingest.sniff import sniff
from tests.xplane import Event, Line, Plane, Value, content, number, space

US = 1_000_000  # picoseconds
START = 1_700_000_000_000_000_000
STARTED = Plane("Task Environment", stats={"profile_start_time": START})
DETAILS = "regs:40 static_shared:1024 dynamic_shared:512 grid:6,5,1 block:128,2,1 occ_pct:50"
COPIED = "kind_src:pinned kind_dst:device size:4096 dest:0 async:1"
ALLOCATED: dict[str, Value] = {"allocation_bytes": 256, "addr": 4096, "allocator_name": "GPU_1_bfc"}
OF_STEP: dict[str, int | str] = {
    "hlo_op": "fusion.1",
    "hlo_module": "jit_step",
    "program_id": 7,
    "name": "jit(step)/layer0/dot_general",
}


def kernel(named: str, start_us: int, /, **stats: int | str) -> Event:
    return Event(named, start_us * US, 5 * US, {"kernel_details": DETAILS, **stats})


def call(named: str, start_us: int, /, **stats: int | str) -> Event:
    return Event(named, start_us * US, 2 * US, stats)


CUDA = (
    Plane(
        "/device:GPU:1",
        [
            Line(
                "Stream #7(Kernel,MemcpyH2D)",
                7,
                [
                    Event("MemcpyH2D", 0, US, {"memcpy_details": COPIED}),
                    kernel("fusion_1", 20, correlation_id=5, **OF_STEP),
                    kernel("fusion_1", 40, correlation_id=6, **OF_STEP),
                    kernel("ncclDevKernel_AllReduce", 60, correlation_id=9, cuda_graph_id=3),
                    Event("Memset", 80 * US, US, {"Memset_details": "kind:device num_bytes:64 async:1"}),
                ],
            ),
            Line("XLA Ops", 9001, [Event("fusion.1", 20 * US, 5 * US)]),
            Line("Steps", 9002, [Event("0", 20 * US, 50 * US)]),
        ],
        {"device_vendor": "Nvidia", "compute_cap_major": 9, "compute_cap_minor": 0, "core_count": 132,
         "clock_rate": 1_980_000, "memory_size": 1 << 37, "gpu_device_name": "NVIDIA H200"},
    ),
    Plane(
        "/host:CPU",
        [
            Line("python", 11, [
                Event("train", 0, 90 * US, {"step_num": 3, "_r": 1}),
                Event("$loop.py:12 step", US, 80 * US),
                Event("mine", 2 * US, 70 * US),
                Event("PjitFunction(step)", 3 * US, 60 * US),
                Event("Wait", 4 * US, US),
            ]),
            Line("Host Threads/11", 11, [
                call("cuLaunchKernel", 10, correlation_id=5, **OF_STEP),
                call("cuLaunchKernel", 30, correlation_id=6, **OF_STEP),
                call("cuGraphLaunch (CudaGraph:3)", 50, correlation_id=9),
            ]),
            Line("tf_XLAEigen/4", 12, [Event("Deep", US, US)]),
            Line("allocator", 13, [
                Event("MemoryAllocation", 5 * US, 0, ALLOCATED),
            ]),
        ],
        {"process_id": 4711},
    ),
    STARTED,
)  # fmt: skip

TPU = (
    Plane(
        "/device:TPU:0",
        [
            Line("Steps", 1, [Event("12", 0, 100 * US)]),
            Line("XLA Modules", 2, [Event("jit_step(7)", 0, 100 * US)]),
            Line("XLA Ops", 3, [
                Event("%while.2 = (f32[]) while(...)", 10 * US, 40 * US),
                Event("%fusion.1 = f32[8,8] fusion(...)", 10 * US, 15 * US),
                Event("%fusion.1 = f32[8,8] fusion(...)", 30 * US, 15 * US),
                Event("%all-reduce.3 = f32[8,8] all-reduce(...)", 60 * US, 30 * US),
            ]),
            Line("Framework Ops", 4, [Event("dot_general", 10 * US, 15 * US)]),
        ],
        {"device_type_string": "TPU v4"},
        shared={"%fusion.1 = f32[8,8] fusion(...)": {
            "flops": 1024, "bytes_accessed": 768, "tf_op": "jit(step)/layer0/dot_general:", "hlo_category": "fusion",
            "program_id": 7, "hlo_module": "jit_step"}},
        shown={"%fusion.1 = f32[8,8] fusion(...)": "fusion.1", "%while.2 = (f32[]) while(...)": "while.2",
               "%all-reduce.3 = f32[8,8] all-reduce(...)": "all-reduce.3"},
    ),
    STARTED,
)  # fmt: skip


def read(tmp_path: Path, data: bytes) -> Part:
    file = tmp_path / "host.xplane.pb"
    file.write_bytes(data)
    adapter = sniff(Source(file))
    assert adapter.name == "xplane"
    return adapter.read(Source(file))


def test_kernels_of_a_gpu_with_their_launches_and_details(tmp_path: Path) -> None:
    part = read(tmp_path, space(*CUDA))
    kernels = part.tables["dispatches"]
    assert kernels["kernel"].to_list() == ["fusion_1", "fusion_1", "ncclDevKernel_AllReduce"]
    first = kernels.row(0, named=True)
    assert (first["start_ns"], first["end_ns"]) == (START + 20_000, START + 25_000)
    assert (first["agent_id"], first["stream_id"], first["correlation_id"]) == (1, 7, 5)
    assert [first[f"workgroup_{axis}"] for axis in "xyz"] == [128, 2, 1]
    assert [first[f"grid_{axis}"] for axis in "xyz"] == [6 * 128, 5 * 2, 1]
    assert (first["vgprs"], first["lds_bytes"], first["scratch_bytes"]) == (40, 1536, None)
    assert kernels["graph_id"].to_list() == [None, None, 9]
    calls = part.tables["api_calls"]
    assert calls["name"].to_list() == ["cuLaunchKernel", "cuLaunchKernel", "cuGraphLaunch (CudaGraph:3)"]
    assert calls["tid"].unique().to_list() == [11]
    assert part.pid == 4711
    assert part.host == "box"


def test_devices_without_events_are_named(tmp_path: Path) -> None:
    empty = [Plane(f"/device:GPU:{number}", [Line("Stream #1", 1, [])] * (number == 2)) for number in (2, 3)]
    part = read(tmp_path, space(*CUDA, *empty))
    assert part.notices == ("no events of 2 devices (2, 3): idle, or not recorded",)
    assert part.tables["agents"]["agent_id"].to_list() == [1]
    assert read(tmp_path, space(*CUDA)).notices == ()


def test_calls_that_are_named_by_what_they_start_are_those_of_the_vendor(tmp_path: Path) -> None:
    threads = Plane("/host:CPU", [Line("XLA", 11, [
        call("fusion_1", 10, correlation_id=5), call("MemcpyD2H", 20, correlation_id=6)
    ])])  # fmt: skip
    device = [Line("Stream #1", 1, [kernel("fusion_1", 20, correlation_id=5)])]
    for vendor, names in (
        ("AMD", ["hipLaunchKernel", "hipMemcpyDtoH"]),
        ("Nvidia", ["cuLaunchKernel", "cuMemcpyDtoH"]),
    ):
        gpu = Plane("/device:GPU:0", device, {"device_vendor": vendor})
        assert read(tmp_path, space(gpu, threads, STARTED)).tables["api_calls"]["name"].to_list() == names


def test_copies_and_memory(tmp_path: Path) -> None:
    part = read(tmp_path, space(*CUDA))
    copies = part.tables["copies"].select("kind", "size_bytes", "host_memory").rows()
    assert copies == [("H2D", 4096, "pinned"), ("MEMSET", 64, None)]
    (allocation,) = (
        part.tables["allocations"].select("operation", "level", "size_bytes", "address", "agent_id").rows()
    )
    assert allocation == ("ALLOC", "CACHED", 256, 4096, 1)


def test_the_gpu_is_described(tmp_path: Path) -> None:
    (gpu,) = read(tmp_path, space(*CUDA)).tables["agents"].iter_rows(named=True)
    assert (gpu["kind"], gpu["gfx"], gpu["name"], gpu["cu_count"]) == ("GPU", "sm_90", "NVIDIA H200", 132)
    assert gpu["clock_mhz"] == 1980


def test_operations_lie_in_their_primitive_and_scope(tmp_path: Path) -> None:
    """Two executions of one operation, each launched by one call, inside the scopes that its JAX name says."""
    part = read(tmp_path, space(*CUDA))
    ops = (
        part.tables["ops"]
        .filter(pl.col("category") != "python")
        .select("category", "name", "start_ns", "end_ns")
    )
    times = ((START + 10_000, START + 12_000), (START + 30_000, START + 32_000))
    expected = {(kind, name, *span) for kind, name in (("module", "jit_step"), ("module", "layer0"),
                ("operator", "dot_general"), ("operator", "fusion.1")) for span in times}  # fmt: skip
    assert set(ops.rows()) == expected
    by_id = dict(part.tables["ops"].drop_nulls("op_id").select("op_id", "start_ns").iter_rows())
    owners = part.tables["dispatches"]["op_id"].to_list()
    assert [by_id.get(owner) for owner in owners] == [times[0][0], times[1][0], None]


def test_ranges_say_who_set_them(tmp_path: Path) -> None:
    part = read(tmp_path, space(*CUDA))
    ranges = part.tables["ranges"]
    sources = dict(ranges.filter(~pl.col("on_gpu")).select("name", "source").iter_rows())
    assert sources == {
        "train 3": "jax.step",
        "mine": "jax",
        "PjitFunction(step)": "jax.jit",
        "Wait": "xla",
        "Deep": "xla",
    }
    assert ranges.filter("on_gpu")["name"].to_list() == ["0"]
    frames = part.tables["ops"].filter(pl.col("category") == "python")["name"].to_list()
    assert frames == ["loop.py(12): step"]


def test_operations_of_a_device_without_streams(tmp_path: Path) -> None:
    """A loop is not work beside what it repeats, and the cost that XLA states is kept."""
    part = read(tmp_path, space(*TPU))
    kernels = part.tables["dispatches"]
    assert kernels["kernel"].to_list() == ["fusion.1", "fusion.1", "all-reduce.3"]
    assert part.tables["ranges"].filter("on_gpu")["name"].to_list() == ["12", "jit_step(7)"]
    fusions = part.tables["ops"].filter(pl.col("name") == "fusion.1")
    assert fusions.height == 2
    assert set(fusions["inputs"]) == {'{"flops":1024,"bytes":768,"formula":"XLA\'s cost analysis"}'}
    assert {"jit_step", "layer0"} <= set(part.tables["ops"]["name"])
    assert part.tables["agents"].select("kind", "name").rows() == [("TPU", "TPU v4")]


def test_totals_are_totals(tmp_path: Path) -> None:
    plane = Plane("/device:GPU:0", [Line("Stream #1", 1, [Event("k", length_ps=9_000 * US, occurrences=12)])])
    (row,) = read(tmp_path, space(plane)).tables["summaries"].select("name", "calls", "total_ns").rows()
    assert row == ("k", 12, 9_000_000)


def test_several_hosts_are_one_run(tmp_path: Path) -> None:
    for host in ("one", "two"):
        (tmp_path / f"{host}.xplane.pb").write_bytes(space(*CUDA, hosts=[host]))
    trace = load(tmp_path)
    assert trace.run.hosts == ("one", "two")
    assert trace.rows("dispatches") == 6
    assert trace.table("dispatches")["node"].n_unique() == 2


def test_what_the_profiler_complained_of_is_a_loss(tmp_path: Path) -> None:
    part = read(tmp_path, space(*CUDA, errors=["CUPTI could not be loaded"]))
    assert [loss.what for loss in part.losses] == ["CUPTI could not be loaded"]


def test_a_file_that_breaks_off_keeps_whole_planes(tmp_path: Path) -> None:
    data = space(*CUDA)
    behind_the_gpu = len(content(1, CUDA[0].encoded()))
    part = read(tmp_path, data[: behind_the_gpu + 400])
    assert part.tables["dispatches"].height == 3
    assert "api_calls" not in part.tables
    assert [loss.what for loss in part.losses] == [
        "it breaks off behind 1 plane (a field is longer than the message that holds it)"
    ]


@pytest.mark.parametrize("share", [0.02, 0.3, 0.6])
def test_a_file_of_one_broken_plane_is_refused_in_a_line(tmp_path: Path, share: float) -> None:
    data = space(CUDA[0])
    with pytest.raises(InputError, match="cannot be read as an XPlane file"):
        read(tmp_path, data[: int(share * len(data))])


HOSTILE = {
    "a length beyond the end": content(2, "/host:CPU") + b"\x1a" + b"\xff" * 9 + b"\x01",
    "a number without an end": content(2, "/host:CPU") + b"\x08" + b"\xff" * 40,
    "a kind that is none": content(2, "/host:CPU") + b"\x0b",
    "a line that is not one": content(2, "/host:CPU") + content(3, b"\x22\xff"),
}


@pytest.mark.parametrize("plane", HOSTILE.values(), ids=HOSTILE)
def test_hostile_planes_are_refused_in_a_line(tmp_path: Path, plane: bytes) -> None:
    with pytest.raises(InputError) as refused:
        read(tmp_path, content(1, plane))
    assert "\n" not in str(refused.value)


def test_a_deep_program_costs_the_program_alone(tmp_path: Path) -> None:
    """Shapes inside shapes beyond what protobuf follows."""
    shape = number(2, 11)
    for _ in range(500):
        shape = content(4, shape)
    instruction = content(1, "fusion.1") + content(2, "add") + content(3, shape)
    module = content(1, content(3, content(2, instruction)))
    metadata = Plane("/host:metadata", shared={"jit_step(7)": {"Hlo Proto": module}})
    part = read(tmp_path, space(*CUDA[:2], metadata, STARTED))
    assert part.tables["dispatches"].height == 3
    assert [loss.what for loss in part.losses] == ["compiled programs that do not decode"]


def test_nothing_between_start_and_stop(tmp_path: Path) -> None:
    with pytest.raises(EmptyCaptureError, match="holds no events"):
        read(tmp_path, space(Plane("/host:CPU"), STARTED))


def test_a_file_cut_before_its_first_event_is_not_called_short(tmp_path: Path) -> None:
    data = space(Plane("/host:CPU"), *CUDA)
    with pytest.raises(InputError, match="cut off before its first event: it breaks off") as refused:
        read(tmp_path, data[: len(space(Plane("/host:CPU"))) + 9])
    assert "Copy it again" in str(refused.value)


def test_times_beyond_every_clock_do_not_reach_the_tables(tmp_path: Path) -> None:
    far = Line("Stream #1", 1, [Event("k", (1 << 63) - 1, (1 << 63) - 1)], timestamp_ns=(1 << 63) - 1)
    read(tmp_path, space(Plane("/device:GPU:0", [far]), STARTED))


def test_threads_that_are_numbered_twice_are_one(tmp_path: Path) -> None:
    """Two threads launch in turns; the main thread waits for both, and a fourth makes too few calls to tell."""
    lines = [Line("python", 900, [Event("Await::Results", 0, 1000 * US)])]
    for thread in (0, 1):
        begun = [100 * n + 50 * thread for n in range(10)]
        lines += [
            Line(
                f"py_xla_execute/{thread}", 700 + thread, [Event("X::Run", at * US, 40 * US) for at in begun]
            ),
            Line(
                f"Host Threads/{thread}",
                thread,
                [call("hipLaunchKernel", at + 9, correlation_id=at) for at in begun],
            ),
        ]
    lines.append(Line("Host Threads/5", 5, [call("hipMemcpyAsync", 20, correlation_id=7)]))
    calls = read(tmp_path, space(Plane("/host:CPU", lines), STARTED)).tables["api_calls"]
    assert dict(calls["tid"].value_counts().sort("tid").iter_rows()) == {5: 1, 700: 10, 701: 10}
