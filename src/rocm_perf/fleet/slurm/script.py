"""The sbatch script of a job. Pure: a job and its settings become a text."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import NamedTuple

import msgspec

from rocm_perf.collect.request.launching import Distributed, Runtime, Slurm, start_of
from rocm_perf.errors import UsageError
from rocm_perf.fleet.job import Job, profile_command, shell_command
from rocm_perf.fleet.mpi import mpi_settings
from rocm_perf.fleet.torchrun import torchrun_command
from rocm_perf.fleet.workloads.container import Container

OUT_OF_TIME_FILE = "out-of-time"  # in the launch folder: the script has interrupted the ranks
_SPECIAL = (
    "nodes",
    "ntasks_per_node",
    "output_dir",
    "exclusive",
    "job_name",
    "container_runtime",
)  # of Slurm; the rest is as sbatch has it
_OF_A_RANK = (  # variables that SLURM gives each of its tasks, for those in a container
    *("SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS", "SLURM_RESTART_COUNT", "SLURM_JOB_NODELIST"),
    *(
        "SLURM_NNODES",
        "SLURM_NODEID",
        "SLURM_NTASKS",
        "SLURM_PROCID",
        "SLURM_LOCALID",
        "MASTER_ADDR",
        "MASTER_PORT",
    ),
    *("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"),
)
_PLAIN = re.compile(r"[\w./:=,@+%-]*")
INTERRUPT_SIGNAL = "USR2"  # sent to the script
_FIRST_PORT, _PORTS = 20_000, 20_000  # torchrun's meeting place, by the number of the job

_SCRIPT = """\
#!/bin/bash
{directives}

{exports}

# Interrupted, profilers write what they have.
stopped=
interrupt_ranks() {{
  stopped=1
  {interrupt}
}}
out_of_time() {{
  echo "rocm-perf: the time limit is near: interrupting the ranks, so that their profilers can write" >&2
  touch {marker}
  interrupt_ranks
}}
trap out_of_time USR1  # from SLURM, before the limit
trap interrupt_ranks {asked}  # from rocm-perf launch, at Ctrl-C

# One launch of all ranks for each run of the program: ranks that run together cannot be run again one by one.
pass=1
while :; do
  {command} &
  ranks=$!
  wait "$ranks"; code=$?
  while kill -0 "$ranks" 2>/dev/null; do wait "$ranks"; code=$?; done  # a signal ends `wait` early
  if [ "$code" -ne 0 ] || [ -n "$stopped" ] || [ ! -e {passes}/more-"$pass" ]; then break; fi
  pass=$((pass + 1))
  echo "rocm-perf: launch $pass: the ranks start again" >&2
done
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
    ranks = _ranks(job, slurm.container_runtime)
    variables = {**ranks.environment, **job.environment}
    return _SCRIPT.format(
        directives="\n".join((*_directives(job, slurm, ranks.per_node, flush_s), *map(_directive, extra))),
        exports="\n".join(f"export {name}={shlex.quote(text)}" for name, text in variables.items()),
        marker=shlex.quote(str(job.launch_folder / OUT_OF_TIME_FILE)),
        interrupt=ranks.interrupt,
        asked=INTERRUPT_SIGNAL,
        command=ranks.command,
        passes=shlex.quote(str(job.passes_folder)),
    )


def _ranks(job: Job, runtime: Runtime) -> _Ranks:
    srun = "srun --kill-on-bad-exit=0 --wait=0"  # a rank that fails does not kill the others, which record on
    launcher = launcher_of(job)
    inside = f"{shlex.join(_container(job).around(runtime))} " if job.image else ""
    if launcher == "torchrun":
        return _Ranks(f"{srun} --cpu-bind=none {inside}{_torchrun(job)}")
    if launcher == "mpirun" and job.image:
        raise UsageError(
            f"mpirun cannot start ranks in the image {job.image}",
            "each would be alone in a container",
            "Choose srun or torchrun as distributed.launcher.",
        )
    if launcher == "mpirun":
        command = shell_command(("mpirun", "-n", str(job.ranks), *profile_command(job)))
        return _Ranks(command, 'kill -INT "$ranks"', job.ranks_per_node, mpi_settings())
    words = shell_command(_rank_command(job))
    return _Ranks(f"{srun} {inside}{words}", per_node=job.ranks_per_node)


def _rank_command(job: Job) -> tuple[str, ...]:
    return profile_command(job, ("rocm-perf",)) if job.image else profile_command(job)


def _container(job: Job) -> Container:
    """The container of a rank, or of the ranks of a node: the folders of the job are at their own places."""
    return Container(
        image=job.image,
        writable=(Path(job.working_folder), Path(job.output)),
        readable=tuple(map(Path, job.readable)),
        variables=(*job.environment, *_OF_A_RANK, *job.pass_env),
        nvidia=job.configuration.gpu_vendor.upper() == "NVIDIA",
    )


def launcher_of(job: Job) -> str:
    """What starts the ranks within the job; srun also starts a program on each node that starts the others itself."""
    named = start_of(job.configuration.distributed).by
    return "srun" if named in ("", "itself") else named


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
    """torchrun on every node; they meet at the first one, at a port that follows from the number of the job. Every
    launch has a store and a port of its own: the addresses in the last one are those of ranks that have ended."""
    first = '"$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)'
    named = (job.configuration.distributed or Distributed()).port
    base = str(named) if named else f"{_FIRST_PORT} + SLURM_JOB_ID % {_PORTS}"
    port = f"$(({base} + pass - 1))"
    meeting = f'--rdzv-backend c10d --rdzv-id "$SLURM_JOB_ID.$pass" --rdzv-endpoint {first}:{port}"'
    words = torchrun_command(job, ("--nnodes", str(job.nodes)), _rank_command(job))
    place = words.index("--nnodes")
    return f"{shlex.join(words[:place])} {meeting} {shell_command(words[place:])}"
