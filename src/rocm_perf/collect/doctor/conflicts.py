"""What is wrong with a machine, or makes its measurements doubtful: why it matters, and the command that fixes it.
An error stands in the way of any recording. Pure."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePath

from rocm_perf.backends import profilers
from rocm_perf.backends.machine import Machine, version_of
from rocm_perf.collect.doctor.access import access_findings
from rocm_perf.model.finding import Finding

_OTHER_PROFILERS = ("roctracer", "rocpd", "librpd", "omnitrace", "nsys", "ToolsInjection", "tau")
_TOOL_VARIABLES = ("HSA_TOOLS_LIB", "ROCP_TOOL_LIBRARIES", "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH")
_NO_PROFILERS = ("rocm-debug-agent",)
_PROFILING = re.compile(r"rocprof.*|att-.*")  # AMD's tools that profile, and the decoder of thread traces
_SERIALISING = (
    "HIP_LAUNCH_BLOCKING",
    "CUDA_LAUNCH_BLOCKING",
    "AMD_SERIALIZE_KERNEL",
    "AMD_SERIALIZE_COPY",
)
_MASKS = {
    "AMD": ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"),
    "NVIDIA": ("CUDA_VISIBLE_DEVICES",),
}


def conflicts(machine: Machine) -> tuple[Finding, ...]:
    """Everything that is wrong with a machine or doubtful, the worst first."""
    findings = [*access_findings(machine), *(finding for check in _CHECKS for finding in check(machine))]
    return tuple(sorted(findings, key=lambda finding: ("error", "warning", "info").index(finding.severity)))


def preloaded_profilers(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The profilers that are already loaded into every program: `LD_PRELOAD=librocprofiler-sdk-tool.so`."""
    own = [part for profiler in profilers.PROFILERS.values() for part in profiler.preloads]
    libraries = environment.get("LD_PRELOAD", "").replace(":", " ").split()
    loaded = [
        ("LD_PRELOAD", library)
        for library in libraries
        if any(part in PurePath(library).name for part in (*own, *_OTHER_PROFILERS))
    ]
    loaded += [(name, environment[name]) for name in _TOOL_VARIABLES if environment.get(name)]
    return tuple(
        f"{name}={PurePath(value).name}"
        for name, value in loaded
        if not any(other in value for other in _NO_PROFILERS)
    )


def _is_on(machine: Machine, name: str) -> bool:
    return machine.environment.get(name, "").lower() not in ("", "0", "false", "off", "no")


def _preloaded(machine: Machine) -> Iterator[Finding]:
    loaded = preloaded_profilers(machine.environment)
    if loaded:
        names = " ".join(dict.fromkeys(word.partition("=")[0] for word in loaded))
        yield Finding(
            id="profiler-preloaded",
            severity="error",
            title=f"a profiler is loaded into every program already: {', '.join(loaded)}",
            evidence=("two profilers in one program fight over the same hooks: `profile` refuses",),
            remedy="Unset it for this shell",
            next_command=f"unset {names}",
        )


def _several_rocms(machine: Machine) -> Iterator[Finding]:
    if len(machine.rocm_paths) < 2:
        return
    first = machine.rocm_paths[0]
    yield Finding(
        id="several-rocms",
        severity="warning",
        title=f"{len(machine.rocm_paths)} ROCm releases are installed; {machine.rocm} in {first} is in use",
        evidence=(
            ", ".join(machine.rocm_paths),
            "a profiler of one fails or stays silent on the runtime of another",
        ),
        remedy="Choose one for programs, tools and libraries alike",
        next_command=f"export ROCM_PATH={first} PATH={first}/bin:$PATH LD_LIBRARY_PATH={first}/lib:$LD_LIBRARY_PATH",
    )


def _tools_of_another_rocm(machine: Machine) -> Iterator[Finding]:
    runtime = version_of(machine.rocm)[:2]
    profiling = [tool for tool in machine.tools.values() if _PROFILING.match(tool.name) and tool.rocm]
    others = [tool for tool in profiling if runtime and version_of(tool.rocm)[:2] != runtime]
    if others:
        tool = others[0]
        folder = os.path.dirname(tool.path)
        yield Finding(
            id="tools-of-another-rocm",
            severity="warning",
            title=f"profilers of another ROCm than the runtime, {machine.rocm}: "
            + ", ".join(f"{other.name} of {other.rocm}" for other in others),
            evidence=(f"{tool.path} comes first on PATH",),
            remedy="Put the runtime's own tools first, or run the program with the ROCm of the tools",
            next_command=_path_command(machine, folder),
        )


