"""Records a training loop in JAX on an NVIDIA GPU by `--profiler jax` and by CUPTI, with and without XLA's command
buffers, and holds what is read against the program's own words, an independent reader of the file, and the other
recorder. OUT gets jax.json and the recordings; exit code 1 if a check fails.

    python tests/gpu/jax/check.py OUT
"""

from __future__ import annotations

import gzip
import json
import os
import statistics
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
from tests.xplane import read_events

from rocm_perf.analysis.overview import examine
from rocm_perf.ingest.load import load
from rocm_perf.model.trace import Trace

PROGRAM = Path(__file__).parent / "program.py"
ROCM_PERF = (sys.executable, "-m", "rocm_perf.cli.main")
CASES = {"graphs": "", "launches": "--xla_gpu_enable_command_buffer="}  # XLA's flags
NEAR = 0.05


class Checks:
    """What was compared, and whether it agrees."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def equal(self, what: str, ours: object, theirs: object) -> None:
        self.rows.append({"check": what, "ours": ours, "theirs": theirs, "ok": ours == theirs})

    def near(self, what: str, ours: float, theirs: float) -> None:
        off = abs(ours / theirs - 1) if theirs else 1.0
        self.rows.append({"check": what, "ours": ours, "theirs": theirs, "off": off, "ok": off <= NEAR})


def recorded(profiler: str, flags: str, folder: Path) -> dict[str, Any]:
    """What the program says of itself, after it was recorded into the folder."""
    command = [
        *ROCM_PERF,
        "profile",
        "--profiler",
        profiler,
        "-d",
        str(folder),
        "--",
        sys.executable,
        str(PROGRAM),
    ]
    environment = {**os.environ, "XLA_FLAGS": flags, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=150, check=False, env=environment)
    print(done.stdout[-3000:], done.stderr[-3000:], flush=True)
    assert done.returncode == 0, f"{profiler}: exit {done.returncode}"
    said: dict[str, Any] = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
    return said


def file_of(folder: Path) -> Path:
    (file,) = folder.rglob("*.xplane.pb")
    return file


def kernels_in_steps(trace: Trace) -> pl.DataFrame:
    """Name, length and operator of every kernel that ran within a marked step."""
    steps = trace.table("ranges").filter(pl.col("name").str.starts_with("train "))
    kernels = trace.table("dispatches")
    inside = [
        kernels.filter(pl.col("start_ns").is_between(step["start_ns"], step["end_ns"]))
        for step in steps.iter_rows(named=True)
    ]
    return pl.concat(inside) if inside else kernels.clear()


def against_the_file(name: str, folder: Path, trace: Trace, checks: Checks) -> None:
    """Every kernel of the file is there once."""
    events = [e for e in read_events(file_of(folder).read_bytes()) if e.plane.startswith("/device:GPU")]
    work = trace.rows("dispatches") + trace.rows("copies")
    on_streams = [e for e in events if e.line.startswith("Stream")]
    checks.equal(f"{name}: work on streams", work, len(on_streams))
    spent = sum(
        trace.table(table).select((pl.col("end_ns") - pl.col("start_ns")).sum()).item()
        for table in ("dispatches", "copies") if trace.rows(table)
    )  # fmt: skip
    checks.near(f"{name}: their time", spent, sum(e.length_ps for e in on_streams) / 1000)


def against_the_program(name: str, trace: Trace, said: dict[str, Any], checks: Checks) -> None:
    """Steps, their time, their products."""
    document = examine(trace, name)
    checks.equal(f"{name}: steps found", len(document.steps.steps), said["steps"])
    checks.equal(f"{name}: most of them judged", said["steps"] - 2 <= document.phases.steps, True)
    steps = trace.table("ranges").filter(pl.col("name").str.starts_with("train "))
    lengths = steps.select((pl.col("end_ns") - pl.col("start_ns")).median()).item() / 1e9
    checks.near(f"{name}: median step", lengths, statistics.median(said["times_s"]))
    facts = trace.table("ops").filter(pl.col("inputs").str.contains('"flops"'))["inputs"]
    product = said["flops_a_step"] / 3
    flops = [count for text in facts if (count := json.loads(text)["flops"]) >= product]
    checks.near(f"{name}: FLOPs of all products", sum(flops), (said["steps"] + 1) * said["flops_a_step"])
    inside = kernels_in_steps(trace)
    spent = pl.col("end_ns") - pl.col("start_ns")
    owned = inside.filter(pl.col("op_id").is_not_null()).select(spent.sum()).item()
    checks.equal(
        f"{name}: all time in steps is owned by an operation", owned, inside.select(spent.sum()).item()
    )
    checks.equal(f"{name}: paired with a launch", document.coverage.paired, document.coverage.dispatched)


def against_cupti(name: str, ours: Trace, theirs: Trace, checks: Checks) -> None:
    """The kernels of the steps, and how long they take. XLA tries some of them before, as often in both programs."""
    kernels = set(kernels_in_steps(ours)["kernel"])
    counts = [
        Counter(kernel for kernel in trace.table("dispatches")["kernel"] if kernel in kernels)
        for trace in (ours, theirs)
    ]
    checks.equal(f"{name}: kernels of the steps, beside CUPTI", *counts)
    for kernel in sorted(kernels):
        means = [
            trace.table("dispatches").filter(pl.col("kernel") == kernel)
            .select((pl.col("end_ns") - pl.col("start_ns")).median()).item()
            for trace in (ours, theirs)
        ]  # fmt: skip
        checks.near(f"{name}: {kernel[:60]}, beside CUPTI", *means)


def main() -> int:
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    checks, said = Checks(), {}
    for name, flags in CASES.items():
        try:
            folder = out / "runs" / name
            said[name] = recorded("jax", flags, folder / "jax")
            (out / f"jax_{name}.xplane.pb.gz").write_bytes(
                gzip.compress(file_of(folder / "jax").read_bytes(), 9)
            )
            trace = load(folder / "jax")
            against_the_file(name, folder / "jax", trace, checks)
            against_the_program(name, trace, said[name], checks)
            recorded("cupti", flags, folder / "cupti")
            against_cupti(name, trace, load(folder / "cupti"), checks)
        except (
            AssertionError,
            OSError,
            LookupError,
            ValueError,
            StopIteration,
            subprocess.SubprocessError,
        ) as error:
            checks.rows.append(
                {"check": name, "ok": False, "error": f"{type(error).__name__}: {error}"[:2000]}
            )
        (out / "jax.json").write_text(json.dumps({"program": said, "checks": checks.rows}, indent=1) + "\n")
    for row in checks.rows:
        print("ok  " if row["ok"] else "FAIL", json.dumps(row)[:600], flush=True)
    return int(not all(row["ok"] for row in checks.rows))


if __name__ == "__main__":
    sys.exit(main())
