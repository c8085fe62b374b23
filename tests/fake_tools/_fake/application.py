"""The application under a profiler: it gets its arguments and files as they are, and its end becomes the tool's."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType
from typing import IO, NoReturn

_FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGINT)
_ON_ITS_WAY_S = 0.2  # a signal to the whole group may end the application before the tool has seen it


class Application:
    """One run of the application. A signal to the tool goes on to it, one that comes while it is started, too."""

    def __init__(self, command: Sequence[str], stderr: IO[bytes] | int | None = None) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        self._process: subprocess.Popen[bytes] | None = None
        self._early: list[int] = []
        heard = [number for number in _FORWARDED if signal.getsignal(number) is not signal.SIG_IGN]
        self._old = {number: signal.signal(number, self._forward) for number in heard}
        process = subprocess.Popen(list(command), close_fds=False, stderr=stderr)
        self.pid, self._process = process.pid, process
        for number in self._early:
            self._forward(number, None)

    def wait(self) -> int:
        """Return its status: an exit code, or minus the signal that killed it."""
        assert self._process is not None
        try:
            status = self._process.wait()
            if status < 0:
                time.sleep(_ON_ITS_WAY_S)
            return status
        finally:
            for number, handler in self._old.items():
                signal.signal(number, handler)

    def _forward(self, number: int, _frame: FrameType | None) -> None:
        if self._process is None:
            self._early.append(number)
        elif self._process.poll() is None:
            with suppress(ProcessLookupError):  # it was just reaped by the wait that this interrupts
                os.kill(self.pid, number)


def end_as(status: int) -> NoReturn:
    """End with an exit code, or by the signal that the application died of."""
    sys.stdout.flush()
    sys.stderr.flush()
    if status < 0:
        die_of(-status)
    raise SystemExit(status)


def die_of(number: int) -> NoReturn:
    """Die of a signal, and leave no core file."""
    sys.stdout.flush()
    sys.stderr.flush()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(128 + number)


def as_shell_status(status: int) -> int:
    """What bash makes of it, for the tools that are scripts: 128 + signal."""
    return 128 - status if status < 0 else status
