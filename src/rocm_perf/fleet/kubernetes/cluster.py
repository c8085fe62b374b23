"""What is asked of a cluster, through kubectl: to apply objects, how a Job stands, and for what its pods left."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from rocm_perf.errors import RocmPerfError

LOOK_S = 5.0
_PATIENCE_S = 600  # with one call of kubectl
_MOST_LOST_LOOKS = 24  # two minutes without an answer of the cluster


class ClusterError(RocmPerfError):
    """kubectl did not do what was asked."""

    exit_code = 5


class JobState(msgspec.Struct, frozen=True, kw_only=True):
    """How a Job stands."""

    active: int = 0
    succeeded: int = 0
    failed: int = 0
    ended: str = ""  # Complete or Failed
    reason: str = ""
    waiting: tuple[str, ...] = ()  # why pods have not started


def has_kubectl() -> bool:
    """Whether there is a kubectl on PATH."""
    return shutil.which("kubectl") is not None


def ask(command: Sequence[str], *, folder: Path | None = None, timeout_s: float | None = _PATIENCE_S) -> str:
    """Run kubectl in a folder, and return what it prints; what it refuses is an error."""
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            cwd=folder,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ClusterError(f"{_short(command)} gave no answer in {timeout_s} s") from error
    except OSError as error:
        raise ClusterError(f"{_short(command)} cannot be started", error.strerror or str(error)) from error
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"]
        raise ClusterError(f"{_short(command)} failed", lines[-1])
    return done.stdout


def job_state(text: str) -> JobState:
    """The state in a Job, as `kubectl get job -o json` prints it."""
    try:
        status: dict[str, Any] = msgspec.json.decode(text, type=dict[str, Any]).get("status") or {}
    except msgspec.DecodeError as error:
        raise ClusterError("kubectl get job printed no JSON", str(error)) from error
    ends = {each.get("type"): each for each in status.get("conditions") or () if each.get("status") == "True"}
    ended = next((kind for kind in ("Complete", "Failed") if kind in ends), "")
    return JobState(
        active=status.get("active") or 0,
        succeeded=status.get("succeeded") or 0,
        failed=status.get("failed") or 0,
        ended=ended,
        reason=ends[ended].get("reason") or "" if ended else "",
    )


def waiting_pods(text: str) -> tuple[str, ...]:
    """Why pods have not started, from what `kubectl get pods -o json` prints; each reason once."""
    try:
        pods = msgspec.json.decode(text, type=dict[str, Any]).get("items") or ()
    except msgspec.DecodeError:
        return ()
    return tuple(dict.fromkeys(reason for pod in pods for reason in _reasons(pod.get("status") or {})))


def _reasons(status: dict[str, Any]) -> Iterator[str]:
    for each in status.get("conditions") or ():
        if each.get("type") == "PodScheduled" and each.get("status") == "False":
            yield f"{each.get('reason', '')}: {each.get('message', '')}"
    for each in status.get("containerStatuses") or ():
        waiting = (each.get("state") or {}).get("waiting") or {}
        if waiting.get("reason") not in (None, "ContainerCreating", "PodInitializing"):
            yield f"{waiting['reason']}: {waiting.get('message', '')}"


def follow(kubectl: Sequence[str], name: str, tell: Callable[[JobState], None]) -> JobState:
    """Wait until a Job has ended, and tell whenever its state changes. A cluster may be silent for a while."""
    last: JobState | None = None
    lost = 0
    while True:
        try:
            state = _look(kubectl, name)
            lost = 0
        except ClusterError:
            lost += 1
            if lost > _MOST_LOST_LOOKS or last is None:
                raise
            time.sleep(LOOK_S)
            continue
        if state != last:
            tell(state)
            last = state
        if state.ended:
            return state
        time.sleep(LOOK_S)


def _look(kubectl: Sequence[str], name: str) -> JobState:
    state = job_state(ask((*kubectl, "get", "job", name, "--output", "json")))
    if state.ended:
        return state
    pods = ask((*kubectl, "get", "pods", f"--selector=job-name={name}", "--output", "json"))
    return replace(state, waiting=waiting_pods(pods))


def copy_results(kubectl: Sequence[str], pod: str, manifest: Path, source: str, target: Path) -> None:
    """Copy a folder out of the claim, through a pod that is started for it and removed again."""
    ask((*kubectl, "apply", "--filename", str(manifest)))
    try:
        ask((*kubectl, "wait", "--for=condition=Ready", f"pod/{pod}", "--timeout=300s"))
        # From within the folder: kubectl would take a path with a colon for a pod. Copying takes what it takes.
        ask((*kubectl, "cp", "--retries=3", f"{pod}:{source}", "."), folder=target, timeout_s=None)
    finally:
        with suppress(ClusterError):
            ask((*kubectl, "delete", "pod", pod, "--wait=false", "--ignore-not-found"))


def _short(command: Sequence[str]) -> str:
    verbs = [word for word in command[1:] if not word.startswith("-")]
    return f"kubectl {' '.join(verbs[:2])}"
