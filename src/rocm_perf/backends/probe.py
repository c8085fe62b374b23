"""Probing the machine: GPUs, drivers, ROCm and CUDA, tools, rights, container, torch. Nothing here needs a GPU, raises
because of one, or takes longer than the slowest tool."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from rocm_perf.backends import host, profilers, tools, torch_probe
from rocm_perf.backends.amd import probe as amd
from rocm_perf.backends.machine import FoundGpu, Machine, Tool, Torch
from rocm_perf.backends.nvidia import probe as nvidia

_ROOT = Path("/")
_GPU_CLASSES = ("0x0300", "0x0302", "0x0380", "0x1200")  # display, 3D and processing accelerators


def probe_machine(environment: Mapping[str, str] | None = None, root: Path = _ROOT) -> Machine:
    """The machine as a program would find it that is started with this environment."""
    variables = dict(os.environ if environment is None else environment)
    rocms, cudas = amd.rocm_folders(variables, root), nvidia.cuda_folders(variables, root)
    paths = _programs(variables, rocms, nvidia.program_folders(cudas, root))
    with ThreadPoolExecutor(max_workers=max(8, len(paths))) as pool:
        torch, jax = pool.submit(_torch, variables), pool.submit(_jax, variables)
        nvidia_gpus = pool.submit(_nvidia_gpus, paths, variables, root)
        amd_gpus = pool.submit(_amd_gpus, paths, variables, root)
        examined = pool.map(lambda program: tools.examine(program[0], program[1], variables), paths.values())
        by_name = {tool.name: tool for tool in examined}
        torch_folder, found_torch = torch.result()
        found_jax = jax.result()
        gpus = amd_gpus.result()
        others, smi_driver = nvidia_gpus.result()
    rocm = _rocm(rocms, by_name)
    decoder = amd.att_decoder(variables, rocms)
    driver, module = _driver(root, bool(gpus or not others), smi_driver)
    everything = (*gpus, *others)
    return Machine(
        host=socket.gethostname(),
        gpus=everything,
        tools={
            **_of_rocm(by_name, rocm),
            **({decoder.name: decoder} if decoder else {}),
            **nvidia.cupti(cudas, torch_folder, root),
        },
        rocm=rocm,
        rocm_paths=tuple(map(str, rocms)),
        driver=driver,
        kernel_module=module,
        cuda=_cuda(by_name, found_torch),
        device_nodes=host.device_nodes(root),
        user=host.user_name(root),
        groups=host.group_names(root),
        container=host.container_kind(variables, root),
        capabilities=host.capabilities(root),
        torch=found_torch,
        jax=found_jax,
        environment=host.relevant_environment(variables),
        hidden_gpus=_hidden(root, everything),
        counters_need_root=nvidia.counters_need_root(root),
    )


def rocm_here(environment: Mapping[str, str], root: Path = _ROOT) -> str:
    """Return the release of the ROCm in use without starting any of its tools; empty if no folder of one is found."""
    folders = amd.rocm_folders(environment, root)
    return tools.rocm_release(folders[0]) if folders else ""


def programs() -> tuple[tools.Program, ...]:
    """Every program to look for: those of the profilers, then the others."""
    of_profilers = (program for profiler in profilers.PROFILERS.values() for program in profiler.programs)
    return (*of_profilers, *tools.PROGRAMS)


def _programs(
    environment: Mapping[str, str], rocms: tuple[Path, ...], nvidia_folders: list[str]
) -> dict[str, tuple[tools.Program, str]]:
    """The programs that are here, by name: on PATH first, then where their vendor installs them."""
    beside = {"AMD": [str(rocm / "bin") for rocm in rocms], "NVIDIA": nvidia_folders, None: []}
    on_path = tools.path_folders(environment)
    located = [
        (program, tools.find_program(program, [*on_path, *beside[program.vendor]])) for program in programs()
    ]
    return {program.name: (program, path) for program, path in located if path}


def _torch(environment: Mapping[str, str]) -> tuple[Path | None, Torch | None]:
    python = torch_probe.python_of(environment)
    folder = torch_probe.locate("torch", python, environment) if python else None
    return folder, torch_probe.read_torch(folder, python) if folder else None


def _jax(environment: Mapping[str, str]) -> str:
    python = torch_probe.python_of(environment)
    folder = torch_probe.locate("jax", python, environment) if python else None
    return torch_probe.read_jax(folder) if folder else ""


def _amd_gpus(
    paths: Mapping[str, tuple[tools.Program, str]], environment: Mapping[str, str], root: Path
) -> tuple[FoundGpu, ...]:
    gpus = amd.kfd_gpus(root)
    for name, ask in (("rocminfo", amd.rocminfo_gpus), ("amd-smi", amd.smi_gpus)):
        if not gpus and name in paths:
            gpus = ask(Tool(name=name, path=paths[name][1]), environment)
    if "rocminfo" in paths and not all(gpu.name for gpu in gpus):
        return _named(gpus, amd.rocminfo_gpus(Tool(name="rocminfo", path=paths["rocminfo"][1]), environment))
    return gpus


def _named(gpus: tuple[FoundGpu, ...], others: tuple[FoundGpu, ...]) -> tuple[FoundGpu, ...]:
    """The GPUs with the names that the runtime knows, where the catalogue cannot tell products of one chip apart."""
    names = {gpu.node: gpu.name for gpu in others}
    return tuple(msgspec.structs.replace(gpu, name=gpu.name or names.get(gpu.node, "")) for gpu in gpus)


def _nvidia_gpus(
    paths: Mapping[str, tuple[tools.Program, str]], environment: Mapping[str, str], root: Path
) -> tuple[tuple[FoundGpu, ...], str]:
    gpus: tuple[FoundGpu, ...] = ()
    driver = ""
    if "nvidia-smi" in paths:
        gpus, driver = nvidia.smi_gpus(Tool(name="nvidia-smi", path=paths["nvidia-smi"][1]), environment)
    return gpus or nvidia.driver_gpus(root), driver


def _rocm(rocms: tuple[Path, ...], by_name: Mapping[str, Tool]) -> str:
    """The release in use: that of the chosen folder, or what the tools say, or HIP's, whose version begins alike."""
    if rocms:
        return tools.rocm_release(rocms[0])
    releases = [tool.rocm for tool in by_name.values() if tool.rocm]
    hip = ".".join(by_name["hipcc"].version.split(".")[:2]) if "hipcc" in by_name else ""
    return releases[0] if releases else hip


