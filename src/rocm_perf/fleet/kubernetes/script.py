"""What every pod starts. Pure: a job and its settings become a text. It is part of the ConfigMap, because Kubernetes
would change `$(NAME)` in a command of the pod itself."""

from __future__ import annotations

import shlex
from pathlib import Path

from rocm_perf.fleet.job import Job, profile_command, shell_command
from rocm_perf.fleet.kubernetes.files import MOUNTED
from rocm_perf.fleet.kubernetes.settings import Settings
from rocm_perf.fleet.torchrun import torchrun_command

_PORT = "\0port"  # stands for $MASTER_PORT in a command
_SCRIPT = """\
#!/bin/sh
# Started in every pod; JOB_COMPLETION_INDEX, which Kubernetes sets, is the number of its node.
command -v rocm-perf >/dev/null || {{
  echo "rocm-perf: the image has no rocm-perf; rocm-perf build makes one that has" >&2
  exit 127
}}
{exports}
{meeting}
# One launch of all ranks for each run of the program: ranks that run together cannot be run again one by one. Each
# has a port of its own, and every pod counts alike.
stopped=
stop() {{
  stopped=1
  kill -TERM "$ranks" 2>/dev/null
}}
trap stop TERM INT
pass=1
while :; do
  export MASTER_PORT=$(({port} + pass - 1))
  {command} &
  ranks=$!
  wait "$ranks"; code=$?
  while kill -0 "$ranks" 2>/dev/null; do wait "$ranks"; code=$?; done  # a signal ends `wait` early
  launches=$(ls {passes} 2>/dev/null | sed -n 's/^of-//p' | sort -n | tail -n 1)
  if [ "$code" -ne 0 ] || [ -n "$stopped" ] || [ "$pass" -ge "${{launches:-1}}" ]; then break; fi
  pass=$((pass + 1))
  echo "rocm-perf: launch $pass of $launches: the ranks start again" >&2
done
exit "$code"
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
    variables = {**job.environment, "MASTER_ADDR": settings.master}
    exports = [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
    exports += _torchrun_node() if settings.with_torchrun else _rank(settings)
    words = shell_command(command).replace(shlex.quote(_PORT), '"$MASTER_PORT"')
    return _SCRIPT.format(
        exports="\n".join(exports),
        meeting=_WAIT if settings.nodes > 1 else "",
        port=settings.port,
        command=words,
        passes=shlex.quote(str(job.passes_folder)),
    )


def _meeting(settings: Settings) -> tuple[str, ...]:
    if settings.nodes == 1:
        return ("--standalone",)
    place = ("--master-addr", settings.master, "--master-port", _PORT)
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
