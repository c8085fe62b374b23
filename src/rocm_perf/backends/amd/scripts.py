"""rocprofv2 and rocprof are shell scripts without a `--`: which words they misread, and a way around it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from rocm_perf.backends.amd.chips import first_gpu
from rocm_perf.backends.machine import Machine

LAST = "they end with ROCm 7"
_PLAIN = re.compile(r"[\w@%+=:,./-]+", re.ASCII)


def absence(machine: Machine, name: str) -> str:
    """Why a script cannot be used; empty if it can."""
    if first_gpu(machine) is None:
        return "no AMD GPU was found"
    tool = machine.tools.get(name)
    if tool is None:
        return f"it is not on this machine ({LAST})"
    return tool.problem


def is_plain(word: str) -> bool:
    """A word that a shell leaves as it is."""
    return _PLAIN.fullmatch(word) is not None


def through_script(app: tuple[str, ...], folder: Path) -> tuple[tuple[str, ...], dict[str, str]]:
    """The same application, started by a file that holds its words quoted; and that file."""
    file = f"{folder}/application.sh"
    return ("/bin/sh", file), {file: f"exec {shlex.join(app)}\n"}
