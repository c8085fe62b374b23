"""Causes that follow from shapes, names, grids and times: of single kernels, and of several together. Matrix products,
convolutions and attention are judged by their tiles elsewhere."""

from __future__ import annotations

from rocm_perf.analysis.limits.elementwise import chains, elementwise_causes, optimiser_passes
from rocm_perf.analysis.limits.experts import expert_causes
from rocm_perf.analysis.limits.launches import bursts, launch_causes
from rocm_perf.analysis.limits.rows import row_causes
from rocm_perf.analysis.limits.uses import KernelUses, kernel_uses, strongest_first
from rocm_perf.analysis.roofline.amounts import Key
from rocm_perf.analysis.roofline.devices import Device
from rocm_perf.model.results.limits import Cause, GroupCause
from rocm_perf.model.results.roofline import Roofline
from rocm_perf.model.trace import Trace

# What says why a grid is small, or that there is no cause, leaves nothing for the plain count to add.
_SAYS_MORE = {
    "few-rows": ("grid-too-small",),
    "column-reduction": ("grid-too-small", "few-rows"),
    "expert-weights": ("grid-too-small", "serial-loop"),
    "small-tensor": ("short-launch",),
    "casts": ("below-memory", "strided-elementwise"),
}


def pattern_causes(trace: Trace, known: tuple[Device, ...], points: Roofline) -> dict[Key, list[Cause]]:
    """Return the causes of each kernel, the strongest first; kernels without one are left out."""
    found = {key: _causes(of_kernel) for key, of_kernel in kernel_uses(trace, known, points).items()}
    return {key: causes for key, causes in found.items() if causes}


def group_causes(trace: Trace, known: tuple[Device, ...], _: Roofline) -> list[GroupCause]:
    """Return causes of several kernels together, those that can save most first."""
    found = [
        *chains(trace, known),
        *bursts(trace, known),
        *optimiser_passes(trace, known),
    ]
    return sorted(found, key=lambda one: -one.total_ns * (one.cause.saves or 0.0))


def _causes(of_kernel: KernelUses) -> list[Cause]:
    causes = [
        *expert_causes(of_kernel),
        *row_causes(of_kernel),
        *elementwise_causes(of_kernel),
        *launch_causes(of_kernel),
    ]
    impossible = [one for one in causes if one.id == "impossible-time"]
    if impossible:
        return impossible
    told = {one.id for one in causes}
    hidden = {less for more in told for less in _SAYS_MORE.get(more, ())}
    return strongest_first(one for one in causes if one.id not in hidden)
