"""What is measured: a function in fresh processes, or a command."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rocm_perf import user_program
from rocm_perf.bench.settings import Settings
from rocm_perf.errors import UsageError


@dataclass(frozen=True)
class Target:
    """A function by its name, or a command by its arguments; one of the two."""

    function: str = ""
    command: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What it is called in a report."""
        return self.function or " ".join(self.command)


def parse_target(function: str | None, command: Sequence[str]) -> Target:
    """The target of a command line: one function, or the command behind `--`."""
    if bool(function) == bool(command):
        raise UsageError(
            "nothing to measure" if not function else "both a function and a command are given",
            next_step="Name module:function, script.py:function, or a command behind --.",
        )
    return Target(function=function or "", command=tuple(command))


def child_argv(target: Target, settings: Settings, journal: Path, profile: Path | None) -> tuple[str, ...]:
    """The command that measures a function in a process of its own, into a journal."""
    request = {
        "target": target.function,
        "settings": asdict(settings),
        "journal": str(journal),
        "profile": None if profile is None else str(profile),
    }
    return (sys.executable, "-m", "rocm_perf.bench.inside.child", json.dumps(request))


def child_environment() -> dict[str, str]:
    """The environment in which that process finds this package, and the target as this process would."""
    paths = os.pathsep.join(os.path.abspath(entry) for entry in sys.path if entry)
    return {**user_program.environment(), "PYTHONPATH": paths}
