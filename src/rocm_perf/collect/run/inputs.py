"""The application's standard input, the same in each of its runs."""

from __future__ import annotations

import array
import fcntl
import os
import select
import stat
import tempfile
import termios
from collections.abc import Iterable
from contextlib import ExitStack
from typing import IO

from rocm_perf.collect.run.streams import CHUNK_BYTES, Want

STDIN = 0


class Feed:
    """Standard input of one run: a file to inherit."""

    def __init__(self, child: int | None = None) -> None:
        self.child_stdin = child  # None: our own

    def started(self) -> None:
        """Close our copy: the application holds its end now."""

    def wants(self) -> Iterable[Want]:
        return ()

    def finish(self) -> None:
        """Clean up after the application."""


class Nothing(Feed):
    """An input that has ended before it began."""

    def __init__(self) -> None:
        super().__init__(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))

    def started(self) -> None:
        if self.child_stdin is not None:
            os.close(self.child_stdin)
            self.child_stdin = None

    def finish(self) -> None:
        self.started()


class Copied(Feed):
    """What comes through our pipe goes to the application as it comes, and into a file for the next run."""

    def __init__(self, spool: IO[bytes]) -> None:
        theirs, self._ours = os.pipe()
        super().__init__(theirs)
        self._spool = spool
        self._pending = b""
        self._open = True
        os.set_blocking(self._ours, False)

    def started(self) -> None:
        if self.child_stdin is not None:
            os.close(self.child_stdin)
            self.child_stdin = None

    def wants(self) -> Iterable[Want]:
        if not self._open:
            return ()
        if self._pending:
            return (Want(self._ours, select.POLLOUT, self._write),)
        # Watching our end as well shows when the application closes its own.
        return (Want(STDIN, select.POLLIN, self._read), Want(self._ours, 0, self.finish))

    def _read(self) -> None:
        self._pending = os.read(STDIN, CHUNK_BYTES)
        self._spool.write(self._pending)
        if not self._pending:
            self.finish()

    def _write(self) -> None:
        try:
            self._pending = self._pending[os.write(self._ours, self._pending) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self.finish()

    def finish(self) -> None:
        self.started()
        if self._open:
            self._open = False
            os.close(self._ours)


class Input:
    """What stands on our standard input, for as many runs as it takes."""

    def __init__(self, *, several: bool) -> None:
        self._kind = _kind()
        self._start = os.lseek(STDIN, 0, os.SEEK_CUR) if self._kind == "file" else 0
        self._opened = ExitStack()
        self._spool: IO[bytes] | None = None
        if several and self._kind == "pipe":
            self._spool = self._opened.enter_context(tempfile.TemporaryFile(buffering=0))  # noqa: SIM115
        self._waiting = _waiting() if self._kind == "pipe" else (0, False)
        self._runs = 0

    def next_run(self, *, asks_nobody: bool = False) -> Feed:
        """The input of the next run, from where it stood before the first. One that asks nobody finds nothing where a
        user would have to type it again."""
        self._runs += 1
        if asks_nobody and self._kind == "device" and os.isatty(STDIN):
            return Nothing()
        if self._kind == "file":
            os.lseek(STDIN, self._start, os.SEEK_SET)
        if self._spool is None:
            return Feed()
        if self._runs == 1:
            return Copied(self._spool)
        self._spool.seek(0)
        return Feed(self._spool.fileno())

    @property
    def can_repeat(self) -> bool:
        """Whether another run would read the same: what came through a pipe is gone unless it was kept."""
        if self._kind != "pipe" or self._spool is not None or not self._runs:
            return True
        return self._waiting == (0, False) == _waiting()

    def close(self) -> None:
        self._opened.close()


def _kind() -> str:
    try:
        mode = os.fstat(STDIN).st_mode
    except OSError:
        return "closed"
    if stat.S_ISREG(mode):
        return "file"
    return "pipe" if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) else "device"


def _waiting() -> tuple[int, bool]:
    """The number of bytes that can be read from the pipe, and whether its writers are gone."""
    count = array.array("i", [0])
    fcntl.ioctl(STDIN, termios.FIONREAD, count)
    poller = select.poll()
    poller.register(STDIN, 0)
    return count[0], any(event & select.POLLHUP for _, event in poller.poll(0))
