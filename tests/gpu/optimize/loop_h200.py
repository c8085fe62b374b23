"""The optimisation loop over the whole testbed, on a real GPU, and the page about it.

python tests/gpu/optimize/loop_h200.py OUT [--seconds 35] [PROGRAM ...]

Needs nvcc, numpy, and rocm_perf with its dependencies importable (PYTHONPATH=src:.). Each program is first held against
numpy. OUT gets optimize-h200.md, and for each program PROGRAM.json and its ledger, written as soon as it is done; exit
code 1 if a program could not be judged or computes something else.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from pathlib import Path

import msgspec
from tests.gpu.optimize.page import Machine, Run, page
from tests.gpu.optimize.references import REFERENCES, largest_error

from rocm_perf.errors import RocmPerfError
from rocm_perf.optimize.request import Request
from rocm_perf.optimize.session import optimize

TESTBED = Path(__file__).parents[3] / "testbed"
MOST_ERROR = 1e-5  # beside the largest value: single precision, and sums of a few thousand


def built(folder: Path) -> None:
    """A copy of the testbed, with all programs built."""
    shutil.copytree(TESTBED, folder, dirs_exist_ok=True)
    subprocess.run(["make", "-j8", "-C", str(folder)], check=True, capture_output=True)


def error_of(program: Path) -> float:
    """How far the result of a program is from numpy's."""
    out = program.with_suffix(".bin")
    subprocess.run([program, "--out", out], check=True, capture_output=True, timeout=60)
    return largest_error(program.name, out.read_bytes())


def run_of(program: Path, out: Path, seconds: float) -> Run:
    """One program, optimised within its share of the time."""
    begun = time.monotonic()
    error = error_of(program)

    def run(**outcome: object) -> Run:
        return Run(program.name, time.monotonic() - begun, error, **outcome)  # type: ignore[arg-type]

    request = Request(target=program, seconds=seconds, folder=out / f"{program.name}-ledger", fresh=True)
    try:
        result = optimize(
            request, print, lambda attempt: print(f"  {attempt.name}: {attempt.reason}", flush=True)
        )
    except RocmPerfError as problem:
        return run(problem=str(problem))
    (out / f"{program.name}.json").write_bytes(msgspec.json.format(msgspec.json.encode(result), indent=1))
    return run(result=result)


def queried(*fields: str) -> list[str]:
    """What nvidia-smi says of the first GPU."""
    argv = ["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    return [field.strip() for field in done.stdout.splitlines()[0].split(",")]


def clock_mhz() -> int:
    return int(queried("clocks.sm")[0])


def main() -> int:
    """Optimise the programs that are named, or all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=35.0, help="of the search, for each program")
    parser.add_argument("programs", nargs="*", default=list(REFERENCES))
    asked = parser.parse_args()
    folder = asked.out / "testbed"
    built(folder)
    gpu, driver = queried("name", "driver_version")
    compiler = subprocess.run(["nvcc", "--version"], capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )[-3]
    runs, clocks = [], [clock_mhz()]
    for name in asked.programs:
        runs.append(run_of(folder / name, asked.out, asked.seconds))
        clocks.append(clock_mhz())
        print(f"{runs[-1].seconds:6.1f} s  {name}: error {runs[-1].error:.1g} {runs[-1].problem}", flush=True)
        machine = Machine(gpu, driver, compiler, time.strftime("%Y-%m-%d"), (min(clocks), max(clocks)))
        (asked.out / "optimize-h200.md").write_text(page(machine, runs))
    return int(any(run.problem or run.error > MOST_ERROR for run in runs))


if __name__ == "__main__":
    sys.exit(main())
