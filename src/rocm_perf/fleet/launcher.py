"""What a launcher is: a pure plan of what would be written and started, and a run that carries it out."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from rocm_perf.collect.run.layout import explained
from rocm_perf.errors import RocmPerfError
from rocm_perf.fleet.job import Job

Say = Callable[[str], None]
State = Literal["done", "failed", "cancelled", "timed out", "under way"]


class LaunchPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What a launch writes and starts."""

    files: dict[str, str] = {}  # texts by name, in the launch folder
    argv: tuple[str, ...]  # the command that starts it; none where it is left to the user
    environment: dict[str, str] = {}  # variables that are set for it
    notices: tuple[str, ...] = ()  # what the user should know, such as what is not used


def add_workload(parser: argparse.ArgumentParser) -> None:
    """Add the options that name a workload and the image it runs in, for launchers whose nodes are other machines."""
    parser.add_argument(
        "-t",
        "--tags",
        metavar="T",
        nargs="+",
        action="extend",
        default=[],
        help="launch this workload of a catalogue",
    )
    parser.add_argument(
        "-m", "--manifest-file", metavar="M", type=Path, help="which rocm-perf build wrote, with its image"
    )
    parser.add_argument(
        "--catalogue", "--catalog", metavar="F", type=Path, help="file of workloads, as run has it"
    )
    parser.add_argument("--image", metavar="I", default="", help="the ranks run in it; it has rocm-perf")


def write_files(plan: LaunchPlan, folder: Path) -> None:
    """Make the folder that says how a run was launched, with the plan's files in it."""
    with explained(folder):
        folder.mkdir(parents=True)
        for name, text in plan.files.items():
            (folder / name).write_text(text)


@contextmanager
def nothing_left(job: Job) -> Iterator[None]:
    """Remove the folder of a job that could not be started."""
    try:
        yield
    except RocmPerfError:
        shutil.rmtree(job.folder, ignore_errors=True)
        raise


class Launched(msgspec.Struct, frozen=True, kw_only=True):
    """How a launch ended, or stands."""

    state: State
    message: str  # what happened, and what to do about it
    exit_code: int  # the program's own, where it has one


class Launcher(Protocol):
    """One way to start the ranks of a job. Its docstring is its help text."""

    name: str
    obeys: tuple[str, ...]  # keys of a configuration that it uses; the others are named as not used

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the launcher's own options."""

    def plan(self, job: Job, args: argparse.Namespace) -> LaunchPlan:
        """Return what would be written and started; starts nothing."""

    def run(self, plan: LaunchPlan, job: Job, say: Say) -> Launched:
        """Start it and wait until it has ended. The plan's files are in the launch folder already."""

    def resume(self, job: Job, say: Say) -> Launched:
        """Wait for a job that was started before, and whose launcher was left."""
