"""Records every case on a machine with an NVIDIA GPU, by CUPTI and by torch.profiler. Every result is in OUT at once.

python tests/gpu/verdicts/record.py OUT [NAME ...] [--plain BINARY], with rocm_perf and its dependencies importable;
BINARY is plain.cu, built by nvcc -O2
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import replace
from datetime import date
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.gpu.pairs.device import Cuda
from tests.gpu.pairs.recording import RECORDERS, Recorder, launched, record
from tests.gpu.pairs.results import Row, append
from tests.gpu.verdicts.case import Case, Plain
from tests.gpu.verdicts.catalogue import CASES, PLAIN, case_named


def recorded(case: Case | Plain, recorder: Recorder, out: Path) -> Row:
    """What was kept of the recording, or why there is none."""
    try:
        row = record(case, recorder, out, launched)
    except (ValueError, OSError, subprocess.SubprocessError) as error:
        row = {"error": f"{type(error).__name__}: {error}"[-1500:]}
    return {"case": case.name, "recorder": recorder.name, **row}


def main() -> None:
    parser = argparse.ArgumentParser(description="Record programs with a verdict; see the head of this file.")
    parser.add_argument("out", type=Path)
    parser.add_argument(
        "cases", nargs="*", type=case_named, metavar="NAME", help="all of them if none is named"
    )
    parser.add_argument("--plain", metavar="BINARY", help="record the programs of plain.cu instead")
    args = parser.parse_args()
    plain = [replace(one, binary=args.plain) for one in PLAIN] if args.plain else []
    args.out.mkdir(parents=True, exist_ok=True)
    append(args.out / "cases.jsonl", {"date": date.today().isoformat(), **Cuda().facts()})
    for case in plain or args.cases or CASES:
        for recorder in (recorder for recorder in RECORDERS if recorder.steps(case)):
            row = recorded(case, recorder, args.out)
            append(args.out / "cases.jsonl", row)
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
