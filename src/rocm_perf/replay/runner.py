"""What executes a captured kernel: a runner. The native one has a GPU of its vendor do it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rocm_perf.errors import OutputError
from rocm_perf.replay.plan import Options, plan_text
from rocm_perf.replay.run import Ended, run_plan
from rocm_perf.replay.snapshot import Snapshot

TMPDIR = "Set TMPDIR to a folder that can be written, on a disk with room."


@dataclass(frozen=True)
class Task:
    """A snapshot with its raw files, what to do with it, and a folder for what comes of it."""

    snapshot: Snapshot
    files: Mapping[str, Path]
    work: Path
    options: Options


class Runner(Protocol):
    """Executes one task."""

    def __call__(self, task: Task, timeout_s: float) -> Ended:
        """How it went. Dumps are left where `dump_path` says."""


@dataclass(frozen=True)
class NativeRunner:
    """The program that uses a GPU."""

    program: Path

    def __call__(self, task: Task, timeout_s: float) -> Ended:
        text = plan_text(task.snapshot, task.files, task.work, task.options)
        return run_plan(self.program, write_plan(task.work, text), timeout_s)


def write_plan(work: Path, text: str) -> Path:
    """Write the plan, and make the folder for the dumps that it asks for; returns the plan's file."""
    plan = work / "plan.txt"
    try:
        (work / "dump").mkdir(exist_ok=True)
        plan.write_bytes(os.fsencode(text))  # a path need not be UTF-8
    except OSError as error:
        why = error.strerror or str(error)
        raise OutputError(f"cannot write the runner's plan to {work}", why, TMPDIR) from error
    return plan
