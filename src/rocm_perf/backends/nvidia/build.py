"""The tracer's shared library: built on first use by the machine's own compiler against its own CUPTI, and kept.

Of the probed machine it takes the tools `cupti.h` (the header), `cupti` (the library) and `c++` (however it is called).
"""

from __future__ import annotations

from pathlib import Path

from rocm_perf.backends.machine import Machine
from rocm_perf.backends.native_build import Recipe, compile_into, digest
from rocm_perf.backends.native_cache import cache_folder, is_kept
from rocm_perf.backends.nvidia.probe import CUPTI, CUPTI_HEADER
from rocm_perf.errors import ToolAbsentError

LIBRARY = "librocm_perf_cupti.so"
_FOLDERS = ("common", "cupti")
_NEEDED = {
    CUPTI_HEADER: "CUPTI's headers are not here (package cuda-cupti-dev, or pip's nvidia-cuda-cupti)",
    CUPTI: "CUPTI's library was not found (package cuda-cupti, or pip's nvidia-cuda-cupti)",
    "c++": "no C++ compiler was found (package g++) to build the tracer with",
}


def absence(machine: Machine) -> str:
    """What is missing to build the tracer; empty if nothing is."""
    for name, reason in _NEEDED.items():
        if machine.tool(name) is None:
            return reason
    return ""


def library(machine: Machine) -> Path:
    """Where the library for this machine is, or will be: another compiler or CUPTI is another place."""
    tools = (tool for name in _NEEDED if (tool := machine.tool(name)))
    return cache_folder() / digest(_FOLDERS, (f"{tool.path} {tool.version}" for tool in tools)) / LIBRARY


def build(machine: Machine) -> Path:
    """The library, compiled unless an earlier run did."""
    target = library(machine)
    if is_kept(target):
        return target
    missing = absence(machine)
    if missing:
        raise ToolAbsentError("the CUPTI tracer cannot be built", missing)
    compile_into(target, _recipe(machine), remains="`--profiler torch` and `timing` work without it.")
    return target


def includes(header: Path) -> tuple[Path, ...]:
    """The folders with CUPTI's headers and with CUDA's: a toolkit's, its extras/CUPTI, or pip's packages."""
    own = header.parent
    near = (
        folder
        for above in own.parents[:4]
        for folder in (above / "include", *sorted(above.glob("*/include")))
    )
    cuda = next((folder for folder in (own, *near) if (folder / "cuda.h").exists()), own)
    return tuple(dict.fromkeys((own, cuda)))


def _recipe(machine: Machine) -> Recipe:
    shared = Path(machine.tools[CUPTI].path)
    headers = includes(Path(machine.tools[CUPTI_HEADER].path))
    return Recipe(
        compiler=machine.tools["c++"].path,
        folders=_FOLDERS,
        flags=tuple(flag for folder in headers for flag in ("-isystem", str(folder))),
        linked=(str(shared), f"-Wl,-rpath,{shared.parent}", "-ldl"),
        makes="library",
    )
