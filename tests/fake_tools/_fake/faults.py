"""Faults that a test switches on with FAKE_FAULT: permission, aqlprofile, empty[:hip|kernels_only|records],
truncated, hang, crash and slow."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn

from . import settings
from .application import die_of

AQLPROFILE = "aqlprofile API table load failed: HSA_STATUS_ERROR: A generic error has occurred."
NO_KFD = "Unable to open /dev/kfd read-write: Permission denied"


def before(counts: bool) -> None:
    """Before the application runs. `counts`: hardware counters are asked for."""
    kind, _ = settings.fault()
    if kind == "permission":
        print(NO_KFD, file=sys.stderr)
        raise SystemExit(1)
    if kind == "slow":
        time.sleep(settings.slow_s())
    if counts and no_counters():
        refuse_counters()


def no_counters() -> bool:
    """No counters by a fault, or because this GPU has none with this ROCm."""
    lacking = settings.gpu().gfx == "gfx1151" and settings.rocm() < (7, 2)
    return settings.fault()[0] == "aqlprofile" or lacking


def refuse_counters() -> NoReturn:
    """As the real library does: a line, and abort."""
    print(AQLPROFILE, file=sys.stderr)
    die_of(signal.SIGABRT)


def after_application() -> None:
    """When the application has ended and its recording would be written."""
    kind, _ = settings.fault()
    if kind == "crash":
        die_of(signal.SIGSEGV)
    if kind == "hang":
        while True:
            time.sleep(3600)


def writes_nothing() -> bool:
    return settings.fault() == ("empty", "")


def damage(files: Iterable[Path]) -> None:
    """Cut off what was written."""
    if settings.fault()[0] != "truncated":
        return
    for file in files:
        with file.open("r+b") as stream:
            stream.truncate(int(file.stat().st_size * 0.6))
