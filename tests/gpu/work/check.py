"""Checks FLOPs and bytes of operators on a machine with an NVIDIA GPU: `python tests/gpu/work/check.py OUT_DIR`.

Records the calls of cases.py with torch.profiler, works out their FLOPs and bytes as rocm-perf does, and compares them
with the arithmetic of each case, exactly; then has ncu count the bytes of the streaming ones, which must agree within
5 %. Writes work.json with every number; exit code 1 if a check fails. rocm_perf must be importable.
"""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from cases import CAPTURED_FLOPS, GROUPS, Case  # noqa: E402  (the folder is not a package)

from rocm_perf.analysis.operators.kernels import CALL, recorded_calls  # noqa: E402
from rocm_perf.analysis.operators.tree import operator_tree  # noqa: E402
from rocm_perf.analysis.operators.work import operator_work  # noqa: E402
from rocm_perf.ingest.load import load  # noqa: E402
from rocm_perf.model.trace import Trace  # noqa: E402

TOLERANCE = 0.05
METRICS = "dram__bytes_read.sum,dram__bytes_write.sum"


def works(trace: Trace, label: str, *, owners_only: bool = True) -> list[dict[str, Any]]:
    """What rocm-perf says of the operators of one case that launched kernels."""
    inside = trace.table("ranges").filter(
        pl.col("name") == f"case: {label}", ~pl.col("on_gpu").fill_null(False)
    )
    start, end = inside["start_ns"].min(), inside["end_ns"].max()
    operators = recorded_calls(trace, operator_tree(trace)).filter(pl.col("start_ns").is_between(start, end))
    if owners_only:
        operators = operators.filter(pl.col("dispatches") > 0)
    rows = []
    for row in operators.select(CALL).iter_rows():
        work = operator_work(*row)
        rows.append(
            {
                "operator": row[0],
                "shapes": row[1],
                "inputs": row[3],
                "flops": work.flops.value,
                "bytes": work.bytes.value,
                "formula": work.flops.formula,
                "why": work.flops.unavailable or work.bytes.unavailable,
                "doubt": work.bytes.doubt,
            }
        )
    return rows


def total(rows: list[dict[str, Any]], name: str) -> int | None:
    """The sum over operators; those without a formula are left out."""
    values = [row[name] for row in rows if row[name] is not None]
    return sum(values) if values else None


def checked(case: Case, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """FLOPs and bytes of a case against its arithmetic."""
    found = {"flops": total(rows, "flops"), "bytes": total(rows, "bytes")}
    wanted = {"flops": case.flops, "bytes": case.bytes}
    return [
        {
            "check": f"{name} of {case.label}",
            "found": found[name],
            "expected": wanted[name],
            "ok": found[name] == wanted[name],
            "operators": rows,
        }
        for name in ("flops", "bytes")
        if wanted[name] is not None
    ]


def counted() -> dict[str, float] | None:
    """The bytes of the device memory that ncu counts, by case; None where there is no ncu."""
    ncu = shutil.which("ncu")
    if ncu is None:
        return None
    # ncu would empty the caches between the many kernels of an optimiser, and what they had written would not count.
    options = ["--csv", "--page", "raw", "--print-units", "base", "--profile-from-start", "off"]
    options += ["--cache-control", "none"]
    command = [ncu, *options, "--metrics", METRICS, sys.executable, str(HERE / "cases.py"), "plain"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    lines = ran.stdout.splitlines()
    first = next((place for place, line in enumerate(lines) if line.startswith('"ID"')), None)
    if first is None:
        raise SystemExit(f"ncu counted nothing:\n{ran.stdout[-3000:]}\n{ran.stderr[-3000:]}")
    _, *rows = csv.DictReader(io.StringIO("\n".join(lines[first:])))  # the first row is that of the units
    sums: list[float] = []
    for row in rows:
        if "spin_kernel" in row["Kernel Name"]:
            sums.append(0.0)
        else:
            sums[-1] += sum(float(row[name].replace(",", "")) for name in METRICS.split(","))
    labels = [case.label for group in GROUPS for case in group() if case.streams]
    return dict(zip(labels, sums, strict=True))


def by_ncu(case: Case, rows: list[dict[str, Any]], measured: dict[str, float]) -> dict[str, Any]:
    """Our bytes of a case beside those that ncu counted."""
    bytes_ = total(rows, "bytes")
    found = measured.get(case.label)
    off = abs(bytes_ - found) / found if bytes_ and found else None
    return {
        "check": f"ncu's bytes of {case.label}",
        "found": bytes_,
        "expected": found,
        "off": off,
        "ok": off is not None and off <= TOLERANCE,
    }


def main() -> int:
    """Run every check; 1 if one fails."""
    began = time.monotonic()
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, str(HERE / "cases.py"), "trace", str(out)], check=True, timeout=300)
    traced = time.monotonic()
    measured = counted()
    checks: list[dict[str, Any]] = []
    for group in GROUPS:
        trace = load(out / f"{group.__name__}.json")
        for case in group():
            rows = [row for row in works(trace, case.label) if case.operators in row["operator"]]
            checks += checked(case, rows)
            if case.streams and measured is not None:
                checks.append(by_ncu(case, rows, measured))
    rows = works(load(out / "captured.json"), "captured", owners_only=False)
    leaves = [row for row in rows if row["operator"] in ("aten::addmm", "aten::gelu", "aten::add")]
    checks.append(
        {
            "check": "FLOPs of the captured operators",
            "found": total(leaves, "flops"),
            "expected": CAPTURED_FLOPS,
            "ok": total(leaves, "flops") == CAPTURED_FLOPS,
            "operators": rows,
        }
    )
    failed = [check["check"] for check in checks if not check["ok"]]
    answer = {
        "passed": not failed,
        "failed": failed,
        "ncu": "not found" if measured is None else measured,
        "trace_s": round(traced - began, 1),
        "wall_s": round(time.monotonic() - began, 1),
        "checks": checks,
    }
    (out / "work.json").write_text(json.dumps(answer, indent=1) + "\n")
    for check in checks:
        print("ok  " if check["ok"] else "FAIL", check["check"], check.get("found"), check.get("expected"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
