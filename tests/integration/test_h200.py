"""Recordings that tests/gpu/record.sh made on a real H200: our numbers beside those of torch itself, and counters
beside the arithmetic of the kernels."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import polars as pl
import pytest

import rocm_perf

DATA = Path(__file__).parents[1] / "data" / "h200"


@pytest.mark.parametrize("name", ["eager_sync", "graph"])
def test_kernel_totals_equal_those_of_torch(name: str) -> None:
    truth = json.loads((DATA / f"{name}.truth.json").read_text())["kernels_us"]
    trace = rocm_perf.load(DATA / f"{name}.json.gz")
    ours = {
        row.kernel: (row.calls, row.total_ns) for row in rocm_perf.analyze(trace, whole=True).hotspots.rows
    }
    memset = truth.pop("Memset (Device)")
    assert set(ours) == set(truth)
    for kernel, (calls, total_us) in truth.items():
        assert ours[kernel][0] == calls
        assert ours[kernel][1] == pytest.approx(1000 * total_us, rel=1e-6)
    assert trace.rows("copies") == memset[0]


def test_the_graph_keeps_the_gpu_busy_and_the_synchronising_loop_does_not() -> None:
    eager, graph = (
        rocm_perf.analyze(DATA / f"{name}.json.gz", whole=True).devices[0] for name in ("eager_sync", "graph")
    )
    assert eager.busy.value == pytest.approx(0.041, abs=0.001)
    assert graph.busy.value == pytest.approx(0.797, abs=0.001)


def test_every_kernel_of_the_graph_belongs_to_a_launch() -> None:
    trace = rocm_perf.load(DATA / "graph.json.gz")
    coverage = rocm_perf.analyze(trace).coverage
    assert (coverage.launched, coverage.dispatched, coverage.paired) == (5, 200, 200)
    assert trace.table("dispatches")["graph_id"].null_count() == 0


def test_marked_steps_of_jax_are_judged_although_tuning_launched_more_kernels() -> None:
    """XLA tries kernels for seconds before the 20 steps of tests/gpu/jax/program.py, of 4 kernels each."""
    truth = json.loads((DATA / "jax.truth.json").read_text())
    trace = rocm_perf.load(DATA / "jax.xplane.pb.gz")
    document = rocm_perf.analyze(trace)
    assert document.steady
    assert truth["steps"] - 2 <= document.phases.steps <= truth["steps"]  # without the warm-up
    assert document.phases.step_ns.value == pytest.approx(1e9 * statistics.median(truth["times_s"]), rel=0.05)
    assert {row.calls for row in document.hotspots.rows} == {document.phases.steps}
    assert document.findings[0].kind == "host-bound"
    whole = rocm_perf.analyze(trace, whole=True).coverage
    assert (whole.launched, whole.dispatched, whole.paired) == (1049, 1049, 1049)


def test_steps_of_jax_that_nobody_marked_are_judged_as_well() -> None:
    """The same program by our own tracer: XLA's ranges are about compiling, and the 84 kernels of the steps are few
    beside those that were tried."""
    truth = json.loads((DATA / "jax_cupti.truth.json").read_text())
    document = rocm_perf.analyze(DATA / "jax.rptrace.gz")
    assert document.phases.found_by == "the sequence of kernels repeats at the end"
    assert truth["steps"] - 1 <= document.phases.steps <= truth["steps"] + 1  # one more is the warm-up
    assert document.phases.step_ns.value == pytest.approx(1e9 * statistics.median(truth["times_s"]), rel=0.05)
    assert {row.calls for row in document.hotspots.rows} == {document.phases.steps}
    assert any(finding.kind == "startup" for finding in document.findings)


@pytest.mark.parametrize("name", ["ncu_metrics.csv", "ncu_raw.csv"])
def test_ncu_counts_the_bytes_that_the_kernel_must_read(name: str) -> None:
    trace = rocm_perf.load(DATA / name)
    kernels = trace.table("dispatches").select("dispatch_id", "kernel", "grid_x", "workgroup_x")
    values = (
        trace.table("counters")
        .join(kernels, on="dispatch_id")
        .filter(pl.col("counter") == "dram__bytes_read.sum")
    )
    read = {
        kernel.split("<")[0].split("(")[0].split()[-1]: value
        for kernel, value in values.select("kernel", "value").iter_rows()
    }
    elements = 4096 * 4096
    assert read["vector_add"] == pytest.approx(2 * 4 * elements, rel=0.01)
    assert read["softmax_rows"] == pytest.approx(4 * elements, rel=0.01)
    assert kernels["grid_x"].to_list() == [elements, 4096 * 256]


def test_ncu_sections_are_kept() -> None:
    trace = rocm_perf.load(DATA / "ncu_basic.csv")
    cycles = trace.table("counters").filter(pl.col("counter") == "gpc__cycles_elapsed.max")["value"].to_list()
    assert cycles[0] == 116_108
    sections = dict(trace.table("counter_info").select("counter", "block").iter_rows())
    assert sections["gpc__cycles_elapsed.max"] == "GPU Speed Of Light Throughput"


def test_samples_of_nvidia_smi() -> None:
    samples = rocm_perf.load(DATA / "nvidia_smi.csv").table("samples")
    power = samples.filter(pl.col("metric") == "power_w")["value"]
    assert (power.min(), power.max(), len(power)) == (78.08, 126.42, 148)
    steps = samples.filter(pl.col("metric") == "power_w")["time_ns"].diff().drop_nulls()
    assert steps.median() == pytest.approx(104e6, rel=0.05)
