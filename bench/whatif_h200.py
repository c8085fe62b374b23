"""What-if projections compared with measurements: the pairs that tests/gpu/record_whatif.py recorded on an H200, as the
table of docs/whatif.md. A projection is made from the first trace of a pair alone."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rocm_perf.analysis.graph import Graph, build
from rocm_perf.analysis.path.changes import Change, SyncsRemoved
from rocm_perf.analysis.path.joined import Captured
from rocm_perf.analysis.path.whatif import whatif
from rocm_perf.analysis.path.wrappers import sync_wrappers
from rocm_perf.ingest.load import load
from rocm_perf.model.trace import Trace

DATA = Path(__file__).parents[1] / "tests" / "data" / "h200" / "whatif"


@dataclass(frozen=True)
class Pair:
    """Two programs, one change apart."""

    title: str
    before: str
    after: str
    change: Callable[[Trace, Graph], Change]


@dataclass(frozen=True)
class Outcome:
    """Speedups: as projected, between the two recorded windows, of the profiled loops, and without a profiler."""

    projected: float
    windows: float
    profiled: float
    plain: float
    plain_range: tuple[float, float]


def hoisted(trace: Trace, graph: Graph) -> Change:
    """The change that removes synchronisations, with what the framework does around them."""
    return SyncsRemoved(sync_wrappers(trace, graph))


PAIRS = (
    Pair("a kernel that adds, synchronised after each", "copy_sync", "copy_free", hoisted),
    Pair("small decoder, synchronised after each step", "decode_sync", "decode_free", hoisted),
    Pair("large decoder, synchronised after each step", "large_sync", "large_free", hoisted),
    Pair("small decoder, eager, as a graph", "decode_free", "decode_graph", lambda _, __: Captured()),
)


def outcome(pair: Pair) -> Outcome:
    """The projected and the measured speedups of a pair."""
    walls = json.loads((DATA / "walls.json").read_text())["walls"]
    trace = load(DATA / f"{pair.before}.json.gz")
    graph = build(trace)
    projection = whatif(graph, pair.change(trace, graph))
    after = build(load(DATA / f"{pair.after}.json.gz")).wall_ns
    plain = [walls[name]["plain_us"] for name in (pair.before, pair.after)]
    quartiles = [statistics.quantiles(samples, n=4) for samples in plain]
    return Outcome(
        projected=graph.wall_ns / projection.wall_ns,
        windows=graph.wall_ns / after,
        profiled=_ratio(walls, pair, "profiled_us"),
        plain=_ratio(walls, pair, "plain_us"),
        plain_range=(quartiles[0][0] / quartiles[1][2], quartiles[0][2] / quartiles[1][0]),
    )


def _ratio(walls: dict[str, dict[str, list[float]]], pair: Pair, kind: str) -> float:
    return statistics.median(walls[pair.before][kind]) / statistics.median(walls[pair.after][kind])


def main() -> None:
    """Print the table."""
    print(
        "| pair | projected | recorded windows | profiled, medians of 9 | no profiler, medians of 50 (quartiles) |"
    )
    print("|---|---:|---:|---:|---:|")
    for pair in PAIRS:
        speedups = outcome(pair)
        low, high = speedups.plain_range
        print(
            f"| {pair.title} | {speedups.projected:.2f}x | {speedups.windows:.2f}x | {speedups.profiled:.2f}x | "
            f"{speedups.plain:.2f}x ({low:.2f} to {high:.2f}) |"
        )


if __name__ == "__main__":
    main()
