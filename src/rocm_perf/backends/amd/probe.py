"""AMD: its GPUs, driver and ROCm releases. The kernel's own listing of the GPUs needs no tool and comes first, then
rocminfo, then amd-smi."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from rocm_perf.arch import catalog
from rocm_perf.backends import tools
from rocm_perf.backends.host import read_text
from rocm_perf.backends.machine import FoundGpu, Tool, version_of

PCI_VENDOR = "0x1002"
_LIMIT_S = 10.0
_TOPOLOGY = "sys/class/kfd/kfd/topology/nodes"
_LOCAL_MEMORY = (1, 2)  # heap types of a GPU's own memory, of /sys/.../mem_banks
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
DECODER = "att-decoder"  # as Machine.tools has the library
_DECODER_FILE = "librocprof-trace-decoder.so"

Facts = Mapping[str, int]


def kfd_gpus(root: Path) -> tuple[FoundGpu, ...]:
    """The GPUs that the kernel lists, in the order in which HIP counts."""
    nodes = [node for node in (root / _TOPOLOGY).glob("*") if node.name.isdigit()]
    nodes.sort(key=lambda node: int(node.name))
    listed = [(node, _facts(node / "properties")) for node in nodes]
    gpus = [(node, facts) for node, facts in listed if facts.get("gfx_target_version")]
    return tuple(_kfd_gpu(index, node, facts) for index, (node, facts) in enumerate(gpus))


def _kfd_gpu(index: int, node: Path, facts: Facts) -> FoundGpu:
    gfx = gfx_name(facts["gfx_target_version"])
    simds, per_unit = facts.get("simd_count", 0), facts.get("simd_per_cu", 0)
    unique = facts.get("unique_id", 0)
    return FoundGpu(
        index=index,
        vendor="AMD",
        gfx=gfx,
        name=_product(gfx, facts.get("device_id", 0)),
        uuid=f"GPU-{unique:016x}" if unique else "",
        pci=_pci_address(facts),
        memory_bytes=_local_memory(node) or None,
        compute_units=simds // per_unit if simds and per_unit else None,
        node=int(node.name),
    )


def _facts(file: Path) -> dict[str, int]:
    """The numbers in a file with one `name value` per line; none where a container may not read it."""
    pairs = [line.split() for line in read_text(file).splitlines()]
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}


def gfx_name(target_version: int) -> str:
    """The name of a chip: 90010 -> gfx90a. The number has two digits each for minor version and stepping, the name one
    hexadecimal digit."""
    return f"gfx{target_version // 10000}{target_version // 100 % 100:x}{target_version % 100:x}"


def _pci_address(facts: Facts) -> str:
    location = facts.get("location_id", 0)
    if not location:
        return ""
    return (
        f"{facts.get('domain', 0):04x}:{location >> 8 & 0xFF:02x}:{location >> 3 & 0x1F:02x}.{location & 7}"
    )


def _local_memory(node: Path) -> int:
    banks = [_facts(bank / "properties") for bank in (node / "mem_banks").glob("*")]
    return sum(bank.get("size_in_bytes", 0) for bank in banks if bank.get("heap_type") in _LOCAL_MEMORY)


def _product(gfx: str, device_id: int) -> str:
    """The product's name by the catalogue; empty where several products have this chip."""
    known = catalog.gpus_of(gfx)
    named = [gpu.name for gpu in known if f"0x{device_id:04x}" in gpu.device_ids]
    return named[0] if named else known[0].name if len(known) == 1 else ""


def rocminfo_gpus(tool: Tool, environment: Mapping[str, str]) -> tuple[FoundGpu, ...]:
    """The GPUs that rocminfo lists, where the kernel's listing is not visible."""
    answer = tools.ask([tool.path], environment, _LIMIT_S)
    agents = re.split(r"(?m)^Agent \d+\s*$", _ANSI.sub("", answer.text))[1:]
    gpus = [agent for agent in agents if _field(agent, "Device Type") == "GPU"]
    return tuple(_rocminfo_gpu(index, agent) for index, agent in enumerate(gpus))


