"""Kernels of known truth: the simulator knows what limits each, the findings have to tell it from the recording."""

from __future__ import annotations

import polars as pl
import pytest

from rocm_perf.analysis.verdict.kernels.findings import kernel_findings
from rocm_perf.model import schema
from rocm_perf.model.finding import Finding
from rocm_perf.model.trace import Trace
from rocm_perf.sim.engine import simulate
from rocm_perf.sim.gpu import find_gpu
from rocm_perf.sim.record import record
from rocm_perf.sim.workload import parse_workload
from tests.fake_tools._fake.values import counters as counter_values
from tests.unit.analysis.documents import document

COUNTERS = (
    *(f"SQ_INSTS_VALU_{op}_{t}" for op in ("ADD", "MUL", "TRANS", "FMA") for t in ("F16", "F32", "F64")),
    *(f"SQ_INSTS_VALU_MFMA_MOPS_{t}" for t in ("F8", "F16", "BF16", "F32", "F64", "I8")),
    "TCC_BUBBLE_sum",
    "TCC_EA0_RDREQ_sum",
    "TCC_EA0_RDREQ_32B_sum",
    "TCC_EA0_WRREQ_sum",
    "TCC_EA0_WRREQ_64B_sum",
)
KERNELS = {
    "memory": "bytes = {hbm = 4.0e9}\nflops = {f32 = 1.0e9}\ngrid = [16777216]",
    "matrix": "bytes = {hbm = 1.0e8}\nflops = {bf16 = 2.0e12}\nmatrix = true\ngrid = [16777216]",
    "vector": "bytes = {hbm = 1.0e8}\nflops = {f32 = 3.0e11}\ngrid = [16777216]",
    "too_few_blocks": "duration_us = 500.0\ngrid = [4096]",
}


def recorded(kernel: str) -> Trace:
    """Ten launches of a kernel on the simulated MI300X, with counters."""
    gpu = find_gpu("sim:MI300X")
    text = f"""
        name = "one"
        [kernel.k]
        symbol = "k"
        workgroup = [256]
        {KERNELS[kernel]}
        [[thread]]
        name = "main"
        steps = [{{repeat = 10, steps = [{{launch = "k"}}]}}, {{sync = "device"}}]
    """
    workload = parse_workload("\n".join(line.strip() for line in text.splitlines()), "one.toml")
    run = record(simulate(workload, gpu))
    counted = schema.conform("counters", counter_values(run.table("dispatches"), COUNTERS, workload, gpu))
    return Trace({**{name: run.table(name) for name in run}, "counters": counted}, run.run)


def first(kernel: str) -> Finding:
    return kernel_findings(document(recorded(kernel)))[0]


@pytest.mark.parametrize(
    ("kernel", "kind"),
    [
        ("memory", "kernel-memory"),
        ("matrix", "kernel-compute"),
        ("vector", "kernel-compute"),
        ("too_few_blocks", "kernel-latency-or-occupancy"),
    ],
)
@pytest.mark.whole
def test_the_limit_of_a_simulated_kernel_is_told(kernel: str, kind: str) -> None:
    assert first(kernel).kind == kind


def test_at_most_what_the_models_efficiency_leaves_is_at_stake() -> None:
    """The model runs at a fixed share of the peak: the rest is the distance to the roof."""
    gpu = find_gpu("sim:MI300X")
    recording = recorded("matrix")
    finding = kernel_findings(document(recording))[0]
    spent = recording.table("dispatches").select((pl.col("end_ns") - pl.col("start_ns")).sum()).item()
    assert finding.time_at_stake_ns == pytest.approx(spent * (1 - gpu.rates["efficiency"]), rel=0.05)
