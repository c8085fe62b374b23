"""What a profiler records of the application: the simulator's run of FAKE_WORKLOAD, on this host's clock, under the
application's process id, with the domains that were asked for."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from . import settings, windows

if TYPE_CHECKING:
    import polars as pl

    from rocm_perf.model.trace import Trace
    from rocm_perf.sim.gpu import SimGpu
    from rocm_perf.sim.workload import Workload

BUILT_IN = """
name = "built-in"
[kernel.saxpy]
symbol = "saxpy(float*, float const*, float, int)"
flops = {f32 = 2097152}
bytes = {hbm = 12582912}
grid = [1048576]
[kernel.gemm]
symbol = "void gemm<64, 64>(float const*, float const*, float*, int)"
flops = {f16 = 2147483648}
matrix = true
bytes = {hbm = 6291456, lds = 33554432}
grid = [1024, 256]
workgroup = [16, 16]
vgprs = 128
agprs = 128
lds_bytes = 16384
[[thread]]
steps = [
  {alloc = "x", bytes = 4194304},
  {copy = "H2D", bytes = 4194304},
  {push = "step"},
  {repeat = 3, steps = [{launch = "saxpy"}, {launch = "gemm"}, {sync = "stream"}]},
  {pop = ""},
  {copy = "D2H", bytes = 4194304, blocking = true},
  {free = "x", bytes = 4194304},
]
"""
RANK_VARIABLES = ("RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", "PMI_RANK")
_TIMES = ("start_ns", "end_ns", "time_ns", "cause_ns", "effect_ns")
_HSA = {
    "hipStreamSynchronize": "hsa_signal_wait_scacquire",
    "hipDeviceSynchronize": "hsa_signal_wait_scacquire",
    "hipEventSynchronize": "hsa_signal_wait_scacquire",
    "hipMemcpy": "hsa_amd_memory_async_copy_on_engine",
    "hipMemcpyAsync": "hsa_amd_memory_async_copy_on_engine",
    "hipMalloc": "hsa_amd_memory_pool_allocate",
    "hipFree": "hsa_amd_memory_pool_free",
}


@dataclass(frozen=True)
class Wanted:
    """What to record."""

    domains: frozenset[str] = frozenset()  # kernel, hip, hsa, rccl, marker, copy, allocation
    counters: tuple[str, ...] = ()
    include: str | None = None
    exclude: str | None = None
    iterations: str | None = None
    sampling: str | None = None  # method of PC sampling
    spans: tuple[windows.Span, ...] | None = None  # None: the whole run
    switched: bool = False  # only where the program switches the profiler on


@dataclass(frozen=True)
class Process:
    """The recording of one process."""

    pid: int
    rank: int
    trace: Trace
    wanted: Wanted = field(default_factory=Wanted)


def workload() -> Workload:
    from rocm_perf.sim.workload import parse_workload, read_workload

    path = os.environ.get("FAKE_WORKLOAD")
    return read_workload(Path(path)) if path else parse_workload(BUILT_IN, "built-in")


def sim_gpu() -> SimGpu:
    """The simulator's model, with the shape of the chosen GPU."""
    from rocm_perf.sim.gpu import find_gpu

    gpu = settings.gpu()
    return replace(
        find_gpu("sim:MI300X"),
        name=gpu.name,
        gfx=gpu.gfx,
        compute_units=gpu.compute_units,
        simds=gpu.compute_units * gpu.simds_per_cu,
        dies=gpu.dies,
        wave_size=gpu.wave_size,
        clock_mhz=gpu.clock_mhz,
        memory_bytes=gpu.memory_mb << 20,
        lds_bytes=gpu.lds_kb << 10,
        max_waves_per_simd=gpu.waves_per_simd,
    )


def record(pid: int, command: list[str], start_ns: int, wanted: Wanted) -> list[Process]:
    """One recording a process: all ranks of the workload, or the one that the environment names."""
    import msgspec

    from rocm_perf.model.trace import Trace
    from rocm_perf.sim.engine import START_NS, simulate
    from rocm_perf.sim.record import FIRST_PID
    from rocm_perf.sim.record import record as record_all

    from . import extras

    work, gpu = workload(), sim_gpu()
    whole = record_all(simulate(work, gpu))
    run = msgspec.structs.replace(whole.run, command=shlex.join(command), hosts=(settings.hostname(),))
    own = next((int(os.environ[name]) for name in RANK_VARIABLES if name in os.environ), None)
    ranks = [own] if own in work.ranks and len(work.ranks) > 1 else list(work.ranks)
    processes = []
    for rank in ranks:
        place = pid if len(ranks) == 1 else pid + rank
        tables = _of_process(whole, FIRST_PID + rank)
        tables = _rebased(tables, start_ns - START_NS, place - FIRST_PID - rank, shlex.join(command))
        spans = windows.region(tables, start_ns) if wanted.switched else wanted.spans
        tables = tables if spans is None else windows.inside(tables, start_ns, spans)
        tables = extras.select(tables, wanted, work, gpu)
        processes.append(Process(place, rank, Trace(tables, run), wanted))
    return processes


def _of_process(trace: Trace, pid: int) -> dict[str, pl.DataFrame]:
    import polars as pl

    tables = {name: trace.table(name) for name in trace}
    return {
        name: frame.filter(pl.col("pid") == pid)
        if "pid" in frame.columns and frame["pid"].null_count() == 0
        else frame
        for name, frame in tables.items()
        if name not in ("samples", "ops", "links", "collectives")  # no ROCm profiler records these
    }


def _rebased(
    tables: Mapping[str, pl.DataFrame], time: int, pid: int, command: str
) -> dict[str, pl.DataFrame]:
    """On the host's clock and under real process ids."""
    import polars as pl

    moved = {}
    for name, frame in tables.items():
        shifts = [pl.col(column) + time for column in _TIMES if column in frame.columns]
        shifts += [pl.col(column) + pid for column in ("pid", "tid") if column in frame.columns]
        moved[name] = frame.with_columns(shifts)
    moved["nodes"] = moved["nodes"].with_columns(host=pl.lit(settings.hostname()))
    moved["processes"] = moved["processes"].with_columns(command=pl.lit(command))
    return moved


def hsa_calls(calls: pl.DataFrame) -> pl.DataFrame:
    """The HSA calls inside the HIP calls that make one: the middle half of their time."""
    import polars as pl

    quarter = (pl.col("end_ns") - pl.col("start_ns")) // 4
    inner = calls.filter(pl.col("name").is_in(list(_HSA)))
    highest = int(str(calls["correlation_id"].max())) if calls.height else 0
    return inner.with_columns(
        domain=pl.lit("hsa"),
        name=pl.col("name").replace_strict(_HSA, return_dtype=pl.String),
        start_ns=pl.col("start_ns") + quarter,
        end_ns=pl.col("end_ns") - quarter,
        correlation_id=pl.int_range(1, pl.len() + 1, dtype=pl.Int64) + highest,
    )
