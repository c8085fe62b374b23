"""Recording a program, where the user allowed that: `rocm-perf profile` as anyone would start it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rocm_perf import user_program
from rocm_perf.errors import RocmPerfError, UsageError
from rocm_perf.mcp_server.bounded import facts_alone, short_text
from rocm_perf.mcp_server.roots import shown_path

_RUNS = "rocm-perf-runs"
_ENDING_S = 60.0  # for the profiler to write what it has, after the program was ended
_LINES = 10  # of what was said


def profile(
    command: Sequence[str], roots: Sequence[Path], *, preset: str, timeout_s: float
) -> dict[str, Any]:
    """Run a program under a profiler; its recording lies below the first root. Nothing goes through a shell."""
    if not command:
        raise UsageError("there is no program to run", "the command is empty")
    home = roots[0] / _RUNS
    before = set(home.glob("*"))
    options = ["--no-analyze", "-d", str(home), "--timeout", f"{timeout_s:g}"]
    options += ["--preset", preset] if preset else []
    argv = [sys.executable, "-m", "rocm_perf", "profile", *options, "--", *command]
    done = _run(argv, roots[0], timeout_s + _ENDING_S)
    said = done.stderr.decode("utf-8", "replace").splitlines()[-_LINES:]
    fresh = sorted(set(home.glob("*")) - before)
    return facts_alone(
        {
            "exit_code": done.returncode,
            "recording": shown_path(fresh[-1].resolve(), roots) if fresh else None,
            "said": [short_text(line) for line in said],
        }
    )


def _run(argv: list[str], folder: Path, most_s: float) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            argv,
            cwd=folder,
            env=user_program.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=most_s,
        )
    except subprocess.TimeoutExpired as error:
        raise RocmPerfError(f"the program did not end within {most_s:g} s") from error
