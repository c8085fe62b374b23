"""Which library takes the ranges: the one that the running profiler listens to, else the newest that is here."""

from __future__ import annotations

import ctypes
import itertools
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rocm_perf.annotation.library import NOT_YET, NOTHING, Library
from rocm_perf.annotation.torch_ranges import torch_ranges


@dataclass(frozen=True)
class Kind:
    """One library by its file names, and its functions in the order of `Library`."""

    name: str
    files: tuple[str, ...]
    functions: tuple[str, str, str, str, str]
    listeners: tuple[str, ...]  # parts of what a profiler that listens to it puts into the environment


_ROCTX = ("roctxRangePushA", "roctxRangePop", "roctxMarkA", "roctxRangeStartA", "roctxRangeStop")
_NVTX = ("nvtxRangePushA", "nvtxRangePop", "nvtxMarkA", "nvtxRangeStartA", "nvtxRangeEnd")
SDK = Kind(
    name="rocprofiler-sdk-roctx",
    files=("librocprofiler-sdk-roctx.so.1", "librocprofiler-sdk-roctx.so.0", "librocprofiler-sdk-roctx.so"),
    functions=_ROCTX,
    listeners=("rocprofiler-sdk", "librocprof-sys"),  # rocprofv3, rocprof-sys
)
ROCTX64 = Kind(
    name="roctx64",
    files=("libroctx64.so.4", "libroctx64.so.1", "libroctx64.so"),
    functions=_ROCTX,
    # rocprof, rocprofv2
    listeners=("libroctracer", "librocprofiler64", "librocprofiler_tool", "librocprofiler_plugin"),
)
NVTX = Kind(
    name="nvtx",
    files=("libnvtx3interop.so.1", "libnvtx3interop.so", "libnvToolsExt.so.1", "libnvToolsExt.so"),
    functions=_NVTX,
    listeners=("NVTX_INJECTION64_PATH=", "CUDA_INJECTION64_PATH="),  # nsys, ncu
)
KINDS = (SDK, ROCTX64, NVTX)
_LISTENING = (
    "ROCP_TOOL_LIBRARIES",
    "HSA_TOOLS_LIB",
    "LD_PRELOAD",
    "NVTX_INJECTION64_PATH",
    "CUDA_INJECTION64_PATH",
)


def choose() -> Library:
    """The library for this process, as it is now."""
    if os.environ.get("ROCM_PERF_TORCH_OUTPUT"):
        return torch_ranges() if "torch" in sys.modules else NOT_YET
    mapped = mapped_files()
    for kind in in_order(os.environ, mapped):
        for path in (*_loaded(kind, mapped), *_candidates(kind)):
            library = load(kind, path)
            if library is not None:
                return library
    return _torch_nvtx() or NOTHING


def in_order(environment: Mapping[str, str], mapped: Iterable[str] = ()) -> tuple[Kind, ...]:
    """The kinds of library: first what a profiler listens to, then what the program has loaded, then the newest."""
    attached = " ".join(f"{name}={environment[name]}" for name in _LISTENING if environment.get(name))
    files = list(mapped)

    def rank(kind: Kind) -> tuple[bool, bool]:
        return not any(part in attached for part in kind.listeners), not any(_loaded(kind, files))

    return tuple(sorted(KINDS, key=rank))


def mapped_files() -> tuple[str, ...]:
    """The files that this process has loaded."""
    try:
        lines = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return ()
    return tuple(dict.fromkeys(line[line.index("/") :] for line in lines if "/" in line))


def _loaded(kind: Kind, mapped: Iterable[str]) -> Iterator[str]:
    stems = tuple(dict.fromkeys(file.split(".so")[0] + ".so" for file in kind.files))
    return (path for path in mapped if os.path.basename(path).startswith(stems))


def _candidates(kind: Kind) -> Iterator[str]:
    """The names by which the loader finds it, then the files where ROCm, torch and CUDA keep theirs."""
    yield from kind.files
    for folder, file in itertools.product(_folders(kind), kind.files):
        path = folder / file
        if path.is_file():
            yield str(path)


def _folders(kind: Kind) -> Iterator[Path]:
    names = ("CUDA_HOME", "CUDA_PATH") if kind is NVTX else ("ROCM_PATH", "ROCM_HOME")
    default = "/usr/local/cuda" if kind is NVTX else "/opt/rocm"
    for root in dict.fromkeys(filter(None, (*map(os.environ.get, names), default))):
        yield from (Path(root, "lib"), Path(root, "lib64"))
    torch_file = getattr(sys.modules.get("torch"), "__file__", None)
    if torch_file:
        torch = Path(torch_file).parent
        yield torch / "lib"
        pattern = "nvidia/*/lib" if kind is NVTX else "_rocm_sdk_*/lib"
        yield from sorted(torch.parent.glob(pattern))


def load(kind: Kind, path: str) -> Library | None:
    """The library, if it is one and has every function."""
    try:
        # PyDLL keeps the GIL: a release would let another thread in and put its turn into the range.
        loaded = ctypes.PyDLL(path)
        push, pop, mark, start, stop = (getattr(loaded, name) for name in kind.functions)
    except (OSError, AttributeError):
        return None
    for function in (push, mark, start):
        function.argtypes = (ctypes.c_char_p,)
    pop.argtypes, stop.argtypes = (), (ctypes.c_uint64,)
    mark.restype = stop.restype = None
    start.restype = ctypes.c_uint64
    return Library(name=kind.name, push=push, pop=pop, mark=mark, start=start, stop=stop)


def _torch_nvtx() -> Library | None:
    """The NVTX that is compiled into torch's CUDA builds; None where torch is not loaded or has none."""
    nvtx: Any = getattr(getattr(sys.modules.get("torch"), "_C", None), "_nvtx", None)
    if nvtx is None:
        return None
    return Library(
        name=NVTX.name,
        push=lambda name: nvtx.rangePushA(name.decode()),
        pop=nvtx.rangePop,
        mark=lambda text: nvtx.markA(text.decode()),
        start=lambda name: int(nvtx.rangeStartA(name.decode())),
        stop=nvtx.rangeEnd,
    )
