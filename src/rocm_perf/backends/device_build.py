"""Programs for the GPU itself, one source for HIP and CUDA: compiled on first use by hipcc or nvcc for the chips that
are here, and kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rocm_perf.backends.machine import Machine, Tool
from rocm_perf.backends.native_build import Recipe, compile_into, digest
from rocm_perf.backends.native_cache import cache_folder, is_kept
from rocm_perf.errors import ToolAbsentError

_SHARED_FOLDER = "gpu"
_COMPILERS = {"AMD": "hipcc", "NVIDIA": "nvcc"}
_PACKAGES = {"AMD": "ROCm's package hip-dev", "NVIDIA": "the CUDA toolkit"}


def device_compiler(machine: Machine) -> Tool:
    """The compiler for the GPUs of this machine. Raises ToolAbsentError where it, or a GPU, is missing."""
    if machine.vendor is None:
        raise ToolAbsentError("there is no GPU to compile for")
    name = _COMPILERS[machine.vendor]
    tool = machine.tool(name)
    if tool is None:
        raise ToolAbsentError(f"{name} is not installed", next_step=f"Install {_PACKAGES[machine.vendor]}.")
    return tool


def device_part(machine: Machine, folder: str, file: str, *, is_library: bool = False) -> Path:
    """The program or library made of the sources of one folder of native/; compiled unless an earlier run did."""
    compiler = device_compiler(machine)
    chips = tuple(dict.fromkeys(gpu.gfx for gpu in machine.gpus if gpu.vendor == machine.vendor))
    flags = _hip_flags(chips) if machine.vendor == "AMD" else _cuda_flags(chips)
    recipe = Recipe(
        compiler=compiler.path,
        folders=(folder,),
        flags=(*flags, *(_library_flags(machine) if is_library else ())),
        linked=_linked(machine, compiler),
        in_one=True,
    )
    marks = (compiler.path, compiler.version, *recipe.flags)
    target = cache_folder() / digest((folder, _SHARED_FOLDER), marks) / file
    if not is_kept(target):
        compile_into(target, recipe)
    return target


def _hip_flags(chips: Sequence[str]) -> tuple[str, ...]:
    return ("-x", "hip", *(f"--offload-arch={gfx}" for gfx in chips))


def _cuda_flags(chips: Sequence[str]) -> tuple[str, ...]:
    numbers = [gfx.removeprefix("sm_") for gfx in chips]
    targets = [f"-gencode=arch=compute_{number},code=sm_{number}" for number in numbers]
    return ("-x", "cu", *targets)


def _library_flags(machine: Machine) -> tuple[str, ...]:
    return ("-shared", "-fPIC") if machine.vendor == "AMD" else ("-shared", "-Xcompiler", "-fPIC")


def _linked(machine: Machine, compiler: Tool) -> tuple[str, ...]:
    """HIP's library is found beside the compiler, also where the loader is not told of it; CUDA's is linked in."""
    if machine.vendor != "AMD":
        return ()
    return (f"-Wl,-rpath,{Path(compiler.path).resolve().parents[1] / 'lib'}",)
