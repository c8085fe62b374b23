"""The gate `resources`: what the candidate's code object needs, against the original's.

Registers spilled to memory, and a stack that grew, are refused: they cost traffic that grows with every launch, and
whoever wants them can see it in the source. Fewer waves are not refused: more work in flight per wave can be worth more
than another wave, and the measurement decides; they are named. A kernel of which no workgroup fits is refused."""

from __future__ import annotations

from rocm_perf.arch.codeobject.report import Launch, kernel_report
from rocm_perf.errors import InputError
from rocm_perf.model.results.optimize import Resources
from rocm_perf.optimize.gates import Passage
from rocm_perf.optimize.guards.image import CodeImage

_QUANTITIES = (
    ("VGPRs", "vgprs"),
    ("AGPRs", "agprs"),
    ("SGPRs", "sgprs"),
    ("bytes of LDS", "lds_bytes"),
    ("bytes of scratch", "scratch_bytes"),
    ("spills", "spills"),
    ("waves", "waves"),
)


def resources_of(image: CodeImage, symbol: str, launch: Launch) -> Resources:
    """What a kernel needs, and how many of its waves a SIMD or multiprocessor holds."""
    kernel = image.kernel(symbol)
    if kernel is None:
        raise InputError(f"{image.code.place} has no kernel {symbol}")
    occupancy = kernel_report(kernel, symbol, image.arch, launch).occupancy
    return Resources(
        vgprs=kernel.vgprs,
        agprs=kernel.agprs,
        sgprs=kernel.sgprs,
        spills=kernel.vgpr_spills,
        scratch_bytes=kernel.scratch_bytes,
        lds_bytes=kernel.lds_bytes,
        waves=None if occupancy is None else occupancy.waves_per_simd,
        code_bytes=kernel.code_bytes,
    )


def resources_passage(before: Resources, after: Resources) -> Passage:
    """Whether a kernel needs no memory for its registers that it did not need before, and still fits."""
    fault = _fault(before, after)
    if fault:
        return Passage("resources", False, fault)
    return Passage("resources", True, deltas(before, after) or "as many registers, LDS and waves as before")


def _fault(before: Resources, after: Resources) -> str:
    if (after.spills or 0) > (before.spills or 0):
        return f"it spills {after.spills} registers to memory, {_more_than(before.spills)}"
    if (after.scratch_bytes or 0) > (before.scratch_bytes or 0):
        return (
            f"it needs {after.scratch_bytes} bytes of scratch memory per work-item, "
            f"{_more_than(before.scratch_bytes)}"
        )
    if after.waves == 0:
        return "no workgroup of it fits on the chip"
    return ""


def _more_than(before: int | None) -> str:
    return f"{before} before" if before else "none before"


def deltas(before: Resources, after: Resources) -> str:
    """What differs: `VGPRs 32 -> 48, waves 8 -> 5`; nothing if nothing does."""
    pairs = [
        (_named(name, after), getattr(before, field), getattr(after, field)) for name, field in _QUANTITIES
    ]
    return ", ".join(f"{name} {_number(old)} -> {_number(new)}" for name, old, new in pairs if old != new)


def _named(quantity: str, needs: Resources) -> str:
    """NVIDIA has one kind of registers."""
    return "registers" if quantity == "VGPRs" and needs.sgprs is None else quantity


def _number(value: float | None) -> str:
    return "?" if value is None else f"{value:g}"
