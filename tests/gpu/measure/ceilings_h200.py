"""Measures on a machine with an NVIDIA GPU what docs/ceilings.md and docs/suite.md say of one: what it reaches, beside
a plain copy (4.3 TB/s) and a bf16 product (790 TFLOP/s) of earlier measurements, and the suite of products.

Usage: ceilings_h200.py OUT [ceilings] [suite], with torch, and rocm_perf with its dependencies importable (PYTHONPATH).
Each result is a line of OUT/ceilings.jsonl as soon as it is there; OUT also gets the files of both verbs. Less than two
minutes in all. Exit code 1 if a check fails."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rocm_perf.backends.probe import probe_machine
from rocm_perf.bench.ceilings.measure import measure
from rocm_perf.bench.ceilings.store import read, save
from rocm_perf.bench.suite.request import DTYPES, SuiteRequest, parse_shapes, variant_files
from rocm_perf.bench.suite.run import run_suite
from rocm_perf.render.json import encode
from rocm_perf.render.screen.suite import suite_picture

Answer = dict[str, Any]
KNOWN = {"memory copy": 4.3, "bf16 matrix": 790.0}
NEAR = 0.1  # of what is known


def ceilings(out: Path) -> Iterator[Answer]:
    """Every rate, and how those that are known compare."""
    measured = read(save(measure(probe_machine(), 0), out / "ceilings.json"))
    yield {"gpu": measured.gpu.name, "where": measured.where_and_when}
    for rate in measured.rates:
        low, high = min(rate.samples), max(rate.samples)
        yield {
            "rate": rate.name,
            "value": rate.value,
            "unit": rate.unit,
            "range": [low, high],
            "how": rate.how,
        }
    for absent in measured.not_measured:
        yield {"not measured": absent.name, "reason": absent.reason}
    for name, known in KNOWN.items():
        best = measured.best(name)
        ratio = best.value / known if best else 0.0
        yield {"check": f"{name} against {known:g}", "ratio": ratio, "passed": abs(ratio - 1) <= NEAR}


def suite(out: Path) -> Iterator[Answer]:
    """Every case, what was left out, and whether all results are right."""
    file = out / "ceilings.json"
    request = SuiteRequest(files=variant_files(), shapes=parse_shapes("1024,4096,8192"), dtypes=DTYPES)
    result = run_suite(probe_machine(), request, (read(file),) if file.exists() else ())
    (out / "wmma_profile.json").write_text(encode(result))
    (out / "wmma_profile.svg").write_text(suite_picture(result))
    for case in result.cases:
        yield {
            "case": [case.variant, case.dtype, case.shape],
            "tflops": case.tflops,
            "of_measured": case.percent_of_measured,
            "of_data_sheet": case.percent_of_data_sheet,
            "error": case.error,
        }
    for left in result.left_out:
        yield {"left out": [left.variant, left.dtype, left.shape], "reason": left.reason}
    wrong = [[case.variant, case.dtype, case.shape] for case in result.wrong]
    yield {"check": "every result is the product", "wrong": wrong, "passed": bool(result.cases) and not wrong}


PARTS = {"ceilings": ceilings, "suite": suite}


def main() -> int:
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    failed = 0
    with (out / "ceilings.jsonl").open("a") as lines:
        for name in sys.argv[2:] or PARTS:
            begun = time.monotonic()
            for answer in PARTS[name](out):
                failed += answer.get("passed") is False
                lines.write(json.dumps({"part": name, **answer}) + "\n")
                lines.flush()
            lines.write(json.dumps({"part": name, "seconds": time.monotonic() - begun}) + "\n")
    print((out / "ceilings.jsonl").read_text())
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
