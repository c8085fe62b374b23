"""The indicators of a recording, and the causes that single counters of it point to."""

from __future__ import annotations

import pytest

from rocm_perf.analysis.bottleneck import bottlenecks
from rocm_perf.analysis.kernels.counter_metrics import counter_metrics
from rocm_perf.analysis.overview import overview
from rocm_perf.arch.counter_sets import resolve_set
from rocm_perf.model.results.metrics import Indicator
from rocm_perf.model.trace import Trace
from rocm_perf.render.sections.metrics import indicators_section
from tests.unit.analysis.traces import Row, kernel, trace

MI300X: Row = {"agent_id": 0, "kind": "GPU", "gfx": "gfx942", "name": "AMD Instinct MI300X", "cu_count": 304}
RADEON: Row = {"agent_id": 0, "kind": "GPU", "gfx": "gfx1100", "name": "Radeon RX 7900 XTX", "cu_count": 96}
# A launch of a matrix product in which nothing is amiss.
GOOD = {
    "SQ_WAVES": 4864.0,
    "SQ_WAVE_CYCLES": 1e7,
    "SQ_INSTS_VALU": 2e6,
    "SQ_INSTS_LDS": 4e5,
    "SQ_INSTS_VMEM_RD": 8e4,
    "SQ_INSTS_VMEM_WR": 2e4,
    "SQ_WAIT_INST_LDS": 2e5,
    "TCC_HIT_sum": 9e5,
    "TCC_MISS_sum": 1e5,
    "SQ_INSTS_VALU_MFMA_MOPS_F16": 1e6,
}
LDS_WAITS = {"SQ_WAIT_INST_LDS": 3.5e6}
FEW_HITS = {"TCC_HIT_sum": 8e4, "TCC_MISS_sum": 9.2e5}
MEMORY_INSTRUCTIONS = {"SQ_INSTS_VMEM_RD": 1.6e6, "SQ_INSTS_VMEM_WR": 4e5}


def counted(values: dict[str, float], agent: Row = MI300X, name: str = "my_gemm_kernel") -> Trace:
    counters: list[Row] = [
        {"dispatch_id": 1, "agent_id": 0, "counter": counter, "value": value}
        for counter, value in values.items()
    ]
    return trace(dispatches=[kernel(name, 0, 100_000, dispatch_id=1)], counters=counters, agents=[agent])


def indicators(recorded: Trace) -> dict[str, Indicator]:
    return {row.counters.split(" ")[0]: row for row in counter_metrics(recorded).indicators}


def test_a_good_profile_misses_no_target() -> None:
    found = indicators(counted(GOOD))
    assert {name: (row.value, row.verdict) for name, row in found.items()} == {
        "SQ_WAVES": (4864, "good"),
        "TCC_HIT": (0.9, "good"),
        "SQ_WAIT_INST_LDS": (pytest.approx(0.02), "good"),
        "SQ_INSTS_LDS": (pytest.approx(0.2), "good"),
        "SQ_INSTS_VMEM": (pytest.approx(0.05), "good"),
        "SQ_INSTS_VALU_MFMA_MOPS_*": (512e6, "good"),
    }


@pytest.mark.parametrize(
    ("planted", "indicator", "value", "advice"),
    [
        (LDS_WAITS, "SQ_WAIT_INST_LDS", 0.35, "bank conflicts"),
        (FEW_HITS, "TCC_HIT", 0.08, "poor cache locality"),
        (MEMORY_INSTRUCTIONS, "SQ_INSTS_VMEM", 1.0, "use each value more often"),
        ({"SQ_WAVES": 100.0}, "SQ_WAVES", 100, "SIMDs stay empty"),
        ({"SQ_INSTS_VALU_MFMA_MOPS_F16": 0.0}, "SQ_INSTS_VALU_MFMA_MOPS_*", 0, "matrix units are not used"),
    ],
)
def test_a_planted_fault_is_the_only_poor_indicator(
    planted: dict[str, float], indicator: str, value: float, advice: str
) -> None:
    found = indicators(counted({**GOOD, **planted}))
    poor = {name: row for name, row in found.items() if row.verdict == "poor"}
    assert list(poor) == [indicator]
    assert poor[indicator].value == pytest.approx(value)
    assert advice in poor[indicator].advice


