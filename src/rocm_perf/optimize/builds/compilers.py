"""Which compilers for GPUs are here, what each can make, and why the others are not used."""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from rocm_perf.backends import tools
from rocm_perf.backends.machine import Machine
from rocm_perf.errors import ToolAbsentError
from rocm_perf.model.vendor import Vendor, is_amd

# ziglang's clang takes musl for the C library of every machine, and so finds no header of the C++ library.
TARGET = f"--target={platform.machine()}-linux-gnu"
PRELUDE = Path(__file__).parent / "prelude"  # hip/hip_runtime.h where there is no ROCm
Makes = Literal["program", "device code"]

_CLANG = tools.Program("clang++", version=r"clang version ([\d.]+)")
_AMD_CLANG = tools.Program("amdclang++", version=r"clang version ([\d.]+)")
_NEWEST_CLANG, _OLDEST_CLANG = 30, 15  # Debian and LLVM name them clang++-19
_TRIAL_LIMIT_S = 60.0
_TRIAL = "#include <hip/hip_runtime.h>\n__global__ void trial(float* x) { x[threadIdx.x] = expf(x[0]); }\n"
_DEVICE_ONLY = ("--cuda-device-only", "--no-gpu-bundle-output")
# hipcc includes the names of HIP in every source, whether it asks for them or not.
_WITHOUT_ROCM = ("-nogpulib", "-nogpuinc", "-isystem", str(PRELUDE), "-include", "hip/hip_runtime.h")


@dataclass(frozen=True)
class Compiler:
    """A compiler that can be used."""

    name: str  # "hipcc", "clang of the ziglang package"
    vendor: Vendor
    argv: tuple[str, ...]  # starts it, with the options that it always needs
    makes: Makes = "program"
    version: str = ""
    note: str = ""  # what is different from ROCm's own
    needs_lld: bool = False  # a folder with a program `lld`, by -B

    def __str__(self) -> str:
        return " ".join(filter(None, (self.name, self.version)))


@dataclass(frozen=True)
class Absent:
    """A compiler that is not used, and why."""

    name: str
    why: str


@dataclass(frozen=True)
class Compilers:
    """What is here, the best first, and what is not."""

    usable: tuple[Compiler, ...]
    absent: tuple[Absent, ...]

    def for_vendor(self, vendor: Vendor, makes: Makes = "device code") -> Compiler:
        """The first that makes this: one that makes programs makes device code, too."""
        for compiler in self.usable:
            if compiler.vendor == vendor and makes in ("device code", compiler.makes):
                return compiler
        why = "; ".join(f"{one.name}: {one.why}" for one in self.absent)
        needed = "hipcc of ROCm" if vendor == "AMD" else "nvcc of the CUDA toolkit"
        also = (
            ", or the package ziglang for device code alone" if vendor == "AMD" and makes != "program" else ""
        )
        what = "programs" if makes == "program" else makes
        raise ToolAbsentError(
            f"no compiler here makes {what} for GPUs of {vendor}", why, f"Install {needed}{also}."
        )


def vendor_of(arch: str) -> Vendor:
    """Whose chip it is: gfx942 is AMD's, sm_90 is NVIDIA's."""
    return "AMD" if is_amd(arch) else "NVIDIA"


def find_compilers(machine: Machine, arch: str, environment: Mapping[str, str] | None = None) -> Compilers:
    """Every compiler that can be used for a chip, the best first: what ROCm brings, then what needs less."""
    variables = dict(os.environ if environment is None else environment)
    found: list[Compiler | Absent] = []
    if vendor_of(arch) == "NVIDIA":
        found.append(_of_machine(machine, "nvcc", "NVIDIA"))
    else:
        found += [_of_machine(machine, "hipcc", "AMD"), _amdclang(machine, variables)]
        if not any(isinstance(one, Compiler) for one in found):
            found += [_clang(arch, variables), _ziglang(arch, variables)]
    return Compilers(
        usable=tuple(one for one in found if isinstance(one, Compiler)),
        absent=tuple(one for one in found if isinstance(one, Absent)),
    )


def _of_machine(machine: Machine, name: str, vendor: Vendor) -> Compiler | Absent:
    tool = machine.tools.get(name)
    if tool is None:
        return Absent(name, "not installed")
    if tool.problem:
        return Absent(name, f"{tool.path} {tool.problem}")
    language = ("-x", "hip") if vendor == "AMD" else ("-x", "cu")
    return Compiler(name, vendor, (tool.path, *language), version=tool.version)


