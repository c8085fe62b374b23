"""The machine as probed: plain data, so that planning stays pure and a test can describe any machine."""

from __future__ import annotations

import msgspec

from rocm_perf.model.vendor import Vendor

Version = tuple[int, ...]


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """One program or library that was looked for and found."""

    name: str  # as it is called: rocprofv3, ncu, ...
    path: str
    version: str = ""  # its own
    rocm: str = ""  # the ROCm it belongs to, "7.2"; empty where that is unknown
    problem: str = ""  # why it cannot be used although it is here


class FoundGpu(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU of the machine."""

    index: int  # among the GPUs of its vendor, as HIP or CUDA count without a visibility mask
    vendor: Vendor
    gfx: str  # gfx942, sm_90
    name: str = ""
    uuid: str = ""
    pci: str = ""  # 0000:c3:00.0
    memory_bytes: int | None = None
    compute_units: int | None = None
    node: int | None = None  # HSA node


class DeviceNode(msgspec.Struct, frozen=True, kw_only=True):
    """A file under /dev, and whether this user may use it."""

    path: str
    readable: bool
    writable: bool
    group: str = ""


class Torch(msgspec.Struct, frozen=True, kw_only=True):
    """The torch of a Python interpreter."""

    python: str
    version: str
    hip: str = ""  # the ROCm it was built for
    cuda: str = ""
    vendored: tuple[
        str, ...
    ] = ()  # ROCm libraries that it brings along: libamdhip64.so, librocprofiler-sdk.so, ...


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that planning and the doctor need to know."""

    host: str
    gpus: tuple[FoundGpu, ...] = ()
    tools: dict[str, Tool] = {}  # by name; one that is not here is not on the machine
    rocm: str = ""  # the release that is in use, "7.2.0"; empty if there is none
    rocm_paths: tuple[str, ...] = ()  # every ROCm that was found
    driver: str = ""  # amdgpu's or NVIDIA's version
    kernel_module: str = ""  # "amdgpu", "nvidia", "" if none is loaded
    cuda: str = ""
    device_nodes: tuple[DeviceNode, ...] = ()
    user: str = ""
    groups: tuple[str, ...] = ()
    container: str = ""  # docker, podman, kubernetes, apptainer, ...; empty outside of one
    capabilities: tuple[str, ...] = ()  # effective: CAP_SYS_ADMIN, ...
    torch: Torch | None = None
    jax: str = ""  # the release of JAX in the Python on PATH; empty if it has none
    environment: dict[str, str] = {}  # only variables that matter to GPU programs and profilers
    hidden_gpus: tuple[str, ...] = ()  # on the PCI bus, but no driver shows them
    counters_need_root: bool = False  # NVIDIA's driver keeps counters from ordinary users

    @property
    def vendor(self) -> Vendor | None:
        """The vendor whose GPUs are here; AMD where both are."""
        vendors = {gpu.vendor for gpu in self.gpus}
        return "AMD" if "AMD" in vendors else "NVIDIA" if vendors else None

    def tool(self, name: str) -> Tool | None:
        """The tool, if it is here and can be used."""
        tool = self.tools.get(name)
        return None if tool is None or tool.problem else tool


def version_of(text: str) -> Version:
    """The numbers of a version: `7.2.0-43` -> (7, 2, 0); () for what is not a version."""
    numbers: list[int] = []
    for part in text.split("-", maxsplit=1)[0].split("."):
        if not part.isdigit():
            break
        numbers.append(int(part))
    return tuple(numbers)
