"""Recordings of many ranks, made from one simulated rank: each has its own process, rank, GPU, host and clock."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import polars as pl
from msgspec.structs import replace

from rocm_perf.model.trace import Trace
from rocm_perf.render.formats import rocpd
from rocm_perf.sim.engine import simulate
from rocm_perf.sim.gpu import find_gpu
from rocm_perf.sim.record import record
from rocm_perf.sim.workload import parse_workload

STEPS, PAIRS = 200, 100  # about 40,000 kernels
PER_HOST = 8
_PID = 4000
_LATER_NS = 1_000  # a rank begins after the one before it
_SLOWER_NS = 5_000  # every second one has a GPU that begins as much later after a launch
_FIRST_GPU = 2  # agents of the simulated machine before it are CPUs
# A step: pairs of kernels with a copy and a wait at its end; its length differs from kernel to kernel.
_WORKLOAD = """
name = "training"
command = "python train.py"
seed = {seed}
noise = 0.2
[kernel.gemm]
symbol = "Cijk_Ailk_Bljk_BBS_BH_MT256x256x64_MI32x32x1_SN"
duration_us = 30
[kernel.softmax]
duration_us = 12
[kernel.reduce]
symbol = "ncclDevKernel_AllReduce_Sum_f16_RING_LL"
duration_us = 40
[[thread]]
steps = [{{repeat = {steps}, steps = [
    {{cpu = "load batch", us = 40.0}},
    {{copy = "H2D", bytes = 1_000_000}},
    {{repeat = {pairs}, steps = [{{launch = "gemm"}}, {{launch = "softmax"}}]}},
    {{launch = "reduce"}}, {{sync = "stream"}},
]}}]
"""


def simulated_rank(steps: int, pairs: int, seed: int = 7) -> Trace:
    """One rank: `steps` steps of 2 * `pairs` + 1 kernels, whose lengths the seed decides."""
    workload = parse_workload(_WORKLOAD.format(steps=steps, pairs=pairs, seed=seed))
    return record(simulate(workload, find_gpu("sim:MI300X")))


def as_rank(trace: Trace, rank: int) -> Trace:
    """The same recording as that of another rank, which began a little later and launches more slowly."""
    host = f"node{rank // PER_HOST:04d}"
    tables = {name: _moved(name, trace.table(name), rank, host) for name in trace}
    return Trace(tables, replace(trace.run, hosts=(host,)))


def write_rank(trace: Trace, rank: int, folder: Path) -> Path:
    """The recording of that rank as a database of rocprofv3."""
    file = folder / f"rank{rank}_results.db"
    rocpd.write(as_rank(trace, rank), file)
    return file


def write_job(folder: Path, ranks: int, steps: int, pairs: int) -> None:
    """The recordings of so many ranks, each of which has kernels of other lengths."""
    for rank in range(ranks):
        write_rank(simulated_rank(steps, pairs, seed=rank), rank, folder)


def _gpu(column: str, number: int) -> pl.Expr:
    """The agent with that many GPUs before it; hosts stay the same."""
    agent = pl.col(column)
    return pl.when(agent >= _FIRST_GPU).then(agent + number).otherwise(agent)


def _moved(name: str, table: pl.DataFrame, rank: int, host: str) -> pl.DataFrame:
    gpu = rank % PER_HOST
    late_ns = _LATER_NS * rank + (_SLOWER_NS * (rank // 2) if name in ("dispatches", "copies") else 0)
    later = {column: pl.col(column) + late_ns for column in ("start_ns", "end_ns", "time_ns")}
    changes = {
        "rank": pl.lit(rank, pl.Int32),
        "pid": pl.lit(_PID + rank, pl.Int64),
        **{column: _gpu(column, gpu) for column in ("agent_id", "src_agent", "dst_agent")},
        **({"host": pl.lit(host)} if name == "nodes" else {}),
        **later,
    }
    return table.with_columns(
        expression.alias(column) for column, expression in changes.items() if column in table.columns
    )


def main() -> None:
    """Write so many ranks of about 40,000 kernels each; those that are there already stay."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ranks", type=int, default=8)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    rank = simulated_rank(STEPS, PAIRS)
    for number in range(options.ranks):
        if not (options.folder / f"rank{number}_results.db").exists():
            write_rank(rank, number, options.folder)
            print(f"rank {number}", file=sys.stderr)


if __name__ == "__main__":
    main()
