"""HolisticTraceAnalysis on one trace, or on a folder with one per rank: loading and the analyses of its README, each
with its outcome.
Runs in a virtual environment of its own.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

from hta.trace_analysis import TraceAnalysis

ANALYSES: dict[str, Callable[[Any], Any]] = {
    "temporal breakdown": lambda trace: trace.get_temporal_breakdown(visualize=False),
    "idle time breakdown": lambda trace: trace.get_idle_time_breakdown(visualize=False),
    "communication computation overlap": lambda trace: trace.get_comm_comp_overlap(visualize=False),
    "kernel breakdown": lambda trace: trace.get_gpu_kernel_breakdown(visualize=False),
    "kernel launch statistics": lambda trace: trace.get_cuda_kernel_launch_stats(visualize=False),
}


def load(trace: Path) -> Any:
    """The trace as HTA loads it: from a folder with one file per rank; a single trace is linked into one."""
    if trace.is_dir():
        return TraceAnalysis(trace_dir=str(trace))
    with tempfile.TemporaryDirectory(prefix="hta-") as folder:
        (Path(folder) / "rank-0.json").with_suffix("".join(trace.suffixes[-2:])).symlink_to(trace.resolve())
        return TraceAnalysis(trace_dir=folder)


def attempt(analysis: Callable[[Any], Any], trace: Any) -> dict[str, object]:
    """One analysis: how long it took, and how many rows it gave or how it crashed."""
    start = time.perf_counter()
    try:
        outcome: dict[str, object] = {"rows": rows(analysis(trace))}
    except Exception as error:  # noqa: BLE001 - a crash of the peer is a result here
        outcome = {"error": f"{type(error).__name__}: {error}"}
    return {"seconds": round(time.perf_counter() - start, 3), **outcome}


def rows(result: Any) -> int:
    """The rows of all tables in a result; HTA returns a table, several, or one per rank."""
    if isinstance(result, dict):
        return sum(rows(table) for table in result.values())
    if isinstance(result, (tuple, list)):
        return sum(rows(table) for table in result)
    return 0 if result is None else len(result)


def main() -> int:
    """Run every analysis on one trace, and print how each went."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("trace", type=Path)
    parser.add_argument("--report", type=Path, help="write how each analysis went to this JSON file")
    options = parser.parse_args()
    start = time.perf_counter()
    trace = load(options.trace)
    steps: dict[str, object] = {"load": {"seconds": round(time.perf_counter() - start, 3)}}
    steps |= {name: attempt(analysis, trace) for name, analysis in ANALYSES.items()}
    versions = {name: metadata.version(name) for name in ("HolisticTraceAnalysis", "pandas")}
    report = {"versions": versions, "steps": steps}
    text = json.dumps(report, indent=2)
    print(text)
    if options.report:
        options.report.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
