"""rocminfo: the system, two CPU sockets and the chosen GPUs."""

from __future__ import annotations

import os
import sys

from . import faults, settings
from .settings import FIRST_NODE, Gpu

_HEAD = """\
\033[37mROCk module is loaded\033[0m
=====================
HSA System Attributes
=====================
Runtime Version:         1.1
Runtime Ext Version:     1.6
System Timestamp Freq.:  1000.000000MHz
Sig. Max Wait Duration:  18446744073709551615 (0xFFFFFFFFFFFFFFFF) (timestamp count)
Machine Model:           LARGE
System Endianness:       LITTLE
Mwaitx:                  DISABLED
DMAbuf Support:          YES

==========
HSA Agents
==========
"""
_CPU = "AMD EPYC 9654 96-Core Processor"


def main(_arguments: list[str]) -> int:
    if settings.fault()[0] == "permission":
        user = os.environ.get("USER", "user")
        print(f"\033[37mROCk module is loaded\033[0m\n\033[31m{faults.NO_KFD}\033[0m")
        print(f'\033[31m{user} is not member of "render" group, the default DRM access group.\033[0m')
        return 255
    sys.stdout.write(text())
    return 0


def text() -> str:
    cpus = [_agent(number + 1, _cpu(number)) for number in range(FIRST_NODE)]
    gpu = settings.gpu()
    gpus = [_agent(FIRST_NODE + 1 + number, _gpu(gpu, number)) for number in range(settings.gpu_count())]
    return _HEAD + "".join(cpus + gpus) + "*** Done ***\n"


def _agent(number: int, lines: list[tuple[int, str, str]]) -> str:
    body = "".join(_line(*line) for line in lines)
    return f"*******\nAgent {number}\n*******\n{body}"


def _line(indent: int, name: str, value: str) -> str:
    mark = "" if name.startswith(("Pool ", "ISA ")) and name[-1].isdigit() else ":"
    return f"{' ' * indent}{name + mark:<25}{value}".rstrip() + "\n"


def _both(value: int) -> str:
    return f"{value}({value:#x})"


def _pool(number: int, segment: str, kilobytes: int) -> list[tuple[int, str, str]]:
    return [
        (4, f"Pool {number}", ""),
        (6, "Segment", segment),
        (6, "Size", f"{_both(kilobytes)} KB"),
        (6, "Allocatable", "FALSE" if segment == "GROUP" else "TRUE"),
        (6, "Alloc Granule", "0KB" if segment == "GROUP" else "4KB"),
    ]


def _cpu(node: int) -> list[tuple[int, str, str]]:
    return [
        (2, "Name", _CPU),
        (2, "Uuid", "CPU-XX"),
        (2, "Marketing Name", _CPU),
        (2, "Vendor Name", "CPU"),
        (2, "Feature", "None specified"),
        (2, "Profile", "FULL_PROFILE"),
        (2, "Queue Type", "MULTI"),
        (2, "Node", str(node)),
        (2, "Device Type", "CPU"),
        (2, "Max Clock Freq. (MHz)", "3700"),
        (2, "Compute Unit", "96"),
        (2, "SIMDs per CU", "0"),
        (2, "Pool Info", ""),
        *_pool(1, "GLOBAL; FLAGS: FINE GRAINED", 792_000_000),
        (2, "ISA Info", ""),
    ]


def _gpu(gpu: Gpu, number: int) -> list[tuple[int, str, str]]:
    features = ":sramecc+:xnack-" if gpu.is_instinct else ""
    return [
        (2, "Name", gpu.gfx),
        (2, "Uuid", f"GPU-{0xA8673551B40C6374 + number:016x}"),
        (2, "Marketing Name", gpu.name),
        (2, "Vendor Name", "AMD"),
        (2, "Feature", "KERNEL_DISPATCH"),
        (2, "Profile", "BASE_PROFILE"),
        (2, "Queue Type", "MULTI"),
        (2, "Node", str(FIRST_NODE + number)),
        (2, "Device Type", "GPU"),
        (2, "Chip ID", f"{int(gpu.device_id, 16)}({gpu.device_id})"),
        (2, "Cacheline Size", _both(128)),
        (2, "Max Clock Freq. (MHz)", str(gpu.clock_mhz)),
        (2, "Compute Unit", str(gpu.compute_units)),
        (2, "SIMDs per CU", str(gpu.simds_per_cu)),
        (2, "Shader Engines", str(gpu.shader_engines)),
        (2, "Fast F16 Operation", "TRUE"),
        (2, "Wavefront Size", _both(gpu.wave_size)),
        (2, "Workgroup Max Size", _both(1024)),
        (2, "Max Waves Per CU", _both(gpu.waves_per_simd * gpu.simds_per_cu)),
        (2, "Pool Info", ""),
        *_pool(1, "GLOBAL; FLAGS: COARSE GRAINED", gpu.memory_mb << 10),
        *_pool(2, "GROUP", gpu.lds_kb),
        (2, "ISA Info", ""),
        (4, "ISA 1", ""),
        (6, "Name", f"amdgcn-amd-amdhsa--{gpu.gfx}{features}"),
        (6, "Machine Models", "HSA_MACHINE_MODEL_LARGE"),
        (6, "Wavefront Size", _both(gpu.wave_size)),
    ]
