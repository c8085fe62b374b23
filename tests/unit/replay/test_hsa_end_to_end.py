"""`rocm-perf capture` and `rocm-perf replay` on an AMD program, with a stand-in HSA runtime below them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz.snapshots import attack
from tests.native.hsa_standin.harness import Bench, Ran, ran
from tests.unit.replay.test_hsa_capture import bench

pytestmark = pytest.mark.native

__all__ = ["bench"]  # the fixture


def rocm_perf(bench: Bench, *words: str, **switches: str) -> Ran:
    environment = {**bench.environment(**switches), "ROCM_PERF_NATIVE_DIR": str(bench.folder)}
    return ran([sys.executable, "-m", "rocm_perf.cli.main", *words], environment)


def captured(bench: Bench, tmp_path: Path, scenario: str, kernel: str, *options: str, **switches: str) -> str:
    snapshot = str(tmp_path / "snap")
    words = ("capture", "--vendor", "amd", "--kernel", kernel, *options, "-o", snapshot)
    done = rocm_perf(bench, *words, "--", *bench.program(scenario), **switches)
    assert done.status == 0, done.stderr
    return snapshot


def answer(done: Ran, status: int = 0) -> Any:
    assert done.status == status, (done.stdout, done.stderr)
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "case",
    [
        ("softmax", "softmax", "3", "1"),
        ("variables", "scale", "2", "1"),
        ("structures", "chase", "1", "1"),
        ("two-gpus", "both", "1", "2"),
    ],
)
def test_from_the_program_to_the_verdict(
    bench: Bench, tmp_path: Path, case: tuple[str, str, str, str]
) -> None:
    scenario, kernel, number, gpus = case
    snapshot = captured(bench, tmp_path, scenario, kernel, "--dispatch", number, GPUS=gpus)
    assert answer(rocm_perf(bench, "replay", "info", snapshot, "--json"))["vendor"] == "AMD"
    assert rocm_perf(bench, "replay", "reserve-check", snapshot).status == 0
    verdict = answer(rocm_perf(bench, "replay", "verify", snapshot, "--json"))
    assert verdict["verdict"] == "same"
    assert {control["outcome"] for control in verdict["controls"]} <= {"failed as it must", "inconclusive"}
    timing = answer(rocm_perf(bench, "replay", "full-vm", snapshot, "--iterations", "7", "--json"))
    assert len(timing["timing"]["samples_ns"]) == 7


@pytest.mark.parametrize(("scenario", "kernel"), [("softmax", "softmax"), ("variables", "scale")])
def test_tampered_snapshots_do_no_harm(
    bench: Bench, tmp_path: Path, scenario: str, kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the real runner is given, replay ends in time and with a documented exit code."""
    snapshot = captured(bench, tmp_path, scenario, kernel, "--no-compress")
    for name, value in {**bench.environment(), "ROCM_PERF_NATIVE_DIR": str(bench.folder)}.items():
        monkeypatch.setenv(name, value)
    tally = attack([Path(snapshot)], count=40, seed=3, tasks=("reserve-check", "full-vm", "verify"))
    assert tally.findings == []
    assert {status for _, status in tally.statuses} > {6}  # some got as far as the runner


def test_reserve_check_tells_relocation_from_refusal(bench: Bench, tmp_path: Path) -> None:
    snapshot = captured(bench, tmp_path, "softmax", "softmax")
    assert rocm_perf(bench, "replay", "reserve-check", snapshot, RELOCATE="1").status == 2
    assert rocm_perf(bench, "replay", "reserve-check", snapshot, REFUSE="0x510000000000").status == 1
    assert rocm_perf(bench, "replay", "full-vm", snapshot, RELOCATE="1").status == 2


def test_two_code_objects_are_compared(bench: Bench, tmp_path: Path) -> None:
    snapshot = captured(bench, tmp_path, "softmax", "softmax")
    codes = ("--hsaco", str(bench.one), "--hsaco", str(bench.one), "--iterations", "10")
    answer(rocm_perf(bench, "replay", "compare", snapshot, *codes, "--json", KERNEL_MS="2"))
    without = rocm_perf(bench, "replay", "verify", snapshot, "--hsaco", str(bench.two))
    assert without.status not in {0, 1}  # it has no such kernel


def test_another_gpus_snapshot_and_a_small_gpu(bench: Bench, tmp_path: Path) -> None:
    snapshot = captured(bench, tmp_path, "softmax", "softmax")
    assert rocm_perf(bench, "replay", "full-vm", snapshot, GFX="gfx1100").status == 21
    assert rocm_perf(bench, "replay", "full-vm", snapshot, MEMORY="0x100000").status == 22


def test_a_kernel_that_hangs_is_ended(bench: Bench, tmp_path: Path) -> None:
    snapshot = captured(bench, tmp_path, "softmax", "softmax")
    done = rocm_perf(bench, "replay", "full-vm", snapshot, "--timeout", "1", KERNEL_MS="50000")
    assert done.status == 23, done


def test_a_program_that_dies_leaves_no_snapshot(bench: Bench, tmp_path: Path) -> None:
    snapshot = tmp_path / "snap"
    words = ("capture", "--vendor", "amd", "--kernel", "softmax", "-o", str(snapshot))
    done = rocm_perf(bench, *words, "--", *bench.program("softmax"), DIE_AFTER_COPIES="4")
    assert done.status != 0
    assert list(tmp_path.iterdir()) == []
