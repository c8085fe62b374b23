"""Which command would tell more about a kernel, given what was measured and what its GPU can do."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from rocm_perf.analysis.roofline.devices import Device
from rocm_perf.model.run import SIMULATOR, RunInfo
from rocm_perf.model.vendor import is_nvidia

_COMPLETE = frozenset(
    ("compute_share", "memory_share", "occupancy")
)  # shapes alone tell no more than the first two
_SHAPES = "torch.profiler.profile(record_shapes=True)"
_ANY = "APP"


def application(run: RunInfo) -> str:
    """The program as a command can name it; none for a simulated one, which no profiler can start."""
    return "" if run.tool == SIMULATOR else run.command or _ANY


def would_tell_more(
    measured: Collection[str],
    device: Device,
    app: str = _ANY,
    *,
    counters: bool = True,
    counted: bool = False,
) -> tuple[str, ...]:
    """Return commands that would measure more, the most informative first.

    `counters` says whether they can be had, `counted` whether the units of this kernel were counted already.
    """
    if is_nvidia(device.gfx):
        complete = counted or not counters or set(measured) >= _COMPLETE
        return () if complete else (f"rocm-perf profile --deep -- {app or _ANY}",)
    return tuple(_on_amd(measured, device, app, counters=counters, counted=counted))


def _on_amd(
    measured: Collection[str], device: Device, app: str, *, counters: bool, counted: bool
) -> Iterator[str]:
    missing = not counted and not set(measured) >= _COMPLETE
    if missing and counters and _works(device, "counters"):
        plan = f"rocm-perf list-counters --arch {device.gfx or 'GFX'} --plan limits"
        yield f"rocm-perf profile --deep -- {app}" if app else plan
    elif missing:
        yield f"rocm-perf profile --profiler torch -- {app}" if app.startswith("python") else _SHAPES
    if "barrier_wait" not in measured and app and _works(device, "att"):
        yield f"rocm-perf profile --preset att -- {app}"


def _works(device: Device, name: str) -> bool:
    """Whether the catalogue says that the GPU has the method; an unknown GPU may have it."""
    methods = device.chip.methods if device.chip else ()
    return next((method.works != "no" for method in methods if method.name == name), True)
