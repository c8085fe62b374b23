"""SLURM's own commands. Only this module runs them."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence

from rocm_perf import user_program
from rocm_perf.errors import NotSupportedError, ToolAbsentError
from rocm_perf.fleet.slurm.script import INTERRUPT_SIGNAL
from rocm_perf.fleet.slurm.states import FORGOTTEN, JobStatus, read_sacct, read_scontrol

_LIMIT_S = 60.0  # a controller that is busy answers late
_SACCT = (
    "sacct",
    "--allocations",
    "--noheader",
    "--parsable2",
    "--format=State,ExitCode,NodeList,Elapsed,Timelimit",
)
_UNKNOWN_JOB = "Invalid job id"

# What sbatch refuses: what to do about it.
_ADVICE = {
    "invalid partition": "sinfo lists the partitions.",
    "Invalid account": "sacctmgr show associations lists yours; name one with --account.",
    "Invalid qos": "sacctmgr show qos lists them; name one with --qos.",
    "More processors requested": "Ask for fewer --ranks-per-node.",
    "Node count specification invalid": "Ask for fewer --nodes; sinfo lists them.",
    "Requested node configuration is not available": "Ask for fewer --gpus-per-node or --ranks-per-node.",
    "time limit": "Ask for less --time; sinfo -o '%P %l' lists the limits.",
    "Could not establish a configuration source": "SLURM is installed here, but this machine belongs to no cluster.",
    "Unable to contact slurm controller": "slurmctld does not answer: scontrol ping says whether it runs.",
}  # fmt: skip


def check_here(wish: str, otherwise: str) -> None:
    """Refuse to go on with a wish where SLURM is not installed, and say what can be done otherwise."""
    if shutil.which("sbatch") is None:
        raise ToolAbsentError(
            "there is no sbatch on this machine",
            f"{wish} needs SLURM's commands",
            f"Start it on a login node of the cluster; {otherwise}",
        )


def submit(argv: Sequence[str], cwd: str) -> str:
    """Submit a script, and return the number of the job."""
    done = _run(argv, cwd)
    number = done.stdout.strip().partition(";")[0]  # the name of the cluster may follow
    if done.returncode or not number.isdecimal():
        raise NotSupportedError("sbatch refused the job", *_refusal(done.stderr or done.stdout))
    return number


def status_of(number: str) -> JobStatus | None:
    """How a job stands; None if SLURM does not answer now. One that it has forgotten has ended."""
    shown = _run(("scontrol", "--oneliner", "show", "job", number))
    if status := read_scontrol(shown.stdout):
        return status
    if _UNKNOWN_JOB not in shown.stderr:
        return None
    return read_sacct(_run((*_SACCT, f"--jobs={number}")).stdout) or JobStatus(state=FORGOTTEN)


def interrupt(number: str) -> None:
    """Have the script of a job interrupt its ranks, at which profilers write what they have."""
    _run(("scancel", "--batch", f"--signal={INTERRUPT_SIGNAL}", number))


def cancel(number: str) -> None:
    """End a job: its processes get SIGTERM, and SIGKILL some time later."""
    _run(("scancel", number))


def _run(argv: Sequence[str], cwd: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command; one that does not end in time, or cannot be started, has failed."""
    try:
        return subprocess.run(
            argv,
            cwd=cwd,
            env=user_program.environment(),  # jobs inherit it
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(argv, 1, "", f"{argv[0]} did not answer within {_LIMIT_S:.0f} s")
    except OSError as error:
        return subprocess.CompletedProcess(argv, 1, "", f"{argv[0]}: {error.strerror}")


def _refusal(printed: str) -> tuple[str, str]:
    """Why sbatch refused, in its own words, and what to do about it."""
    lines = [re.sub(r"^sbatch: (error: )?", "", line).strip() for line in printed.splitlines()]
    why = "; ".join(line for line in lines if line) or "it did not say why"
    advice = (text for words, text in _ADVICE.items() if words.lower() in why.lower())
    return why, next(advice, "")
