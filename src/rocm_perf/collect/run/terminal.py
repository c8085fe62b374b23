"""The terminal: lent to the application while it runs, and stood in for where its error output is watched."""

from __future__ import annotations

import fcntl
import os
import signal
import struct
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from rocm_perf.collect.run.processes import has_siblings, members


class Watcher:
    """A process in the application's group that ends when the terminal interrupts it. Those who have lent the terminal
    are not told, and the application may answer an interrupt in any way."""

    def __init__(self, group: int) -> None:
        theirs, self._ours = os.pipe()
        actions = [
            (os.POSIX_SPAWN_DUP2, theirs, 0),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        ]
        script = 'trap "exit 0" INT QUIT; read nothing; exit 1'
        try:
            self._pid = os.posix_spawn(
                "/bin/sh", ["sh", "-c", script], {}, file_actions=actions, setpgroup=group
            )
        except OSError:  # the group is gone already
            self._pid = 0
        os.close(theirs)

    def was_interrupted(self) -> bool:
        """Whether the terminal interrupted it; ends it."""
        os.close(self._ours)
        if not self._pid:
            return False
        os.kill(self._pid, signal.SIGCONT)
        status = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        return status in (0, -signal.SIGINT, -signal.SIGQUIT)


class Terminal:
    """The controlling terminal. A process group in the background of it cannot read it, nor is it interrupted."""

    def __init__(self, number: int) -> None:
        self._fd = number
        self._group = os.getpgrp()
        self._watcher: Watcher | None = None

    def should_be_lent(self) -> bool:
        """Whether we hold it and nobody beside us needs it; else it is lent when the application asks for it."""
        return self._holder() == self._group and not has_siblings()

    def lend(self, group: int) -> bool:
        """Put the group into the foreground, if that place is ours to give."""
        if self._holder() != self._group:
            return False
        self._watcher = self._watcher or Watcher(group)
        return self._put_in_front(group)

    def was_interrupted(self) -> bool:
        """Whether the user interrupted the application, when it has ended."""
        watcher, self._watcher = self._watcher, None
        return watcher is not None and watcher.was_interrupted()

    def take_back(self, group: int) -> None:
        """Take the terminal back, unless someone else has been given it meanwhile."""
        holder = self._holder()
        if holder != self._group and (holder == group or not members(holder)):
            self._put_in_front(self._group)

    def _holder(self) -> int:
        try:
            return os.tcgetpgrp(self._fd)
        except OSError:
            return -1

    def _put_in_front(self, group: int) -> bool:
        try:
            os.tcsetpgrp(self._fd, group)
        except OSError:
            return False
        return True


@contextmanager
def controlling_terminal() -> Iterator[Terminal | None]:
    """The terminal of this session; None without one."""
    try:
        number = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except OSError:
        yield None
        return
    try:
        yield Terminal(number)
    finally:
        os.close(number)


@contextmanager
def background_output() -> Iterator[None]:
    """Let a group in the background write to the terminal and give it away, instead of being stopped."""
    old = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old)


def stand_in(real: int) -> tuple[int, int]:
    """A new terminal with the modes and the size of a real one: (our side, the application's side). It hands bytes on
    as they are, because the real one gives them their form."""
    ours, theirs = os.openpty()
    modes = termios.tcgetattr(real)
    modes[1] &= ~termios.OPOST
    termios.tcsetattr(theirs, termios.TCSANOW, modes)
    follow_size(real, ours)
    return ours, theirs


def follow_size(real: int, other: int) -> bool:
    """Give a terminal the size of the real one, and return whether it had another."""
    with suppress(OSError):
        columns, lines = os.get_terminal_size(real)
        if (columns, lines) != os.get_terminal_size(other):
            fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
            return True
    return False
