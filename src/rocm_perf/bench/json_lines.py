"""A program that prints one JSON object per line: started, listened to, and ended when it takes too long. What it
printed before it failed is kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from rocm_perf import user_program
from rocm_perf.bench.run import Finished, run
from rocm_perf.errors import UsageError

Line = dict[str, Any]
_PACKAGE_ROOT = Path(__file__).parents[2]
# The interpreter may be another one than ours: of our packages it sees this one alone.
_START = (
    "import sys; sys.path.insert(0, sys.argv[1]); import rocm_perf; del sys.path[0]; "
    "from {module} import main; sys.exit(main(sys.argv[2:]))"
)
_LONGEST_PROBLEM = 400


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

    def listen(output: IO[bytes]) -> None:
        for text in output:
            line = _object(text)
            if line is not None:
                on_line(line)

    try:
        finished = run(command, {**user_program.environment(), **(variables or {})}, limit_s, listen)
    except UsageError as error:
        return str(error)
    return f"it did not end within {limit_s:g} s" if finished.timed_out else _problem(finished)


def _object(text: bytes) -> Line | None:
    try:
        line = json.loads(text)
    except ValueError:
        return None
    return line if isinstance(line, dict) else None


def _problem(finished: Finished) -> str:
    """Why a program failed: its last words, or the signal."""
    if finished.status == 0:
        return ""
    if finished.last_line:
        return finished.last_line[:_LONGEST_PROBLEM]
    if finished.status < 0:
        return f"it was ended by {user_program.signal_name(-finished.status)}"
    return f"it exited with {finished.status}"
