"""Running compilers: several at once, each with a time limit, and none left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rocm_perf import user_program

_MOST_TEXT = 1 << 20  # bytes of what a compiler says


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    status: int | None  # exit code, or minus the signal; None: it was stopped at its limit
    text: str  # what it printed


class Processes:
    """The commands that run now; `stop` ends them all, from whichever thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopped = False

    def run(self, argv: Sequence[str], cwd: Path, *, limit_s: float, temporary: Path) -> Ended:
        """Run a command to its end, or to its limit, with all of its children. What it leaves behind if it is stopped
        lies in the folder for temporary files. Raises OSError if it cannot start."""
        process = self._start(argv, cwd, temporary)
        try:
            said, _ = process.communicate(timeout=limit_s)
            return Ended(process.returncode, _text(said))
        except subprocess.TimeoutExpired as expired:
            return Ended(None, _text(expired.output or b""))
        finally:
            self._end(process)

    def stop(self) -> None:
        """End everything that runs, and start nothing more."""
        with self._lock:
            self._stopped = True
            for process in self._running:
                _kill(process)

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """A command that came to its own end is left alone: it may have started a server, as sccache does."""
        with self._lock:
            self._running.discard(process)
        if process.returncode is None:
            _kill(process)
            process.communicate()

    def _start(self, argv: Sequence[str], cwd: Path, temporary: Path) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._stopped:
                raise InterruptedError("stopped")
            process = subprocess.Popen(
                argv,
                cwd=cwd,
                env={**user_program.environment(), "TMPDIR": str(temporary)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            self._running.add(process)
            return process


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _text(data: bytes) -> str:
    return data[:_MOST_TEXT].decode("utf-8", "replace")
