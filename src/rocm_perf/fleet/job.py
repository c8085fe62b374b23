"""A program on many GPUs, as options and configuration describe it, whichever launcher starts it."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from rocm_perf.collect.request.configuration import Configuration
from rocm_perf.collect.run.layout import RUN_ID_VARIABLE

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

    @property
    def folder(self) -> Path:
        """The folder of the run, in which every rank has one of its own."""
        return Path(self.output, self.run_id)

    @property
    def launch_folder(self) -> Path:
        """The folder beside those of the ranks that says how they were launched."""
        return self.folder / "launch"

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
    """What each rank runs. `rocm_perf` is how rocm-perf is started where that happens, `files` the folder with what the
    ranks read, if it is not the launch folder."""
    context: tuple[str, ...] = ()
    if files_of(job):
        context = ("--additional-context-file", str((files or job.launch_folder) / CONFIGURATION_FILE))
    recording = ("--no-analyze", "--keep-exit-code", "-d", job.output, *context, *job.profile)
    return (*rocm_perf, "profile", *recording, "--", *job.app)
