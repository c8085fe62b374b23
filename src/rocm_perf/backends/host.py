"""What the operating system says: device files and who may use them, groups, container, capabilities, variables.

Everything lies below `root`, so that a test can lay out another machine.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from rocm_perf.backends.machine import DeviceNode

_DEVICES = ("kfd", "dri/renderD*", "nvidiactl", "nvidia[0-9]*", "nvidia-uvm")
# Those of linux/capability.h that matter to profilers, by their bits.
_CAPABILITIES = {19: "CAP_SYS_PTRACE", 21: "CAP_SYS_ADMIN", 38: "CAP_PERFMON"}
_VARIABLES = (
    "LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONPATH", "ROCM_PATH", "ROCP_TOOL_LIBRARIES", "NVTX_INJECTION64_PATH",
    "GPU_MAX_HW_QUEUES", "GPU_DEVICE_ORDINAL", "PYTORCH_HIP_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF",
    "NVIDIA_VISIBLE_DEVICES",
)  # fmt: skip
_PREFIXES = (
    "HSA_", "HIP_", "ROCR_", "CUDA_", "AMD_SERIALIZE_", "AMD_LOG_", "ROCPROF", "ROCTRACER_", "OMNITRACE_", "NCCL_",
    "RCCL_", "PYTORCH_TUNABLEOP_", "MIOPEN_", "ROCBLAS_", "HIPBLASLT_", "TENSILE_",
)  # fmt: skip
_CGROUPS = (("kubepods", "kubernetes"), ("docker", "docker"), ("libpod", "podman"), ("lxc", "lxc"))


def read_text(path: Path) -> str:
    """A file's text; empty where it is absent or closed to this user, which in /sys and /proc says just that."""
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def device_nodes(root: Path) -> tuple[DeviceNode, ...]:
    """The GPUs' files under /dev."""
    names = _names(root / "etc" / "group")
    folder = root / "dev"
    paths = [path for pattern in _DEVICES for path in sorted(folder.glob(pattern))]
    return tuple(_device_node(path, root, names) for path in paths)


def _device_node(path: Path, root: Path, names: Mapping[int, str]) -> DeviceNode:
    try:
        gid = path.stat().st_gid
    except OSError:
        gid = -1
    return DeviceNode(
        path=f"/{path.relative_to(root)}",
        readable=opens(path, os.O_RDONLY),
        writable=opens(path, os.O_RDWR),
        group=names.get(gid, str(gid) if gid >= 0 else ""),
    )


def opens(path: Path, flags: int) -> bool:
    """Whether a file really opens: a container's device rules refuse what the file's mode permits."""
    try:
        os.close(os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC))
    except OSError:
        return False
    return True


def user_name(root: Path) -> str:
    uid = os.geteuid()
    return _names(root / "etc" / "passwd").get(uid, str(uid))


def group_names(root: Path) -> tuple[str, ...]:
    """The groups of this process; a number where a group has no name here."""
    names = _names(root / "etc" / "group")
    return tuple(names.get(gid, str(gid)) for gid in sorted({os.getegid(), *os.getgroups()}))


def _names(file: Path) -> dict[int, str]:
    """The names in /etc/passwd or /etc/group, by number."""
    fields = [line.split(":") for line in read_text(file).splitlines()]
    return {int(entry[2]): entry[0] for entry in fields if len(entry) > 2 and entry[2].isdigit()}


def container_kind(environment: Mapping[str, str], root: Path) -> str:
    """Which kind of container this is; empty outside of one."""
    if "KUBERNETES_SERVICE_HOST" in environment:
        return "kubernetes"
    if {"APPTAINER_CONTAINER", "APPTAINER_NAME"} & environment.keys():
        return "apptainer"
    if {"SINGULARITY_CONTAINER", "SINGULARITY_NAME"} & environment.keys():
        return "singularity"
    if (root / "run" / ".containerenv").exists():
        return "podman"
    if (root / ".dockerenv").exists():
        return "docker"
    groups = read_text(root / "proc" / "1" / "cgroup")
    return next((kind for word, kind in _CGROUPS if word in groups), environment.get("container", ""))


def capabilities(root: Path) -> tuple[str, ...]:
    """The capabilities in effect that matter to profilers."""
    match = re.search(
        r"^CapEff:\s*([0-9a-fA-F]+)", read_text(root / "proc" / "self" / "status"), re.MULTILINE
    )
    bits = int(match.group(1), 16) if match else 0
    return tuple(name for bit, name in _CAPABILITIES.items() if bits >> bit & 1)


def relevant_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that matter to GPU programs and profilers."""
    return {
        name: value
        for name, value in sorted(environment.items())
        if name in _VARIABLES or name.startswith(_PREFIXES)
    }
