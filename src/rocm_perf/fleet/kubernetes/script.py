"""What every pod starts. Pure: a job and its settings become a text. It is part of the ConfigMap, because Kubernetes
would change `$(NAME)` in a command of the pod itself."""

from __future__ import annotations

import shlex
from pathlib import Path

from rocm_perf.fleet.job import Job, profile_command
from rocm_perf.fleet.kubernetes.files import MOUNTED
from rocm_perf.fleet.kubernetes.settings import Settings
from rocm_perf.fleet.torchrun import torchrun_command

_SCRIPT = """\
#!/bin/sh
# Started in every pod; JOB_COMPLETION_INDEX, which Kubernetes sets, is the number of its node.
command -v rocm-perf >/dev/null || {{
  echo "rocm-perf: the image has no rocm-perf; rocm-perf build makes one that has" >&2
  exit 127
}}
{exports}
{meeting}
exec {command}
"""

_WAIT = """\
# The first pod may start last, and has no address before.
tries=0
while command -v getent >/dev/null && ! getent hosts "$MASTER_ADDR" >/dev/null && [ "$tries" -lt 150 ]; do
  tries=$((tries + 1))
  sleep 2
done"""


def script_of(job: Job, settings: Settings) -> str:
    """The script of a job; `job` is as its pods see it."""
    rank_command = profile_command(job, ("rocm-perf",), Path(MOUNTED))
    command = (
        torchrun_command(job, _meeting(settings), rank_command) if settings.with_torchrun else rank_command
    )
    variables = {**job.environment, "MASTER_ADDR": settings.master, "MASTER_PORT": str(settings.port)}
    exports = [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
    exports += _torchrun_node() if settings.with_torchrun else _rank(settings)
    return _SCRIPT.format(
        exports="\n".join(exports), meeting=_WAIT if settings.nodes > 1 else "", command=shlex.join(command)
    )


def _meeting(settings: Settings) -> tuple[str, ...]:
    if settings.nodes == 1:
        return ("--standalone",)
    place = ("--master-addr", settings.master, "--master-port", str(settings.port))
    return ("--nnodes", str(settings.nodes), *place)


def _torchrun_node() -> list[str]:
    return [
        'export PET_NODE_RANK="$JOB_COMPLETION_INDEX"  # torchrun takes its options from PET_ variables, too'
    ]


def _rank(settings: Settings) -> list[str]:
    """What torchrun would set, where every pod is one rank."""
    return [
        'export RANK="$JOB_COMPLETION_INDEX"',
        f"export WORLD_SIZE={settings.nodes} LOCAL_RANK=0 LOCAL_WORLD_SIZE=1",
    ]
