"""Runs the toy server under our recorders on a machine with an NVIDIA GPU, and checks the table of its steps against
what it counted and timed itself. Writes OUT_DIR/serving.json with all numbers; exit code 1 if a check fails.

    python tests/gpu/serving/check.py OUT_DIR
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from rocm_perf.analysis.overview import examine
from rocm_perf.analysis.serving.part import of_kind
from rocm_perf.ingest.load import load
from rocm_perf.model.document import Document
from rocm_perf.model.results.serving import StepTotals

SERVER = Path(__file__).parents[3] / "examples" / "serving" / "serve.py"
ROCM_PERF = (sys.executable, "-m", "rocm_perf.cli.main")
BATCHES, NEW = (8, 4, 8, 4), 64
LEAST_S = 0.0005  # shorter times differ by what a range itself takes
NEAR = 0.03  # of a step's time, which the program measures around the range and we measure inside it
ALL_NEAR = 0.05  # of the time of all steps: the host's own work between them is outside of ours


class Case(NamedTuple):
    """One way to record one way to serve."""

    name: str
    profiler: str
    options: tuple[str, ...]


CASES = (
    Case("eager, waits, engine process, torch", "torch", ("--engine-process",)),
    Case("eager, waits, CUPTI", "cupti", ()),
    Case("graphs, runs ahead, CUPTI", "cupti", ("--graphs", "--run-ahead")),
)


class Checks:
    """What was compared, and whether it agrees."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def equal(self, what: str, ours: object, theirs: object) -> None:
        self.rows.append({"check": what, "ours": ours, "program": theirs, "ok": ours == theirs})

    def near(self, what: str, ours: float, theirs: float, tolerance: float) -> None:
        off = abs(ours - theirs) / theirs if theirs else abs(ours)
        row = {"check": what, "ours": ours, "program": theirs, "off": off, "tolerance": tolerance}
        self.rows.append({**row, "ok": off <= tolerance})


def recorded(case: Case, folder: Path) -> dict[str, Any]:
    """What the server says of itself, after it was recorded into the folder."""
    server = [sys.executable, str(SERVER), "--new", str(NEW), "--batches", *map(str, BATCHES), *case.options]
    command = [*ROCM_PERF, "profile", "--profiler", case.profiler, "-d", str(folder), "--", *server]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=os.environ)
    assert done.returncode == 0, f"{case.name}: exit {done.returncode}: {done.stderr[-1500:]}"
    answer: dict[str, Any] = json.loads(
        next(line for line in done.stdout.splitlines() if line.startswith("{"))
    )
    return answer


def rows_of(document: Document, kind: str) -> dict[str, StepTotals]:
    """The rows of a kind by its batch size, as the server names them."""
    rows = [row for row in document.serving.rows if row.kind == kind]
    sized = {f"{kind} {row.batch}": row for row in rows if row.batch is not None}
    return sized or {f"{kind} {rows[0].requests:.0f}": rows[0]}


def compare(case: Case, truth: dict[str, Any], document: Document, checks: Checks) -> None:
    """Counts and tokens exactly, times as nearly as both can know them."""
    for kind in ("prefill", "decode"):
        whole = next(row for row in document.serving.kinds if row.kind == kind)
        times = [spent for name, spent in truth["times_s"].items() if name.startswith(kind)]
        tokens = [count for name, count in truth["tokens"].items() if name.startswith(kind)]
        steps = len(BATCHES) * (NEW if kind == "decode" else 1)
        checks.equal(f"{case.name}: {kind} steps", whole.steps, steps)
        checks.equal(f"{case.name}: {kind} tokens", whole.tokens, sum(tokens))
        if times:
            checks.near(f"{case.name}: {kind} time", whole.total_ns / 1e9, sum(map(sum, times)), ALL_NEAR)
    for name, row in rows_of(document, "decode").items():
        spent = truth["times_s"].get(name)
        checks.equal(f"{case.name}: {name} tokens", row.tokens, truth["tokens"][name])
        if spent and statistics.median(spent) > LEAST_S:
            checks.near(f"{case.name}: {name} median", row.median_ns / 1e9, statistics.median(spent), NEAR)
    checks.near(f"{case.name}: all the time", document.serving.wall_ns / 1e9, truth["seconds"], ALL_NEAR)


def workers(case: Case, document: Document, checks: Checks) -> None:
    """The engine process used the GPU, and its steps are the table."""
    judged = [worker for worker in document.serving.workers if worker.judged]
    checks.equal(f"{case.name}: judged processes", len(judged), 1)
    checks.equal(f"{case.name}: its steps", judged[0].steps, len(BATCHES) * (NEW + 1))
    checks.equal(f"{case.name}: it used a GPU", len(judged[0].agents), 1)


def parts(case: Case, folder: Path, document: Document, checks: Checks) -> None:
    """The recording cut to the decode steps holds them all, and nothing else."""
    whole = next(row for row in document.serving.kinds if row.kind == "decode")
    part = examine(of_kind(load(folder), "decode"), case.name)
    decode = part.serving.kinds[0]
    checks.equal(
        f"{case.name}: kinds in --step-kind decode", [row.kind for row in part.serving.kinds], ["decode"]
    )
    checks.equal(f"{case.name}: steps in --step-kind decode", decode.steps, whole.steps)
    checks.near(f"{case.name}: time in --step-kind decode", decode.total_ns, whole.total_ns, 0.02)


def main() -> int:
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    answer: dict[str, Any] = {}
    checks = Checks()
    for case in CASES:
        begun = time.monotonic()
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) / "run"
            try:
                truth = recorded(case, folder)
                document = examine(load(folder), case.name)
                compare(case, truth, document, checks)
                workers(case, document, checks)
                parts(case, folder, document, checks)
                answer[case.name] = {"program": truth, "ours": _table(document)}
            except (AssertionError, OSError, LookupError, StopIteration, subprocess.SubprocessError) as error:
                checks.rows.append(
                    {"check": case.name, "ok": False, "error": f"{type(error).__name__}: {error}"[:2000]}
                )
        answer.setdefault(case.name, {})["seconds"] = round(time.monotonic() - begun, 1)
        failed = [row for row in checks.rows if not row["ok"]]
        (out / "serving.json").write_text(
            json.dumps(
                {"passed": not failed, "failed": failed, "checks": checks.rows, "cases": answer}, indent=1
            )
        )
        print(f"{case.name}: {answer[case.name]['seconds']} s", file=sys.stderr)
    for row in failed:
        print(json.dumps(row))
    print(f"{len(checks.rows) - len(failed)} of {len(checks.rows)} checks passed")
    return 1 if failed else 0


def _table(document: Document) -> list[dict[str, Any]]:
    return [
        {
            "kind": row.kind,
            "batch": row.batch,
            "steps": row.steps,
            "tokens": row.tokens,
            "median_ms": row.median_ns / 1e6,
            "p10_ms": row.p10_ns / 1e6,
            "p90_ms": row.p90_ns / 1e6,
            "busy": row.busy.value,
            "tokens_per_s": row.tokens_per_s.value,
            "ns_per_token": row.ns_per_token.value,
            "families": [[one.family, round(one.share, 3)] for one in row.families[:4]],
            "held_back_by": row.held_back_by,
            "because": row.because,
        }
        for row in document.serving.rows
    ]


if __name__ == "__main__":
    raise SystemExit(main())
