"""Which command would tell more about a kernel, given what was measured and what its GPU can do."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from rocm_perf.analysis.roofline.devices import Device

_SETS = {"compute_share": "compute_bound", "memory_share": "memory_bound"}
_NCU = "ncu --set full --csv --page raw APP > metrics.csv"
_ATT = "rocprofv3 --att -d traced -- APP"
_SHAPES = "torch.profiler.profile(record_shapes=True)"


def would_tell_more(measured: Collection[str], device: Device) -> tuple[str, ...]:
    """Commands, the most telling first."""
    if device.gfx and device.gfx.startswith("sm_"):
        return (_NCU,) if not {"compute_share", "memory_share", "occupancy"} <= set(measured) else ()
    return tuple(_on_amd(measured, device))


def _on_amd(measured: Collection[str], device: Device) -> Iterator[str]:
    missing = [name for share, name in _SETS.items() if share not in measured]
    if missing and _works(device, "counters"):
        name = missing[0] if len(missing) == 1 else "full_profile"
        yield f"rocm-perf list-counters --arch {device.gfx or 'GFX'} --plan {name}"
    elif missing:
        yield _SHAPES
    if "barrier_wait" not in measured and _works(device, "att"):
        yield _ATT


def _works(device: Device, name: str) -> bool:
    """Whether the catalogue says that the GPU has the method; an unknown GPU may have it."""
    methods = device.chip.methods if device.chip else ()
    return next((method.works != "no" for method in methods if method.name == name), True)
