"""Running the application, under a profiler or alone: in a process group of its own, with its own input, output,
signals and exit code, as if it had been started without us.

A child that is still running when the application ends is waited for up to `grace_s`, because it may still be recorded,
and then left alone: it may be a service. On a timeout, and when the user interrupts a second time, the whole group gets
SIGINT, then SIGTERM, then SIGKILL, each after a grace, so that a profiler can write what it has."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from rocm_perf import user_program
from rocm_perf.collect.run.inputs import Feed
from rocm_perf.collect.run.processes import members
from rocm_perf.collect.run.signals import Signals
from rocm_perf.collect.run.streams import Unwatched, error_stream, kept_stream
from rocm_perf.collect.run.terminal import Terminal, background_output, controlling_terminal
from rocm_perf.errors import ToolAbsentError, UsageError

_LOOK_S = 0.02  # at children that outlive the application
_BY_THE_TERMINAL = (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)


@dataclass(frozen=True)
class Ended:
    """How a run of the application went."""

    status: int  # exit code, or minus the signal that killed it
    started_ns: int  # boot clock
    wall_ns: int
    stderr_tail: str = ""  # its beginning and its end
    interrupted: bool = False
    timed_out: bool = False
    left_behind: tuple[int, ...] = ()  # children that still run


def launch(  # noqa: PLR0913  a run has this many sides
    argv: Sequence[str],
    environment: Mapping[str, str],
    *,
    stdin: Feed | None = None,
    stdout: int | None = None,
    timeout_s: float | None = None,
    grace_s: float = 10.0,
    cwd: Path | None = None,
    watch_stderr: bool = True,
    own_signals: Mapping[int, Callable[[], None]] | None = None,
    is_shown: bool = True,
) -> Ended:
    """Run a command and wait for it. `environment` is all of it; `stdout` is where its output goes, if not to ours;
    `own_signals` are not passed on to it, but acted upon. What it writes is seen by nobody unless it `is_shown`."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    feed = stdin or Feed()
    errors = error_stream(stdout, watched=watch_stderr) if is_shown else kept_stream()
    patience = _Patience(timeout_s, grace_s)
    with ExitStack() as stack:
        terminal = stack.enter_context(controlling_terminal())
        signals = stack.enter_context(Signals(own_signals))
        try:
            started_ns, before = time.clock_gettime_ns(time.CLOCK_BOOTTIME), time.monotonic_ns()
            process = _start(argv, environment, feed, errors, cwd)
        except BaseException:
            feed.finish()
            errors.finish()
            raise
        stack.enter_context(background_output())
        run = _Run(
            process=process,
            feed=feed,
            errors=errors,
            signals=signals,
            patience=patience,
            terminal=terminal,
        )
        status = run.wait()
        wall_ns = time.monotonic_ns() - before
        left = run.see_off(grace_s)
        feed.finish()
        tail = errors.finish()
    stopped = run.interrupted or signals.ending > 0 or status == -signal.SIGINT
    return Ended(
        status=status,
        started_ns=started_ns,
        wall_ns=wall_ns,
        stderr_tail=tail,
        interrupted=stopped and not patience.timed_out,
        timed_out=patience.timed_out,
        left_behind=left,
    )


def exit_code(status: int) -> int:
    """The exit code as a shell gives it: 128 + N for signal N."""
    return 128 - status if status < 0 else status


def _start(
    argv: Sequence[str], environment: Mapping[str, str], feed: Feed, errors: Unwatched, cwd: Path | None
) -> subprocess.Popen[bytes]:
    try:
        return user_program.start(
            argv,
            environment,
            stdin=feed.child_stdin,
            stdout=errors.child_stdout,
            stderr=errors.child_stderr,
            cwd=cwd,
        )
    except FileNotFoundError as error:
        raise ToolAbsentError(f"cannot start {argv[0]}", error.strerror or str(error)) from error
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot start {argv[0]}", getattr(error, "strerror", None) or str(error)) from error


class _Patience:
    """What to send next to a group that is to end, and when."""

    def __init__(self, timeout_s: float | None, grace_s: float) -> None:
        self._steps = [signal.SIGINT, signal.SIGTERM, signal.SIGKILL]
        self._grace_s = grace_s
        self._deadline = None if timeout_s is None else time.monotonic() + timeout_s
        self.timed_out = False
        self.is_out = False

    def hurry(self) -> None:
        """Send the next signal now: the user has asked twice."""
        if not self.is_out:
            self.is_out = True
            self._steps.remove(signal.SIGINT)
            self._deadline = time.monotonic()

    def wait_s(self) -> float | None:
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    def due(self) -> signal.Signals | None:
        if self._deadline is None or time.monotonic() < self._deadline:
            return None
        self.timed_out |= not self.is_out
        self.is_out = True
        step = self._steps.pop(0)
        self._deadline = time.monotonic() + self._grace_s if self._steps else None
        return step


@dataclass
class _Run:
    """The application while it runs."""

    process: subprocess.Popen[bytes]
    feed: Feed
    errors: Unwatched
    signals: Signals
    patience: _Patience
    terminal: Terminal | None
    interrupted: bool = False  # at the terminal, while that was lent

    def __post_init__(self) -> None:
        self.feed.started()
        self.errors.started()
        if self.terminal is not None and self.terminal.should_be_lent():
            self._lend()
        self.signals.forward_to(self._group, self._lend)

    @property
    def _group(self) -> int:
        return self.process.pid

    def wait(self) -> int:
        """Wait until the application itself ends, and return its status."""
        while (status := self._ended()) is None:
            self._turn(None)
        if self.terminal is not None:
            self.terminal.take_back(self._group)
            self.interrupted = self.terminal.was_interrupted()
        return status

    def see_off(self, grace_s: float) -> tuple[int, ...]:
        """Wait for children that outlive it, and return those that still run."""
        end = time.monotonic() + grace_s * (4 if self.patience.is_out else 1)
        while (left := members(self._group)) and time.monotonic() < end:
            self._turn(_LOOK_S)
        self.signals.forward_to(None)
        return tuple(one.pid for one in left)

    def _turn(self, longest_s: float | None) -> None:
        """Send what is due, then wait for something to happen."""
        self.signals.act()
        if self.signals.ending > 1:
            self.patience.hurry()
        if (due := self.patience.due()) is not None:
            self.signals.send(due)
        if self.errors.resized():
            self.signals.send(signal.SIGWINCH)
        waits = [longest_s, self.patience.wait_s(), self.errors.longest_s]
        wants = [*self.feed.wants(), *self.errors.wants()]
        self.signals.wait(wants, min((wait for wait in waits if wait is not None), default=None))

    def _ended(self) -> int | None:
        pid, status = os.waitpid(self.process.pid, os.WNOHANG | os.WUNTRACED)
        if not pid:
            return None
        if os.WIFSTOPPED(status):
            self._stopped(os.WSTOPSIG(status))
            return None
        self.process.returncode = os.waitstatus_to_exitcode(status)
        return self.process.returncode

    def _lend(self) -> bool:
        return self.terminal is not None and self.terminal.lend(self._group)

    def _stopped(self, number: int) -> None:
        """Answer a stop: the application wants the terminal, or the user has put it aside, and us with it."""
        if number not in _BY_THE_TERMINAL:
            return
        if number == signal.SIGTSTP or not self._lend():
            if self.terminal is not None:
                self.terminal.take_back(self._group)
            self.signals.stop_ourselves()
            self._lend()
        self.signals.send(signal.SIGCONT)
