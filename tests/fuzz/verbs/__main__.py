"""Attacks whole verbs with hostile inputs, in processes of their own, and goes on where it last stopped.

    python -m tests.fuzz.verbs [--inputs N] [--minutes M] [--seed N] [--jobs N] [--state FOLDER]

See ../README.md for what is tried and what counts as a finding.
"""

from __future__ import annotations

import argparse
import os
import pickle
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

os.environ.setdefault("POLARS_MAX_THREADS", "1")  # many small inputs

from tests.fuzz.verbs.campaign import Result
from tests.fuzz.verbs.inputs import all_inputs, own_compiler
from tests.fuzz.verbs.tally import Tally, keep
from tests.fuzz.verbs.worker import Worker

_CHUNK = 250  # cases for one process: enough to make its start cheap, few enough to lose little


def main(argv: Sequence[str] | None = None) -> int:
    """Exits with 1 when there is a finding."""
    args = _parser().parse_args(argv)
    state: Path = args.state
    state.mkdir(parents=True, exist_ok=True)
    seeds, file = _seeds(state), state / "tally.json"
    tally = Tally.resumed(file, args.seed)
    workers = [Worker(state / f"worker-{slot}", seeds, args.seed) for slot in range(args.jobs)]
    last = tally.next_number + args.inputs
    end = time.monotonic() + 60 * args.minutes
    with ThreadPoolExecutor(args.jobs) as pool:
        while tally.next_number < last and time.monotonic() < end:
            chunks = _chunks(tally.next_number, last, args.jobs)
            for results in pool.map(attack, workers, chunks, [state / "findings"] * len(chunks)):
                for result in results:
                    tally.count(result)
            tally.next_number = chunks[-1].stop
            tally.save(file)
    return _report(tally, state / "findings")


def _chunks(first: int, last: int, jobs: int) -> list[range]:
    starts = range(first, min(last, first + jobs * _CHUNK), _CHUNK)
    return [range(start, min(last, start + _CHUNK)) for start in starts]


def attack(worker: Worker, numbers: range, findings: Path) -> list[Result]:
    """Every case, however often the process ends; what was found is kept."""
    results: list[Result] = []
    while numbers:
        done, death = worker.run_in_process(numbers)
        numbers = numbers[len(done) :]
        if death and numbers:
            done.append(worker.buried(numbers[0], death))
            numbers = numbers[1:]
        for result in done:
            if result.findings:
                keep(result, worker.case_folder(result.number), findings)
        results += done
    return results


def _seeds(state: Path) -> Path:
    """Made once, so that every worker and every later run starts from the same."""
    file = state / "seeds.pickle"
    if not file.exists():
        file.write_bytes(pickle.dumps(all_inputs(own_compiler(state / "compiled"))))
    return file


def _report(tally: Tally, findings: Path) -> int:
    print(*tally.lines(), sep="\n")
    for name, count in sorted(tally.findings.items()):
        print(f"FOUND {count:5} x {name}")
    print(f"see {findings}" if tally.findings else "nothing found")
    return 1 if tally.findings else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--inputs", type=int, default=sys.maxsize, help="how many more (default: no limit)")
    parser.add_argument("--minutes", type=float, default=5, help="end after so long (default: 5)")
    parser.add_argument("--seed", type=int, default=0, help="of the random changes (default: 0)")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time (default: 1)")
    parser.add_argument(
        "--state", type=Path, default=Path("fuzz-output"), help="folder for tally and findings (fuzz-output)"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