def _of_rocm(by_name: Mapping[str, Tool], rocm: str) -> dict[str, Tool]:
    """The tools; one of AMD's that does not say where it belongs is taken for one of the release in use."""
    vendors = {program.name: program.vendor for program in programs()}
    return {
        name: msgspec.structs.replace(tool, rocm=rocm) if vendors[name] == "AMD" and not tool.rocm else tool
        for name, tool in by_name.items()
    }


def _driver(root: Path, prefers_amd: bool, smi_driver: str) -> tuple[str, str]:
    """The version and the kernel module of the driver of the GPUs that are here."""
    amdgpu = (amd.driver_version(root), "amdgpu")
    other = (nvidia.driver_version(root) or smi_driver, "nvidia")
    order = (amdgpu, other) if prefers_amd else (other, amdgpu)
    return next((driver for driver in order if driver[0]), ("", ""))


def _cuda(by_name: Mapping[str, Tool], torch: Torch | None) -> str:
    """The release of CUDA: the toolkit's, or else the one that torch brings along."""
    nvcc = by_name.get("nvcc")
    return (nvcc.version if nvcc else "") or (torch.cuda if torch else "")


def _hidden(root: Path, gpus: tuple[FoundGpu, ...]) -> tuple[str, ...]:
    """The GPUs on the PCI bus that no driver shows, where it shows none of their vendor's."""
    shown = {gpu.vendor for gpu in gpus}
    vendors = {amd.PCI_VENDOR: "AMD", nvidia.PCI_VENDOR: "NVIDIA"}
    hidden = []
    for device in sorted((root / "sys" / "bus" / "pci" / "devices").glob("*")):
        vendor = vendors.get(host.read_text(device / "vendor").strip())
        if vendor and vendor not in shown and host.read_text(device / "class").startswith(_GPU_CLASSES):
            hidden.append(f"{vendor} GPU at {device.name}")
    return tuple(hidden)
