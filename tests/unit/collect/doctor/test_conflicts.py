"""What the doctor warns of, and the commands that it gives."""

from __future__ import annotations

import shlex

import pytest

from rocm_perf.backends.machine import DeviceNode, Machine, Tool
from rocm_perf.collect.doctor.conflicts import conflicts, preloaded_profilers
from rocm_perf.model.finding import Finding
from tests.unit.backends.machines import ALL_CAPABILITIES, OPEN, amd, nvidia, torch


def found(machine: Machine) -> dict[str, Finding]:
    return {finding.id: finding for finding in conflicts(machine)}


def with_variables(**variables: str) -> Machine:
    return amd(environment=variables)


def test_a_good_machine_has_no_problems() -> None:
    assert conflicts(amd()) == ()
    assert conflicts(nvidia()) == ()


@pytest.mark.parametrize(
    ("variables", "finding", "severity", "command"),
    [
        ({"PYTORCH_TUNABLEOP_ENABLED": "1"}, "tunableop", "warning", "export PYTORCH_TUNABLEOP_ENABLED=0"),
        ({"HSA_OVERRIDE_GFX_VERSION": "11.0.0"}, "gfx-override", "warning", "unset HSA_OVERRIDE_GFX_VERSION"),
        (
            {"HIP_LAUNCH_BLOCKING": "1", "AMD_SERIALIZE_KERNEL": "3"},
            "serialised",
            "warning",
            "unset HIP_LAUNCH_BLOCKING AMD_SERIALIZE_KERNEL",
        ),
        ({"HSA_ENABLE_SDMA": "0"}, "sdma-off", "warning", "unset HSA_ENABLE_SDMA"),
        ({"RCCL_DEBUG": "INFO"}, "rccl-debug", "info", "export NCCL_DEBUG=INFO"),
        ({"HIP_VISIBLE_DEVICES": "1"}, "devices-masked", "info", "unset HIP_VISIBLE_DEVICES"),
        ({"LD_PRELOAD": "/x/librocprofiler-sdk-tool.so"}, "profiler-preloaded", "error", "unset LD_PRELOAD"),
    ],
)
def test_variables(variables: dict[str, str], finding: str, severity: str, command: str) -> None:
    (problem,) = conflicts(with_variables(**variables))
    assert (problem.id, problem.severity, problem.next_command) == (finding, severity, command)


@pytest.mark.parametrize(
    "variables",
    [
        {"PYTORCH_TUNABLEOP_ENABLED": "0"},
        {"HIP_LAUNCH_BLOCKING": "0", "AMD_SERIALIZE_KERNEL": ""},
        {"HSA_ENABLE_SDMA": "1"},
        {"RCCL_DEBUG": "INFO", "NCCL_DEBUG": "INFO"},
        {"LD_PRELOAD": "/usr/lib/libjemalloc.so.2"},
    ],
)
def test_variables_that_are_off(variables: dict[str, str]) -> None:
    assert conflicts(with_variables(**variables)) == ()


@pytest.mark.parametrize(
    ("variables", "loaded"),
    [
        ({}, ()),
        ({"LD_PRELOAD": "/usr/lib/libjemalloc.so.2"}, ()),
        (
            {"LD_PRELOAD": "/a/libjemalloc.so:/opt/rocm/lib/rocprofiler-sdk/librocprofiler-sdk-tool.so"},
            ("LD_PRELOAD=librocprofiler-sdk-tool.so",),
        ),
        ({"LD_PRELOAD": "a.so librpd_tracer.so"}, ("LD_PRELOAD=librpd_tracer.so",)),
        ({"ROCP_TOOL_LIBRARIES": "/x/tool.so"}, ("ROCP_TOOL_LIBRARIES=tool.so",)),
        ({"HSA_TOOLS_LIB": "librocprofiler64.so.1"}, ("HSA_TOOLS_LIB=librocprofiler64.so.1",)),
        ({"HSA_TOOLS_LIB": "/opt/rocm/lib/librocm-debug-agent.so.2"}, ()),
        (
            {"CUDA_INJECTION64_PATH": "/x/libToolsInjection64.so"},
            ("CUDA_INJECTION64_PATH=libToolsInjection64.so",),
        ),
    ],
)
def test_profilers_that_are_loaded_already(variables: dict[str, str], loaded: tuple[str, ...]) -> None:
    assert preloaded_profilers(variables) == loaded


def test_two_rocms_and_a_tool_of_the_other() -> None:
    tool = Tool(name="rocprofv3", path="/opt/rocm-6.4.1/bin/rocprofv3", rocm="6.4.1")
    machine = amd(rocm="7.2.0", rocm_paths=("/opt/rocm-7.2.0", "/opt/rocm-6.4.1"), tools={"rocprofv3": tool})
    problems = found(machine)
    assert problems["several-rocms"].next_command.startswith(
        "export ROCM_PATH=/opt/rocm-7.2.0 PATH=/opt/rocm-7.2.0/bin:"
    )
    assert "rocprofv3 of 6.4.1" in problems["tools-of-another-rocm"].title
    assert problems["tools-of-another-rocm"].next_command == "export PATH=/opt/rocm-7.2.0/bin:$PATH"
    same = amd(rocm="7.2.1", tools={"rocprofv3": Tool(name="rocprofv3", path="/x", rocm="7.2")})
    assert conflicts(same) == ()


