"""Measures every pair on a machine with an NVIDIA GPU: both variants without a profiler, by turns, and two recordings
of the first. Every result is in OUT at once. Takes about six minutes.

python tests/gpu/pairs/measure.py OUT [NAME ...], with rocm_perf and its dependencies importable
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.gpu.pairs.catalogue import PAIRS, pair_named
from tests.gpu.pairs.device import Cuda
from tests.gpu.pairs.loop import LOOP, started, us_per_step
from tests.gpu.pairs.pair import Device, Pair, Program
from tests.gpu.pairs.results import APART, TRUTH, Row, append

from rocm_perf.model.collection import FILE_NAME

ROOT = Path(__file__).resolve().parents[3]
REPEATS = 7
PROCESSES = 3  # of each variant, where the host matters: it is fast in one process and slow in the next
LARGEST_BYTES = 200_000  # of a recording that is kept in the repository
_TIMEOUT_S = 90

Launch = Callable[[Sequence[str]], str]  # a command -> what it printed


@dataclass(frozen=True)
class Recorder:
    """A profiler, its options, how the names of its files end, and the steps that it records of a pair."""

    name: str
    options: tuple[str, ...]
    suffix: str
    steps: Callable[[Pair], int]


RECORDERS = (
    Recorder("cupti", ("--preset", "runtime"), ".rptrace", lambda pair: pair.steps),
    Recorder("torch", ("--range", LOOP), ".pt.trace.json", lambda pair: pair.torch_steps),
)


def measure(pair: Pair, device: Device, out: Path, launch: Launch) -> None:
    """Every part of a pair, each on disk before the next; a part that fails leaves its error there."""
    parts = {TRUTH: partial(truth, pair, device)}
    if pair.host_matters:
        parts[APART] = partial(apart, pair, launch)
    parts |= {recorder.name: partial(record, pair, recorder, out, launch) for recorder in RECORDERS}
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
    before, after = (started(pair, changed, device) for changed in (False, True))
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
            printed = launch([sys.executable, *program(pair, pair.steps), *variant])
            samples.append(_own_answer(printed)["us_per_step"])
    return {"steps": pair.steps, "medians_us": list(map(statistics.median, walls.values())), **walls}


def program(pair: Pair, steps: int) -> list[str]:
    """The arguments of Python that run one variant."""
    return ["-m", "tests.gpu.pairs.run", pair.name, str(steps)]


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


def record(pair: Pair, recorder: Recorder, out: Path, launch: Launch) -> Row:
    """One recording of the pair's first variant, kept compressed; with its own wall time while it was recorded."""
    with TemporaryDirectory() as folder:
        printed = launch(command(pair, recorder, Path(folder)))
        files = sorted(Path(folder).rglob(f"*{recorder.suffix}"))
        if len(files) != 1:
            raise ValueError(f"{recorder.name} left {len(files)} files *{recorder.suffix}, not one")
        content = gzip.compress(_without_its_path(files[0].read_bytes()), mtime=0)
        cost_ns = _launch_cost_ns(Path(folder))
    name = recording_name(pair, recorder)
    (out / name).write_bytes(content)
    row: Row = {"file": name, "bytes": len(content), "steps": recorder.steps(pair), **_own_answer(printed)}
    row["launch_cost_ns"] = cost_ns
    return row | ({"too_large": True} if len(content) > LARGEST_BYTES else {})


def _launch_cost_ns(folder: Path) -> float | None:
    """What the profiler adds to a launch, as the record of the run says."""
    records = (json.loads(file.read_text()) for file in folder.rglob(FILE_NAME))
    return next((record["launch_cost_ns"] for record in records), None)


def _without_its_path(recording: bytes) -> bytes:
    """The recording, which is kept, without the folder that torch says it was written to."""
    return re.sub(rb'"traceName":\s*"[^"]*"', b'"traceName": ""', recording)


def command(pair: Pair, recorder: Recorder, folder: Path) -> list[str]:
    """What records the pair's first variant below the folder."""
    ours = [sys.executable, "-m", "rocm_perf.cli.main", "profile", "--no-analyze", "-d", str(folder)]
    app = ["python", *program(pair, recorder.steps(pair))]
    return [*ours, "--profiler", recorder.name, *recorder.options, "--", *app]


def recording_name(pair: Pair, recorder: Recorder) -> str:
    return f"{pair.name}{recorder.suffix}.gz"


def _own_answer(printed: str) -> Row:
    """The JSON line that the program printed."""
    line = next((line for line in printed.splitlines() if line.startswith("{")), None)
    if line is None:
        raise ValueError(f"the program printed no result: {printed[-500:]!r}")
    answer: Row = json.loads(line)
    return answer


def launched(words: Sequence[str]) -> str:
    """What the command prints; raises ValueError with the end of its messages if it fails."""
    done = subprocess.run(
        list(words), cwd=ROOT, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
    )
    if done.returncode:
        raise ValueError(f"exit code {done.returncode}: {done.stderr[-1000:]}")
    return done.stdout


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
