"""Capture and replay against AMD's own runtimes: from the program to the verdict."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from rocm_perf.softgpu.packages import releases
from tests.softgpu.machine import Bench

pytestmark = pytest.mark.softgpu

KERNELS = {"saxpy": "saxpy", "queues": "add", "variable": "biased"}


def expect_whole_chain(answer: dict[str, Any]) -> None:
    """Every address came back, the replay gave the application's result, and every control failed."""
    assert [answer[step] for step in ("capture", "reserve", "full-vm", "verify")] == [0, 0, 0, 0], answer
    reservations = answer["reserved"]["reservations"]
    assert reservations
    assert all(one["exact"] for one in reservations)
    verdict = answer["verified"]
    assert verdict["verdict"] == "same", verdict
    assert {control["outcome"] for control in verdict["controls"]} == {"failed as it must"}, verdict


@pytest.mark.parametrize("release", releases())
@pytest.mark.parametrize("scenario", KERNELS)
def test_from_the_program_to_the_verdict(bench: Bench, tmp_path: Path, release: str, scenario: str) -> None:
    ran = bench.chain(bench.hsa(scenario), KERNELS[scenario], tmp_path / "snap", release=release)
    assert f"{scenario}: right\n" in ran.stderr  # the program itself was not disturbed
    expect_whole_chain(ran.answer)


@pytest.mark.parametrize("release", releases())
def test_a_thousand_allocations_come_back_at_their_addresses(
    bench: Bench, tmp_path: Path, release: str
) -> None:
    # The smallest of the GPUs: ROCr copies by a kernel with waves for every compute unit.
    program = bench.hsa("allocations", "gfx1151")
    ran = bench.chain(program, "gather", tmp_path / "snap", release=release, gpu="Radeon 8060S")
    expect_whole_chain(ran.answer)
    regions = json.loads((tmp_path / "snap" / "memory_regions.json").read_text())["regions"]
    assert sum(1 for region in regions if region["saved"]) >= 1002


def test_a_range_that_is_taken_is_told_and_nothing_is_launched(bench: Bench, tmp_path: Path) -> None:
    ran = bench.chain(bench.hsa("saxpy"), "saxpy", tmp_path / "snap")
    wanted = ran.answer["reserved"]["reservations"][0]
    runners = bench.runner_without(tmp_path, wanted["base"], wanted["size"])
    for verb, text in (
        ("reserve-check", "relocated"),
        ("verify", "gave other addresses than the captured ones"),
    ):
        words = [sys.executable, "-m", "rocm_perf", "replay", verb, str(tmp_path / "snap")]
        ran = bench.run(["env", f"ROCM_PERF_NATIVE_DIR={runners}", *words])
        assert (ran.status, text in ran.stdout + ran.stderr) == (2, True), (verb, ran)


def test_a_hip_program_is_captured_and_replayed(bench: Bench, tmp_path: Path) -> None:
    for scenario, kernel in (("module", "^add$"), ("fat-binary", "biased"), ("streams", "^add$")):
        ran = bench.chain(bench.hip(scenario), kernel, tmp_path / scenario)
        assert ": right\n" in ran.stderr, ran
        expect_whole_chain(ran.answer)


def test_a_program_that_dies_after_the_capture_leaves_its_snapshot(bench: Bench, tmp_path: Path) -> None:
    ran = bench.chain(bench.hsa("dies"), "saxpy", tmp_path / "snap")
    assert ran.answer["capture"] == 134
    assert [ran.answer[step] for step in ("reserve", "full-vm", "verify")] == [0, 0, 0]


def test_a_program_that_dies_before_the_kernel_leaves_nothing(bench: Bench, tmp_path: Path) -> None:
    ran = bench.chain(bench.hsa("dies"), "no_such_kernel", tmp_path / "snap")
    assert ran.answer["capture"] == 134
    assert not (tmp_path / "snap").exists()


def test_a_kernel_of_one_of_two_gpus_is_replayed(bench: Bench, tmp_path: Path) -> None:
    ran = bench.chain(bench.hsa("agents"), "^add$", tmp_path / "snap", count=2)
    expect_whole_chain(ran.answer)
