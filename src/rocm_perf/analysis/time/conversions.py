"""Kernels with which the libraries of convolutions turn tensors into the layout and type that their kernels take."""

from __future__ import annotations

from rocm_perf.analysis.basis.names import short_name
from rocm_perf.analysis.basis.stakes import of_one_gpu
from rocm_perf.analysis.remedies.setting import setting_of
from rocm_perf.analysis.remedies.table import remedy
from rocm_perf.analysis.time.kernel_family import CONVERSION, family
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding
from rocm_perf.units import format_count, format_list, format_ns, format_share

CONVERSIONS = "layout-conversions"
_SHARE = 0.1  # of the time of kernels that do not wait for other ranks: from here on it is worth a word
_NAMED = 3


def is_conversion(kernel: str) -> bool:
    """Whether a library of convolutions launches it before or after a kernel of its own, and no framework could fuse
    it."""
    return family(kernel) == CONVERSION


def conversion_findings(document: Document) -> list[Finding]:
    """That convolutions have their tensors converted, where that takes long."""
    spots = [spot for spot in document.hotspots.rows if is_conversion(spot.kernel)]
    spent, total = sum(spot.total_ns for spot in spots), document.hotspots.total_ns
    waiting = sum(
        spot.total_ns for spot in document.hotspots.rows if family(spot.kernel).name == "collective"
    )
    if not spent or spent < _SHARE * (total - waiting):
        return []
    names = list(dict.fromkeys(short_name(spot.kernel) for spot in spots))
    calls = format_count(sum(spot.calls for spot in spots), "call")
    finding = Finding(
        id=CONVERSIONS,
        severity="info",
        title=f"{format_share(spent / total)} of the kernel time converts the layout or type of tensors for "
        "convolutions",
        evidence=(
            f"{format_list(names, _NAMED)}: {format_ns(spent)} in {calls}",
            "the library launches them around its own kernels, which take another layout: a compiler of the framework "
            "does not see them",
        ),
        time_at_stake_ns=spent,
        remedy=remedy("layout-conversions", setting_of(document)),
        kind="kernel-memory",
    )
    return [of_one_gpu(finding, document)]
