"""The native parts: built on first use by the machine's own compiler against its own headers, and kept.

ROCM_PERF_NATIVE_DIR names a folder with parts that were built elsewhere, for machines without a compiler.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rocm_perf.backends import native_build, torch_probe
from rocm_perf.backends.amd import probe as amd
from rocm_perf.backends.native_build import Recipe
from rocm_perf.backends.nvidia import build as cupti_build
from rocm_perf.backends.nvidia import probe as nvidia
from rocm_perf.errors import ToolAbsentError
from rocm_perf.model.vendor import Vendor
from rocm_perf.softgpu.packages import header_folders

Task = Literal["capture", "replay"]
_ROOT = Path("/")
_FILES: Mapping[tuple[Vendor, Task], str] = {
    ("AMD", "capture"): "librocm_perf_capture_hsa.so",
    ("AMD", "replay"): "replay_hsa",
    ("NVIDIA", "capture"): "librocm_perf_capture_cuda.so",
    ("NVIDIA", "replay"): "replay_cuda",
}
_HSA_HEADERS = ("hsa_ext_amd.h", "hsa_api_trace.h")
# The headers know the byte order of x86 alone; ROCm runs on little-endian machines only.
HSA_DEFINES = ("-DAMD_INTERNAL_BUILD", "-DLITTLEENDIAN_CPU")
_FOLDERS: Mapping[Vendor, str] = {"AMD": "hsa", "NVIDIA": "cuda"}


@dataclass(frozen=True)
class Toolkit:
    """What a vendor's parts are compiled with."""

    flags: tuple[str, ...]
    linked: tuple[str, ...]


def part(vendor: Vendor, task: Task, environment: Mapping[str, str] | None = None) -> Path:
    """The library to load into a program, or the runner; compiled unless that was done before."""
    variables = os.environ if environment is None else environment
    toolkit = _TOOLKITS[vendor]

    def recipe(compiler: str) -> Recipe:
        return _recipe(vendor, task, toolkit(variables, task), compiler)

    return native_build.part(_FILES[vendor, task], recipe, variables)


def present_vendors(root: Path = _ROOT) -> tuple[Vendor, ...]:
    """Whose GPUs this machine has, by the files of their drivers."""
    nodes: dict[Vendor, str] = {"AMD": "dev/kfd", "NVIDIA": "dev/nvidiactl"}
    return tuple(vendor for vendor, node in nodes.items() if (root / node).exists())


def _cuda_toolkit(environment: Mapping[str, str], task: Task) -> Toolkit:
    cudas = nvidia.cuda_folders(environment, _ROOT)
    headers = [cuda / "include" for cuda in cudas if (cuda / "include" / "cuda.h").is_file()]
    if task == "replay" and headers:
        return Toolkit(("-isystem", str(headers[0])), ("-ldl",))
    tools = nvidia.cupti(cudas, None, _ROOT)
    if len(tools) < 2:  # pip's, beside torch
        python = torch_probe.python_of(environment)
        torch = torch_probe.locate("torch", python, environment) if python else None
        tools = nvidia.cupti(cudas, torch, _ROOT)
    if nvidia.CUPTI_HEADER not in tools or nvidia.CUPTI not in tools:
        why = "CUPTI's header and library are not here"
        raise ToolAbsentError(f"{task} cannot be built", why, "Install the CUDA toolkit, or set CUDA_HOME.")
    library = Path(tools[nvidia.CUPTI].path)
    folders = cupti_build.includes(Path(tools[nvidia.CUPTI_HEADER].path))
    flags = tuple(flag for folder in folders for flag in ("-isystem", str(folder)))
    cupti = (str(library), f"-Wl,-rpath,{library.parent}") if task == "capture" else ()
    return Toolkit(flags, (*cupti, "-ldl"))


def _hsa_toolkit(environment: Mapping[str, str], task: Task) -> Toolkit:
    for prefix in (*amd.rocm_folders(environment, _ROOT), _ROOT / "usr", *header_folders(environment)):
        if all((prefix / "include" / "hsa" / name).is_file() for name in _HSA_HEADERS):
            # -isystem would hide the C library's headers from the C++ library's, where both are in /usr/include.
            return Toolkit(("-idirafter", str(prefix / "include"), *HSA_DEFINES), ("-ldl",))
    why = "the headers of HSA are not here"
    raise ToolAbsentError(
        f"{task} cannot be built", why, "Install hsa-rocr-dev (Debian: libhsa-runtime-dev)."
    )


_TOOLKITS: Mapping[Vendor, Callable[[Mapping[str, str], Task], Toolkit]] = {
    "AMD": _hsa_toolkit,
    "NVIDIA": _cuda_toolkit,
}


def _recipe(vendor: Vendor, task: Task, toolkit: Toolkit, compiler: str) -> Recipe:
    folder = _FOLDERS[vendor]
    return Recipe(
        compiler=compiler,
        folders=("common", task, folder, f"{folder}/{task}"),
        flags=toolkit.flags,
        linked=toolkit.linked,
        makes="library" if task == "capture" else "program",
    )
