"""HolisticTraceAnalysis' critical path of one trace: how long loading and the path take, and the size of the graph.
Runs in HTA's own virtual environment.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from importlib import metadata
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.peers.hta_run import load

WHOLE_TRACE = ""  # HTA's annotation for everything recorded


def main() -> int:
    """Load the trace and find the path; returns 1 if HTA finds none."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("trace", type=Path)
    parser.add_argument("--report", type=Path, required=True, help="write the times to this JSON file")
    options = parser.parse_args()
    instants = [time.perf_counter()]
    trace = load(options.trace)
    instants.append(time.perf_counter())
    analysis = trace.critical_path_analysis(rank=0, annotation=WHOLE_TRACE, instance_id=None)
    instants.append(time.perf_counter())
    if not analysis or not analysis[1]:
        print("HTA finds no critical path", file=sys.stderr)
        return 1
    report = {
        "load_s": instants[1] - instants[0],
        "path_s": instants[2] - instants[1],
        "nodes": analysis[0].number_of_nodes(),
        "edges": analysis[0].number_of_edges(),
        "version": metadata.version("HolisticTraceAnalysis"),
    }
    options.report.write_text(json.dumps(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
