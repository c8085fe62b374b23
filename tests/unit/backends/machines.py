"""Machines for tests: laid out as files below a folder, or as plain data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rocm_perf.backends.machine import DeviceNode, FoundGpu, Machine, Tool, Torch

# gfx_target_version, device_id, SIMDs, SIMDs a compute unit, as KFD lists them
CHIPS = {
    "gfx942": (90402, 0x74A1, 1216, 4),
    "gfx90a": (90010, 0x740F, 416, 4),
    "gfx1100": (110000, 0x744C, 192, 2),
    "gfx1151": (110501, 0x1586, 80, 2),
}
ALL_CAPABILITIES = ("CAP_SYS_PTRACE", "CAP_SYS_ADMIN", "CAP_PERFMON")
OPEN = tuple(
    DeviceNode(path=path, readable=True, writable=True, group="render")
    for path in ("/dev/kfd", "/dev/dri/renderD128", "/dev/nvidia0")
)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def lay_out_amd(
    root: Path, gfx: str = "gfx942", count: int = 1, rocms: tuple[str, ...] = (), devices: bool = True
) -> Path:
    """A host with two CPU sockets, as KFD numbers them, and GPUs behind."""
    version, device, simds, per_unit = CHIPS[gfx]
    nodes = root / "sys/class/kfd/kfd/topology/nodes"
    for node in range(2):
        write(nodes / str(node) / "properties", "cpu_cores_count 96\nsimd_count 0\ngfx_target_version 0\n")
    for number in range(count):
        node_folder = nodes / str(2 + number)
        facts = f"cpu_cores_count 0\nsimd_count {simds}\nsimd_per_cu {per_unit}\nvendor_id 4098\ndevice_id {device}\n"
        facts += f"location_id {(0xC3 + number) << 8 | 5 << 3 | 1}\ndomain 0\nunique_id {0xA8673551B40C6374 + number}\n"
        write(node_folder / "properties", f"{facts}gfx_target_version {version}\n")
        write(node_folder / "mem_banks/0/properties", f"heap_type 1\nsize_in_bytes {192 << 30}\n")
        if devices:
            write(root / f"dev/dri/renderD{128 + number}", "")
    if devices:
        write(root / "dev/kfd", "")
    write(root / "sys/module/amdgpu/version", "6.12.12\n")
    for rocm in rocms:
        write(root / f"opt/rocm-{rocm}/.info/version", f"{rocm}-43\n")
    lay_out_host(root)
    return root


def lay_out_host(root: Path, capabilities: int = 0) -> Path:
    write(root / "etc/passwd", "root:x:0:0:root:/root:/bin/bash\n")
    write(root / "etc/group", "root:x:0:\nvideo:x:44:\nrender:x:109:\n")
    write(root / "proc/self/status", f"Name:\tpython\nCapPrm:\t0\nCapEff:\t{capabilities:016x}\n")
    write(root / "proc/sys/kernel/osrelease", "6.8.0-45-generic\n")
    return root


def lay_out_nvidia(root: Path, admin_only: int = 0) -> Path:
    lay_out_host(root)
    write(
        root / "proc/driver/nvidia/params",
        f"ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: {admin_only}\n",
    )
    kernel = (
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (root@host)\n"
    )
    write(root / "proc/driver/nvidia/version", f"{kernel}GCC version:  gcc version 13.2.0\n")
    information = "Model: \t\t NVIDIA H200\nIRQ:   \t\t 35\nGPU UUID: \t GPU-25a0436b-795b\n"
    write(root / "proc/driver/nvidia/gpus/0000:00:06.0/information", information)
    for name in ("nvidia0", "nvidiactl", "nvidia-uvm"):
        write(root / "dev" / name, "")
    return root


def amd(gfx: str = "gfx942", rocm: str = "7.2", tools: Any = ("rocprofv3",), **more: Any) -> Machine:
    """A machine with one AMD GPU that everyone may use."""
    facts: dict[str, Any] = {
        "host": "node",
        "gpus": (FoundGpu(index=0, vendor="AMD", gfx=gfx, name=gfx),),
        "rocm": rocm,
        "tools": _tools(tools, "/opt/rocm/bin", rocm),
        "kernel_module": "amdgpu",
        "driver": "6.12.12",
        "device_nodes": OPEN[:2],
        "user": "ada",
        "groups": ("ada", "render", "video"),
    }
    return Machine(**{**facts, **more})


def nvidia(tools: Any = ("cupti", "cupti.h", "c++", "ncu"), **more: Any) -> Machine:
    """A machine with one H200."""
    facts: dict[str, Any] = {
        "host": "node",
        "gpus": (FoundGpu(index=0, vendor="NVIDIA", gfx="sm_90", name="NVIDIA H200"),),
        "tools": _tools(tools, "/usr/local/cuda/bin", ""),
        "kernel_module": "nvidia",
        "driver": "580.159.04",
        "cuda": "13.0",
        "device_nodes": OPEN[2:],
        "user": "ada",
        "groups": ("ada",),
    }
    return Machine(**{**facts, **more})


def _tools(given: Any, folder: str, rocm: str) -> dict[str, Tool]:
    """Names, or the tools themselves."""
    if isinstance(given, dict):
        return given
    return {name: Tool(name=name, path=f"{folder}/{name}", rocm=rocm) for name in given}


def torch(hip: str = "", cuda: str = "", vendored: tuple[str, ...] = ()) -> Torch:
    return Torch(python="/usr/bin/python", version="2.9.0", hip=hip, cuda=cuda, vendored=vendored)
