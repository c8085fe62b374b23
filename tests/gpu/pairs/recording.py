"""Recording a program that loops, by each profiler, and keeping what it left."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from tests.gpu.pairs.loop import LOOP
from tests.gpu.pairs.results import Row

from rocm_perf.model.collection import FILE_NAME

ROOT = Path(__file__).resolve().parents[3]
LARGEST_BYTES = 200_000  # of a recording that is kept in the repository
_TIMEOUT_S = 90

Launch = Callable[[Sequence[str]], str]  # a command -> what it printed


class Looped(Protocol):
    """What is recorded: a pair, or a program with a verdict."""

    @property
    def name(self) -> str: ...

    @property
    def steps(self) -> int: ...

    @property
    def torch_steps(self) -> int: ...

    def command(self, steps: int) -> list[str]:
        """What runs so many steps of it."""


@dataclass(frozen=True)
class Recorder:
    """A profiler, its options, how the names of its files end, and the steps that it records."""

    name: str
    options: tuple[str, ...]
    suffix: str
    steps: Callable[[Looped], int]


RECORDERS = (
    Recorder("cupti", ("--preset", "runtime"), ".rptrace", lambda one: one.steps),
    Recorder("torch", ("--range", LOOP), ".pt.trace.json", lambda one: one.torch_steps),
)


@dataclass(frozen=True)
class Recording:
    """What a recorder left, compressed, and what the program said of itself while it was recorded."""

    content: bytes
    us_per_step: float
    launch_cost_ns: float | None


def record(looped: Looped, recorder: Recorder, out: Path, launch: Launch, runs: int = 1) -> Row:
    """Keep the recording whose program was neither the fastest nor the slowest of so many runs."""
    made = sorted(
        (_recording(looped, recorder, launch) for _ in range(runs)), key=lambda one: one.us_per_step
    )
    kept, name = made[len(made) // 2], recording_name(looped, recorder)
    (out / name).write_bytes(kept.content)
    row: Row = {
        "file": name,
        "bytes": len(kept.content),
        "steps": recorder.steps(looped),
        "us_per_step": kept.us_per_step,
        "launch_cost_ns": kept.launch_cost_ns,
    }
    if runs > 1:
        row["all_us_per_step"] = [one.us_per_step for one in made]
    return row | ({"too_large": True} if len(kept.content) > LARGEST_BYTES else {})


def _recording(looped: Looped, recorder: Recorder, launch: Launch) -> Recording:
    with TemporaryDirectory() as folder:
        printed = launch(command(looped, recorder, Path(folder)))
        files = sorted(Path(folder).rglob(f"*{recorder.suffix}"))
        if len(files) != 1:
            raise ValueError(f"{recorder.name} left {len(files)} files *{recorder.suffix}, not one")
        content = gzip.compress(_without_its_path(files[0].read_bytes()), mtime=0)
        return Recording(content, own_answer(printed)["us_per_step"], _launch_cost_ns(Path(folder)))


def _launch_cost_ns(folder: Path) -> float | None:
    """What the profiler adds to a launch, as the record of the run says."""
    records = (json.loads(file.read_text()) for file in folder.rglob(FILE_NAME))
    return next((record["launch_cost_ns"] for record in records), None)


def _without_its_path(recording: bytes) -> bytes:
    """The recording, which is kept, without the folder that torch says it was written to."""
    return re.sub(rb'"traceName":\s*"[^"]*"', b'"traceName": ""', recording)


def command(looped: Looped, recorder: Recorder, folder: Path) -> list[str]:
    """What records the program below the folder."""
    ours = [sys.executable, "-m", "rocm_perf.cli.main", "profile", "--no-analyze", "-d", str(folder)]
    app = looped.command(recorder.steps(looped))
    return [*ours, "--profiler", recorder.name, *recorder.options, "--", *app]


def recording_name(looped: Looped, recorder: Recorder) -> str:
    return f"{looped.name}{recorder.suffix}.gz"


def own_answer(printed: str) -> Row:
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
