"""Everything that is said about memory, as one answer."""

from __future__ import annotations

from msgspec.structs import replace

from rocm_perf.analysis.memory import fragmentation as pieces
from rocm_perf.analysis.memory import growth, levels
from rocm_perf.analysis.memory.capacity import capacities, out_of_memory
from rocm_perf.analysis.memory.peak import NO_OWNERS, peaks
from rocm_perf.model.results.memory import Memory
from rocm_perf.model.trace import Trace

FORMULAS = {**levels.FORMULAS, **growth.FORMULAS, **pieces.FORMULAS}


def memory(trace: Trace) -> Memory:
    """Memory in use over time, who held it at its peak, what grows, what lies in pieces, what was too much."""
    in_use = levels.memory(trace)
    highest, blocks = peaks(trace), pieces.fragmentation(trace)
    return replace(
        in_use,
        peaks=highest,
        owners_unavailable=None if highest else NO_OWNERS,
        growing=growth.growing(trace),
        fragmentation=blocks,
        fragmentation_unavailable=None if blocks else pieces.NO_BLOCKS,
        out_of_memory=out_of_memory(trace),
        capacity=capacities(trace, in_use.rows),
    )