@pytest.mark.parametrize(("hip", "severity"), [("6.4.43482", "warning"), ("7.2.26015-abc", "info")])
def test_torch_with_its_own_rocm(hip: str, severity: str) -> None:
    problem = found(amd(rocm="7.2.0", torch=torch(hip=hip, vendored=("libamdhip64.so",))))[
        "torch-vendors-rocm"
    ]
    assert problem.severity == severity
    assert "libamdhip64.so" in problem.evidence[0]
    assert conflicts(amd(torch=torch(hip=hip))) == ()


CLOSED = tuple(DeviceNode(path=node.path, readable=False, writable=False, group="render") for node in OPEN)


def test_a_user_outside_of_the_group() -> None:
    (problem,) = conflicts(amd(device_nodes=CLOSED[:2], groups=("ada",)))
    assert problem.severity == "error"
    assert problem.title == "/dev/kfd and /dev/dri/renderD* may not be used by ada"
    assert problem.next_command == "sudo usermod -aG render ada"
    assert "the group render may; ada is in ada" in problem.evidence[0]


def test_a_user_outside_of_the_group_in_a_container() -> None:
    nodes = (DeviceNode(path="/dev/kfd", readable=False, writable=False, group="992"), OPEN[1])
    problem = found(amd(device_nodes=nodes, container="docker", capabilities=ALL_CAPABILITIES))[
        "device-denied"
    ]
    assert "--group-add 992 IMAGE" in problem.next_command
    shlex.split(problem.next_command)


def test_device_files_of_root_need_a_rule_not_a_group() -> None:
    nodes = (DeviceNode(path="/dev/kfd", readable=False, writable=False, group="root"), OPEN[1])
    assert "udevadm trigger" in found(amd(device_nodes=nodes))["device-denied"].next_command


def test_one_render_node_of_several_is_no_obstacle() -> None:
    shut = DeviceNode(path="/dev/dri/renderD129", readable=False, writable=False, group="render")
    (problem,) = conflicts(amd(device_nodes=(*OPEN[:2], shut)))
    assert (problem.id, problem.severity) == ("some-devices-denied", "warning")


@pytest.mark.parametrize(
    ("container", "command"),
    [
        ("docker", "docker run --device=/dev/kfd --device=/dev/dri"),
        ("podman", "podman run --device=/dev/kfd"),
        ("apptainer", "apptainer exec --rocm"),
        ("kubernetes", "amd.com/gpu=1"),
        ("lxc", "docker run --device=/dev/kfd"),
        ("", "sudo modprobe amdgpu"),
    ],
)
def test_no_device_files(container: str, command: str) -> None:
    (problem,) = conflicts(amd(device_nodes=(), container=container))
    assert problem.title.startswith("/dev/kfd and /dev/dri/renderD* are missing")
    assert problem.severity == "error"
    assert command in problem.next_command


def test_containers_without_rights() -> None:
    problem = found(amd(container="docker", capabilities=("CAP_SYS_PTRACE",)))["container-rights"]
    assert (problem.severity, "--cap-add=SYS_ADMIN" in problem.next_command) == ("warning", True)
    assert "SYS_PTRACE" not in problem.next_command
    assert (
        "add: [SYS_PTRACE, SYS_ADMIN]" in found(amd(container="kubernetes"))["container-rights"].next_command
    )
    assert conflicts(amd(container="docker", capabilities=ALL_CAPABILITIES)) == ()
    assert conflicts(amd(container="apptainer")) == ()


def test_no_gpu() -> None:
    (problem,) = conflicts(Machine(host="laptop"))
    assert (problem.id, problem.severity, problem.next_command) == ("no-gpu", "error", "rocm-perf demo")
    (inside,) = conflicts(Machine(host="box", container="docker"))
    assert inside.next_command.startswith("docker run --device=/dev/kfd")
    (undriven,) = conflicts(Machine(host="x", hidden_gpus=("NVIDIA GPU at 0000:00:06.0",)))
    assert undriven.next_command.startswith("sudo modprobe nvidia ")


def test_counters_that_only_root_may_read() -> None:
    problem = found(nvidia(counters_need_root=True))["counters-restricted"]
    assert "NVreg_RestrictProfilingToAdminUsers=0" in problem.next_command
    assert conflicts(nvidia(counters_need_root=True, capabilities=("CAP_PERFMON",))) == ()
    inside = found(nvidia(counters_need_root=True, container="docker"))["counters-restricted"]
    assert "--cap-add=SYS_ADMIN" in inside.next_command


def test_a_broken_tool() -> None:
    tool = Tool(name="ncu", path="/x/ncu", problem="crashes: SIGSEGV")
    (problem,) = conflicts(nvidia(tools={"ncu": tool}))
    assert (problem.id, problem.title) == ("tool-broken", "ncu is installed, but crashes: SIGSEGV")


def test_the_worst_comes_first() -> None:
    machine = amd(
        environment={"HIP_VISIBLE_DEVICES": "0", "HSA_ENABLE_SDMA": "0", "LD_PRELOAD": "librocprofiler64.so"},
        device_nodes=(),
    )
    order = [finding.severity for finding in conflicts(machine)]
    assert order == sorted(order, key=["error", "warning", "info"].index)
    assert set(order) == {"error", "warning", "info"}