@pytest.mark.parametrize(
    ("values", "cause", "because", "says"),
    [
        ({**GOOD, **LDS_WAITS}, "LDS", "lds_wait", "probably its waves wait for LDS"),
        ({**GOOD, **FEW_HITS}, "memory latency", "few_l2_hits", "probably few of its L2 requests hit"),
        (
            {**GOOD, **MEMORY_INSTRUCTIONS},
            "memory latency",
            "vmem_per_valu",
            "probably it issues many memory instructions for little arithmetic",
        ),
        # Fewer counters, in other spellings: what was recorded still tells.
        ({"SQ_WAIT_INST_LDS": 35.0, "SQ_WAVE_CYCLES": 100.0}, "LDS", "lds_wait", "wait for LDS"),
        ({"TCC_HIT": 8.0, "TCC_MISS": 92.0}, "memory latency", "few_l2_hits", "few of its L2 requests hit"),
        ({"SQ_INSTS_VMEM": 20.0, "SQ_INSTS_VALU": 20.0}, "memory latency", "vmem_per_valu", "memory instructions"),
    ],
)  # fmt: skip
def test_a_planted_fault_is_named_as_the_likely_cause(
    values: dict[str, float], cause: str, because: str, says: str
) -> None:
    recorded = counted(values, name="my_kernel")
    (row,) = bottlenecks(recorded).kernels
    assert (row.suspect, row.because) == (cause, because)
    (finding,) = [each for each in overview(recorded, "run").findings if each.id.startswith("kernel-")]
    assert says in finding.title
    assert "unknown" not in finding.title
    assert "Count what its units do" not in finding.remedy


def test_a_good_kernel_is_not_blamed_for_what_it_does_little_of() -> None:
    (row,) = bottlenecks(counted(GOOD, name="my_kernel")).kernels
    assert row.suspect is None


@pytest.mark.parametrize("name", ["vecCopy", "mul_mat_vec_q"])
def test_memory_sets_the_pace_of_what_uses_each_value_once(name: str) -> None:
    """Regression: a copy was told to use each value more often."""
    (row,) = bottlenecks(counted({**GOOD, **FEW_HITS, **MEMORY_INSTRUCTIONS}, name=name)).kernels
    assert (row.suspect, row.because) == ("memory bandwidth", "streams")


def test_waves_that_do_not_wait_clear_the_caches() -> None:
    waits = {"SQ_WAIT_ANY": 5e5}
    (row,) = bottlenecks(counted({**GOOD, **FEW_HITS, **waits}, name="my_kernel")).kernels
    assert row.suspect is None


@pytest.mark.parametrize("name", ["__amd_rocclr_copyBuffer", "mul_mat_vec_q"])
def test_a_kernel_that_uses_each_value_once_need_not_hit(name: str) -> None:
    found = indicators(counted({**GOOD, **FEW_HITS, **MEMORY_INSTRUCTIONS}, name=name))
    assert not {"TCC_HIT", "SQ_INSTS_VMEM"} & found.keys()


def test_rdna_counts_them_under_names_of_its_own() -> None:
    values = {
        "GL2C_HIT_sum": 8.0,
        "GL2C_MISS_sum": 92.0,
        "SQ_INSTS_VALU": 20.0,
        "SQ_INSTS_TEX_LOAD": 8.0,
        "SQ_INSTS_TEX_STORE": 2.0,
        "SQ_INSTS_FLAT": 10.0,
    }
    found = indicators(counted(values, RADEON))
    assert {name: row.value for name, row in found.items()} == {"TCC_HIT": 0.08, "SQ_INSTS_VMEM": 1.0}


@pytest.mark.parametrize("name", ["counters_basic", "counters_extended"])
@pytest.mark.parametrize(
    ("gfx", "needed"),
    [
        ("gfx942", {*GOOD, "SQ_INSTS_VALU_MFMA_MOPS_BF16"}),
        ("gfx90a", {*GOOD, "SQ_INSTS_VALU_MFMA_MOPS_BF16"}),
        (
            "gfx1151",
            {"SQ_WAVES", "SQ_INSTS_VALU", "SQ_INSTS_LDS", "SQ_WAIT_INST_LDS", "SQ_WAVE_CYCLES", "GL2C_HIT_sum",
             "GL2C_MISS_sum", "SQ_INSTS_TEX_LOAD", "SQ_INSTS_TEX_STORE", "SQ_INSTS_FLAT"},
        ),
    ],
)  # fmt: skip
def test_the_shipped_sets_have_every_indicator(name: str, gfx: str, needed: set[str]) -> None:
    assert needed <= set(resolve_set(name, gfx).counters)


def test_the_section_shows_value_target_verdict_and_a_good_profile() -> None:
    section = indicators_section(overview(counted({**GOOD, **FEW_HITS}), "run"), 10)
    assert section.lines == ("1 of 6 indicators of 1 kernel miss their target.",)
    (grid,) = section.grids
    assert [column.heading for column in grid.columns] == [
        "indicator", "value", "target", "verdict",
    ]  # fmt: skip
    assert section.notes[0].startswith("L2 hit rate poor: poor cache locality")
    assert "SQ_WAIT_INST_LDS" in section.notes[-1]
    none = indicators_section(overview(trace(dispatches=[kernel("k", 0, 10)]), "run"), 10)
    assert none.unavailable is not None
    assert none.unavailable.startswith("no counters were recorded")


def test_a_value_in_doubt_gets_no_verdict() -> None:
    row = indicators(counted({**GOOD, "SQ_WAIT_INST_LDS": 2e7}))["SQ_WAIT_INST_LDS"]
    assert (row.value, row.verdict) == (2.0, "unclear")
    assert row.advice == row.doubt != ""
