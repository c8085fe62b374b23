"""Clocks held at one frequency while a block runs, on request alone. A process of its own holds them: whatever ends
this one, it lets them go."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO

from rocm_perf.backends.clock_lock import ClockLock, clock_lock
from rocm_perf.bench.clock_watcher import run_tool
from rocm_perf.bench.target import child_environment
from rocm_perf.errors import NotSupportedError


@contextmanager
def locked_clocks(mhz: int | None) -> Iterator[None]:
    """Hold the clocks of every GPU at this frequency while the block runs; None: leave them alone."""
    if mhz is None:
        yield
        return
    commands = clock_lock(mhz)
    watcher = _started(commands)
    assert watcher.stdout is not None
    try:
        refusal = _answer(watcher.stdout)
        if refusal is None or refusal:
            raise NotSupportedError(
                f"cannot lock the clocks at {mhz} MHz",
                refusal or "the process that guards the lock ended",
                "It needs the rights of an administrator and a GPU that supports it; or leave --lock-clocks out.",
            )
        yield
    finally:
        _end(watcher, commands)


def _started(commands: ClockLock) -> subprocess.Popen[str]:
    """The watcher in a session of its own, so that no signal for this process's group reaches it."""
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "rocm_perf.bench.clock_watcher",
            json.dumps(commands.lock),
            json.dumps(commands.unlock),
        ],
        env=child_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _answer(stdout: IO[str]) -> str | None:
    """Why the watcher could not do it, an empty text if it could, None if it is gone."""
    line = stdout.readline()
    return str(json.loads(line)) if line else None


def _end(watcher: subprocess.Popen[str], commands: ClockLock) -> None:
    """Let the watcher unlock the clocks, and do it here if it has been killed."""
    with suppress(BrokenPipeError), watcher:  # closes its pipes, and waits for it
        pass
    if watcher.wait() and (refusal := run_tool(commands.unlock)):
        raise NotSupportedError("the clocks are still locked", refusal, f"Run: {shlex.join(commands.unlock)}")
