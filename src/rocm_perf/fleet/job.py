"""A program on many GPUs, as options and configuration describe it, whichever launcher starts it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from rocm_perf.collect.request.configuration import Configuration
from rocm_perf.collect.run.layout import PASSES, RUN_ID_VARIABLE

PASS = "\0pass"  # stands for the number of the launch in a command; no argument can hold a NUL
CONFIGURATION_FILE = "configuration.json"
THIS_ROCM_PERF = (sys.executable, "-m", "rocm_perf")


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What is launched: every rank runs `rocm-perf profile -- APP`, and all of them record into one folder."""

    app: tuple[str, ...]  # the program and its arguments, unchanged
    profile: tuple[str, ...] = ()  # options of `rocm-perf profile`, as they were typed
    nodes: int = 1
    ranks_per_node: int = 1
    output: str  # absolute; the run's folder lies below it
    run_id: str  # names the run's folder
    working_folder: str  # where the program starts
    configuration: Configuration = Configuration()
    image: str = ""  # the ranks run in it; it has the program and rocm-perf
    gpus: int = 0  # that the program takes on each node; 0: not said
    pass_env: tuple[str, ...] = ()  # variables of the user's shell that the program needs, such as a token
    readable: tuple[str, ...] = ()  # folders that the program reads, beside the working folder

    @property
    def folder(self) -> Path:
        """The folder of the run, in which every rank has one of its own."""
        return Path(self.output, self.run_id)

    @property
    def launch_folder(self) -> Path:
        """The folder beside those of the ranks that says how they were launched."""
        return self.folder / "launch"

    @property
    def passes_folder(self) -> Path:
        """The folder in which ranks say how many launches the job takes (collect/run/layout.py)."""
        return self.folder / PASSES

    @property
    def ranks(self) -> int:
        """How many ranks there are on all nodes."""
        return self.nodes * self.ranks_per_node

    @property
    def environment(self) -> dict[str, str]:
        """Variables that make the ranks of this job one run."""
        return {RUN_ID_VARIABLE: self.run_id}


def recorded_part(configuration: Configuration) -> str:
    """The part of a configuration that `profile` obeys, as JSON; empty where it says nothing."""
    part = {
        "env_vars": configuration.env_vars,
        "tools": msgspec.to_builtins(configuration.tools),
        "window": configuration.window,
    }
    said = {name: value for name, value in part.items() if value}
    return msgspec.json.format(msgspec.json.encode(said)).decode() + "\n" if said else ""


def files_of(job: Job) -> dict[str, str]:
    """The files that the ranks read, by name in the launch folder."""
    text = recorded_part(job.configuration)
    return {CONFIGURATION_FILE: text} if text else {}


def profile_command(
    job: Job, rocm_perf: tuple[str, ...] = THIS_ROCM_PERF, files: Path | None = None
) -> tuple[str, ...]:
    """What each rank runs, with PASS where the number of the launch goes. `rocm_perf` is how rocm-perf is started where
    that happens, `files` the folder with what the ranks read, if it is not the launch folder."""
    context: tuple[str, ...] = ()
    if files_of(job):
        context = ("--additional-context-file", str((files or job.launch_folder) / CONFIGURATION_FILE))
    recording = ("--no-analyze", "--keep-exit-code", "--pass", PASS, "-d", job.output, *context, *job.profile)
    return (*rocm_perf, "profile", *recording, "--", *job.app)


def of_pass(command: Sequence[str], number: int) -> tuple[str, ...]:
    """Return the command of one launch of several, the first of which is 1."""
    return tuple(str(number) if word == PASS else word for word in command)


def shell_command(command: Sequence[str]) -> str:
    """Return the command for a script whose variable `pass` is the number of the launch."""
    return shlex.join(command).replace(shlex.quote(PASS), '"$pass"')


def wants_another(job: Job, number: int) -> bool:
    """Return whether some rank has more to record after a launch."""
    return (job.passes_folder / f"more-{number}").exists()


def launches_of(job: Job) -> int:
    """Return how many launches the job takes, as its ranks have found out; 1 where they did not get that far."""
    totals = (file.name.removeprefix("of-") for file in job.passes_folder.glob("of-*"))
    return max((int(total) for total in totals if total.isdecimal()), default=1)