def _path_command(machine: Machine, folder: str) -> str:
    own = f"{machine.rocm_paths[0]}/bin" if machine.rocm_paths else ""
    if own and own != folder:
        return f"export PATH={own}:$PATH"
    return f"export ROCM_PATH={os.path.dirname(folder)}"


def _vendored(machine: Machine) -> Iterator[Finding]:
    torch = machine.torch
    if torch is None or not torch.vendored:
        return
    differs = bool(torch.hip and machine.rocm) and version_of(torch.hip)[:2] != version_of(machine.rocm)[:2]
    against = f", the system has {machine.rocm}" if machine.rocm else ", the system has none"
    yield Finding(
        id="torch-vendors-rocm",
        severity="warning" if differs else "info",
        title=f"torch {torch.version} brings its own ROCm {_release(torch.hip)}{against}",
        evidence=(
            ", ".join(torch.vendored),
            "Python programs use these whatever LD_LIBRARY_PATH says, and the system's profiler may miss them",
        ),
        remedy="If a recording stays empty, record with torch's own profiler",
        next_command="rocm-perf profile --profiler torch -- python script.py",
    )


def _release(version: str) -> str:
    return ".".join(map(str, version_of(version)[:2])) or "libraries"


def _tunable(machine: Machine) -> Iterator[Finding]:
    if _is_on(machine, "PYTORCH_TUNABLEOP_ENABLED"):
        yield Finding(
            id="tunableop",
            severity="warning",
            title="PYTORCH_TUNABLEOP_ENABLED is on",
            evidence=(
                "torch tries out several kernels for each matrix product, so times differ from run to run",
            ),
            remedy="Switch it off while measuring",
            next_command="export PYTORCH_TUNABLEOP_ENABLED=0",
        )


def _override(machine: Machine) -> Iterator[Finding]:
    value = machine.environment.get("HSA_OVERRIDE_GFX_VERSION")
    if value:
        yield Finding(
            id="gfx-override",
            severity="warning",
            title=f"HSA_OVERRIDE_GFX_VERSION={value} makes the GPU pass for another",
            evidence=("the profilers then look for the counters of a chip that is not there",),
            remedy="Run with the GPU's own name, if the program has code for it",
            next_command="unset HSA_OVERRIDE_GFX_VERSION",
        )


def _serialised(machine: Machine) -> Iterator[Finding]:
    names = [name for name in _SERIALISING if _is_on(machine, name)]
    if names:
        yield Finding(
            id="serialised",
            severity="warning",
            title=f"{', '.join(names)} left on: the host waits for every kernel",
            evidence=("good to find a faulting kernel; every time that is measured so is invalid",),
            remedy="Unset for measurements",
            next_command=f"unset {' '.join(names)}",
        )


def _sdma(machine: Machine) -> Iterator[Finding]:
    if machine.environment.get("HSA_ENABLE_SDMA") == "0":
        yield Finding(
            id="sdma-off",
            severity="warning",
            title="HSA_ENABLE_SDMA=0 makes copies run as kernels",
            evidence=("copies then take compute units, and the program is not the one that runs elsewhere",),
            remedy="Unset it, unless it is always set where the program runs",
            next_command="unset HSA_ENABLE_SDMA",
        )


def _rccl_debug(machine: Machine) -> Iterator[Finding]:
    if "RCCL_DEBUG" in machine.environment and "NCCL_DEBUG" not in machine.environment:
        value = machine.environment["RCCL_DEBUG"]
        yield Finding(
            id="rccl-debug",
            severity="info",
            title="RCCL_DEBUG is read by nobody",
            evidence=("RCCL reads NCCL_DEBUG",),
            next_command=f"export NCCL_DEBUG={value}",
        )


def _masked(machine: Machine) -> Iterator[Finding]:
    if machine.vendor is None:
        return
    for name in _MASKS[machine.vendor]:
        value = machine.environment.get(name)
        if value is not None:
            yield Finding(
                id="devices-masked",
                severity="info",
                title=f"{name}={value or '(empty: no GPU)'}: programs see only these of the {len(machine.gpus)} GPUs",
                next_command=f"unset {name}",
            )


def _broken_tools(machine: Machine) -> Iterator[Finding]:
    for tool in machine.tools.values():
        if tool.problem:
            yield Finding(
                id="tool-broken",
                severity="warning",
                title=f"{tool.name} is installed, but {tool.problem}",
                evidence=(f"{tool.path}: rocm-perf does without it",),
                remedy="See what it says itself",
                next_command=f"{tool.path} --version",
            )


_CHECKS: tuple[Callable[[Machine], Iterator[Finding]], ...] = (
    _preloaded,
    _several_rocms,
    _tools_of_another_rocm,
    _vendored,
    _tunable,
    _override,
    _serialised,
    _sdma,
    _rccl_debug,
    _masked,
    _broken_tools,
)
