"""What Nsight Compute's details page alone tells of kernels with one planted limit, recorded on an H200."""

from __future__ import annotations

import polars as pl
import pytest

from rocm_perf.analysis.limits.build import kernel_limits
from rocm_perf.analysis.roofline.build import roofline
from rocm_perf.analysis.roofline.devices import devices
from rocm_perf.ingest.nvidia.ncu_rules import numbers_of_rules
from rocm_perf.model.results.limits import KernelLimits
from tests.unit.analysis.limits.test_planted_on_h200 import CUDA, NAMES, recorded


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, KernelLimits]:
    trace = recorded("ncu_details.csv.xz", tmp_path_factory.mktemp("details"))
    known, points = devices(trace), roofline(trace)
    return {kernel: limits for (_, kernel), limits in kernel_limits(trace, known, points).items()}


def of_case(found: dict[str, KernelLimits], name: str) -> KernelLimits:
    return next(limits for kernel, limits in found.items() if kernel.endswith(f" {name}"))


def test_more_than_half_of_the_planted_limits_are_found(found: dict[str, KernelLimits]) -> None:
    right = [
        case["name"]
        for case in CUDA
        if [cause.id for cause in of_case(found, str(case["name"])).causes][:1]
        and of_case(found, str(case["name"])).causes[0].id in NAMES[str(case["limit"])]
    ]
    assert len(CUDA) == 45
    assert len(right) >= 25, right


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("kinetic", "uncoalesced"),
        ("walk", "memory-latency"),
        ("triad", "memory-bandwidth"),
        ("columns", "bank-conflicts"),
        ("prefix", "barriers"),
        ("full", "f32-arithmetic"),
        ("chain", "dependent-arithmetic"),
        ("series", "instruction-fetch"),
    ],
)
def test_a_cause_from_the_details_page(found: dict[str, KernelLimits], name: str, cause: str) -> None:
    assert of_case(found, name).causes[0].id == cause


def test_the_throughput_of_an_sm_is_no_unit(found: dict[str, KernelLimits]) -> None:
    """93 % of it was XU in one kernel and barriers in another."""
    assert all(unit.unit != "vector" for limits in found.values() for unit in limits.units)


def test_the_numbers_in_the_text_of_a_rule() -> None:
    text = (
        "The memory access pattern for shared loads might not be optimal and causes on average a 32.0 - way bank "
        "conflict across all 8650752 shared load requests.This results in 268181326 bank conflicts,  which represent "
        "96.88% of the overall 276832078 wavefronts for shared loads."
    )
    numbers = numbers_of_rules(pl.DataFrame({"dispatch_id": [7, 8], "rule": [text, None]}))
    assert numbers.rows() == [
        (7, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum", "268181326"),
        (7, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", "276832078"),
    ]
