"""How the dependency graph, the critical path and a what-if scale: time and peak memory over the number of dispatches.

The recording is made by the simulator (one stream, a synchronisation after every thousand launches) and kept as Parquet
files; each round then is a process of its own, so that the memory is that of the analysis.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.bench_sim import BATCH, WORKLOAD
from bench.measure import Case, machine, run

SIZES = (100_000, 1_000_000, 3_000_000)


def record_into(dispatches: int, folder: Path) -> None:
    """Simulate so many dispatches and leave what a graph needs of them."""
    from rocm_perf.sim.engine import simulate
    from rocm_perf.sim.gpu import find_gpu
    from rocm_perf.sim.record import record
    from rocm_perf.sim.workload import parse_workload

    text = WORKLOAD.format(batches=dispatches // BATCH, pairs=BATCH // 2)
    trace = record(simulate(parse_workload(text), find_gpu("sim:MI300X")))
    for name in ("dispatches", "api_calls"):
        trace.table(name).write_parquet(folder / f"{name}.parquet")


def analyse(folder: Path) -> None:
    """Build the graph, its path and one projection; leave the times in a file."""
    import polars as pl

    from rocm_perf.analysis.changes import SyncsRemoved
    from rocm_perf.analysis.critical_path import critical_path
    from rocm_perf.analysis.graph import build
    from rocm_perf.analysis.whatif import whatif
    from rocm_perf.model.trace import Trace

    trace = Trace({file.stem: pl.read_parquet(file) for file in folder.glob("*.parquet")})
    instants = [_now()]
    graph = build(trace)
    instants.append(_now())
    path = critical_path(graph)
    instants.append(_now())
    whatif(graph, SyncsRemoved())
    instants.append(_now())
    if path.total_ns != graph.wall_ns:
        raise SystemExit("the path does not account for the wall time")
    spent = {
        step: {"wall_s": after[0] - before[0], "cpu_s": after[1] - before[1]}
        for step, before, after in zip(("graph", "path", "what-if"), instants[:-1], instants[1:], strict=True)
    }
    size = {"nodes": graph.nodes.height, "edges": graph.edges.height, "api_calls": trace.rows("api_calls")}
    (folder / "times.json").write_text(json.dumps({"steps": spent, **size}))


def _now() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def measured(dispatches: int, rounds: int) -> list[dict[str, object]]:
    """Some rounds over one recording."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _child("record", dispatches, folder)
        return [_round(dispatches, folder) for _ in range(rounds)]


def _round(dispatches: int, folder: Path) -> dict[str, object]:
    peak = _child("analyse", dispatches, folder)
    return {
        "dispatches": dispatches,
        "peak_rss_bytes": peak,
        **json.loads((folder / "times.json").read_text()),
    }


def _child(task: str, dispatches: int, folder: Path) -> int:
    command = [sys.executable, __file__, "--child", task, "--sizes", str(dispatches), "--folder", str(folder)]
    sample = run(Case(task, command))
    if sample.exit_code:
        raise SystemExit(sample.error)
    return sample.peak_rss_bytes


def row(found: dict[str, object]) -> str:
    """One round as a line of a table."""
    steps, peak = found["steps"], found["peak_rss_bytes"]
    assert isinstance(steps, dict)
    assert isinstance(peak, int)
    cells = [f"{spent['wall_s']:.2f} s (cpu {spent['cpu_s']:.2f})" for spent in steps.values()]
    return f"| {found['dispatches']:,} | {found['nodes']:,} | {' | '.join(cells)} | {peak / 1e9:.2f} GB |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    parser.add_argument("--child", choices=("record", "analyse"), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child == "record":
        record_into(options.sizes[0], options.folder)
    elif options.child == "analyse":
        analyse(options.folder)
    else:
        rounds = [found for size in options.sizes for found in measured(size, options.rounds)]
        if options.json:
            print(json.dumps({"machine": machine(), "rounds": rounds}, indent=2))
        else:
            print(
                "| dispatches | nodes | graph | path | what-if | peak memory |\n|---:|---:|---:|---:|---:|---:|"
            )
            print("\n".join(row(found) for found in rounds))


if __name__ == "__main__":
    main()
