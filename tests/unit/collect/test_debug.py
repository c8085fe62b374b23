"""What a debug run concludes from what runtimes print. The texts are those of real reports, shortened."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from rocm_perf.collect.debug import (
    AMD_VARIABLES,
    debug,
    debug_command,
    debug_environment,
    fault_texts,
    find_fault,
    find_sanitizer,
    report,
)
from rocm_perf.collect.run.launch import Ended
from rocm_perf.errors import OutputError, ToolAbsentError

LAUNCH = ":3:rocvirtual.cpp           :3029: 12345678901 us:  ShaderName : {}\n"
ACCESS = (
    "Memory access fault by GPU node-1 (Agent handle: 0x55bc2dc19da0) on address 0x7f7d37c00000."
    " Reason: Page not present or supervisor privilege.\n"
)
NAMED = (
    ":0:rocdevice.cpp            :3678: 11343484349 us:  Memory Fault Error [host: here, GPU index: 0,"
    " faulting addr: 0x7f7d37c00000, kernel: (anonymous namespace)::read_unmapped(int const*, int [4])]\n"
)
ABORT = (
    ":0:rocdevice.cpp            :3587: 13177094081 us:  Callback: Queue 0x7f9100c00000 aborting with error :"
    " HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION: The agent attempted to access memory beyond the largest legal"
    " address. code: 0x29\n"
)
DETAIL = "Kernel Name: _Z9triu_trilPfi\nVGPU=0x28031be0 SWq=0x7f941369f000, HWq=0x7f9100c00000, id=1\n"
SANITIZER = """========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at {}
=========     by thread (287,0,0) in block (3906,0,0)
=========     {} 0x7f2a1c003c9c is out of bounds
========= ERROR SUMMARY: 1 error
"""


def told(stderr: str = "", status: int = -6, **logs: str) -> tuple[str, str, str]:
    found = report(("./app",), {}, Ended(status, 0, 1, stderr), logs)
    return (found.fault.name if found.fault else "", found.kernel, found.certainty)


def test_the_runtime_names_the_kernel() -> None:
    log = LAUNCH.format("fill(int*)") + NAMED
    kernel = "(anonymous namespace)::read_unmapped(int const*, int [4])"
    assert told(ACCESS, hip_1=log) == ("memory-fault", kernel, "certain")
    fault = find_fault([NAMED])
    assert fault is not None
    assert (fault.address, fault.gpu) == ("0x7f7d37c00000", "0")


def test_without_a_name_it_is_the_kernel_launched_last() -> None:
    log = LAUNCH.format("fill(int*)") + LAUNCH.format("_Z4copyPi")
    assert told(ACCESS, hip_1=log) == ("memory-access-fault", "copy(int*)", "likely")
    found = report(("./app",), {}, Ended(-6, 0, 1, ACCESS), {"hip_1": log})
    assert found.last_kernels == ("copy(int*)", "fill(int*)")
    assert found.fault is not None
    assert found.fault.reason == "Page not present or supervisor privilege"


def test_a_queue_that_aborts() -> None:
    assert told(hip_1=LAUNCH.format("first") + ABORT + DETAIL) == (
        "queue-abort-named",
        "triu_tril(float*, int)",
        "certain",
    )
    assert told(hip_1=LAUNCH.format("first") + ABORT) == ("queue-abort", "first", "likely")


def test_of_several_processes_the_one_whose_log_tells_of_a_fault() -> None:
    logs = {"hip_1": LAUNCH.format("healthy"), "hip_2": LAUNCH.format("broken") + ABORT}
    assert told("", -6, **logs) == ("queue-abort", "broken", "likely")


def test_of_several_silent_processes_none_is_accused() -> None:
    logs = {"hip_1": LAUNCH.format("one"), "hip_2": LAUNCH.format("two")}
    assert told(ACCESS, -6, **logs) == ("memory-access-fault", "", "unsure")


@pytest.mark.parametrize(
    "place",
    ["scale_kernel(float*, int, float)+0x50 in scale.cu:14", "0x60 in scale_kernel(float*, int, float)",
     "scale_kernel(float*, int, float)+0x90"],
)  # fmt: skip
@pytest.mark.parametrize("word", ["Address", "Access to"])  # before CUDA 13, and since
def test_the_sanitizer_names_kernel_and_address(place: str, word: str) -> None:
    fault = find_fault([SANITIZER.format(place, word)])
    assert fault is not None
    assert (fault.kernel, fault.address) == ("scale_kernel(float*, int, float)", "0x7f2a1c003c9c")


@pytest.mark.parametrize(
    ("stderr", "name"),
    [
        ("RuntimeError: CUDA error: an illegal memory access was encountered\n", "cuda-error"),
        ("torch.AcceleratorError: HIP error: invalid device function\n", "hip-error"),
        ("failed with hipErrorIllegalAddress (700)\n", "hip-error"),
        ("Warning: Queue error - HSA_STATUS_ERROR_MEMORY_FAULT\n", "hsa-error"),
        ("rocvirtual.cpp:4636  AQL dispatch failed!\n", "dispatch-refused"),
    ],
)
def test_errors_that_name_no_kernel(stderr: str, name: str) -> None:
    assert told(stderr, 1) == (name, "", "unsure")


def test_a_program_that_fails_by_itself_accuses_no_kernel() -> None:
    found = report(("./app",), {}, Ended(1, 0, 1, "ValueError: mine"), {"hip_1": LAUNCH.format("innocent")})
    assert (found.fault, found.kernel, found.certainty) == (None, "", "none")
    assert found.last_kernels == ("innocent",)
    assert "the program's own output" in found.next_step


def test_a_program_that_runs_through_hints_at_a_race() -> None:
    assert "synchronisation" in report(("./app",), {}, Ended(0, 0, 1), {}).next_step


def test_a_program_that_hangs() -> None:
    found = report(("./app",), {}, Ended(-9, 0, 1, timed_out=True), {"hip_1": LAUNCH.format("spins")})
    assert "hangs" in found.next_step
    assert found.last_kernels == ("spins",)


def test_the_last_call_that_was_refused() -> None:
    log = ":3:hip_module.cpp :605: 1 us: hipModuleLaunchKernel: Returned hipErrorIllegalState : \n"
    log += ":3:hip_event.cpp :1: 1 us: hipEventQuery: Returned hipErrorNotReady : \n"
    found = report(("./app",), {}, Ended(1, 0, 1), {"hip_1": log})
    assert found.failed_call == "hipModuleLaunchKernel: hipErrorIllegalState"


def test_every_text_has_its_words() -> None:
    assert len({text.name for text in fault_texts()}) == len(fault_texts())
    assert all(text.meaning and text.next_step for text in fault_texts())


# It does what HIP does: it logs launches to AMD_LOG_LEVEL_FILE with its pid, and ROCr's fault goes to stderr.
FAULTY = f"""
import os, sys
assert os.environ["HIP_LAUNCH_BLOCKING"] == "1" and os.environ["CUDA_LAUNCH_BLOCKING"] == "1"
assert int(os.environ["AMD_LOG_LEVEL"]) >= 3
with open(os.environ["AMD_LOG_LEVEL_FILE"] + "_" + str(os.getpid()), "a") as log:
    log.write({LAUNCH.format("fill(int*)")!r})
    log.write({LAUNCH.format("broken(int*)")!r})
