"""GPU time by what launched it: everything is counted once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import given

from rocm_perf.analysis.program.stacks import gpu_stacks
from rocm_perf.ingest.load import load
from rocm_perf.model import schema
from rocm_perf.model.results.stacks import GpuStack
from rocm_perf.model.trace import Trace
from rocm_perf.sim.engine import simulate
from rocm_perf.sim.gpu import find_gpu
from rocm_perf.sim.record import record
from rocm_perf.sim.workload import Workload
from tests.properties import examples
from tests.sim.strategies import workloads


def gpu_ns(trace: Trace) -> int:
    frames = [trace.table(table) for table in ("dispatches", "copies")]
    return sum(int((frame["end_ns"] - frame["start_ns"]).sum()) for frame in frames)


@examples(times=0.4)
@given(workloads())
def test_the_stacks_of_a_random_run_sum_to_its_gpu_time(workload: Workload) -> None:
    trace = record(simulate(workload, find_gpu("sim:MI300X")))
    assert sum(stack.gpu_ns for stack in gpu_stacks(trace)) == gpu_ns(trace)


def test_ranges_and_operators_around_the_launch_are_its_frames() -> None:
    where = {"pid": 7, "tid": 8}
    tables: dict[str, list[dict[str, Any]]] = {
        "ranges": [{"name": "step#1", "source": "roctx", "start_ns": 0, "end_ns": 90, **where}],
        "ops": [{"name": "aten::mm", "category": "operator", "start_ns": 5, "end_ns": 40, **where}],
        "api_calls": [
            {"domain": "hip", "name": "launch", "start_ns": 10, "end_ns": 11, "correlation_id": 1, **where},
            {"domain": "hip", "name": "launch", "start_ns": 95, "end_ns": 96, "correlation_id": 2, **where},
        ],
        "dispatches": [
            {"kernel": "k", "start_ns": 50, "end_ns": 57, "pid": 7, "correlation_id": number}
            for number in (1, 2, 3)
        ],
    }
    trace = Trace({name: schema.conform(name, pl.DataFrame(rows)) for name, rows in tables.items()})
    assert gpu_stacks(trace) == (GpuStack(("k",), 14), GpuStack(("step", "aten::mm", "k"), 7))


def test_a_real_torch_trace(specimens: Path) -> None:
    trace = load(next(iter(sorted((specimens / "torch_trace").glob("*mi300*.json.gz")))))
    stacks = gpu_stacks(trace)
    assert sum(stack.gpu_ns for stack in stacks) == gpu_ns(trace)
    assert max(len(stack.frames) for stack in stacks) > 3
