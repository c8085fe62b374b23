"""Load and analyse inference traces of 230,000 events with the traces of their graph capture: the floor of both files,
and rocm-perf with and without the capture, interleaved, each in a process of its own; and of another checkout beside
it, where one is named.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import make_trace, measure

BENCH = Path(__file__).resolve().parent
SHARED = make_trace.SPECIMENS.parent
FLOOR = "floor (both files)"


class Pair(NamedTuple):
    """A recorded execution, and the recording of its capture."""

    name: str
    execution: Path
    capture: Path


PAIRS = (
    Pair(
        "vllm-piecewise",  # Python frames around a few graphs for each layer
        SHARED / "frameworks" / "AMD-AGI_TraceLens__vllm_piecewise_execution.json.gz",
        SHARED / "frameworks" / "AMD-AGI_TraceLens__vllm_piecewise_capture_rank0.json.gz",
    ),
    Pair(
        "sglang-decode",  # next to nothing but kernels of one large graph
        make_trace.SPECIMENS / "torch_trace" / "AMD-AGI_TraceLens__sglang_Qwen3-8B_decode.json.gz",
        SHARED / "frameworks" / "AMD-AGI_TraceLens__sglang_Qwen3-8B_decode_capture_bs32_rank0.json.gz",
    ),
)


def trace_of(pair: Pair, events: int) -> Path:
    """The recorded step repeated in time, made on first use in a child: this process has to stay small."""
    trace = BENCH / "data" / f"{pair.name}-{events}.json.gz"
    if not trace.is_file():
        making = [sys.executable, str(BENCH / "make_trace.py"), str(pair.execution)]
        subprocess.run([*making, "-o", str(trace), "--events", str(events)], check=True)
    return trace


def main() -> int:
    """Runs the bench; exit code 1 when something failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--events", type=int, default=230_000, help="about how many (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each (default %(default)s)")
    parser.add_argument("--beside", type=Path, metavar="CHECKOUT", help="another version to measure by turns")
    chosen = parser.parse_args()
    pairs = [pair for pair in PAIRS if pair.execution.is_file() and pair.capture.is_file()]
    if not pairs:
        print("the recorded specimens are not on this machine (set ROCM_PERF_SPECIMENS to their folder)")
    return max((_measured(pair, chosen.events, chosen.rounds, chosen.beside) for pair in pairs), default=0)


def _measured(pair: Pair, events: int, rounds: int, beside: Path | None) -> int:
    """Print what one pair takes; 1 when something failed."""
    trace, capture = trace_of(pair, events), str(pair.capture)
    floor = measure.Case(FLOOR, [sys.executable, str(BENCH / "floor.py"), str(trace), capture])
    ours = [
        measure.analyze("rocm-perf --capture", trace, "--capture", capture, "--fresh"),
        measure.analyze("rocm-perf", trace, "--fresh"),
    ]
    others = [_of_checkout(case, beside) for case in ours] if beside else []
    results = measure.interleaved([floor, *others, *ours], rounds)
    print(f"{trace.name}, {trace.stat().st_size / 1e6:.1f} MB", measure.markdown(results, FLOOR), sep="\n\n")
    return int(any(result.failed for result in results))


def _of_checkout(case: measure.Case, checkout: Path) -> measure.Case:
    """The same command of another checkout."""
    sources = str(checkout.resolve() / "src")
    return replace(case, name=f"{case.name}, beside", env={**case.env, "PYTHONPATH": sources})


if __name__ == "__main__":
    sys.exit(main())
