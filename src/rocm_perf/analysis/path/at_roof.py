"""What if kernels ran as fast as their GPU lets them: at the roof, measured where it was, else the data sheet's."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from rocm_perf.analysis.graph.graph import Graph
from rocm_perf.analysis.path.changes import FasterKernels
from rocm_perf.errors import UsageError
from rocm_perf.model.results.roofline import KernelRoofline, Roofline
from rocm_perf.units import format_count, format_list

_MOST_SOURCES = 3


class KernelsAtRoof(msgspec.Struct, frozen=True):
    """Kernels take the least time that their work needs at the peaks of their GPU; more than that is never gained."""

    pattern: str
    factors: Mapping[str, float]  # by full name, how many times faster
    sources: tuple[str, ...]  # of the peaks
    unknown: int  # kernels that match, but have no known roof

    @property
    def title(self) -> str:
        return f"kernels {self.pattern} at their roof"

    def apply(self, graph: Graph) -> Graph:
        changed = graph
        for kernel, factor in self.factors.items():
            changed = FasterKernels(kernel, factor, exact=True).apply(changed)
        return replace(changed, assumptions=(*graph.assumptions, self._assumption()))

    def _assumption(self) -> str:
        count = format_count(len(self.factors), "kernel")
        known = f"{count} at the peaks of the GPU ({format_list(self.sources, _MOST_SOURCES)})"
        if not self.unknown:
            return known
        return f"{known}; {self.unknown} more, whose work or peaks are not known, take as long as recorded"


def kernels_at_roof(roofline: Roofline, pattern: str) -> KernelsAtRoof:
    """The change for the kernels whose name matches. Raises UsageError where none of them has a known roof."""
    matching = [kernel for kernel in roofline.kernels if re.search(pattern, kernel.kernel)]
    factors: dict[str, float] = {}
    sources: dict[str, None] = {}
    for kernel in matching:
        percent = kernel.percent_of_roof.value
        if percent:
            factor = max(1.0, 100 / percent)
            factors[kernel.kernel] = min(factor, factors.get(kernel.kernel, factor))
            sources[_source(kernel, roofline)] = None
    if not factors:
        why = matching[0].reason if matching else roofline.unavailable or "no kernel's name matches"
        raise UsageError(
            f"no kernel {pattern!r} has a known roof", why, "See rocm-perf analyze --show roofline."
        )
    unknown = len({kernel.kernel for kernel in matching} - factors.keys())
    return KernelsAtRoof(pattern, factors, sources=tuple(sources), unknown=unknown)


def _source(kernel: KernelRoofline, roofline: Roofline) -> str:
    """Where the peak that limits a kernel comes from."""
    limit = (kernel.position or "").partition("(")[2].rstrip(")")
    ceilings = roofline.gpus[kernel.gpu].ceilings
    measured = (one.origin for one in ceilings if one.name == limit and one.measured)
    return next(measured, "data sheet")
