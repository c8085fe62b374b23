"""A preset records what its verdict needs: every counter that the analysis reads, on every chip; and on simulated
kernels whose limit is known, the verdict names that limit, whichever preset was chosen."""

from __future__ import annotations

from functools import cache

import pytest

from rocm_perf.analysis.bottleneck.measurements import METRICS, STAND_INS
from rocm_perf.analysis.overview import overview
from rocm_perf.analysis.roofline.build import EVIDENCE
from rocm_perf.analysis.roofline.counted import work_metrics
from rocm_perf.arch.counters import counters, known_chips
from rocm_perf.arch.metric_recipes import recipes
from rocm_perf.backends.amd.counter_passes import counter_passes
from rocm_perf.backends.nvidia.counters import ncu_metrics
from rocm_perf.collect.request.presets import presets
from rocm_perf.model.document import Document
from rocm_perf.render.sections.verdicts import notable_excerpts
from rocm_perf.sim.counters import with_counters
from rocm_perf.sim.engine import simulate
from rocm_perf.sim.gpu import find_gpu
from rocm_perf.sim.record import record
from rocm_perf.sim.workload import parse_workload

READ = sorted((METRICS | work_metrics() | EVIDENCE) - STAND_INS)
PRESETS = ("compute", "memory", "full")

KERNELS = """
name = "kernels of known limits"

[kernel.memory]
bytes = {hbm = 4.0e9}
flops = {f32 = 4.0e9}
grid = [4194304]

[kernel.vector]
flops = {f32 = 2.0e11}
bytes = {hbm = 1.0e7}
grid = [4194304]

[kernel.matrix]
flops = {f16 = 1.0e12}
bytes = {hbm = 2.0e8}
matrix = true
grid = [1048576]
vgprs = 128
agprs = 128

[kernel.lds]
bytes = {lds = 1.0e10, hbm = 1.0e6}
lds_conflicts = 7.0
grid = [4194304]

[kernel.latency]
duration_us = 500
flops = {f32 = 1.0e8}
bytes = {hbm = 1.0e8}
grid = [4194304]

[kernel.occupancy]
duration_us = 500
flops = {f32 = 2.0e8}
bytes = {hbm = 1.0e8}
grid = [4194304]
vgprs = 256
lds_bytes = 65536

[kernel.few_blocks]
duration_us = 500
flops = {f32 = 1.0e8}
bytes = {hbm = 1.0e7}
grid = [1024]

[[thread]]
steps = [{repeat = 5, steps = [
  {launch = "memory"}, {launch = "vector"}, {launch = "matrix"}, {launch = "lds"}, {launch = "latency"},
  {launch = "occupancy"}, {launch = "few_blocks"},
]}, {sync = "device"}]
"""
LABELS = {
    "memory": "memory bandwidth",
    "vector": "compute",
    "matrix": "compute",
    "lds": "LDS",
    "occupancy": "occupancy",
    "few_blocks": "launch/latency",
}
LATENCY = ("latency", "few_blocks", "occupancy")  # far from every roof


def asked(preset: str, gfx: str, rocm: str | None = None) -> tuple[tuple[str, ...], ...]:
    return counter_passes(presets()[preset].counters, (), gfx, rocm).passes


@pytest.mark.thorough
@pytest.mark.parametrize("gfx", known_chips())
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("rocm", ["6.4", None])
def test_every_counter_that_the_verdict_reads_is_recorded(preset: str, gfx: str, rocm: str | None) -> None:
    """A metric is had where each group of its counters is in one pass."""
    passes = [frozenset(names) for names in asked(preset, gfx, rocm)]
    known = counters(gfx, rocm).keys()
    for metric in READ:
        ways = [way for way in recipes(gfx, metric) if way.askable and way.counters <= known]
        had = any(
            all(any(group.recorded_in(each) for each in passes) for group in way.groups) for way in ways
        )
        assert had or not ways, metric


@pytest.mark.parametrize("preset", PRESETS)
def test_on_nvidia_too(preset: str) -> None:
    names = frozenset(name.replace(".", "_") for name in ncu_metrics(presets()[preset].counters, "sm_90"))
    for metric in READ:
        ways = [way for way in recipes("sm_90", metric) if way.askable]
        assert not ways or any(way.counters <= names for way in ways), metric


@cache
def verdicts(device: str, preset: str) -> Document:
    gpu = find_gpu(device)
    run = simulate(parse_workload(KERNELS), gpu)
    return overview(with_counters(record(run), run, asked(preset, gpu.gfx)), "simulated")


def test_rates_and_shares_come_before_what_they_are_made_of() -> None:
    document = verdicts("sim:MI300X", "memory")
    first = document.metrics.rows[0]
    names = [row.metric for row in document.metrics.rows if row.kernel == first.kernel]
    assert names[:4] == ["dram_gbps", "tflops", "achieved_occupancy", "l2_hit_rate"]
    assert names.index("wait_share") < names.index("dram_bytes")
    (shown,) = [excerpt for excerpt in notable_excerpts(document) if excerpt.table == "counters"]
    assert shown.title == f"What the counters say of {first.short_name}"
    assert shown.rows[0][0] == first.title


@pytest.mark.parametrize(
    ("preset", "device"),
    [
        *((preset, "sim:MI300X") for preset in PRESETS),
        *(
            pytest.param(preset, device, marks=pytest.mark.thorough)
            for preset in PRESETS
            for device in ("sim:MI250X", "sim:MI355X")
        ),
    ],
)
@pytest.mark.whole
def test_the_verdict_names_the_limit_of_each_kernel(preset: str, device: str) -> None:
    document = verdicts(device, preset)
    labels = {row.kernel: row.label for row in document.bottlenecks.kernels}
    regimes = {row.kernel: row.regime for row in document.roofline.kernels}
    assert {kernel: labels[kernel] for kernel in LABELS} == LABELS
    assert labels["latency"] in (None, "memory latency")  # counters say that waves wait, not for what
    assert {regimes[kernel] for kernel in LATENCY} == {"latency"}
