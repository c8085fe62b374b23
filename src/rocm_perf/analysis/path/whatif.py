"""What a change would bring: the graph is changed (see changes.py), and one sweep times it again."""

from __future__ import annotations

from rocm_perf.analysis.graph.graph import Graph, retimed_wall_ns
from rocm_perf.analysis.path.changes import Change
from rocm_perf.model.quantity import Quantity, unavailable
from rocm_perf.model.results.whatif import Projection
from rocm_perf.units import format_count, format_ns

FORMULAS = {
    "projection.wall_ns": "last end of the graph, re-timed forward: start = max over the edges of end of cause + lag",
    "projection.speedup": "(recorded wall_ns - profiler_ns) / projected wall_ns",
}

_LIMIT = "everything else takes as long as recorded, also where more of it would now run at once"


def whatif(graph: Graph, *changes: Change) -> Projection:
    """The wall time with the changes made, in their order; without any, as recorded."""
    changed = graph
    for change in changes:
        changed = change.apply(changed)
    wall, before = retimed_wall_ns(changed), graph.wall_ns - graph.profiler_ns
    estimates = (
        f"{one.name}: {format_ns(one.value_ns)}, {one.how} ({format_count(one.samples, 'sample')})"
        for one in graph.estimates
    )
    return Projection(
        change=", ".join(change.title for change in changes) or "nothing",
        wall_ns=wall,
        recorded_wall_ns=graph.wall_ns,
        saved_ns=before - wall,
        speedup=_speedup(before, wall, graph.profiler_ns),
        assumptions=(*changed.assumptions, _LIMIT, *estimates) if changes else (),
        profiler_ns=graph.profiler_ns,
    )


def _speedup(before_ns: int, wall_ns: int, profiler_ns: int) -> Quantity:
    formula = FORMULAS["projection.speedup"]
    if not wall_ns:
        return unavailable("x", formula, "nothing with a length was recorded")
    return Quantity(
        value=before_ns / wall_ns,
        unit="x",
        formula=formula,
        inputs={
            "recorded_wall_ns": before_ns + profiler_ns,
            "profiler_ns": profiler_ns,
            "wall_ns": wall_ns,
        },
    )