def _rocminfo_gpu(index: int, agent: str) -> FoundGpu:
    uuid = _field(agent, "Uuid")
    memory = re.search(r"Segment:\s*GLOBAL.*\n\s*Size:\s*(\d+)", agent)  # in KB
    return FoundGpu(
        index=index,
        vendor="AMD",
        gfx=_field(agent, "Name"),
        name=_field(agent, "Marketing Name"),
        uuid="" if uuid.endswith("-XX") else uuid,
        memory_bytes=int(memory.group(1)) << 10 if memory else None,
        compute_units=_number(_field(agent, "Compute Unit")),
        node=_number(_field(agent, "Node")),
    )


def _field(text: str, name: str) -> str:
    match = re.search(rf"(?m)^\s*{re.escape(name)}:[ \t]*(.*?)\s*$", text)
    return match.group(1) if match else ""


def _number(text: object) -> int | None:
    match = re.match(r"\d{1,15}", str(text))
    return int(match.group()) if match else None


def smi_gpus(tool: Tool, environment: Mapping[str, str]) -> tuple[FoundGpu, ...]:
    """The GPUs that amd-smi lists, as the last resort."""
    answer = tools.ask([tool.path, "static", "--json"], environment, _LIMIT_S)
    try:
        document: Any = msgspec.json.decode(answer.text)
    except msgspec.DecodeError:
        return ()
    entries = document.get("gpu_data", []) if isinstance(document, dict) else document
    kept = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    return tuple(_smi_gpu(index, entry) for index, entry in enumerate(kept))


def _smi_gpu(index: int, entry: Mapping[str, Any]) -> FoundGpu:
    asic, bus = _branch(entry, "asic"), _branch(entry, "bus")
    size = _number(_branch(_branch(entry, "vram"), "size").get("value", ""))  # in MB
    return FoundGpu(
        index=index,
        vendor="AMD",
        gfx=str(asic.get("target_graphics_version", "")),
        name=str(asic.get("market_name", "")),
        pci=str(bus.get("bdf", "")),
        memory_bytes=size << 20 if size else None,
        compute_units=_number(asic.get("num_compute_units", "")),
    )


def _branch(entry: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = entry.get(key)
    return value if isinstance(value, dict) else {}


def driver_version(root: Path) -> str:
    """The version of amdgpu, if it is loaded: its own, or else that of the kernel which it is part of."""
    module = root / "sys" / "module" / "amdgpu"
    if not module.is_dir():
        return ""
    own = read_text(module / "version").strip()
    return own or f"of Linux {read_text(root / 'proc' / 'sys' / 'kernel' / 'osrelease').strip()}".rstrip()


def rocm_folders(environment: Mapping[str, str], root: Path) -> tuple[Path, ...]:
    """Every ROCm on the machine, the chosen one first; a link and what it points to are one."""
    chosen = [Path(environment[name]) for name in ("ROCM_PATH", "ROCM_HOME") if environment.get(name)]
    opt = root / "opt"
    others = [path for pattern in ("rocm-*", "rocm/core-*") for path in opt.glob(pattern)]
    others.sort(key=lambda path: version_of(path.name.partition("-")[2]), reverse=True)
    places = dict.fromkeys(path.resolve() for path in (*chosen, opt / "rocm", opt / "rocm" / "core", *others))
    return tuple(path for path in places if tools.rocm_release(path))


def att_decoder(environment: Mapping[str, str], rocms: tuple[Path, ...]) -> Tool | None:
    """The library that decodes thread traces, where rocprofv3 looks for it."""
    named = [
        environment.get("ROCPROF_ATT_LIBRARY_PATH", ""),
        *environment.get("LD_LIBRARY_PATH", "").split(":"),
    ]
    folders = [*(Path(folder) for folder in named if folder), *(rocm / "lib" for rocm in rocms)]
    for folder in folders:
        if (folder / _DECODER_FILE).is_file():
            return Tool(
                name=DECODER, path=str(folder / _DECODER_FILE), rocm=tools.rocm_release(folder.parent)
            )
    return None
