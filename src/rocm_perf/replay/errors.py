"""What can go wrong with a snapshot or its replay, each with an exit code of its own (docs/replay.md)."""

from __future__ import annotations

from rocm_perf.errors import InputError, RocmPerfError


class ReservationError(RocmPerfError):
    """An address range could not be reserved; nothing was launched."""

    exit_code = 1


class RelocatedError(RocmPerfError):
    """The GPU runtime gave another address than the captured one; nothing was launched."""

    exit_code = 2


class NewerVersionError(InputError):
    """The snapshot was written by a newer rocm-perf."""

    exit_code = 20


class OtherGpuError(RocmPerfError):
    """The code is made for another GPU than this."""

    exit_code = 21


class TooLargeError(RocmPerfError):
    """The snapshot does not fit into the device's memory."""

    exit_code = 22


class ReplayTimeoutError(RocmPerfError):
    """The replay did not end in time, and was ended."""

    exit_code = 23


class KernelFailedError(RocmPerfError):
    """The kernel, or the device under it, failed."""

    exit_code = 24


class UncoveredError(RocmPerfError):
    """The kernel reaches memory that a snapshot cannot hold."""

    exit_code = 25


class BadPlanError(RocmPerfError):
    """The runner did not understand its plan: a defect of ours."""

    exit_code = 70
