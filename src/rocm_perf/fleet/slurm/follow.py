"""Following a job until it has ended, and ending it when the user asks for that."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from itertools import chain, repeat

from rocm_perf.errors import NotSupportedError
from rocm_perf.fleet.launcher import Say
from rocm_perf.fleet.slurm import commands
from rocm_perf.fleet.slurm.states import JobStatus, progress

_PAUSES_S = (0.5, 0.5, 1.0, 1.0, 2.0, 2.0, 5.0)  # between the first questions
_PAUSE_S = 10.0  # between all others: slurmctld has more to do
_SILENCE_S = 600.0  # after which a controller is given up
_TO_WRITE_S = 60.0  # that interrupted ranks have before they are cancelled


def pauses_s() -> Iterator[float]:
    """How long to wait before each next question about a job, for ever."""
    return chain(_PAUSES_S, repeat(_PAUSE_S))


def follow(number: str, say: Say, *, patience_s: float = math.inf) -> JobStatus | None:
    """Wait until a job has ended, and say what happens to it meanwhile; None if that takes longer than the patience."""
    begun = heard = time.monotonic()
    said = ""
    for pause_s in pauses_s():
        status, now = commands.status_of(number), time.monotonic()
        if status is not None:
            heard = now
        elif now - heard > _SILENCE_S:
            raise NotSupportedError(
                f"SLURM has not answered for {_SILENCE_S / 60:.0f} minutes", f"job {number} is left alone"
            )
        if status is not None and status.ended:
            return status
        if now - begun > patience_s:
            return None
        line = progress(number, status) if status else "SLURM does not answer; still asking"
        if line != said:
            say(line)
            said = line
        time.sleep(pause_s)
    return None


def end(number: str, say: Say) -> JobStatus | None:
    """End a job so that its profilers can write: interrupt it first, and cancel it if that takes too long."""
    status = commands.status_of(number)
    if status is not None and status.live:
        commands.interrupt(number)
        say(f"interrupting job {number}, so that its profilers can write; Ctrl-C again stops waiting for it")
        if stopped := follow(number, _silent, patience_s=_TO_WRITE_S):
            return stopped
        say(f"job {number} goes on after {_TO_WRITE_S:.0f} s: cancelling it")
    commands.cancel(number)
    return follow(number, _silent)


def _silent(_line: str) -> None:
    """Say nothing."""
