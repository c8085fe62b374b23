"""Signals that reach us while the application runs are its own, but for those that we ask the user to send us."""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import FrameType, TracebackType

from rocm_perf.collect.run.streams import Want

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_FORWARDED = (
    *_ENDING,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGWINCH,
    signal.SIGTSTP,
    signal.SIGCONT,
)
_LOOK_S = 0.01  # outside the main thread no signal wakes us


class Signals:
    """Passes signals on to a process group, and wakes whoever waits. One that the user ignores stays ignored."""

    def __init__(self, own: Mapping[int, Callable[[], None]] | None = None) -> None:
        self.ending = 0  # how often we were asked to end
        self._own = dict(own or {})  # signals that are not the application's, and what to do at each
        self._asked: list[int] = []
        self._group: int | None = None
        self._early: list[int] = []
        self._lend: Callable[[], bool] = bool
        self._old: dict[int, object] = {}
        self._pipe: tuple[int, int] | None = None
        self._old_wakeup = -1

    def __enter__(self) -> Signals:
        if threading.current_thread() is not threading.main_thread():
            return self
        self._pipe = os.pipe()
        for end in self._pipe:
            os.set_blocking(end, False)
        self._old_wakeup = signal.set_wakeup_fd(self._pipe[1], warn_on_full_buffer=False)
        for number in _FORWARDED:
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                self._old[number] = signal.signal(number, self._forward)
        self._old[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, _wake)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._old.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        if self._pipe is not None:
            signal.set_wakeup_fd(self._old_wakeup)
            for end in self._pipe:
                os.close(end)

    def forward_to(self, group: int | None, lend: Callable[[], bool] = bool) -> None:
        """Pass signals on to this group from now on; None: to nobody. `lend` gives it the terminal, when we continue in
        front."""
        self._group, self._lend = group, lend
        for number in self._early if group is not None else ():
            self.send(number)
        self._early.clear()

    def act(self) -> None:
        """Do what signals asked of us since the last call."""
        while self._asked:
            self._own[self._asked.pop(0)]()

    def send(self, number: int) -> None:
        """Send a signal to the group; one that is stopped must be woken to end."""
        if self._group is None:
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._group, number)
            if number in _ENDING:
                os.killpg(self._group, signal.SIGCONT)

    def wait(self, wants: Sequence[Want], timeout_s: float | None) -> None:
        """Wait until a file is ready and dealt with, a signal comes, or the time is up."""
        poller = select.poll()
        acts = {want.fd: want.act for want in wants}
        for want in wants:
            poller.register(want.fd, want.events)
        if self._pipe is not None:
            acts[self._pipe[0]] = self._drain
            poller.register(self._pipe[0], select.POLLIN)
        else:
            timeout_s = min(_LOOK_S, timeout_s if timeout_s is not None else _LOOK_S)
        for fd, _ in poller.poll(None if timeout_s is None else int(timeout_s * 1000) + 1):
            acts[fd]()

    def stop_ourselves(self) -> None:
        """Stop, as the terminal would have stopped our group. The kernel does not, where nobody could wake us again."""
        old = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        try:
            os.killpg(os.getpgrp(), signal.SIGTSTP)
            time.sleep(0.05)  # another thread may be the one that is told to stop us
        finally:
            signal.signal(signal.SIGTSTP, old)

    def _forward(self, number: int, _frame: FrameType | None) -> None:
        if number in self._own:
            self._asked.append(number)
            return
        self.ending += number in _ENDING
        if self._group is None:
            self._early.append(number)
            return
        if number == signal.SIGCONT:
            self._lend()
        self.send(number)

    def _drain(self) -> None:
        assert self._pipe is not None
        with suppress(BlockingIOError):
            while os.read(self._pipe[0], 512):
                pass


@contextmanager
def ending_waits() -> Iterator[None]:
    """Hold back a signal that asks us to end until this is done: one that goes to all processes at once may end the
    application first, and reach us while what it left is being written down."""
    held: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    old = {number: signal.getsignal(number) for number in _ENDING}
    ours = {number: handler for number, handler in old.items() if callable(handler)}
    for number in ours:
        signal.signal(number, lambda number, _frame: held.append(number))
    try:
        yield
    finally:
        for number, handler in ours.items():
            signal.signal(number, handler)
    if held:
        os.kill(os.getpid(), held[0])


def _wake(_number: int, _frame: FrameType | None) -> None:
    """Nothing to do: the wakeup file has been written."""
