"""Settings from the environment, checked where they are read."""

from __future__ import annotations

import os

from rocm_perf.errors import UsageError

# What launchers call a rank: torchrun, Open MPI, PMIx, MPICH and Intel MPI, MVAPICH, Cray, Flux, srun. The first
# counts: torchrun and mpirun may themselves be started by srun.
RANKS = (
    "RANK",
    "OMPI_COMM_WORLD_RANK",
    "PMIX_RANK",
    "PMI_RANK",
    "MV2_COMM_WORLD_RANK",
    "PALS_RANKID",
    "FLUX_TASK_RANK",
    "SLURM_PROCID",
)


def whole_number(name: str, default: int) -> int:
    """The number, 1 or more, that a variable of the environment holds; the default where it is not set or empty."""
    text = os.environ.get(name, "").strip()
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 19 and int(text)):
        raise UsageError(
            f"{name}={text} is not a whole number above 0", next_step=f"Set it right, or unset {name}."
        )
    return int(text)
