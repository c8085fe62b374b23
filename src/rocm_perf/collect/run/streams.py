"""The application's error output: it arrives where it would without us, and its beginning and end are kept, because
profilers say there why they failed."""

from __future__ import annotations

import errno
import fcntl
import os
import select
import stat
import termios
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import NamedTuple

from rocm_perf.collect.run import terminal

STDOUT, STDERR = 1, 2
CHUNK_BYTES = 1 << 16
HEAD_BYTES, TAIL_BYTES = 16 << 10, 48 << 10


class Want(NamedTuple):
    """A file to watch, and what to do when it is ready."""

    fd: int
    events: int
    act: Callable[[], None]


class Excerpt:
    """The first and the last bytes of a stream."""

    def __init__(self) -> None:
        self._head = self._tail = b""
        self._left_out = False

    def add(self, data: bytes) -> None:
        room = HEAD_BYTES - len(self._head)
        self._head += data[:room]
        tail = self._tail + data[room:]
        self._left_out |= len(tail) > TAIL_BYTES
        self._tail = tail[-TAIL_BYTES:]

    def text(self) -> str:
        between = b"\n...\n" if self._left_out else b""
        return (self._head + between + self._tail).decode("utf-8", "replace")


class Unwatched:
    """The application gets our own error output."""

    child_stdout: int | None
    child_stderr: int | None = None
    longest_s: float | None = None  # after which it wants to be asked again

    def __init__(self, stdout: int | None = None) -> None:
        self.child_stdout = stdout

    def started(self) -> None:
        """Close our copies: the application holds its ends now."""

    def wants(self) -> Iterable[Want]:
        return ()

    def resized(self) -> bool:
        """Whether the application's terminal got another size just now."""
        return False

    def finish(self) -> str:
        """The excerpt, when the application has ended."""
        return ""


class InFile(Unwatched):
    """A regular file is handed on; what was added to it is read afterwards."""

    def __init__(self, stdout: int | None) -> None:
        super().__init__(stdout)
        self._start = _position(STDERR)

    def finish(self) -> str:
        excerpt = Excerpt()
        with suppress(OSError), open(f"/proc/self/fd/{STDERR}", "rb", buffering=0) as file:
            file.seek(self._start)
            while chunk := file.read(CHUNK_BYTES):
                excerpt.add(chunk)
        return excerpt.text()


class Relayed(Unwatched):
    """What the application writes to a pipe or terminal of ours goes on to the real one."""

    def __init__(self, source: int, child: int, stdout: int | None) -> None:
        super().__init__(stdout)
        self.child_stderr = child
        self._source: int | None = source
        self._excerpt = Excerpt()
        os.set_blocking(source, False)

    def started(self) -> None:
        if self.child_stderr is not None:
            os.close(self.child_stderr)
            self.child_stderr = None

    def wants(self) -> Iterable[Want]:
        return () if self._source is None else (Want(self._source, select.POLLIN, self._relay),)

    def finish(self) -> str:
        self.started()
        while self._source is not None and self._relay_one():
            pass
        self._leave_to_others()
        return self._excerpt.text()

    def _relay(self) -> None:
        self._relay_one()

    def _relay_one(self) -> bool:
        """Hand one piece on, and return whether there was one."""
        assert self._source is not None
        try:
            chunk = os.read(self._source, CHUNK_BYTES)
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno != errno.EIO:  # how a terminal says that its other side is closed
                raise
            chunk = b""
        self._excerpt.add(chunk)
        if not chunk or not self._hand_on(chunk):
            self._close()
        return bool(chunk)

    def _hand_on(self, chunk: bytes) -> bool:
        """Write a piece to the real one, and return whether anybody reads it."""
        return write_all(STDERR, chunk)

    def _close(self) -> None:
        if self._source is not None:
            os.close(self._source)
            self._source = None

    def _leave_to_others(self) -> None:
        """Leave a way out to a process that the application left behind and that still writes here."""
        if self._source is None:
            return
        os.set_blocking(self._source, True)
        actions = [
            (os.POSIX_SPAWN_DUP2, self._source, 0),
            (os.POSIX_SPAWN_DUP2, STDERR, 1),
            (os.POSIX_SPAWN_OPEN, STDERR, os.devnull, os.O_WRONLY, 0),
        ]
        with suppress(OSError):
            os.posix_spawnp("cat", ["cat"], os.environ, file_actions=actions, setpgroup=0)
        self._close()


class Kept(Relayed):
    """The application's error output is kept, and shown to nobody; so is its other output, which nobody reads."""

    def __init__(self, source: int, child: int, nowhere: int) -> None:
        super().__init__(source, child, nowhere)
        self._nowhere: int | None = nowhere

    def started(self) -> None:
        super().started()
        if self._nowhere is not None:
            os.close(self._nowhere)
            self._nowhere = None

    def _hand_on(self, chunk: bytes) -> bool:  # noqa: ARG002
        return True


class OnTerminal(Relayed):
    """The application's error output is a terminal of our making, as large as the real one."""

    longest_s = 0.25  # a group in the background is not told of another size

    def resized(self) -> bool:
        return self._source is not None and terminal.follow_size(STDERR, self._source)


def error_stream(stdout: int | None, *, watched: bool) -> Unwatched:
    """How the application's error output is handed on; `stdout`: where its other output goes, if not to ours."""
    try:
        kind = os.fstat(STDERR).st_mode
    except OSError:  # closed
        return Unwatched(stdout)
    if not watched:
        return Unwatched(stdout)
    if stat.S_ISREG(kind):
        return InFile(stdout)
    if os.isatty(STDERR):
        try:
            return OnTerminal(*terminal.stand_in(STDERR), stdout)
        except (OSError, termios.error):
            return Unwatched(stdout)
    ours, theirs = os.pipe()
    return Relayed(ours, theirs, theirs if _is_stderr(stdout) else stdout)


def kept_stream() -> Unwatched:
    """The streams of an application whose output is not shown."""
    ours, theirs = os.pipe()
    return Kept(ours, theirs, os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC))


def write_all(fd: int, data: bytes) -> bool:
    """Write everything; False when nobody reads it any more."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(fd, view) :]
        except BlockingIOError:
            select.select([], [fd], [])
        except OSError:  # a closed pipe, a terminal that hung up
            return False
    return True


def _is_stderr(stdout: int | None) -> bool:
    """Whether both outputs are the same pipe: then one of ours must take both, or their order is lost."""
    try:
        one, other = os.fstat(STDOUT if stdout is None else stdout), os.fstat(STDERR)
    except OSError:
        return False
    return os.path.samestat(one, other) and not stat.S_ISCHR(one.st_mode)


def _position(fd: int) -> int:
    """The position of the next byte."""
    if fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_APPEND:
        return os.fstat(fd).st_size
    return os.lseek(fd, 0, os.SEEK_CUR)
