"""The executor of instructions, and the emulator, which runs plans on it; built on first use."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from pathlib import Path

from rocm_perf.backends import native_build
from rocm_perf.backends.native_build import Recipe

_CPU_INFO = Path("/proc/cpuinfo")
_WIDE = frozenset({"avx2", "fma", "f16c", "bmi2"})
# Products and sums must round as the GPU's do: each by itself unless the instruction is fused.
_ARITHMETIC = ("-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math")


def emulator(environment: Mapping[str, str] | None = None) -> Path:
    """The program that executes a plan; compiled unless that was done before."""
    variables = os.environ if environment is None else environment

    def recipe(compiler: str) -> Recipe:
        linked = (str(executor(variables)),)
        return Recipe(compiler, ("softgpu/emulator",), executor_flags(), linked)

    return native_build.part("emulator", recipe, variables)


def executor(variables: Mapping[str, str]) -> Path:
    """What executes instructions, to be linked into a program or a library: its many sources are compiled once."""

    def recipe(compiler: str) -> Recipe:
        return Recipe(compiler, ("common", "softgpu"), executor_flags(), makes="object")

    return native_build.part("executor.o", recipe, variables)


def executor_flags() -> tuple[str, ...]:
    """What the executor's sources, and those that are linked with it, are compiled with on this machine."""
    return ("-std=c++20", "-O3", *_ARITHMETIC, *_machine_flags(platform.machine(), _cpu_info()))


def _machine_flags(machine: str, cpu_info: str) -> tuple[str, ...]:
    """Flags for wide vectors where this CPU has them; the flags are part of the build's name, so that a home folder
    shared by different machines holds a build for each."""
    if machine != "x86_64":
        return ()
    has_wide = any(line.startswith("flags") and set(line.split()) >= _WIDE for line in cpu_info.splitlines())
    return ("-march=x86-64-v3",) if has_wide else ()


def _cpu_info() -> str:
    try:
        return _CPU_INFO.read_text(errors="replace")
    except OSError:
        return ""
