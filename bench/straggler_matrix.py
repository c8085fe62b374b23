"""How often the rank and the cause that were planted in simulated jobs are named: the confusion matrix of
docs/stragglers.md. Every rank records on a clock of its own, and the clocks are fitted first, as `analyze` does.

    python bench/straggler_matrix.py --jobs 200 --ranks 64 --steps 20
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterable

import polars as pl

from rocm_perf.analysis.ranks.build import ranks
from rocm_perf.ingest.ranks.align import on_common_clocks
from rocm_perf.model.results.ranks import Ranks
from rocm_perf.model.trace import Trace
from rocm_perf.sim.jobs import CAUSES, Job, simulate_job

NAMES = {"link": "slow link", "data_loader": "data loader"}
_OF_MACHINES = ("kernels", "nodes", "agents")
ANSWERS = (*(NAMES.get(cause, cause) for cause in CAUSES), "another rank")


def merged(job: Job) -> Trace:
    """The recordings of all ranks on one clock, each rank being a machine of its own."""
    tables = {
        name: pl.concat(
            recording.table(name).with_columns(node=pl.lit(rank, pl.Int32))
            for rank, recording in enumerate(job.recordings)
        )
        for name in job.recordings[0]
        if name not in _OF_MACHINES
    }
    aligned = on_common_clocks(tables, dict.fromkeys(range(len(job.recordings)), "boot"))
    return Trace(aligned, job.trace.run)


def named(answer: Ranks, job: Job) -> str:
    """The cause that is named first; `another rank` where that is not the planted one."""
    if not answer.stragglers:
        return "none"
    first = answer.stragglers[0]
    right = first.ranks == (f"rank {job.planted.rank}",)
    return (first.cause or "unknown") if right else "another rank"


def matrix(seeds: Iterable[int], *, ranks_of_job: int, steps: int) -> Counter[tuple[str, str]]:
    """How often each cause was planted, and what was named."""
    counts: Counter[tuple[str, str]] = Counter()
    for seed in seeds:
        job = simulate_job(ranks_of_job, steps, seed=seed)
        planted, answer = NAMES.get(job.planted.cause, job.planted.cause), named(ranks(merged(job)), job)
        counts[planted, answer] += 1
        if planted != answer:
            print(f"seed {seed}: {job.planted}, named {answer}", flush=True)
    return counts


def markdown(counts: Counter[tuple[str, str]]) -> str:
    """The matrix as a table: a row for each planted cause, a column for each answer."""
    rows = [f"| planted | {' | '.join(ANSWERS)} |", f"|---|{'---:|' * len(ANSWERS)}"]
    for cause in CAUSES:
        name = NAMES.get(cause, cause)
        rows.append(f"| {name} | {' | '.join(str(counts[name, answer]) for answer in ANSWERS)} |")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    args = parser.parse_args()
    begun = time.perf_counter()
    seeds = range(args.first, args.first + args.jobs)
    counts = matrix(seeds, ranks_of_job=args.ranks, steps=args.steps)
    right = sum(count for (planted, answer), count in counts.items() if planted == answer)
    print(markdown(counts))
    print(f"{right} of {args.jobs} right, {time.perf_counter() - begun:.0f} s")


if __name__ == "__main__":
    main()
