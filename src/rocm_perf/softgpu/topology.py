"""GPUs as the kernel driver describes them to the runtimes: a tree of small files, made of our catalogue."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rocm_perf.arch import catalog
from rocm_perf.arch.gpu import Gpu
from rocm_perf.errors import NotSupportedError
from rocm_perf.softgpu.code import EXECUTED

FIRST_RENDER_MINOR = 128
# HSA_CAPABILITY of hsakmttypes.h, by bit
_CAPABILITIES = {
    "watch points": 0xE80,
    "64-bit doorbells": 2 << 12,
    "debugger traps": 1 << 15,
    "wave launch traps": 1 << 16,
    "revision 3": 3 << 22,
    "SVM": 1 << 27,
    "debugger firmware": 1 << 29,
}
_SRAM_ECC = 1 << 26
_VENDOR_AMD = 0x1002
_SHARED_MEMORY_BYTES = 32 << 30  # of an APU: what its user assigned to it; here simply that
_XGMI, _PCIE = 11, 2  # HSA_IOLINKTYPE
_LDS_KIB = 64
_FIRST_ID = 38144


@dataclass(frozen=True)
class SoftGpu:
    """One GPU of the software machine."""

    gpu: Gpu
    index: int  # among the GPUs

    @property
    def name(self) -> str:
        """What runtimes call it: whoever reads its times should see that they are not a GPU's."""
        return f"{self.gpu.name} (software)"

    @property
    def identifier(self) -> int:
        return _FIRST_ID + self.index

    @property
    def render_minor(self) -> int:
        return FIRST_RENDER_MINOR + self.index

    @property
    def memory_bytes(self) -> int:
        return self.gpu.memory_bytes or _SHARED_MEMORY_BYTES

    @property
    def pci_device(self) -> int:
        return int(self.gpu.device_ids[0], 16) if self.gpu.device_ids else 0


def soft_gpus(gpu: Gpu, count: int = 1) -> tuple[SoftGpu, ...]:
    """That many GPUs of one kind; refuses a chip that the software GPU does not know."""
    if not _is_known(gpu):
        known = ", ".join(dict.fromkeys(one.gfx for one in catalog.gpus() if _is_known(one)))
        raise NotSupportedError(
            f"there is no software {gpu.name}", f"it has {gpu.gfx}", f"Known chips: {known}."
        )
    return tuple(SoftGpu(gpu, index) for index in range(count))


def _is_known(gpu: Gpu) -> bool:
    """Whether the executor runs its code, and the catalogue has what the driver would say of it."""
    return gpu.gfx in EXECUTED and None not in (gpu.shader_engines, gpu.arrays_per_engine)


def write_topology(folder: Path, gpus: Sequence[SoftGpu]) -> None:
    """Write the driver's description of a machine with one processor and these GPUs."""
    _write(folder / "generation_id", "2\n")
    _write_properties(folder / "system_properties", {"platform_oem": 0, "platform_id": 0, "platform_rev": 0})
    host = folder / "nodes" / "0"
    _write_node(host, identifier=0, name="", properties=_host_properties(len(gpus)))
    _write_properties(host / "mem_banks" / "0" / "properties", _memory_bank(kind=0, size=8 << 30))
    for one in gpus:
        _write_properties(
            host / "io_links" / str(one.index) / "properties", _link(0, one.index + 1, kind=_PCIE, weight=20)
        )
        _write_gpu(folder / "nodes" / str(one.index + 1), one, gpus)


def target_version(gfx: str) -> int:
    """The number that the driver has for a chip: 90402 for gfx942, 90010 for gfx90a."""
    major, minor, step = re.fullmatch(r"gfx(\d+)(\d)([\da-f])", gfx).groups()  # type: ignore[union-attr]
    return int(major) * 10000 + int(minor) * 100 + int(step, 16)


