"""Measures every pair on a machine with an NVIDIA GPU: both variants without a profiler, by turns, and two recordings
of the first. Every result is in OUT at once. Takes about six minutes.

python tests/gpu/pairs/measure.py OUT [NAME ...], with rocm_perf and its dependencies importable
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from datetime import date
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.gpu.pairs.catalogue import PAIRS, pair_named
from tests.gpu.pairs.device import Cuda
from tests.gpu.pairs.loop import started, us_per_step
from tests.gpu.pairs.pair import Device, Pair, Program
from tests.gpu.pairs.recording import RECORDERS, Launch, launched, own_answer, record
from tests.gpu.pairs.results import APART, TRUTH, Row, append

REPEATS = 7
PROCESSES = 3  # of each variant, and of each recording, where the host matters: it is fast in one and slow in the next


def measure(pair: Pair, device: Device, out: Path, launch: Launch) -> None:
    """Every part of a pair, each on disk before the next; a part that fails leaves its error there."""
    parts = {TRUTH: partial(truth, pair, device)}
    if pair.host_matters:
        parts[APART] = partial(apart, pair, launch)
    runs = PROCESSES if pair.host_matters else 1
    parts |= {recorder.name: partial(record, pair, recorder, out, launch, runs) for recorder in RECORDERS}
    for part, run in parts.items():
        begun = time.monotonic()
        try:
            row = run()
        except (RuntimeError, ValueError, OSError, subprocess.SubprocessError) as error:
            row = {"error": f"{type(error).__name__}: {error}"[-1500:]}
        row = {"pair": pair.name, "part": part, **row, "took_s": round(time.monotonic() - begun, 1)}
        append(out / "pairs.jsonl", row)
        print(json.dumps(row), flush=True)


def truth(pair: Pair, device: Device) -> Row:
    """Microseconds per step of both variants without a profiler, by turns, and whether they compute the same."""
    before, after = (started(partial(pair.make, changed), device) for changed in (False, True))
    walls: dict[str, list[float]] = {"before_us": [], "after_us": []}
    for _ in range(REPEATS):
        for variant, samples in zip((before, after), walls.values(), strict=True):
            samples.append(us_per_step(variant, pair.steps, device))
    row: Row = {
        "steps": pair.steps,
        "medians_us": [statistics.median(samples) for samples in walls.values()],
        "same": _same(before, after, device),
        "factor": _factor(before, after, device),
        **walls,
    }
    del before, after
    device.release()
    return row


def apart(pair: Pair, launch: Launch) -> Row:
    """Microseconds per step of both variants in processes of their own, by turns, without a profiler."""
    walls: dict[str, list[float]] = {"before_us": [], "after_us": []}
    for _ in range(PROCESSES):
        for variant, samples in zip(((), ("--after",)), walls.values(), strict=True):
            printed = launch([sys.executable, *pair.program(pair.steps), *variant])
            samples.append(own_answer(printed)["us_per_step"])
    return {"steps": pair.steps, "medians_us": list(map(statistics.median, walls.values())), **walls}


def _same(before: Program, after: Program, device: Device) -> bool | None:
    """None where the variants are not meant to compute the same."""
    if before.result is None or after.result is None:
        return None
    return device.same(before.result(), after.result())


def _factor(before: Program, after: Program, device: Device) -> float | None:
    """How many times faster the changed kernels are, alone; None where the change is not one of kernels."""
    if before.kernels is None or after.kernels is None:
        return None
    return device.alone_us(before.kernels) / device.alone_us(after.kernels)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure pairs of GPU programs; see the head of this file.")
    parser.add_argument("out", type=Path)
    parser.add_argument(
        "pairs", nargs="*", type=pair_named, metavar="NAME", help="all of them if none is named"
    )
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    device = Cuda()
    append(
        args.out / "pairs.jsonl",
        {"pair": "", "part": "machine", "date": date.today().isoformat(), **device.facts()},
    )
    for pair in args.pairs or PAIRS:
        measure(pair, device, args.out, launched)


if __name__ == "__main__":
    main()
