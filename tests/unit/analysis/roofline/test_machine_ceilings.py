"""Rates that were measured on a machine, in place of those of the data sheet."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from rocm_perf.analysis.overview import overview
from rocm_perf.analysis.roofline import roofline
from rocm_perf.arch.catalog import find_gpu
from rocm_perf.model.machine_ceilings import MachineCeilings, MeasuredGpu
from rocm_perf.model.results.roofline import Ceiling
from rocm_perf.model.run import SIMULATOR
from rocm_perf.model.trace import Trace
from rocm_perf.render.sections.roofline import roofline_section
from tests.unit.analysis.traces import Row, trace
from tests.unit.bench.ceilings.measured import MI300X, measured, rate

AGENT: Row = {"agent_id": 0, "kind": "GPU", "gfx": "gfx942", "name": "AMD Instinct MI300X", "cu_count": 304}
SLOW_COPY = measured(
    rate("memory read", 4.0, 4.2, 4.1),
    rate("memory copy", 4.0),
    rate("L2 read", 20.0),
    rate("f16 matrix", 900.0, unit="TFLOP/s"),
    rate("launch", 3.0, unit="us"),
)
# 64 B a read request; 2 MB in 1 us is 2 TB/s.
READS = {"TCC_EA0_RDREQ_sum": 31_250.0, "TCC_EA0_RDREQ_32B_sum": 0.0, "TCC_BUBBLE_sum": 0.0}


def recorded(agent: Row = AGENT, **tables: Sequence[Row]) -> Trace:
    dispatch = {"kernel": "k", "dispatch_id": 1, "agent_id": 0, "pid": 1, "start_ns": 0, "end_ns": 1000}
    counters = [
        {"dispatch_id": 1, "agent_id": 0, "pid": 1, "counter": name, "value": value}
        for name, value in (READS | {"TCC_EA0_WRREQ_sum": 0.0, "TCC_EA0_WRREQ_64B_sum": 0.0}).items()
    ]
    return trace(agents=[agent], dispatches=[dispatch], counters=counters, **tables)  # type: ignore[arg-type]


def ceiling(name: str, *machines: MachineCeilings, recording: Trace | None = None) -> Ceiling:
    (gpu,) = roofline(recording or recorded(), machines=machines).gpus
    return next(row for row in gpu.ceilings if row.name == name)


def test_the_best_of_the_memory_rates_is_the_roof_with_the_data_sheet_beside_it() -> None:
    hbm = ceiling("HBM", SLOW_COPY)
    assert (hbm.rate.value, hbm.measured) == (4.1, True)
    assert hbm.data_sheet is not None
    assert hbm.data_sheet.value == 5.3
    assert hbm.origin == "measured on node7 on 2026-11-16"
    assert "memory read, the median of 3 measurements" in hbm.rate.formula


def test_a_ridge_follows_from_what_was_measured() -> None:
    f16 = ceiling("f16 matrix", SLOW_COPY)
    assert f16.ridge is not None
    assert f16.ridge.value == pytest.approx(900 / 4.1)
    assert ceiling("L2", SLOW_COPY).rate.value == 20.0


def test_what_was_not_measured_keeps_its_data_sheet() -> None:
    bf16 = ceiling("bf16 matrix", SLOW_COPY)
    assert (bf16.rate.value, bf16.measured, bf16.data_sheet) == (1307.4, False, None)
    assert bf16.origin == find_gpu("MI300X").sources["matrix_tflops.bf16"].title


@pytest.mark.parametrize(
    "other",
    [
        MeasuredGpu(name="AMD Instinct MI325X", gfx="gfx942", compute_units=304),
        MeasuredGpu(name="AMD Instinct MI300X", gfx="gfx942", compute_units=38),  # a partition
        MeasuredGpu(name="NVIDIA H200", gfx="sm_90", compute_units=132),
    ],
    ids=lambda gpu: f"{gpu.name}, {gpu.compute_units}",
)
def test_another_model_says_nothing_of_this_one(other: MeasuredGpu) -> None:
    assert not ceiling("HBM", msgspec.structs.replace(SLOW_COPY, gpu=other)).measured


def test_of_several_machines_the_newest_counts() -> None:
    newer = measured(rate("memory copy", 3.9), date="2027-01-01T00:00:00Z", host="this machine")
    for machines in ((SLOW_COPY, newer), (newer, SLOW_COPY)):
        assert ceiling("HBM", *machines).origin == "measured on this machine on 2027-01-01"


def test_the_benchmark_of_the_recording_itself_comes_first() -> None:
    own = [{"agent_id": 0, "ceiling": "hbm", "value": 3900.0, "unit": "GB/s"}]
    hbm = ceiling("HBM", SLOW_COPY, recording=recorded(ceilings=own))
    assert (hbm.rate.value, hbm.origin) == (3.9, "measured on the machine of the recording")
    assert hbm.data_sheet is not None
    assert hbm.data_sheet.value == 5.3


def test_a_gpu_that_no_catalogue_has_gets_a_roof() -> None:
    unknown: Row = {"agent_id": 0, "kind": "GPU", "gfx": "gfx1399", "name": "Prototype", "cu_count": 10}
    gpu = MeasuredGpu(name="Prototype", gfx="gfx1399", compute_units=10)
    machine = msgspec.structs.replace(SLOW_COPY, gpu=gpu)
    assert roofline(recorded(unknown)).gpus[0].unavailable
    (found,) = roofline(recorded(unknown), machines=(machine,)).gpus
    assert found.unavailable is None
    assert {row.name for row in found.ceilings} == {"HBM", "L2", "f16 matrix"}


def test_a_simulated_gpu_has_the_peaks_of_its_data_sheet() -> None:
    recording = recorded()
    simulated = recording.described(msgspec.structs.replace(recording.run, tool=SIMULATOR))
    assert not ceiling("HBM", SLOW_COPY, recording=simulated).measured


def test_a_rate_far_from_the_data_sheet_is_doubted() -> None:
    assert str(ceiling("HBM", measured(rate("memory copy", 1.0))).rate.doubt).startswith(
        "19% of the 5.3 TB/s"
    )


def test_kernels_are_nearer_to_a_measured_roof() -> None:
    """2 TB/s are 38 % of the data sheet, and 49 % of 4.1."""
    for machines, percent in (((), 100 * 2 / 5.3), ((SLOW_COPY,), 100 * 2 / 4.1)):
        (kernel,) = roofline(recorded(), machines=machines).kernels
        assert kernel.percent_of_roof.value == pytest.approx(percent)


def test_a_kernel_above_what_was_measured_doubts_the_measurement() -> None:
    (kernel,) = roofline(recorded(), machines=(measured(rate("memory copy", 1.9)),)).kernels
    assert "above what was measured on node7 on 2026-11-16, but not above the data sheet" in str(
        kernel.percent_of_roof.doubt
    )


def test_the_answer_says_where_its_peaks_come_from() -> None:
    document = overview(recorded(), "x", machines=(SLOW_COPY,))
    (peaks,) = (grid for grid in roofline_section(document, 10).grids if grid.title.startswith("Peaks"))
    text = str(peaks)
    assert "measured on node7 on 2026-11-16" in text
    assert find_gpu("MI300X").sources["matrix_tflops.bf16"].title in text


def test_findings_rest_on_the_measured_roof() -> None:
    evidence = [
        line for one in overview(recorded(), "x", machines=(SLOW_COPY,)).findings for line in one.evidence
    ]
    assert any(
        "48.8 % of what was measured on node7 on 2026-11-16 of the memory (HBM), 4.1 TB/s (data sheet: 5.3)"
        in line
        for line in evidence
    ), evidence


def test_a_rate_needs_samples_that_are_numbers() -> None:
    for samples in ((), (0.0,), (float("nan"),), (-1.0,)):
        with pytest.raises(ValueError, match="memory copy"):
            rate("memory copy", *samples)


def test_the_gpu_of_the_measurements_is_a_row_of_the_table_agents() -> None:
    assert MI300X.agent["cu_count"] == 304
