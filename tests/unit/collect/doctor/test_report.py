"""The doctor's report: verdict, exit code, and what it says of the machine."""

from __future__ import annotations

from typing import Any

import pytest
from rich.console import Console

from rocm_perf.backends.machine import FoundGpu, Machine, Tool
from rocm_perf.backends.profilers import PROFILERS
from rocm_perf.collect.doctor.report import report
from rocm_perf.model.results.doctor import Trial
from rocm_perf.render.screen.doctor import command_lines, print_doctor
from tests.unit.backends.machines import ALL_CAPABILITIES, OPEN, amd, nvidia, torch

PRELOADED = {"LD_PRELOAD": "/x/librocprofiler-sdk-tool.so"}
MACHINES: dict[str, tuple[Machine, int, str]] = {
    "MI300X": (
        amd(tools=("rocprofv3", "att-decoder")),
        0,
        "Yes: API trace, kernel trace, counters, PC sampling, ATT",
    ),
    "gfx1151 on 7.0": (amd("gfx1151", "7.0"), 0, "Yes: API trace and kernel trace work on gfx1151."),
    "H200": (nvidia(), 0, "Yes: API trace, kernel trace, counters and roofline work on NVIDIA H200."),
    "torch alone": (
        amd(tools=(), torch=torch(hip="6.4")),
        0,
        "Yes: torch.profiler, API trace and kernel trace",
    ),
    "no tools": (amd(tools=()), 3, "Partly: only the wall time"),
    "torch for CPUs": (amd(tools=(), torch=torch()), 3, "Partly: only the wall time"),
    "rocprofv3 of 5.7": (amd(rocm="5.7"), 4, "Partly: only the wall time"),
    "broken tool": (
        amd(tools={"rocprofv3": Tool(name="rocprofv3", path="/x", problem="crashes: SIGSEGV")}),
        3,
        "Partly: only the wall time",
    ),
    "CUPTI without its header": (nvidia(tools=("cupti", "c++")), 4, "Partly: only the wall time"),
    "no GPU": (Machine(host="laptop"), 3, "No: no GPU was found."),
    "no device files": (amd(device_nodes=()), 3, "No: programs cannot use gfx942 yet."),
    "two profilers": (amd(environment=PRELOADED), 4, "Partly"),
}


@pytest.mark.parametrize("name", MACHINES)
def test_verdict_and_exit_code(name: str) -> None:
    machine, code, words = MACHINES[name]
    made = report(machine, PROFILERS)
    assert made.exit_code == code
    assert made.verdict[0].startswith(words)
    assert made.verdict[1].startswith("In the way:" if code else ("Nothing is in the way", "Worth a look"))


def test_what_is_in_the_way_is_named() -> None:
    assert "profiler is loaded" in report(amd(environment=PRELOADED), PROFILERS).verdict[1]
    assert "rocprofv3 is not installed. Try: sudo apt" in report(amd(tools=()), PROFILERS).verdict[1]
    warned = report(amd(environment={"HSA_ENABLE_SDMA": "0"}), PROFILERS)
    assert (warned.exit_code, warned.verdict[1]) == (0, "Worth a look: 1 warning below.")


def test_one_gpu_of_two_is_enough() -> None:
    other = FoundGpu(index=0, vendor="NVIDIA", gfx="sm_90", name="NVIDIA H200")
    made = report(amd(gpus=(*amd().gpus, other), tools=("rocprofv3",)), PROFILERS)  # none of NVIDIA's files
    assert made.exit_code == 0
    assert "gfx942 (1 of 2 GPUs)." in made.verdict[0]
    assert {answer.works for answer in made.gpus[1].methods} == {"no"}


def test_what_was_tried_counts_more_than_what_was_known() -> None:
    failed = report(amd(), PROFILERS, {("gfx942", "kernel trace"): Trial(False, 1.5, "HSA_STATUS_ERROR")})
    answer = next(each for each in failed.gpus[0].methods if each.method == "kernel trace")
    assert (answer.works, answer.reason) == ("no", "HSA_STATUS_ERROR")
    assert failed.exit_code == 4
    machine = amd("gfx1151")
    tried = report(machine, PROFILERS, {("gfx1151", "PC sampling, host trap"): Trial(True, 2.0, "40 rows")})
    answer = next(each for each in tried.gpus[0].methods if each.method == "PC sampling, host trap")
    assert (answer.works, answer.reason, answer.remedy) == ("yes", "", "")


def facts(machine: Machine, part: str) -> dict[str, str]:
    return {fact.label: fact.value for fact in getattr(report(machine, PROFILERS), part)}


