"""How idle time, the dependency graph, its critical path and a what-if scale: time and peak memory over dispatches.

The recording is made by the simulator (one stream, a synchronisation after every thousand launches) and kept as Parquet
files; each round is then a process of its own, so its memory is that of the analysis.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import graph_torch
from bench.bench_sim import BATCH, WORKLOAD
from bench.measure import Case, machine, run

SIZES = (100_000, 1_000_000, 3_000_000)
TORCH_EVENTS = 100_000
STEPS = ("gaps", "graph", "path", "what-if")
COUNTED = STEPS[:3]  # what every analysis of a recording needs


def record_into(dispatches: int, folder: Path) -> None:
    """Simulate this many dispatches, and write the tables that a graph needs."""
    from rocm_perf.sim.engine import simulate
    from rocm_perf.sim.gpu import find_gpu
    from rocm_perf.sim.record import record
    from rocm_perf.sim.workload import parse_workload

    text = WORKLOAD.format(batches=dispatches // BATCH, pairs=BATCH // 2)
    trace = record(simulate(parse_workload(text), find_gpu("sim:MI300X")))
    for name in ("dispatches", "api_calls"):
        trace.table(name).write_parquet(folder / f"{name}.parquet")


def analyse(folder: Path) -> None:
    """Compute idle time, the graph, its path and one projection; write the times to a file."""
    import polars as pl

    from rocm_perf.analysis.graph import build
    from rocm_perf.analysis.idle.gaps import gaps
    from rocm_perf.analysis.path.changes import SyncsRemoved
    from rocm_perf.analysis.path.critical_path import critical_path
    from rocm_perf.analysis.path.whatif import whatif
    from rocm_perf.model.trace import Trace

    trace = Trace({file.stem: pl.read_parquet(file) for file in folder.glob("*.parquet")})
    instants = [_now()]
    gaps(trace)
    instants.append(_now())
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
        for step, before, after in zip(STEPS, instants[:-1], instants[1:], strict=True)
    }
    size = {"nodes": graph.nodes.height, "edges": graph.edges.height, "api_calls": trace.rows("api_calls")}
    (folder / "times.json").write_text(json.dumps({"steps": spent, **size}))


def _now() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def measured(dispatches: int, rounds: int) -> dict[str, Any]:
    """Median times of some rounds over one recording, each in a process of its own, and the largest peak memory."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _child("record", dispatches, folder)
        results = [_round(dispatches, folder) for _ in range(rounds)]
    steps = {step: _median([result["steps"][step] for result in results]) for step in STEPS}
    peak = max(result["peak_rss_bytes"] for result in results)
    return {**results[0], "steps": steps, "peak_rss_bytes": peak, "rounds": rounds}


def _round(dispatches: int, folder: Path) -> dict[str, Any]:
    peak = _child("analyse", dispatches, folder)
    return {
        "dispatches": dispatches,
        "peak_rss_bytes": peak,
        **json.loads((folder / "times.json").read_text()),
    }


def _median(spent: list[dict[str, float]]) -> dict[str, float]:
    return {clock: statistics.median(times[clock] for times in spent) for clock in ("wall_s", "cpu_s")}


def _child(task: str, dispatches: int, folder: Path) -> int:
    command = [sys.executable, __file__, "--child", task, "--sizes", str(dispatches), "--folder", str(folder)]
    sample = run(Case(task, command))
    if sample.exit_code:
        raise SystemExit(sample.error)
    return sample.peak_rss_bytes


def row(size: dict[str, Any]) -> str:
    """One size as a line of the table."""
    steps: dict[str, dict[str, float]] = size["steps"]
    total = {clock: sum(steps[step][clock] for step in COUNTED) for clock in ("wall_s", "cpu_s")}
    spent = [*(steps[step] for step in COUNTED), total, steps["what-if"]]
    times = " | ".join(f"{clocks['wall_s']:.2f} s (cpu {clocks['cpu_s']:.2f})" for clocks in spent)
    peak = f"{size['peak_rss_bytes'] / 1e9:.2f} GB"
    return f"| {size['dispatches']:,} | {size['api_calls']:,} | {size['edges']:,} | {times} | {peak} |"


def table(sizes: list[dict[str, Any]]) -> str:
    """All sizes as a Markdown table."""
    head = ("dispatches", "API calls", "edges", *COUNTED, " + ".join(COUNTED), "what-if", "peak memory")
    return "\n".join([f"| {' | '.join(head)} |", "|---:" * len(head) + "|", *map(row, sizes)])


def main() -> None:
    """Measure every size, and HTA on request, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=list(SIZES))
    parser.add_argument("--rounds", type=int, default=3, help="runs of each (default %(default)s)")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    parser.add_argument(
        "--with-hta",
        action="store_true",
        help=f"also HTA's critical path of a torch trace of {TORCH_EVENTS:,} events (installs it in bench/.venv-hta)",
    )
    parser.add_argument("--child", choices=("record", "analyse"), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child == "record":
        record_into(options.sizes[0], options.folder)
    elif options.child == "analyse":
        analyse(options.folder)
    else:
        sizes = [measured(size, options.rounds) for size in options.sizes]
        torch = graph_torch.compared(TORCH_EVENTS, options.rounds) if options.with_hta else {}
        if options.json:
            print(json.dumps({"machine": machine(), "sizes": sizes, "torch": torch}, indent=2))
        else:
            print(table(sizes), *([graph_torch.table(torch)] if torch else []), sep="\n\n")


if __name__ == "__main__":
    main()
