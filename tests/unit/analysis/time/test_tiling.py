"""Steps inside of a marked one: whole repeats of one sequence, but not layers."""

from __future__ import annotations

import pytest

from rocm_perf.analysis.time.steps import steps
from rocm_perf.model.trace import Trace
from tests.unit.analysis.traces import call, kernel, marked, trace


def one_marked_step(names: str) -> Trace:
    kernels = [kernel(name, 100 * at + 10, 100 * at + 60, correlation_id=at) for at, name in enumerate(names)]
    calls = [call("hipLaunchKernel", 100 * at, 100 * at + 5, at) for at in range(len(names))]
    return trace(dispatches=kernels, api_calls=calls, ranges=[marked("ProfilerStep#1", 0, 100 * len(names))])


def test_images_within_one_marked_step_are_its_steps() -> None:
    found = steps(one_marked_step("eabababh" * 5))
    assert len(found.steps) == 5
    assert found.kernels_per_step.value == 8
    assert found.duration_ns.value == 800
    assert "within ProfilerStep" in found.found_by


@pytest.mark.parametrize("names", ["e" + "ab" * 24 + "h", "eababh" * 2, "a" * 30])
def test_layers_two_repeats_and_one_kernel_over_and_over_are_not(names: str) -> None:
    assert len(steps(one_marked_step(names)).steps) == 1
