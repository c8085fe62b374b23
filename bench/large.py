"""Peak memory and CPU time of `analyze` on rocpd databases of any size, at once and in parts.

The database of N dispatches with N calls is made by make_rocpd.py in a temporary folder (0.33 GB per million) and
deleted afterwards; each analysis is a process of its own.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.make_rocpd import make
from bench.measure import Case, analyze, machine, run

SIZES = (1_000_000, 2_000_000)
KINDS = {"both": (1, 1), "dispatches": (1, 0), "calls": (0, 1)}  # of the rows: dispatches, calls


def measured(rows: int, kind: str, options: list[str]) -> dict[str, Any]:
    """What analysing so many rows took."""
    dispatches, calls = (rows * share for share in KINDS[kind])
    with tempfile.TemporaryDirectory(prefix="rocm-perf-bench-") as folder:
        file = Path(folder) / "results.db"
        make(file, dispatches, calls)
        sample = run(_with(analyze(kind, file), options))
        size = file.stat().st_size
    if sample.exit_code:
        raise SystemExit(sample.error)
    return {"kind": kind, "dispatches": dispatches, "calls": calls, "file_bytes": size, **asdict(sample)}


def _with(case: Case, options: list[str]) -> Case:
    return replace(case, command=[*case.command, *options])


def row(result: dict[str, Any]) -> str:
    """One analysis as a line of the table."""
    sizes = f"{result['dispatches']:,} | {result['calls']:,} | {result['file_bytes'] / 1e9:.2f} GB"
    times = f"{result['cpu_s']:.0f} s | {result['wall_s']:.0f} s"
    return f"| {sizes} | {times} | {result['peak_rss_bytes'] / 1e9:.2f} GB |"


def main() -> None:
    """Measure every size and kind, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=list(SIZES))
    parser.add_argument("--kinds", choices=KINDS, nargs="*", default=list(KINDS))
    parser.add_argument("--memory", help="analyse in parts that fit into this: 6G")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    options = parser.parse_args()
    passed = ["--memory", options.memory, "--in-parts"] if options.memory else []
    results = [measured(rows, kind, passed) for rows in options.sizes for kind in options.kinds]
    if options.json:
        print(json.dumps({"machine": machine(), "results": results}, indent=2))
        return
    print("| dispatches | API calls | database | CPU | wall | peak memory |", "|---:" * 6 + "|", sep="\n")
    print(*map(row, results), sep="\n")


if __name__ == "__main__":
    main()