def test_versions() -> None:
    machine = amd(
        rocm="7.2.0",
        rocm_paths=("/opt/rocm-7.2.0", "/opt/rocm-6.4.1"),
        torch=torch(hip="6.4.43482", vendored=("libamdhip64.so",)),
    )
    found = facts(machine, "versions")
    assert found["ROCm"] == "7.2.0 in /opt/rocm-7.2.0"
    assert found["also"] == "/opt/rocm-6.4.1"
    assert found["driver"] == "amdgpu 6.12.12"
    assert found["torch"] == "2.9.0 for ROCm 6.4.43482, /usr/bin/python"
    assert found["its own ROCm"] == "libamdhip64.so"
    assert facts(Machine(host="x"), "versions")["driver"] == "none is loaded"


def test_access() -> None:
    render = [
        OPEN[1].__class__(path=f"/dev/dri/renderD{number}", readable=True, writable=True)
        for number in (128, 129)
    ]
    shut = OPEN[1].__class__(path="/dev/dri/renderD130", readable=False, writable=False, group="render")
    found = facts(amd(device_nodes=(OPEN[0], *render, shut), capabilities=ALL_CAPABILITIES[:1]), "access")
    assert found["/dev/kfd"] == "open to you, group render"
    assert found["/dev/dri/renderD128 to 129"] == "open to you"
    assert found["/dev/dri/renderD130"] == "closed to you, group render"
    assert found["user"] == "ada, in ada, render, video"
    assert found["capabilities"] == "SYS_PTRACE"


def test_tools() -> None:
    found = facts(amd(tools=("rocprofv3",)), "tools")
    assert found["rocprofv3"] == "ROCm 7.2, /opt/rocm/bin/rocprofv3"
    for name in ("rocprofv2", "rocprof-compute", "att-decoder", "rgp", "ncu", "nsys", "nvcc"):
        assert name in found["not found"].split(", ")


def printed(machine: Machine, width: int, trials: Any = None) -> str:
    console = Console(width=width, highlight=False, color_system=None)
    with console.capture() as captured:
        print_doctor(report(machine, PROFILERS, trials), console)
    return captured.get()


@pytest.mark.parametrize("width", [80, 160])
@pytest.mark.parametrize("name", MACHINES)
def test_it_fits_any_terminal(name: str, width: int) -> None:
    text = printed(MACHINES[name][0], width)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    lines = text.splitlines()
    assert lines[0].startswith(MACHINES[name][2][:3])
    for heading in ("Versions", "Access", "Tools"):
        assert heading in lines


def test_gpus_that_are_alike_share_a_matrix() -> None:
    gpus = tuple(
        FoundGpu(index=number, vendor="AMD", gfx="gfx942", pci=f"0000:0{number}:00.0") for number in range(8)
    )
    text = printed(amd(gpus=gpus), 80)
    assert "GPUs 0 to 7: AMD gfx942 (gfx942)" in text
    assert text.count("kernel trace  ") == 1


def test_a_trial_is_shown_with_its_time() -> None:
    trials = {
        ("gfx942", "kernel trace"): Trial(True, 1.23, "8 rows of dispatches through rocprofv3"),
        ("gfx942", "counters"): Trial(False, 0.5, "aqlprofile API table load failed"),
    }
    lines = printed(amd(), 160, trials).splitlines()
    (kernels,) = (line for line in lines if line.startswith("kernel trace"))
    assert "tried: works" in kernels
    assert "8 rows of dispatches through rocprofv3; 1.2 s" in kernels
    (counters,) = (line for line in lines if line.startswith("counters"))
    assert "tried: failed" in counters
    assert "aqlprofile API table load failed; 0.5 s" in counters


def test_the_same_reason_is_not_said_ten_times() -> None:
    text = printed(amd(device_nodes=()), 160)
    assert text.count("help: sudo modprobe amdgpu") == 1
    assert text.count("as above") == 9


def test_a_long_command_can_be_copied() -> None:
    text = command_lines("docker run --device=/dev/kfd --device=/dev/dri --cap-add=SYS_PTRACE IMAGE", 40)
    assert all(line.endswith(" \\") for line in text.splitlines()[:-1])
    assert max(map(len, text.splitlines())) <= 40
    assert text.replace("\\\n", "").split() == [
        "docker",
        "run",
        "--device=/dev/kfd",
        "--device=/dev/dri",
        "--cap-add=SYS_PTRACE",
        "IMAGE",
    ]
    assert "'a b c d'" in command_lines("echo 'a b c d' | sudo tee x", 20)
