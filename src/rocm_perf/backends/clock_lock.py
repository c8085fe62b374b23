"""How each vendor's tool holds the clocks of its GPUs at one frequency, and lets them go."""

from __future__ import annotations

import shutil
from dataclasses import dataclass

from rocm_perf.errors import ToolAbsentError


@dataclass(frozen=True)
class ClockLock:
    """Two commands: one locks the clocks of all GPUs, the other undoes it."""

    lock: tuple[str, ...]
    unlock: tuple[str, ...]


def clock_lock(mhz: int) -> ClockLock:
    """The commands of the first tool that is here. Raises ToolAbsentError."""
    if path := shutil.which("amd-smi"):
        # amd-smi reference, "set" and "reset"; Instinct GPUs take it, and a reset returns to PowerPlay's own choice
        everywhere = ("--gpu", "all", "--perf-determinism")
        return ClockLock((path, "set", *everywhere, str(mhz)), (path, "reset", *everywhere))
    if path := shutil.which("nvidia-smi"):
        return ClockLock((path, f"--lock-gpu-clocks={mhz},{mhz}"), (path, "--reset-gpu-clocks"))
    raise ToolAbsentError(
        "cannot lock clocks", "neither amd-smi nor nvidia-smi is installed", "Leave --lock-clocks out."
    )
