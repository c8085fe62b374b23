"""What the links between GPUs allow, by the catalogue: in one direction, from one GPU to the others of its group on one
machine. What lies between machines is not known."""

from __future__ import annotations

from rocm_perf.analysis.roofline.devices import Device, devices
from rocm_perf.model.quantity import Quantity, unavailable
from rocm_perf.model.trace import Trace

_FORMULA = "links to the other GPUs of the group x GB/s of one link in one direction"


def link_of(trace: Trace, ranks: int | None, *, stated_gbps: float | None = None) -> Quantity:
    """What the links of the GPUs of a recording allow a group of so many ranks, or why that is not known. What is
    stated holds for every group."""
    models = devices(trace)
    if ranks is None or ranks < 2:
        why = "how many ranks took part is not recorded" if ranks is None else "a rank alone uses no link"
        return unavailable("GB/s", _FORMULA, why)
    if stated_gbps is not None:
        return Quantity(value=stated_gbps, unit="GB/s", formula="as stated")
    gpu = models[0].gpu
    limits = {device.gpu.link_limit(ranks) if device.gpu else None for device in models}
    limit = limits.pop()
    if limits or limit is None or gpu is None or gpu.link_gbps is None:
        return unavailable("GB/s", _FORMULA, _reason(models, ranks))
    return Quantity(
        value=limit,
        unit="GB/s",
        formula=f"{_FORMULA} ({gpu.link_kind}, {gpu.name}); if all of them are on one machine",
        inputs={"links": round(limit / gpu.link_gbps), "link_gbps": gpu.link_gbps},
    )


def _reason(models: tuple[Device, ...], ranks: int) -> str:
    unknown = next((device for device in models if device.gpu is None), None)
    if unknown is not None:
        return unknown.reason or f"the catalogue does not have {unknown.name}"
    without = next((device for device in models if device.gpu and device.gpu.links is None), None)
    if without is not None:
        return f"the catalogue has no links of {without.name}"
    if len(models) > 1:
        return "GPUs of several models took part"
    between = "what lies between machines is not recorded: state it with --link-bandwidth"
    return f"{ranks} ranks are not on one machine, and {between}"