def _amdclang(machine: Machine, environment: Mapping[str, str]) -> Compiler | Absent:
    folders = [f"{rocm}/{bin}" for rocm in machine.rocm_paths for bin in ("bin", "llvm/bin", "lib/llvm/bin")]
    path = tools.find_program(_AMD_CLANG, [*tools.path_folders(environment), *folders])
    if not path:
        return Absent(_AMD_CLANG.name, "not installed")
    tool = tools.examine(_AMD_CLANG, path, environment)
    if tool.problem:
        return Absent(_AMD_CLANG.name, f"{path} {tool.problem}")
    return Compiler(_AMD_CLANG.name, "AMD", (path, "-x", "hip", "--hip-link"), version=tool.version)


def _clang(arch: str, environment: Mapping[str, str]) -> Compiler | Absent:
    """The newest clang that compiles a kernel for the chip, with HIP's own headers or without."""
    numbers = range(_NEWEST_CLANG, _OLDEST_CLANG - 1, -1)
    program = replace(_CLANG, files=(*(f"clang++-{number}" for number in numbers), "clang++"))
    path = tools.find_program(program, tools.path_folders(environment))
    if not path:
        return Absent("clang", "not installed")
    tool = tools.examine(program, path, environment)
    if tool.problem:
        return Absent("clang", f"{path} {tool.problem}")
    compiler = Compiler("clang", "AMD", (path, "-x", "hip"), "device code", tool.version)
    return _first_that_works(compiler, arch, environment)


def _ziglang(arch: str, environment: Mapping[str, str]) -> Compiler | Absent:
    package = find_spec("ziglang")
    if package is None or package.origin is None:
        return Absent("clang of the ziglang package", "it is not installed in this Python")
    folder = Path(package.origin).parent
    headers = folder / "lib" / "include"  # the compiler's own, which it does not find itself
    argv = (str(folder / "zig"), "clang", TARGET, "-x", "hip", "-idirafter", str(headers))
    compiler = Compiler(
        name="clang of the ziglang package",
        vendor="AMD",
        argv=argv,
        makes="device code",
        version=_clang_version(argv, environment),
        needs_lld=True,
    )
    return _first_that_works(compiler, arch, environment)


def _clang_version(argv: tuple[str, ...], environment: Mapping[str, str]) -> str:
    answer = tools.ask([*argv[:2], "--version"], environment)
    version = answer.text.partition("clang version ")[2].split()
    return version[0] if answer.status == 0 and version else ""


def _first_that_works(compiler: Compiler, arch: str, environment: Mapping[str, str]) -> Compiler | Absent:
    without_rocm = replace(
        compiler,
        argv=(*compiler.argv, *_WITHOUT_ROCM),
        note="without ROCm's headers and device libraries: mathematical functions are the compiler's own",
    )
    why = ""
    for variant in (compiler, without_rocm):
        why = _trial(variant, arch, environment)
        if not why:
            return variant
    return Absent(compiler.name, why)


def _trial(compiler: Compiler, arch: str, environment: Mapping[str, str]) -> str:
    """Why a small kernel does not compile for the chip; nothing if it does."""
    from rocm_perf.optimize.builds.errors import first_complaint

    with tempfile.TemporaryDirectory(prefix="rocm-perf-") as name:
        folder = Path(name)
        source = folder / "trial.hip"
        source.write_text(_TRIAL)
        argv = [*started(compiler, folder), *_DEVICE_ONLY, f"--offload-arch={arch}", str(source)]
        answer = tools.ask([*argv, "-o", str(folder / "trial.hsaco")], environment, _TRIAL_LIMIT_S)
    if answer.status == 0:
        return ""
    return answer.problem or first_complaint(answer.text.replace(f"{folder}/", ""))


def started(compiler: Compiler, folder: Path) -> tuple[str, ...]:
    """The words that start a compiler. One that brings its linker under another name finds it in the folder."""
    if not compiler.needs_lld:
        return compiler.argv
    lld = folder / "lld"
    if not lld.exists():
        # clang calls `lld -flavor gnu ...`; zig's linker is a subcommand and takes no flavour.
        lld.write_text(f'#!/bin/sh\nshift 2\nexec "{compiler.argv[0]}" ld.lld "$@"\n')
        lld.chmod(0o700)
    return (*compiler.argv, "-B", str(folder))
