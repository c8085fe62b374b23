"""Records every case on a machine with an NVIDIA GPU, by CUPTI and by torch.profiler. Every result is in OUT at once.

python tests/gpu/verdicts/record.py OUT [NAME ...], with rocm_perf and its dependencies importable
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from datetime import date
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.gpu.pairs.device import Cuda
from tests.gpu.pairs.recording import RECORDERS, Recorder, launched, record
from tests.gpu.pairs.results import Row, append
from tests.gpu.verdicts.case import Case
from tests.gpu.verdicts.catalogue import CASES, case_named


def recorded(case: Case, recorder: Recorder, out: Path) -> Row:
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
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    append(args.out / "cases.jsonl", {"date": date.today().isoformat(), **Cuda().facts()})
    for case in args.cases or CASES:
        for recorder in RECORDERS:
            row = recorded(case, recorder, args.out)
            append(args.out / "cases.jsonl", row)
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
