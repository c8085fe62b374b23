"""What the ranks of the tests run. Its argument says how it behaves: it `ends`; it `stays` until it is told to end;
rank 2 `fails` with exit code 3, or `fails alone`, when all are there, while the others stay."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

LAUNCHERS = ("RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID")


def main(behaviour: str) -> int:
    rank = next(int(os.environ[name]) for name in LAUNCHERS if name in os.environ)
    run = os.environ["ROCM_PERF_RUN_ID"]
    Path(f"here-{run}-{rank}").touch()
    print(f"rank {rank} is here", flush=True)
    fails = behaviour.startswith("fails") and rank == 2
    if behaviour == "fails alone":
        while len(list(Path.cwd().glob(f"here-{run}-*"))) < 4:
            time.sleep(0.1)
    if behaviour == "stays" or (behaviour == "fails alone" and not fails):
        time.sleep(600)
    return 3 if fails else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
