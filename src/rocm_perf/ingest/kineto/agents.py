"""The GPUs of a torch.profiler trace: devices seen in its kernels, described by deviceProperties."""

from __future__ import annotations

import polars as pl

from rocm_perf.arch.capability import amd_chip
from rocm_perf.ingest.kineto.header import Device, Header


def agents(dispatches: pl.DataFrame, header: Header) -> pl.DataFrame:
    """One row per device. The roctracer backend writes HSA node ids, which deviceProperties does not use,
    so its devices are described only when all entries agree."""
    devices_used = sorted(dispatches["agent_id"].drop_nulls().unique()) if dispatches.height else []
    by_id = {device.id: device for device in header.devices}
    alike = header.devices[0] if header.devices and _all_alike(header.devices) else None
    if header.roctracer is not None:
        rows = [_row(agent, alike) for agent in devices_used]
    else:
        rows = [
            _row(agent, by_id.get(agent))
            for agent in devices_used or [key for key in by_id if key is not None]
        ]
    return pl.DataFrame(rows, infer_schema_length=None)


def _all_alike(devices: list[Device]) -> bool:
    return (
        len({(device.name, device.units, device.memory, device.major, device.minor) for device in devices})
        == 1
    )


def _row(agent: int, device: Device | None) -> dict[str, object]:
    if device is None:
        return {"agent_id": agent, "kind": "GPU"}
    return {
        "agent_id": agent,
        "kind": "GPU",
        "gfx": _gfx(device),
        "name": device.name or None,
        "vendor": _vendor(device),
        "cu_count": device.units,
        "wave_size": device.wave_size,
        "lds_bytes": device.lds or device.shared,
        "memory_bytes": device.memory,
        "uuid": device.uuid,
        "clock_mhz": None if device.clock_khz is None else device.clock_khz / 1000,
    }


def _vendor(device: Device) -> str | None:
    name = (device.name or "").upper()
    if "NVIDIA" in name or (device.wave_size == 32 and device.shared is not None):
        return "NVIDIA"
    if "AMD" in name or "INSTINCT" in name or "RADEON" in name or device.wave_size == 64:
        return "AMD"
    return None


def _gfx(device: Device) -> str | None:
    if device.major is None or device.minor is None:
        return None
    if _vendor(device) == "NVIDIA":
        return f"sm_{device.major}{device.minor}"
    return amd_chip(device.major, device.minor)
