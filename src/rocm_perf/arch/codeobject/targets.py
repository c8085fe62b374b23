"""The architecture that an AMD code object names in its ELF flags (LLVM, AMDGPUUsage: ELF header), and which GPUs run
code for which architecture."""

from __future__ import annotations

import re

_MACHINE = 0xFF
_ABI_NAMES = {0: "v2", 1: "v3", 2: "v4", 3: "v5", 4: "v6"}
_V3 = 1
_V4 = 2

# EF_AMDGPU_MACH_AMDGCN_*: in the order of their values, from 0x20 on.
_FROM_0X20 = (
    "gfx600", "gfx601", "gfx700", "gfx701", "gfx702", "gfx703", "gfx704", "-",  # 0x20
    "gfx801", "gfx802", "gfx803", "gfx810", "gfx900", "gfx902", "gfx904", "gfx906",  # 0x28
    "gfx908", "gfx909", "gfx90c", "gfx1010", "gfx1011", "gfx1012", "gfx1030", "gfx1031",  # 0x30
    "gfx1032", "gfx1033", "gfx602", "gfx705", "gfx805", "gfx1035", "gfx1034", "gfx90a",  # 0x38
    "gfx940", "gfx1100", "gfx1013", "gfx1150", "gfx1103", "gfx1036", "gfx1101", "gfx1102",  # 0x40
    "gfx1200", "gfx1250", "gfx1151", "gfx941", "gfx942", "-", "gfx1201", "gfx950",  # 0x48
    "gfx1310", "gfx9-generic", "gfx10-1-generic", "gfx10-3-generic", "gfx11-generic", "gfx1152", "-", "gfx1154",  # 0x50
    "gfx1153", "gfx12-generic", "gfx1251", "gfx12-5-generic", "gfx1172", "gfx1170", "gfx1171", "gfx9-4-generic",  # 0x58
    "-", "-", "gfx11-7-generic", "gfx13-generic",  # 0x60
)  # fmt: skip
MACHINES = {0x20 + number: name for number, name in enumerate(_FROM_0X20) if name != "-"}


def arch_of(flags: int) -> str | None:
    """The architecture, 0x54c -> gfx942; None for a number that is not in the table."""
    return MACHINES.get(flags & _MACHINE)


def abi_name(abi_version: int) -> str:
    """The version of the code object: 2 -> v4."""
    return _ABI_NAMES.get(abi_version, f"number {abi_version}")


def features_of(flags: int, abi_version: int) -> tuple[str, ...]:
    """The features that the code requires on or off: (`xnack+`, `sramecc-`)."""
    if abi_version == _V3:
        return tuple(name for name, bit in (("xnack+", 0x100), ("sramecc+", 0x200)) if flags & bit)
    if abi_version < _V4:
        return ()
    settings = (("xnack", flags >> 8 & 3), ("sramecc", flags >> 10 & 3))
    signs = {2: "-", 3: "+"}
    return tuple(name + signs[setting] for name, setting in settings if setting in signs)


# Generic targets of LLVM (AMDGPUUsage, generic processors), and the chips that run their code.
_GENERIC = {
    "gfx9-generic": r"gfx90[02469c]$",
    "gfx9-4-generic": r"gfx9(4[0-2]|50)$",
    "gfx10-1-generic": r"gfx101\d$",
    "gfx10-3-generic": r"gfx103\d$",
    "gfx11-generic": r"gfx11[0-5]\d$",
    "gfx12-generic": r"gfx120\d$",
}
_SM = re.compile(r"(?:sm|compute)_(\d+)(\d)[af]?$")


def fit(arch: str, gpu: str) -> int:
    """How well code for an architecture fits a GPU: 0 not at all, then the older the code the worse."""
    code, ran_on = _SM.match(arch), _SM.match(gpu)
    if arch == gpu or (code and ran_on and code.groups() == ran_on.groups()):
        return 1000
    if arch in _GENERIC:
        return 1 if re.match(_GENERIC[arch], gpu) else 0
    if code and ran_on and code[1] == ran_on[1] and int(code[2]) <= int(ran_on[2]):
        return 1 + int(code[2])
    return 0
