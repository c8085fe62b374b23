"""The states of a job: from what SLURM prints to a sentence, and to how the launch ended. Pure."""

from __future__ import annotations

import re

import msgspec

from rocm_perf.fleet.launcher import Launched

FORGOTTEN = "UNKNOWN"  # our own word for a job that SLURM no longer knows

_ENDED = {
    "COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE",
    "REVOKED", FORGOTTEN,
}  # fmt: skip
_LIVE = {"RUNNING", "COMPLETING", "SUSPENDED", "STOPPED", "STAGE_OUT", "SIGNALING"}

# Why a job waits, as slurmctld names it: what that means. Others are shown as they are.
_REASONS = {
    "Resources": "no nodes are free",
    "Priority": "other jobs come first",
    "ReqNodeNotAvail": "a node that it needs is down, drained or reserved",
    "PartitionDown": "the partition is down",
    "PartitionInactive": "the partition starts no jobs",
    "PartitionNodeLimit": "the partition does not give a job that many nodes: it will not start. Ask for fewer",
    "PartitionTimeLimit": "the partition does not allow that much time: it will not start. Ask for less --time",
    "BadConstraints": "no node has what it asks for: it will not start. Ask for less",
    "QOSMaxJobsPerUserLimit": "you have as many jobs as the quality of service allows",
    "JobHeldUser": "it is held. scontrol release lets it start",
    "JobHeldAdmin": "an administrator holds it",
    "BeginTime": "its time to begin has not come",
    "Dependency": "it waits for another job",
    "None": "SLURM has not looked at it yet",
}

# How a job ended that did not end by itself: (what happened, what to do).
_ENDS = {
    "TIMEOUT": ("ran out of time", "Ask for more with --time, or record a part of the program (--duration, --steps)."),
    "CANCELLED": ("was cancelled", ""),
    "NODE_FAIL": ("lost a node", "Launch it again."),
    "PREEMPTED": ("was preempted by another job", "Launch it again."),
    "OUT_OF_MEMORY": ("ran out of memory", "Ask for more with --sbatch-arg=--mem=..., or record fewer --ranks."),
    "BOOT_FAIL": ("got a node that did not start", "Launch it again."),
    "DEADLINE": ("reached its deadline", ""),
}  # fmt: skip
_KILLED = 137  # 128 + SIGKILL: what a shell says of a program that SLURM ended


class JobStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How a job stands."""

    state: str  # as SLURM names it
    reason: str = ""
    exit_code: int = 0  # of its script, as a shell gives it
    nodes: str = ""
    elapsed: str = ""
    limit: str = ""

    @property
    def ended(self) -> bool:
        """Whether nothing of it runs any more."""
        return self.state in _ENDED

    @property
    def live(self) -> bool:
        """Whether it has nodes now."""
        return self.state in _LIVE


def read_scontrol(text: str) -> JobStatus | None:
    """The status that `scontrol --oneliner show job` prints; None where it prints none."""
    fields: dict[str, str] = {}
    for name, value in re.findall(r"(\w+)=(\S*)", text):
        fields.setdefault(name, value)  # a command may hold words that look like fields: they come later
    if "JobState" not in fields:
        return None
    return JobStatus(
        state=fields["JobState"],
        reason=_said(fields.get("Reason", "")),
        exit_code=_exit_code(fields.get("ExitCode", "")),
        nodes=_said(fields.get("NodeList", "")),
        elapsed=fields.get("RunTime", ""),
        limit=fields.get("TimeLimit", ""),
    )


def read_sacct(text: str) -> JobStatus | None:
    """The status in the first line of `sacct --parsable2 --format=State,ExitCode,NodeList,Elapsed,Timelimit`."""
    parts = text.strip().partition("\n")[0].split("|")
    if len(parts) != 5:
        return None
    state, code, nodes, elapsed, limit = parts
    return JobStatus(
        state=state.partition(" ")[0],  # CANCELLED by 1000
        exit_code=_exit_code(code),
        nodes=_said(nodes),
        elapsed=elapsed,
        limit=limit,
    )


def progress(number: str, status: JobStatus) -> str:
    """What there is to say of a job that has not ended."""
    if status.state == "PENDING":
        return f"job {number} waits: {_REASONS.get(status.reason, status.reason or 'SLURM gives no reason')}"
    if status.state == "RUNNING":
        limit = f", for {status.limit} at most" if status.limit else ""
        return f"job {number} runs on {status.nodes}{limit}"
    return f"job {number} is {status.state.lower().replace('_', ' ')}"


def ending(number: str, status: JobStatus) -> str:
    """How a job ended, without what to do about it."""
    if status.state == FORGOTTEN:
        return f"SLURM has forgotten job {number}"
    after = f" after {status.elapsed}" if status.elapsed else ""
    if status.state == "COMPLETED":
        return f"job {number} is done{after}"
    failed = f"failed with exit code {status.exit_code or 1}"
    what, _ = _ENDS.get(status.state, (failed, ""))
    return f"job {number} {what}{after}"


def outcome(number: str, status: JobStatus, *, out_of_time: bool, interrupted: bool) -> Launched:
    """How a job ended. `out_of_time`: its script interrupted it before the limit; `interrupted`: the user did."""
    after = f" after {status.elapsed}" if status.elapsed else ""
    told = ending(number, status)
    if interrupted:
        return Launched(state="cancelled", message=f"job {number} was interrupted{after}", exit_code=130)
    if out_of_time and status.state != "CANCELLED":
        what, advice = _ENDS["TIMEOUT"]
        message = f"job {number} {what}: it was interrupted before its limit{after}. {advice}"
        return Launched(state="timed out", message=message, exit_code=status.exit_code or _KILLED)
    if status.state == FORGOTTEN:
        return Launched(
            state="done",
            message=f"{told}: what its ranks left says how it ended",
            exit_code=0,
        )
    if status.state == "COMPLETED":
        return Launched(state="done", message=told, exit_code=0)
    if status.state in _ENDS:
        _, advice = _ENDS[status.state]
        state = {"TIMEOUT": "timed out", "CANCELLED": "cancelled"}.get(status.state, "failed")
        return Launched(
            state=state,  # type: ignore[arg-type]
            message=f"{told}. {advice}".rstrip(". ") + ".",
            exit_code=status.exit_code or _KILLED,
        )
    return Launched(state="failed", message=told, exit_code=status.exit_code or 1)


def _exit_code(text: str) -> int:
    """The exit code in CODE:SIGNAL."""
    code, _, number = text.partition(":")
    if number.isdecimal() and int(number):
        return 128 + int(number)
    return int(code) if code.isdecimal() else 0


def _said(text: str) -> str:
    return "" if text in ("(null)", "None assigned", "Unknown") else text
