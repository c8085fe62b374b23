"""One process, run and timed without polling, which would blur its time; a session of its own, so that all of it can
be ended."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from rocm_perf import user_program
from rocm_perf.collect.run.signals import ending_waits
from rocm_perf.errors import UsageError

_GRACE_S = 2.0  # from SIGTERM to SIGKILL
_TAIL_BYTES = 4096


@dataclass(frozen=True, kw_only=True)
class Finished:
    """How a process went."""

    status: int  # exit code, or minus the signal that killed it
    wall_ns: int
    begin_ns: int  # boot clock
    end_ns: int
    timed_out: bool
    last_line: str  # of what it wrote to stderr


def run(
    argv: Sequence[str],
    environment: Mapping[str, str],
    timeout_s: float,
    listen: Callable[[IO[bytes]], None] | None = None,
    *,
    folder: Path | None = None,
) -> Finished:
    """Run a command to its end; what it prints is not shown, but `listen` may read it. It runs in
    `folder`, if one is given. Beyond the timeout, and when this process is interrupted, its whole session is ended."""
    with tempfile.TemporaryFile() as errors:
        begin_ns, begun = _boot_ns(), time.perf_counter_ns()
        output = subprocess.PIPE if listen else subprocess.DEVNULL
        process, deadline = None, None
        try:
            with ending_waits():  # or a signal in the middle of it leaves the process behind
                process = _started(argv, environment, errors, output, folder)
                deadline = _Deadline(process, timeout_s)
            if listen and process.stdout:
                with process.stdout:
                    listen(process.stdout)
            status = process.wait()
            wall_ns = time.perf_counter_ns() - begun
        except BaseException:
            if process is not None:
                _end(process)
            raise
        finally:
            if deadline is not None:
                deadline.cancel()
        return Finished(
            status=status,
            wall_ns=wall_ns,
            begin_ns=begin_ns,
            end_ns=_boot_ns(),
            timed_out=deadline.passed,
            last_line=_last_line(errors),
        )


class _Deadline:
    """Ends a process when its time is up."""

    def __init__(self, process: subprocess.Popen[bytes], timeout_s: float) -> None:
        self._process = process
        self.passed = False
        self._timer = threading.Timer(timeout_s, self._pass)
        self._timer.daemon = True
        self._timer.start()

    def _pass(self) -> None:
        self.passed = True
        _end(self._process)

    def cancel(self) -> None:
        """Let the process be; if it is being ended, wait until it is."""
        self._timer.cancel()
        if self.passed:
            self._timer.join()


def _started(
    argv: Sequence[str], environment: Mapping[str, str], errors: IO[bytes], output: int, folder: Path | None
) -> subprocess.Popen[bytes]:
    try:
        return user_program.start(
            argv,
            environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            cwd=folder,
            own_session=True,
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"cannot start {argv[0]}", reason, "Check its name and path.") from error


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask the session to end, and end it."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_S)
        os.killpg(process.pid, signal.SIGKILL)


def _last_line(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _TAIL_BYTES))
    lines = file.read().decode("utf-8", "replace").strip().splitlines()
    return lines[-1].strip() if lines else ""


def _boot_ns() -> int:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)
