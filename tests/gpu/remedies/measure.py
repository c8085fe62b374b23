"""Measure every variant of every program on a machine with an NVIDIA GPU, and record the first one of each.

python tests/gpu/remedies/measure.py OUT [--rounds N] [--only NAME ...] [--recorders cupti torch] [--seconds S]

A round starts each variant in a process of its own, without a profiler. Processes import their libraries side by side,
and use the GPU one at a time. Every result is in OUT/results.jsonl at once; recordings are in OUT/recordings. What does
not begin within the time is left out. Needs rocm_perf with its dependencies importable.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from tests.gpu.remedies.catalogue import PROGRAMS, Program, program_named  # noqa: E402

AT_ONCE = 3  # one uses the GPU, the others import
JOB_S = 200
LIBRARIES = [
    "torch",
    "transformers",
    "torchvision",
    "torch-geometric",
    "gpytorch",
    "pytorch-lightning",
    "torchdiffeq",
    "cupy-cuda13x",
    "jax",
    "numpyro",
    "flax",
    "triton",
    "nvidia-nccl-cu13",
]
PROFILE = (sys.executable, "-m", "rocm_perf.cli.main", "profile", "--no-analyze")
_writing = threading.Lock()


@dataclass(frozen=True)
class Job:
    """One process, or one recording, of a program."""

    program: Program
    part: str  # "round N", "cupti", "torch"
    variant: str = "base"

    def command(self, out: Path) -> list[str]:
        options = ["--variant", self.variant, "--gate", str(out / "gate")]
        kept = out / "recordings"
        if self.part == "torch":
            trace = str(kept / f"{self.program.name}.pt.trace.json.gz")
            return self.program.command(
                *options, "--steps", str(self.program.torch_steps), "--torch-trace", trace
            )
        if self.part == "cupti":
            depth = () if self.program.counters else ("--no-deep",)
            app = self.program.command(*options, "--steps", str(self.program.steps))
            return [*PROFILE, *depth, "-d", str(kept / f"{self.program.name}.cupti"), "--", *app]
        return self.program.command(*options)


def jobs(programs: list[Program], rounds: range, recorders: list[str]) -> list[Job]:
    """Return what to do: all variants of one program after another, round by round; then the recordings."""
    todo = [
        Job(program, f"round {number}", variant)
        for number in rounds
        for program in programs
        for variant in program.variants
    ]
    todo += [Job(program, "cupti") for program in programs if "cupti" in recorders]
    todo += [Job(program, "torch") for program in programs if "torch" in recorders and program.torch_steps]
    return todo


def done(job: Job, out: Path, until: float) -> None:
    """Run a job, and write down what it printed or why it failed."""
    row: dict[str, object] = {"program": job.program.name, "part": job.part, "variant": job.variant}
    begun = time.monotonic()
    if begun > until:
        note(out, row | {"error": "no time left"})
        return
    environment = {
        **os.environ,
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        "TOKENIZERS_PARALLELISM": "false",
        "OMP_NUM_THREADS": "8",
        **(job.program.torch_environment if job.part == "torch" else {}),
    }
    process = subprocess.Popen(
        job.command(out), cwd=ROOT, env=environment, text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        printed, messages = process.communicate(timeout=JOB_S)
        answer = next((line for line in printed.splitlines() if line.startswith("{")), None)
        if process.returncode or answer is None:
            row |= {"error": f"exit code {process.returncode}: {(printed[-300:] + messages)[-1500:]}"}
        else:
            row |= json.loads(answer)
        if job.part == "cupti":
            row["messages"] = messages[-1500:]
    except subprocess.TimeoutExpired:
        row["error"] = "took too long"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    note(out, row | {"began_s": round(begun - STARTED, 1), "process_s": round(time.monotonic() - begun, 1)})


def note(out: Path, row: dict[str, object]) -> None:
    with _writing, (out / "results.jsonl").open("a") as file:
        file.write(json.dumps(row) + "\n")
    short = {
        key: value
        for key, value in row.items()
        if key not in ("all_steps_per_s", "messages", "part", "steps")
    }
    print(row["part"], json.dumps(short)[:420], flush=True)


def versions() -> dict[str, str]:
    found = {}
    for library in LIBRARIES:
        try:
            found[library] = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:
            found[library] = "not installed"
    return found


STARTED = time.monotonic()


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Measure programs with and without remedies; see the head of this file."
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--first-round", type=int, default=1)
    parser.add_argument("--only", nargs="*", type=program_named, default=PROGRAMS)
    parser.add_argument("--recorders", nargs="*", choices=("cupti", "torch"), default=["cupti", "torch"])
    parser.add_argument("--seconds", type=float, default=1e6)
    args = parser.parse_args()
    (args.out / "recordings").mkdir(parents=True, exist_ok=True)
    note(
        args.out,
        {"part": "machine", "date": date.today().isoformat(), "python": sys.version.split()[0], **versions()},
    )
    if (
        "cupti" in args.recorders
    ):  # builds the tracer, and measures what it adds to a launch, while nothing else runs
        probe = [
            *PROFILE,
            "--no-deep",
            "-d",
            "/tmp/probe",
            "--",
            sys.executable,
            "-c",
            "import torch; torch.ones(9).cuda()",
        ]
        built = subprocess.run(probe, capture_output=True, text=True, timeout=JOB_S, check=False)
        note(args.out, {"part": "probe", "exit": built.returncode, "messages": built.stderr[-1500:]})
    rounds = range(args.first_round, args.first_round + args.rounds)
    todo = jobs(list(args.only), rounds, args.recorders)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for job in todo:
            pool.submit(done, job, args.out, STARTED + args.seconds)


if __name__ == "__main__":
    main()
