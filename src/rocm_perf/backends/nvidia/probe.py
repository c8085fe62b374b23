"""NVIDIA: its GPUs, driver, CUDA, and the library CUPTI with its header."""

from __future__ import annotations

import csv
import platform
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from rocm_perf.arch import catalog
from rocm_perf.backends import tools
from rocm_perf.backends.host import read_text
from rocm_perf.backends.machine import FoundGpu, Machine, Tool, version_of

PCI_VENDOR = "0x10de"
CUPTI, CUPTI_HEADER = "cupti", "cupti.h"  # as Machine.tools has the library and its header
_LIMIT_S = 20.0  # without the persistence daemon it starts every GPU
_QUERY = ("index", "name", "uuid", "pci.bus_id", "memory.total", "compute_cap", "driver_version")
_DRIVER = "proc/driver/nvidia"
_COUNTING = {"CAP_SYS_ADMIN", "CAP_PERFMON"}  # what the driver asks of a user where counters are restricted
# The folders below a toolkit's targets/, by processor: a toolkit may hold those of others too.
_TARGETS = {"x86_64": ("x86_64-linux",), "aarch64": ("sbsa-linux", "aarch64-linux")}


def smi_gpus(tool: Tool, environment: Mapping[str, str]) -> tuple[tuple[FoundGpu, ...], str]:
    """The GPUs by nvidia-smi, and the driver's version."""
    argv = [tool.path, f"--query-gpu={','.join(_QUERY)}", "--format=csv,noheader,nounits"]
    answer = tools.ask(argv, environment, _LIMIT_S)
    rows = [[cell.strip() for cell in row] for row in csv.reader(answer.text.splitlines())]
    records = [
        dict(zip(_QUERY, row, strict=True)) for row in rows if len(row) == len(_QUERY) and row[0].isdigit()
    ]
    return tuple(map(_smi_gpu, records)), records[0]["driver_version"] if records else ""


def _smi_gpu(record: Mapping[str, str]) -> FoundGpu:
    major, _, minor = record["compute_cap"].partition(".")
    memory = record["memory.total"]  # MiB
    return FoundGpu(
        index=int(record["index"]),
        vendor="NVIDIA",
        gfx=f"sm_{major}{minor}" if major.isdigit() and minor.isdigit() else _chip(record["name"]),
        name=record["name"],
        uuid=record["uuid"],
        pci=_pci(record["pci.bus_id"]),
        memory_bytes=int(memory) << 20 if memory.isdigit() else None,
    )


def driver_gpus(root: Path) -> tuple[FoundGpu, ...]:
    """The GPUs that the driver lists, where nvidia-smi is not here or fails."""
    folders = sorted((root / _DRIVER / "gpus").glob("*"))
    return tuple(_driver_gpu(index, folder) for index, folder in enumerate(folders))


def _driver_gpu(index: int, folder: Path) -> FoundGpu:
    lines = read_text(folder / "information").splitlines()
    facts = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    name = facts.get("Model", "")
    return FoundGpu(
        index=index,
        vendor="NVIDIA",
        gfx=_chip(name),
        name=name,
        uuid=facts.get("GPU UUID", ""),
        pci=_pci(folder.name),
    )


def _chip(name: str) -> str:
    """The chip of a product by the catalogue; empty where it does not know the name."""
    return next((gpu.gfx for gpu in catalog.gpus_named(name)), "")


def _pci(text: str) -> str:
    """A PCI address as the kernel writes it: 00000000:00:06.0 -> 0000:00:06.0."""
    domain, _, rest = text.lower().partition(":")
    return f"{domain[-4:]}:{rest}" if rest else text


def driver_version(root: Path) -> str:
    match = re.search(r"NVRM version:.*?\s(\d+\.[\d.]+)\s", read_text(root / _DRIVER / "version"))
    return match.group(1) if match else read_text(root / "sys" / "module" / "nvidia" / "version").strip()


def counters_need_root(root: Path) -> bool:
    """Whether the driver keeps counters from ordinary users."""
    return bool(re.search(r"^RmProfilingAdminOnly:\s*1", read_text(root / _DRIVER / "params"), re.MULTILINE))


def may_count(machine: Machine) -> bool:
    """Whether the driver lets this user read counters."""
    return not machine.counters_need_root or bool(_COUNTING & set(machine.capabilities))


def package_release(machine: Machine) -> str:
    """CUDA's release as NVIDIA's packages are named after it: 13-0."""
    return "-".join(machine.cuda.split(".")[:2]) or "13-0"


def cuda_folders(environment: Mapping[str, str], root: Path) -> tuple[Path, ...]:
    """The folders of CUDA toolkits, the chosen one first."""
    chosen = [Path(environment[name]) for name in ("CUDA_HOME", "CUDA_PATH") if environment.get(name)]
    local = root / "usr" / "local"
    others = sorted(local.glob("cuda-*"), key=lambda path: version_of(path.name[5:]), reverse=True)
    places = dict.fromkeys(path.resolve() for path in (*chosen, local / "cuda", *others))
    return tuple(path for path in places if path.is_dir())


def program_folders(cudas: Iterable[Path], root: Path) -> list[str]:
    """Where ncu, nsys and nvcc lie beside PATH, the newest first."""
    nsight = root / "opt" / "nvidia"
    more = [*nsight.glob("nsight-compute/*"), *nsight.glob("nsight-systems/*/bin")]
    more.sort(
        key=lambda path: version_of(path.name if path.name != "bin" else path.parent.name), reverse=True
    )
    return [*(str(cuda / "bin") for cuda in cudas), *map(str, more)]


def cupti(cudas: Iterable[Path], torch_folder: Path | None, root: Path) -> dict[str, Tool]:
    """CUPTI's library and its header, both of one installation where one has both."""
    wheels = (
        [] if torch_folder is None else sorted((torch_folder.parent / "nvidia").glob("cu*"), reverse=True)
    )
    targets = (f"targets/{target}" for target in _TARGETS.get(platform.machine(), ()))
    below = ("extras/CUPTI", ".", *targets)
    prefixes = [cuda / part for cuda in cudas for part in below]
    installations = [_cupti_of(prefix) for prefix in (*prefixes, *wheels, root / "usr")]
    return max(installations, key=len, default={})


def _cupti_of(prefix: Path) -> dict[str, Tool]:
    multiarch = f"{platform.machine()}-linux-gnu"  # Debian's name of the folder
    folders = (prefix / "lib64", prefix / "lib", prefix / "lib" / multiarch)
    libraries = [file for folder in folders for file in sorted(folder.glob("libcupti.so*"))]
    header = prefix / "include" / "cupti.h"
    files: dict[str, Tool] = {}
    if libraries:
        version = libraries[0].resolve().name.partition(".so.")[2]
        files[CUPTI] = Tool(name=CUPTI, path=str(libraries[0]), version=version)
    if header.is_file():
        files[CUPTI_HEADER] = Tool(name=CUPTI_HEADER, path=str(header))
    return files
