"""Analyse one recording again and again, several at once, and count the runs that fail: some faults, such as two
threads that get in each other's way, show once in hundreds of runs.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import bench_graphs, measure


def main() -> int:
    """Runs the bench; exit code 1 when a run failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=120, help="how long (default %(default)s)")
    parser.add_argument("--at-once", type=int, default=2, help="analyses side by side (default %(default)s)")
    chosen = parser.parse_args()
    pair = bench_graphs.PAIRS[0]
    trace = bench_graphs.trace_of(pair, 230_000)
    case = measure.analyze("analyze", trace, "--capture", str(pair.capture), "--fresh")
    case = replace(case, env={**case.env, "PYTHONFAULTHANDLER": "1"})
    until = time.monotonic() + chosen.seconds
    with ThreadPoolExecutor(chosen.at_once) as pool:
        parts = pool.map(lambda _: list(_again_and_again(case, until)), range(chosen.at_once))
        samples = [sample for part in parts for sample in part]
    failed = [sample for sample in samples if sample.exit_code]
    print(f"{len(samples)} runs of {trace.name}, {chosen.at_once} at once: {len(failed)} failed")
    for sample in failed[:3]:
        print(f"exit code {sample.exit_code}", sample.error, sep="\n")
    return int(bool(failed))


def _again_and_again(case: measure.Case, until: float) -> Iterator[measure.Sample]:
    while time.monotonic() < until:
        yield measure.run(case)


if __name__ == "__main__":
    sys.exit(main())