print("application's own output")
sys.stdout.flush()
sys.stderr.write({ACCESS!r})
sys.stderr.flush()
os.abort()
"""


def test_end_to_end(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    found = debug((sys.executable, "-c", FAULTY), tmp_path / "logs", os.environ)
    assert found.exit_code == 134
    assert (found.kernel, found.certainty) == ("broken(int*)", "likely")
    assert len(found.logs) == 1
    assert "timings" in found.timings
    printed = capfd.readouterr()
    assert printed.out == "application's own output\n"
    assert printed.err == ACCESS


def test_only_the_end_of_a_huge_log_is_read(tmp_path: Path) -> None:
    program = FAULTY.replace('"a") as log:\n', f'"a") as log:\n    log.write({NAMED!r} + "x" * 5_000_000)\n')
    found = debug((sys.executable, "-c", program), tmp_path / "logs", os.environ)
    assert found.kernel == "broken(int*)"


def test_logs_of_another_run_are_not_taken_over(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    with pytest.raises(OutputError, match="logs"):
        debug((sys.executable, "-c", ""), tmp_path / "logs", {})


def test_the_environment_is_what_the_runtimes_document(tmp_path: Path) -> None:
    variables = debug_environment(tmp_path)
    assert {name: variables[name] for name in AMD_VARIABLES} == AMD_VARIABLES
    assert variables["AMD_LOG_LEVEL_FILE"] == str(tmp_path / "hip-log")


def test_the_sanitizer_writes_a_log_of_its_own(tmp_path: Path) -> None:
    assert debug_command(("a", "--x"), tmp_path) == ("a", "--x")
    assert debug_command(("a", "--x"), tmp_path, "/cuda/compute-sanitizer") == (
        "/cuda/compute-sanitizer", "--log-file", str(tmp_path / "sanitizer-%p.log"), "a", "--x",
    )  # fmt: skip


def test_the_sanitizer_is_found_with_cuda_or_missed(tmp_path: Path) -> None:
    tool = tmp_path / "bin" / "compute-sanitizer"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\n")
    if not Path("/usr/local/cuda/bin/compute-sanitizer").exists():
        with pytest.raises(ToolAbsentError, match="CUDA toolkit"):
            find_sanitizer({"PATH": "", "CUDA_HOME": str(tmp_path)})
    tool.chmod(0o755)
    assert find_sanitizer({"PATH": "", "CUDA_HOME": str(tmp_path)}) == str(tool)
