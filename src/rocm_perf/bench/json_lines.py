"""A program that prints one JSON object per line: started, listened to, and ended when it takes too long. What it
printed before it failed is kept."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

Line = dict[str, Any]
_PACKAGE_ROOT = Path(__file__).parents[2]
# The interpreter may be another one than ours: of our packages it sees this one alone.
_START = (
    "import sys; sys.path.insert(0, sys.argv[1]); import rocm_perf; del sys.path[0]; "
    "from {module} import main; sys.exit(main(sys.argv[2:]))"
)
_COMPLAINT_BYTES = 4000


def python_command(python: str, module: str, *arguments: str) -> list[str]:
    """The command that runs `main` of one of our modules in an interpreter of the user's."""
    return [python, "-c", _START.format(module=module), str(_PACKAGE_ROOT), *arguments]


def run_lines(
    command: Sequence[str],
    on_line: Callable[[Line], None],
    *,
    limit_s: float,
    variables: Mapping[str, str] | None = None,
) -> str:
    """Run the command and hand each object to `on_line` as it comes; lines that are not JSON are passed over. Returns
    why it failed, in one line; empty where it did not."""
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=errors,
                stdin=subprocess.DEVNULL,
                env={**os.environ, **(variables or {})},
                start_new_session=True,
            )
        except OSError as error:
            return f"{command[0]} cannot be started: {error.strerror}"
        overdue = threading.Event()

        def end_it() -> None:
            overdue.set()
            _kill(process)

        timer = threading.Timer(limit_s, end_it)
        timer.start()
        try:
            _listen(process, on_line)
        finally:
            timer.cancel()
            _kill(process)
            process.wait()
        if overdue.is_set():
            return f"it did not end within {limit_s:g} s"
        return _problem(process.returncode, errors)


def _listen(process: subprocess.Popen[bytes], on_line: Callable[[Line], None]) -> None:
    assert process.stdout is not None
    with process.stdout as output:
        for text in output:
            line = _object(text)
            if line is not None:
                on_line(line)
    process.wait()


def _object(text: bytes) -> Line | None:
    try:
        line = json.loads(text)
    except ValueError:
        return None
    return line if isinstance(line, dict) else None


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the program and whatever it started; nothing where it has ended."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _problem(code: int, errors: IO[bytes]) -> str:
    """Why a program failed: its last words, or the signal."""
    if code == 0:
        return ""
    size = errors.seek(0, os.SEEK_END)
    errors.seek(max(0, size - _COMPLAINT_BYTES))
    lines = [line.strip() for line in errors.read().decode(errors="replace").splitlines() if line.strip()]
    if lines:
        return lines[-1][:400]
    return f"it was ended by {signal.Signals(-code).name}" if code < 0 else f"it exited with {code}"
