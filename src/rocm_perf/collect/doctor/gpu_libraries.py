"""Which of a program's libraries are runtimes and profilers of GPUs, where each comes from, and which copy it hides."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from rocm_perf.backends.tools import rocm_release
from rocm_perf.model.results.program_libraries import LoadedLibrary, Origin

ROLES = {
    "libamdhip64": "HIP runtime",
    "libhsa-runtime64": "HSA runtime",
    "librocprofiler-register": "door of the profiler",
    "librocprofiler-sdk-roctx": "ranges",
    "librocprofiler-sdk-tool": "profiler",
    "librocprofiler-sdk": "profiler",
    "librocprofiler64": "profiler",
    "libroctracer64": "profiler",
    "libroctx64": "ranges",
    "librccl": "collectives",
    "libcudart": "CUDA runtime",
    "libcuda": "CUDA driver",
    "libcupti": "profiler",
    "libnvToolsExt": "ranges",
    "libnvtx3interop": "ranges",
    "libnccl": "collectives",
}
RUNTIMES = ("libamdhip64", "libhsa-runtime64", "libcudart", "libcuda")
_FILE = re.compile(
    r"(lib[\w+-]+?)(?:-[0-9a-f]{8})?\.so(?:\.([\w.]+))?"
)  # wheels add a hash to the names of theirs
_PACKAGES = re.compile(r"(.*/(?:site|dist)-packages)/([^/]+)(?:/([^/]+))?/.*")
_NAMESPACES = ("nvidia",)  # one package for each library below it
_SYSTEM = ("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/opt/rocm", "/usr/local/cuda", "/usr/local/lib")


def gpu_library(path: str, rocm_paths: Iterable[str] = ()) -> LoadedLibrary | None:
    """What is known of a library by its path; None if it is not one of GPUs."""
    match = _FILE.fullmatch(Path(path).name)
    if match is None or match.group(1) not in ROLES:
        return None
    name, file = match.group(1), Path(path).resolve()
    prefixes = tuple(rocm_paths)
    origin, owner = _origin(file, prefixes)
    return LoadedLibrary(
        name=name,
        role=ROLES[name],
        path=path,
        file=str(file),
        version=_version(file),
        origin=origin,
        owner=owner,
        hides="" if origin == "system" else _system_copy(name, file, prefixes),
    )


def _origin(file: Path, rocm_paths: tuple[str, ...]) -> tuple[Origin, str]:
    if package := _PACKAGES.fullmatch(str(file)):
        top, below = package.group(2), package.group(3)
        return "package", f"{top}/{below}" if top in _NAMESPACES and below else top
    if release := rocm_release(file.parent.parent):
        return "system", f"ROCm {release}"
    system = (*rocm_paths, *_SYSTEM)
    return ("system" if any(_is_below(file, folder) for folder in system) else "elsewhere"), ""


def _is_below(file: Path, folder: str) -> bool:
    """Whether a file lies in a folder, or in one of its releases: /opt/rocm-7.2.0 is /opt/rocm."""
    return re.match(rf"{re.escape(folder)}(-[\d.]+)?/", str(file)) is not None


def _version(file: Path) -> str:
    """The numbers behind .so in the name of the file that links lead to."""
    match = _FILE.fullmatch(file.name)
    return (match.group(2) or "") if match else ""


def _system_copy(name: str, file: Path, rocm_paths: tuple[str, ...]) -> str:
    """A copy that the loader would have found otherwise."""
    folders = [Path(root) / "lib" for root in (*rocm_paths, "/opt/rocm", "/usr/local/cuda")]
    folders += [Path("/usr/local/cuda/lib64"), *Path("/usr/lib").glob("*-linux-gnu")]
    copies = (copy for folder in folders for copy in sorted(folder.glob(f"{name}.so*")))
    return next((str(copy) for copy in copies if copy.is_file() and copy.resolve() != file), "")
