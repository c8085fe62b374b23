"""What a report's timeline costs for a torch.profiler trace of a million events: time and peak memory beside those of
loading and analysing, and the size of what the page carries. Each round is a process of its own.

The trace is a recorded one, tiled, and its times are warped. What a browser does with the page is in bench_page.py.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from typing import Any, TypeVar

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import measure
from bench.bench_torch import trace_of
from bench.warp import warped

ROOT = Path(__file__).resolve().parents[1]
Result = TypeVar("Result")


def inside(path: Path) -> dict[str, Any]:
    """One round, measured in this process: seconds of each part, peak memory after it, and sizes."""
    from rocm_perf.analysis.overview import examine
    from rocm_perf.analysis.timeline.build import timeline
    from rocm_perf.ingest.load import load
    from rocm_perf.render.page.payload import payload

    parts: dict[str, tuple[float, ...]] = {}

    def timed(name: str, compute: Callable[[], Result]) -> Result:
        began = time.perf_counter(), time.process_time()
        result = compute()
        ended = time.perf_counter(), time.process_time()
        parts[name] = (ended[0] - began[0], ended[1] - began[1], getrusage(RUSAGE_SELF).ru_maxrss * 1024)
        return result

    trace = warped(timed("load", lambda: load(path)))
    document = timed("analyse", lambda: examine(trace, path.name))
    shown = timed("timeline", lambda: timeline(trace, document))
    text = timed("payload", lambda: payload(document, shown))
    assert shown is not None
    return {
        "parts": parts,
        "bytes": len(text),
        "slices": shown.slices.height,
        "flows": shown.flows.height,
        "thinned": shown.thinned,
    }


def _round(trace: Path) -> dict[str, Any]:
    command = [sys.executable, __file__, "--inside", str(trace)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return dict(json.loads(done.stdout))


def table(rounds: list[dict[str, Any]]) -> str:
    """The medians as Markdown, each part beside the analysis."""
    lines = ["| part | wall | processor | of the analysis' | peak memory |", "|---|---|---|---|---|"]
    analysis = _median(rounds, "analyse", 1)
    for part in rounds[0]["parts"]:
        wall, cpu, peak = (_median(rounds, part, place) for place in range(3))
        lines.append(f"| {part} | {wall:.2f} s | {cpu:.2f} s | {cpu / analysis:.0%} | {peak / 1e6:,.0f} MB |")
    return "\n".join(lines)


def _median(rounds: list[dict[str, Any]], part: str, place: int) -> float:
    return float(statistics.median(each["parts"][part][place] for each in rounds))


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--events", type=int, default=1_000_000, help="about how many (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="processes (default %(default)s)")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    """Runs the bench."""
    chosen = options()
    if chosen.inside:
        print(json.dumps(inside(chosen.inside)))
        return 0
    trace = trace_of(chosen.events)
    rounds = [_round(trace) for _ in range(chosen.rounds)]
    last, host = rounds[-1], measure.machine()
    size = f"{last['bytes'] / 1e6:.2f} MB of text, {last['bytes'] / last['slices']:.1f} bytes per slice"
    print(table(rounds), "", f"{last['slices']:,} slices and {last['flows']:,} flows: {size}.", sep="\n")
    print(last["thinned"] or "Nothing was merged.")
    print(f"{trace.name}; {host['cpu']}, {host['cores']} cores; Python {host['python']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
