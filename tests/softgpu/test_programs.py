"""Programs on AMD's own runtimes, on a GPU in software: their results are those of the machine code."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from rocm_perf.cli.main import main
from rocm_perf.softgpu.packages import releases, root
from tests.softgpu.machine import Bench

pytestmark = pytest.mark.softgpu

GPUS = {"MI300X": "gfx942", "MI210": "gfx90a", "RX 7900 XTX": "gfx1100", "Radeon 8060S": "gfx1151"}
HIP_ANSWERS = (
    "device to device", "by default, host to host", "fills", "a rectangle", "fat binary", "managed memory", "module",
    "streams, events, memory in order of a stream",
)  # fmt: skip


@pytest.mark.parametrize("release", releases())
def test_rocminfo_shows_the_gpu(bench: Bench, release: str) -> None:
    ran = bench.run([str(root() / "tools/usr/bin/rocminfo")], release=release, gpu="MI210")
    assert ran.status == 0
    assert "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-" in ran.stdout
    assert "AMD Instinct MI210 (software)" in ran.stdout


@pytest.mark.parametrize("release", releases())
@pytest.mark.parametrize("scenario", ["saxpy", "queues", "sums", "variable"])
def test_hsa_programs_are_right(bench: Bench, release: str, scenario: str) -> None:
    ran = bench.run(bench.hsa(scenario), release=release)
    assert (ran.status, ran.stdout.endswith(": right\n")) == (0, True), ran


@pytest.mark.parametrize(("gpu", "gfx"), GPUS.items())
def test_every_chip_gives_the_same_results(bench: Bench, gpu: str, gfx: str) -> None:
    for scenario in ("saxpy", "sums"):
        ran = bench.run(bench.hsa(scenario, gfx), gpu=gpu)
        assert (ran.status, ran.stdout.endswith(": right\n")) == (0, True), ran


@pytest.mark.parametrize("release", releases())
def test_two_gpus_run_a_kernel_each(bench: Bench, release: str) -> None:
    ran = bench.run(bench.hsa("agents"), release=release, count=2)
    assert (ran.status, ran.stdout) == (0, "agents: right\n"), ran


def test_a_hip_program_is_right(bench: Bench) -> None:
    ran = bench.run(bench.hip())
    assert ran.status == 0, ran
    assert ran.stdout.splitlines() == [f"{answer}: right" for answer in HIP_ANSWERS]


def test_programs_that_a_script_starts_are_on_the_machine_too(bench: Bench, tmp_path: Path) -> None:
    script = tmp_path / "script.sh"
    program = " ".join(f"'{word}'" for word in bench.hip("module"))
    script.write_text(f'#!/bin/sh\ntest -e /dev/kfd && sh -c "{program}"\n')
    script.chmod(0o755)
    ran = bench.run([str(script)])
    assert (ran.status, ran.stdout) == (0, "module: right\n"), ran


def test_an_access_outside_of_memory_names_instruction_and_address(bench: Bench) -> None:
    ran = bench.run(bench.hsa("outside"))
    assert ran.status != 0
    assert len(ran.failures) == 1
    assert ran.stderr == f"software GPU: {ran.failures[0]}\n"
    assert "kernel outside: `global_store" in ran.failures[0]
    assert "0x123456789000" in ran.failures[0]


def test_a_code_object_for_another_chip_is_refused_by_the_runtime(bench: Bench) -> None:
    ran = bench.run(bench.hsa("saxpy", "gfx1151"))
    assert (ran.status, ran.stdout, ran.failures) == (70, "", ())
    assert "load: 0x" in ran.stderr


def test_an_endless_kernel_is_ended_by_the_timeout(bench: Bench, capfd: pytest.CaptureFixture[str]) -> None:
    code = main(["emulate", "--timeout", "3", "--json", "--", *bench.hsa("endless")])
    out, err = capfd.readouterr()
    assert code == 128 + signal.SIGINT
    assert json.loads(out)["timed_out"] is True
    assert "rocm-perf emulate: the program did not end within 3 s, and was ended." in err


def test_a_program_that_a_signal_ends_says_so(bench: Bench, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["emulate", "--", *bench.hsa("dies")]) == 128 + signal.SIGABRT
    assert "rocm-perf emulate: the program ended by SIGABRT" in capfd.readouterr().err
