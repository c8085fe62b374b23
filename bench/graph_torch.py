"""The critical path of one torch trace, by rocm-perf and by HolisticTraceAnalysis: interleaved, each in a process of
its own. Both read the whole of the same file; HTA's graph also has the nested operators, ours only the calls.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.bench_torch import BENCH, HTA, OURS, ROOT, hta_python, trace_of
from bench.measure import Case, run

Report = dict[str, float]


def compared(events: int, rounds: int) -> dict[str, list[Report]]:
    """The times of every round, for both tools."""
    trace = trace_of(events)
    commands = {
        OURS: [sys.executable, __file__],
        HTA: [str(hta_python()), str(BENCH / "peers" / "hta_path.py")],
    }
    reports: dict[str, list[Report]] = {name: [] for name in commands}
    for number in range(rounds):
        for name, command in commands.items():
            reports[name].append(_round(name, [*command, str(trace)]))
            print(f"round {number + 1}: {name}: {reports[name][-1]['path_s']:.2f} s", file=sys.stderr)
    return reports


def _round(name: str, command: list[str]) -> Report:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        sample = run(Case(name, [*command, "--report", str(report)], env={"PYTHONPATH": str(ROOT / "src")}))
        if sample.exit_code:
            raise SystemExit(sample.error)
        times: Report = json.loads(report.read_text())
        return {**times, "wall_s": sample.wall_s, "peak_bytes": sample.peak_rss_bytes}


def table(reports: dict[str, list[Report]]) -> str:
    """Medians: one line per tool, and one for how many times longer HTA takes."""
    medians = {name: _medians(rounds) for name, rounds in reports.items()}
    columns = ("load_s", "path_s", "wall_s")
    lines = [
        "| | runs | nodes | load | graph and path | process | peak memory |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name, median in medians.items():
        times = " | ".join(f"{median[column]:.2f} s" for column in columns)
        peak = f"{median['peak_bytes'] / 1e9:.2f} GB"
        lines.append(f"| {name} | {len(reports[name])} | {median['nodes']:,.0f} | {times} | {peak} |")
    ratios = " | ".join(f"{medians[HTA][column] / medians[OURS][column]:.1f}" for column in columns)
    return "\n".join([*lines, f"| {HTA} / {OURS} | | | {ratios} | |"])


def _medians(reports: list[Report]) -> Report:
    return {
        column: statistics.median(report[column] for report in reports)
        for column in ("load_s", "path_s", "wall_s", "peak_bytes", "nodes")
    }


def main() -> None:
    """Load a trace with rocm-perf, build the graph and find the path; write the times to a file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("trace", type=Path)
    parser.add_argument("--report", type=Path, required=True, help="write the times to this JSON file")
    options = parser.parse_args()

    from rocm_perf.analysis.graph import build
    from rocm_perf.analysis.path.critical_path import critical_path
    from rocm_perf.ingest.load import load

    instants = [time.perf_counter()]
    trace = load(options.trace)
    instants.append(time.perf_counter())
    graph = build(trace)
    critical_path(graph)
    instants.append(time.perf_counter())
    report = {
        "load_s": instants[1] - instants[0],
        "path_s": instants[2] - instants[1],
        "nodes": graph.nodes.height,
    }
    options.report.write_text(json.dumps(report))


if __name__ == "__main__":
    main()
