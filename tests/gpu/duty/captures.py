"""Which orders of attaching CUPTI, making a CUDA graph and detaching CUPTI programs survive. Every case runs in several
processes at once, with freed memory overwritten (MALLOC_PERTURB_). Prints one JSON object: how they ended, by case.

    PYTHONPATH=src:. python tests/gpu/duty/captures.py [--processes 3] [--cycles 100]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.gpu.duty.residue import compiled

PATIENCE_S = 40
AT_ONCE = 12


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--processes", type=int, default=3, help="of each case")
    parser.add_argument("--cycles", type=int, default=100)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program = compiled("captures.cu", Path(folder) / "captures")
        cases = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
        runs = [(program, case, args.cycles) for case in cases for _ in range(args.processes)]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            ends = list(pool.map(lambda run: ended(*run), runs))
    outcomes = {
        case: Counter(end for (_, of, _), end in zip(runs, ends, strict=True) if of == case) for case in cases
    }
    print(json.dumps(outcomes, indent=1))
    return 0


def ended(program: Path, case: str, cycles: int) -> str:
    environment = {**os.environ, "MALLOC_PERTURB_": "165"}
    try:
        done = subprocess.run(
            [program, case, str(cycles)],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )
    except subprocess.TimeoutExpired:
        return "hung"
    return "well" if done.returncode == 0 else f"{done.returncode}: {done.stderr.strip()[-200:]}"


if __name__ == "__main__":
    sys.exit(main())
