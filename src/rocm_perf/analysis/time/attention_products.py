"""The matrix products of attention that is computed by separate kernels: what a fused kernel saves of them, which keeps
the scores between them on the chip."""

from __future__ import annotations

import msgspec

from rocm_perf.model.document import Document
from rocm_perf.model.machine_ceilings import MATRIX
from rocm_perf.model.results.roofline import KernelRoofline
from rocm_perf.units import format_count, format_ns


class FusedProducts(msgspec.Struct, frozen=True):
    """`total_ns` of these kernels, of which a fused kernel saves `saved_ns`, at most."""

    kernels: frozenset[str]
    total_ns: int
    saved_ns: int
    says: str


def fused_products(document: Document) -> FusedProducts | None:
    """What goes of the products of attention, less their FLOPs at the fastest rate that the same units reach in this
    recording; None where no FLOPs of them are known."""
    attention = document.families.attention_by_hand
    points = {point.kernel: point for point in document.roofline.kernels}
    known = [one for one in (attention.products if attention else ()) if _flops(points.get(one.kernel))]
    if not known:
        return None
    rate = max(_fastest(points[one.kernel], document) for one in known)  # TFLOP/s, which is FLOP/ps
    needed_ns = round(sum(one.calls * _flops(points[one.kernel]) for one in known) / rate / 1000)
    total_ns = sum(one.total_ns for one in known)
    calls = format_count(sum(one.calls for one in known), "call")
    return FusedProducts(
        kernels=frozenset(one.kernel for one in known),
        total_ns=total_ns,
        saved_ns=max(total_ns - needed_ns, 0),
        says=f"the products before and after it take {format_ns(total_ns)} in {calls}, and have to compute for "
        f"{format_ns(needed_ns)}, at {rate:,.0f} TFLOP/s: the fastest that the same units reach here",
    )


def _flops(point: KernelRoofline | None) -> float:
    """The operations of a dispatch on matrix units; 0 where they are not known."""
    return float(point.flops.value or 0) if point is not None and _units(point) else 0.0


def _units(point: KernelRoofline) -> str | None:
    """The matrix units that it computes on."""
    names = (part.ceiling for part in point.work if part.kind == "compute")
    return next((name for name in names if name.endswith(MATRIX)), None)


def _fastest(point: KernelRoofline, document: Document) -> float:
    alike = (other for other in document.roofline.kernels if _units(other) == _units(point))
    return max(float(other.tflops.value or 0) for other in alike)
