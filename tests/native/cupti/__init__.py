"""Programs and libraries in C++ that tests compile against NVIDIA's real headers, where a machine has them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from rocm_perf.backends.machine import FoundGpu, Machine, Tool
from rocm_perf.backends.native_build import NATIVE, sources
from rocm_perf.backends.nvidia.build import build, includes
from rocm_perf.backends.nvidia.probe import cuda_folders
from tests.native.once import compiled_once, key_of

HERE = Path(__file__).parent
SHIMS = NATIVE / "shims"
GPU = FoundGpu(index=0, vendor="NVIDIA", gfx="sm_90", name="NVIDIA H200")


def cupti_headers() -> list[Path]:
    """Every cupti.h here: of toolkits, and below the folders in CUPTI_INCLUDES (separated by colons)."""
    named = [Path(folder) for folder in os.environ.get("CUPTI_INCLUDES", "").split(":") if folder]
    toolkits = [
        folder
        for cuda in cuda_folders(os.environ, Path("/"))
        for folder in (cuda / "extras" / "CUPTI" / "include", cuda / "include")
    ]
    return [folder / "cupti.h" for folder in (*toolkits, *named) if (folder / "cupti.h").exists()]


def compiler() -> str:
    """The C++ compiler, or a skip that says it is missing."""
    found = shutil.which("c++") or shutil.which("g++")
    if not found:
        pytest.skip("no C++ compiler is here")
    return found


def header() -> Path:
    """A cupti.h, or a skip that says it is missing."""
    found = cupti_headers()
    if not found:
        pytest.skip("CUPTI's headers (cupti.h) are not here")
    return found[0]


def compile_cpp(cupti_h: Path, *arguments: str | Path) -> None:
    folders = [word for folder in includes(cupti_h) for word in ("-isystem", str(folder))]
    own = ("-I", NATIVE, "-idirafter", SHIMS)
    command = [compiler(), "-std=c++17", "-pthread", *folders, *own, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "cannot find" in done.stderr and "-fsanitize" in " ".join(map(str, arguments)):
        pytest.skip("this compiler comes without sanitizers")
    assert done.returncode == 0, done.stderr


def build_standins(folder: Path, *flags: str) -> Path:
    """libcupti.so, libcuda.so.1 and the program in a folder."""
    shared = (*flags, "-fPIC", "-shared")
    cupti_h, cupti = header(), folder / "libcupti.so"
    compile_cpp(cupti_h, *shared, "-Wl,-soname,libcupti.so", "-o", cupti, HERE / "standin_cupti.cpp")
    compile_cpp(
        cupti_h, *shared, "-Wl,-soname,libcuda.so.1", "-o", folder / "libcuda.so.1", HERE / "standin_cuda.cpp"
    )
    program = folder / "program"
    compile_cpp(cupti_h, *flags, "-o", program, HERE / "program.cpp", cupti, f"-Wl,-rpath,{folder}", "-ldl")
    return program


def shared_standins(config: pytest.Config, temporary: Path) -> Path:
    """The folder with the stand-ins, also as a toolkit in `cuda`, and in `cache` the tracer that was built against
    them."""
    cupti_h, cxx = header(), compiler()
    own = (file for file in HERE.glob("*") if file.suffix in {".cpp", ".h"})
    key = key_of((*sorted(own), *sources(("common", "cupti"), (".cpp", ".h"))), cxx, str(cupti_h))
    cache: pytest.Cache | None = getattr(config, "cache", None)  # absent where pytest's is switched off
    root = cache.mkdir("cupti-standin") if cache else temporary

    def compile_into(folder: Path) -> None:
        build_standins(folder)
        (folder / "cuda" / "lib64").mkdir(parents=True)
        (folder / "cuda" / "lib64" / "libcupti.so").symlink_to(folder / "libcupti.so")
        (folder / "cuda" / "include").symlink_to(cupti_h.parent)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
            build(machine_with(folder / "libcupti.so", cupti_h, cxx))

    return compiled_once(root, "plain", key, compile_into)


def build_tracer(folder: Path, *flags: str) -> Path:
    """The tracer beside its stand-ins, compiled with other flags than a user's."""
    tracer = folder / "libtracer.so"
    product = sources(("common", "cupti"))
    compile_cpp(header(), *flags, "-fPIC", "-shared", "-o", tracer, *product, folder / "libcupti.so", "-ldl")
    return tracer


def machine_with(cupti: Path, cupti_h: Path, cxx: str) -> Machine:
    """A machine with an H200 and what the tracer is built from."""
    tools = {"cupti": str(cupti), "cupti.h": str(cupti_h), "c++": cxx}
    return Machine(
        host="h", gpus=(GPU,), tools={name: Tool(name=name, path=path) for name, path in tools.items()}
    )
