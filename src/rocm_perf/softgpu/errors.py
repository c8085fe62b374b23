"""What can go wrong while a kernel is executed, with the exit codes of a replay (docs/replay.md)."""

from __future__ import annotations

from rocm_perf.errors import RocmPerfError


class EmulationError(RocmPerfError):
    """The kernel cannot be executed, or did what no kernel may."""

    exit_code = 24


class EmulationTimeoutError(RocmPerfError):
    """The kernel did not end in time."""

    exit_code = 23


class EmulatorDefectError(RocmPerfError):
    """The emulator did not understand its plan, or died: a defect of ours."""

    exit_code = 70