def _write_gpu(node: Path, one: SoftGpu, gpus: Sequence[SoftGpu]) -> None:
    others = [other for other in gpus if other != one]
    _write_node(
        node, identifier=one.identifier, name="ip discovery", properties=_gpu_properties(one, 1 + len(others))
    )
    _write_properties(node / "mem_banks" / "0" / "properties", _memory_bank(kind=1, size=one.memory_bytes))
    for level, size in ((1, one.gpu.l1_bytes), (2, (one.gpu.l2_bytes or 0) // one.gpu.dies)):
        _write_properties(node / "caches" / str(level - 1) / "properties", _cache(level, size or 0))
    _write_properties(node / "io_links" / "0" / "properties", _link(one.index + 1, 0, kind=_PCIE, weight=20))
    for number, other in enumerate(others, start=1):
        link = _link(one.index + 1, other.index + 1, kind=_XGMI, weight=15)
        _write_properties(node / "io_links" / str(number) / "properties", link)


def _gpu_properties(one: SoftGpu, links: int) -> dict[str, int]:
    gpu = one.gpu
    arrays_per_engine = gpu.arrays_per_engine or 1
    arrays = (gpu.shader_engines or 1) * arrays_per_engine * gpu.dies
    has_ecc = gpu.memory_kind.startswith("HBM")
    return {
        **_host_properties(links),
        "cpu_cores_count": 0,
        "simd_count": gpu.simds,
        "caches_count": 2,
        "max_waves_per_simd": gpu.max_waves_per_simd[gpu.wave_size],
        "lds_size_in_kb": _LDS_KIB,
        "wave_front_size": gpu.wave_size,
        "array_count": arrays,
        "simd_arrays_per_engine": arrays_per_engine,
        "cu_per_simd_array": -(-gpu.compute_units // arrays),
        "simd_per_cu": gpu.simds_per_cu,
        "max_slots_scratch_cu": 32,
        "gfx_target_version": target_version(gpu.gfx),
        "vendor_id": _VENDOR_AMD,
        "device_id": one.pci_device,
        "location_id": (3 + one.index) << 8,
        "drm_render_minor": one.render_minor,
        "num_sdma_engines": 2,
        "num_sdma_queues_per_engine": 8,
        "num_cp_queues": 24,
        "max_engine_clk_fcompute": int(gpu.clock_mhz),
        "local_mem_size": 0,
        "fw_version": 177,
        "capability": sum(_CAPABILITIES.values()) + (_SRAM_ECC if has_ecc else 0),
        "capability2": 0,
        "debug_prop": 1511,
        "sdma_fw_version": 24,
        "unique_id": 1234567 + one.index,
        "num_xcc": gpu.dies,
    }


def _host_properties(links: int) -> dict[str, int]:
    return {
        "cpu_cores_count": 2,
        "simd_count": 0,
        "mem_banks_count": 1,
        "caches_count": 0,
        "io_links_count": links,
        "p2p_links_count": 0,
        "cpu_core_id_base": 0,
        "simd_id_base": 0,
        "max_waves_per_simd": 0,
        "lds_size_in_kb": 0,
        "gds_size_in_kb": 0,
        "num_gws": 0,
        "wave_front_size": 0,
        "array_count": 0,
        "simd_arrays_per_engine": 0,
        "cu_per_simd_array": 0,
        "simd_per_cu": 0,
        "max_slots_scratch_cu": 0,
        "gfx_target_version": 0,
        "vendor_id": 0,
        "device_id": 0,
        "location_id": 0,
        "domain": 0,
        "drm_render_minor": 0,
        "hive_id": 0,
        "num_sdma_engines": 0,
        "num_sdma_xgmi_engines": 0,
        "num_sdma_queues_per_engine": 0,
        "num_cp_queues": 0,
        "max_engine_clk_ccompute": 2000,
    }


def _memory_bank(*, kind: int, size: int) -> dict[str, int]:
    return {"heap_type": kind, "size_in_bytes": size, "flags": 0, "width": 64, "mem_clk_max": 1300}


def _cache(level: int, size: int) -> dict[str, int]:
    return {
        "processor_id_low": 0x80001000,
        "level": level,
        "size": size >> 10,
        "cache_line_size": 128,
        "cache_lines_per_tag": 1,
        "associativity": 16,
        "latency": 0,
        "type": 9,  # data, of a GPU
        "sibling_map": 1,
    }


def _link(source: int, target: int, *, kind: int, weight: int) -> dict[str, int]:
    return {
        "type": kind,
        "version_major": 0,
        "version_minor": 0,
        "node_from": source,
        "node_to": target,
        "weight": weight,
        "min_latency": 0,
        "max_latency": 0,
        "min_bandwidth": 0,
        "max_bandwidth": 0,
        "recommended_transfer_size": 0,
        "recommended_sdma_engine_id_mask": 0,
        "flags": 1,
    }


def _write_node(node: Path, *, identifier: int, name: str, properties: Mapping[str, int]) -> None:
    _write(node / "gpu_id", f"{identifier}\n")
    _write(node / "name", f"{name}\n")
    _write_properties(node / "properties", properties)


def _write_properties(path: Path, values: Mapping[str, int]) -> None:
    _write(path, "".join(f"{name} {value}\n" for name, value in values.items()))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
