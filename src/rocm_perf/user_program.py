"""How the user's programs are started: with the environment, signals and descriptors that they would have been given
without us."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any

_Stream = int | IO[bytes] | None

# Polars sets the first as it is imported, Python the second as it starts (PEP 538).
_ADDED_TO_OURS = ("_RJEM_MALLOC_CONF", "LC_CTYPE")
_COERCED = ("C.UTF-8", "C.utf8", "UTF-8")
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
# Parents that hand their ignored signals on. Programs in Python, Rust or Go ignore SIGPIPE for themselves alone.
_HAND_ON = frozenset(
    [
        "ash",
        "bash",
        "busybox",
        "dash",
        "fish",
        "flock",
        "ksh",
        "make",
        "mksh",
        "sh",
        "time",
        "timeout",
        "xargs",
        "zsh",
    ]
)
_OWN_GROUP: dict[str, Any] = {"process_group": 0} if sys.version_info >= (3, 11) else {}


def environment() -> dict[str, str]:
    """Return the environment that we were given: ours, without what Python and libraries have added to it."""
    variables = dict(os.environ)
    given = _given()
    for name in _ADDED_TO_OURS:
        if name == "LC_CTYPE" and (name in given or variables.get(name) not in _COERCED):
            continue
        variables.pop(name, None)
        if name in given:
            variables[name] = given[name]
    return variables


def start(  # noqa: PLR0913  a program has this many sides
    argv: Sequence[str],
    environment: Mapping[str, str],
    *,
    stdin: _Stream = None,
    stdout: _Stream = None,
    stderr: _Stream = None,
    cwd: Path | None = None,
    own_session: bool = False,
) -> subprocess.Popen[bytes]:
    """Start a program in a process group of its own; in a session of its own it has no terminal either.
    `environment` is all of it.

    It inherits the descriptors of the user's shell (ours close by themselves), and ignores the signals that the shell
    ignored. Raises OSError or ValueError where it cannot be started.
    """
    return subprocess.Popen(
        list(argv),
        env=dict(environment),
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        cwd=cwd,
        close_fds=False,
        preexec_fn=_preparation(_lost_signals(), own_group=not own_session),  # noqa: PLW1509  it only calls the kernel
        start_new_session=own_session,
        **({} if own_session else _OWN_GROUP),
    )


def signal_name(number: int) -> str:
    """Return the name of a signal as a shell gives it: `SIGTERM`, `SIGRTMIN+6`."""
    try:
        return signal.Signals(number).name
    except ValueError:
        is_real_time = signal.SIGRTMIN < number < signal.SIGRTMAX
        return f"SIGRTMIN+{number - signal.SIGRTMIN}" if is_real_time else f"signal {number}"


def failure(status: int) -> str:
    """Return how a program failed, by its exit code, or minus the signal that killed it."""
    return f"was killed by {signal_name(-status)}" if status < 0 else f"failed with exit code {status}"


def _given() -> dict[str, str]:
    """Return the environment with which this process was started."""
    try:
        entries = Path("/proc/self/environ").read_bytes().split(b"\0")
    except OSError:
        return {}
    pairs = (entry.partition(b"=") for entry in entries if b"=" in entry)
    return {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}


def _ignored_at_start() -> frozenset[int]:
    """Return the signals that were ignored when we were started, of those where that is lost on the way to a program.

    Python ignores some from its start on, and nobody can ask what they were before: what the shell that started us
    ignores tells. A shell that made way for us (`exec`) is gone, and counts as one that ignores neither.
    """
    ignored = {signal.SIGCHLD} if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN else set()
    parent = Path(f"/proc/{os.getppid()}")
    try:
        if (parent / "exe").readlink().name in _HAND_ON:
            (line,) = (text for text in (parent / "status").read_text().splitlines() if "SigIgn" in text)
            mask = int(line.split()[1], 16)
            ignored |= {number for number in _IGNORED_BY_PYTHON if mask >> (number - 1) & 1}
    except (OSError, ValueError):
        pass  # its parent is another user's, or gone
    return frozenset(ignored)


_IGNORED_AT_START = _ignored_at_start()


def wait_for_children() -> None:
    """Let us wait for programs although SIGCHLD is ignored, which loses their exit codes; they ignore it as before."""
    if signal.SIGCHLD in _IGNORED_AT_START:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def _lost_signals() -> tuple[int, ...]:
    """Return the signals that a program must be made to ignore: Python lets no program inherit that."""
    since = (number for number in _IGNORED_BY_PYTHON if signal.getsignal(number) is not signal.SIG_IGN)
    return tuple(sorted(_IGNORED_AT_START.difference(since)))


def _preparation(ignored: tuple[int, ...], *, own_group: bool) -> Callable[[], None] | None:
    """Return what the new process does before it becomes the program; None, which is quicker, where that is nothing."""
    by_hand = own_group and not _OWN_GROUP
    return partial(_prepare, ignored, by_hand) if ignored or by_hand else None


def _prepare(ignored: tuple[int, ...], own_group: bool) -> None:
    if own_group:
        os.setpgrp()
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)
