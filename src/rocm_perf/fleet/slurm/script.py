"""The sbatch script of a job. Pure: a job and its settings become a text."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import NamedTuple

import msgspec

from rocm_perf.collect.request.launching import Distributed, Slurm
from rocm_perf.errors import UsageError
from rocm_perf.fleet.job import Job, profile_command
from rocm_perf.fleet.mpi import mpi_settings
from rocm_perf.fleet.torchrun import torchrun_command

OUT_OF_TIME_FILE = "out-of-time"  # in the launch folder: the script has interrupted the ranks
_SPECIAL = (
    "nodes",
    "ntasks_per_node",
    "output_dir",
    "exclusive",
    "job_name",
)  # of Slurm; the rest is as sbatch has it
_PLAIN = re.compile(r"[\w./:=,@+%-]*")
INTERRUPT_SIGNAL = "USR2"  # sent to the script
_FIRST_PORT, _PORTS = 20_000, 20_000  # torchrun's meeting place, by the number of the job

_SCRIPT = """\
#!/bin/bash
{directives}

{exports}

# Interrupted, profilers write what they have.
interrupt_ranks() {{
  {interrupt}
}}
out_of_time() {{
  echo "rocm-perf: the time limit is near: interrupting the ranks, so that their profilers can write" >&2
  touch {marker}
  interrupt_ranks
}}
trap out_of_time USR1  # from SLURM, before the limit
trap interrupt_ranks {asked}  # from rocm-perf launch, at Ctrl-C

{command} &
ranks=$!
wait "$ranks"; code=$?
while kill -0 "$ranks" 2>/dev/null; do wait "$ranks"; code=$?; done  # a signal ends `wait` early
exit "$code"
"""


class _Ranks(NamedTuple):
    """How the ranks are started within a job."""

    command: str
    interrupt: str = 'scancel --signal=INT "$SLURM_JOB_ID"'
    per_node: int = 1  # of what SLURM starts
    environment: Mapping[str, str] = {}


def script_of(job: Job, slurm: Slurm, flush_s: int, extra: tuple[str, ...] = ()) -> str:
    """The script that records every rank of a job, and interrupts them `flush_s` before the limit. `extra` are further
    options of sbatch, as they were typed."""
    ranks = _ranks(job)
    variables = {**ranks.environment, **job.environment}
    return _SCRIPT.format(
        directives="\n".join((*_directives(job, slurm, ranks.per_node, flush_s), *map(_directive, extra))),
        exports="\n".join(f"export {name}={shlex.quote(text)}" for name, text in variables.items()),
        marker=shlex.quote(str(job.launch_folder / OUT_OF_TIME_FILE)),
        interrupt=ranks.interrupt,
        asked=INTERRUPT_SIGNAL,
        command=ranks.command,
    )


def _ranks(job: Job) -> _Ranks:
    srun = "srun --kill-on-bad-exit=0 --wait=0"  # a rank that fails does not kill the others, which record on
    launcher = launcher_of(job)
    if launcher == "torchrun":
        return _Ranks(f"{srun} --cpu-bind=none {_torchrun(job)}")
    if launcher == "mpirun":
        command = shlex.join(("mpirun", "-n", str(job.ranks), *profile_command(job)))
        return _Ranks(command, 'kill -INT "$ranks"', job.ranks_per_node, mpi_settings())
    return _Ranks(f"{srun} {shlex.join(profile_command(job))}", per_node=job.ranks_per_node)


def launcher_of(job: Job) -> str:
    """What starts the ranks within the job."""
    named = (job.configuration.distributed or Distributed()).launcher.lower()
    known = {
        "": "srun",
        "srun": "srun",
        "slurm": "srun",
        "torchrun": "torchrun",
        "mpirun": "mpirun",
        "mpi": "mpirun",
    }
    if named not in known:
        raise UsageError(
            f"distributed.launcher {named[:40]!r} cannot be started in a job",
            "",
            "Known: srun, torchrun, mpirun.",
        )
    return known[named]


def output_pattern(job: Job) -> str:
    """What the job prints goes into this file; %j is its number."""
    return f"{str(job.launch_folder).replace('%', '%%')}/job-%j.out"


def _directives(job: Job, slurm: Slurm, tasks: int, flush_s: int) -> Iterator[str]:
    """The lines that sbatch reads."""
    yield _directive(f"--job-name={slurm.job_name or PurePath(job.app[0]).name}")
    yield _directive(f"--nodes={job.nodes}")
    yield _directive(f"--ntasks-per-node={tasks}")
    for name, value in msgspec.structs.asdict(slurm).items():
        if name not in _SPECIAL and value not in ("", None):
            yield _directive(f"--{name.replace('_', '-')}={value}")
    if slurm.exclusive:
        yield _directive("--exclusive")
    yield _directive(f"--chdir={job.working_folder}")
    yield _directive(f"--output={output_pattern(job)}")
    yield _directive("--no-requeue")  # another try would record into the same folder
    yield _directive(f"--signal=B:USR1@{flush_s}")


def _directive(option: str) -> str:
    """One option as a line, quoted as sbatch unquotes it."""
    if "\n" in option or "\r" in option:
        raise UsageError(f"{option[:40]!r} cannot be handed to sbatch", "it has more than one line")
    if _PLAIN.fullmatch(option):
        return f"#SBATCH {option}"
    name, equals, value = option.partition("=")
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'#SBATCH {name}{equals}"{escaped}"'


def _torchrun(job: Job) -> str:
    """torchrun on every node; they meet at the first one, at a port that follows from the number of the job."""
    first = '"$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)'
    named = (job.configuration.distributed or Distributed()).port
    port = str(named) if named else f"$(({_FIRST_PORT} + SLURM_JOB_ID % {_PORTS}))"
    meeting = f'--rdzv-backend c10d --rdzv-id "$SLURM_JOB_ID" --rdzv-endpoint {first}:{port}"'
    words = torchrun_command(job, ("--nnodes", str(job.nodes)))
    place = words.index("--nnodes")
    return f"{shlex.join(words[:place])} {meeting} {shlex.join(words[place:])}"
