"""What the user asks of a cluster."""

from __future__ import annotations

from dataclasses import dataclass

LOCAL, SLURM = "local", "slurm"
# One rank after the other, and as many workers as cores: more threads would only get in each other's way.
WORKER_THREADS = 1
WORKER_VARIABLES = {"POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1"}

# Any port for its HTTP server: where two run on a machine, the second would print that the usual one is taken.
SCHEDULER_OPTIONS = {"dashboard_address": ":0"}


@dataclass(frozen=True)
class ClusterRequest:
    """Where the workers are: `local` (processes of this machine), `slurm` (a job that is submitted), or the address of
    a Dask scheduler; how many are started, how much memory each may use, and how long the first of a job may take."""

    where: str
    workers: int | None = None
    worker_memory: int | None = None
    wait_s: float | None = None

    @property
    def is_address(self) -> bool:
        """Whether a scheduler runs already."""
        return self.where not in (LOCAL, SLURM)

    @property
    def options(self) -> str:
        """The options that ask for the same."""
        given = {
            "--cluster": self.where,
            "--workers": self.workers,
            "--worker-memory": self.worker_memory,
            "--wait": f"{self.wait_s:g}" if self.wait_s else None,
        }
        return " ".join(f"{name} {value}" for name, value in given.items() if value is not None)
