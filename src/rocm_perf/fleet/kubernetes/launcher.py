"""`launch kubernetes`: the objects of a job, written; with --apply also applied, followed and collected."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

from rocm_perf.errors import ToolAbsentError
from rocm_perf.fleet.job import Job
from rocm_perf.fleet.kubernetes.cluster import (
    ClusterError,
    JobState,
    ask,
    copy_results,
    follow,
    has_kubectl,
)
from rocm_perf.fleet.kubernetes.files import RESULTS, SCRIPT_FILE, pod_job
from rocm_perf.fleet.kubernetes.names import dns_label
from rocm_perf.fleet.kubernetes.objects import objects_of, results_pod
from rocm_perf.fleet.kubernetes.script import script_of
from rocm_perf.fleet.kubernetes.settings import Settings, kubectl, settings_of
from rocm_perf.fleet.kubernetes.yaml_text import yaml_documents
from rocm_perf.fleet.launcher import Launched, LaunchPlan, Say, State, add_workload
from rocm_perf.fleet.local import distributed_notices
from rocm_perf.fleet.ranks import rank_rows

OBJECTS_FILE = "kubernetes.yaml"
RESULTS_POD_FILE = "results-pod.yaml"
LOG_FILE = "pods.log"


class KubernetesLauncher:
    """As an indexed Job of Kubernetes: its objects are written, and with --apply also applied, followed, collected.

    Each pod is a node, whose ranks are started by torchrun. The image needs the program and rocm-perf, as those of
    `rocm-perf build` do.
    """

    name = "kubernetes"
    obeys: tuple[str, ...] = ("distributed", "k8s", "kubernetes", "gpu_vendor")

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        add_workload(parser)
        parser.add_argument(
            "--apply", action="store_true", help="apply them with kubectl, follow the job, and collect"
        )

    def plan(self, job: Job, args: argparse.Namespace) -> LaunchPlan:
        settings = settings_of(job)
        seen, data = pod_job(job)
        objects = objects_of(settings, {SCRIPT_FILE: script_of(seen, settings), **data})
        return LaunchPlan(
            files={
                OBJECTS_FILE: yaml_documents(objects),
                RESULTS_POD_FILE: yaml_documents([results_pod(settings)]),
            },
            argv=_apply(job) if args.apply else (),
            notices=(*distributed_notices(job), *_only_here(job), *_secret(job, settings)),
        )

    def run(self, plan: LaunchPlan, job: Job, say: Say) -> Launched:
        if not plan.argv or not has_kubectl():
            return _by_hand(job, say, asked=bool(plan.argv))
        with _and_then(f"The objects are in {job.launch_folder}; once applied, {_collect(job)}."):
            ask(plan.argv)
        say(f"applied {job.launch_folder / OBJECTS_FILE} as Job {_name(job)}")
        return _followed(job, say)

    def resume(self, job: Job, say: Say) -> Launched:
        if not has_kubectl():
            raise ToolAbsentError("kubectl is not installed", "rocm-perf reaches the cluster through it")
        return _followed(job, say)


def manual_commands(job: Job) -> tuple[tuple[str, ...], ...]:
    """What a user types who applies the objects by hand: apply, wait, copy, remove the helper, analyse."""
    tool, name, pod = kubectl(job.configuration), _name(job), f"{_name(job)}-results"
    helper = str(job.launch_folder / RESULTS_POD_FILE)
    return (
        _apply(job),
        (*tool, "wait", "--for=condition=complete", f"job/{name}", "--timeout=24h"),
        (*tool, "apply", "--filename", helper),
        (*tool, "wait", "--for=condition=Ready", f"pod/{pod}", "--timeout=300s"),
        (*tool, "cp", f"{pod}:{RESULTS}/{job.run_id}", str(job.folder)),
        (*tool, "delete", "pod", pod),
        ("rocm-perf", "analyze", str(job.folder)),
    )


def _name(job: Job) -> str:
    return dns_label(job.run_id)


def _apply(job: Job) -> tuple[str, ...]:
    return (*kubectl(job.configuration), "apply", "--filename", str(job.launch_folder / OBJECTS_FILE))


def _collect(job: Job) -> str:
    folder = shlex.quote(str(job.folder))
    return f"rocm-perf launch kubernetes --collect {folder} waits, copies and analyses"


def _by_hand(job: Job, say: Say, *, asked: bool) -> Launched:
    """Say what to type; that is the whole answer where nothing was to be applied."""
    why = "kubectl is not installed" if asked else "nothing is applied without --apply"
    say(f"wrote {job.launch_folder / OBJECTS_FILE}; {why}. Where kubectl reaches the cluster:")
    for command in manual_commands(job):
        say(f"  {shlex.join(command)}")
    return Launched(
        state="under way",
        message=f"or, once applied, {_collect(job)}",
        exit_code=ToolAbsentError.exit_code if asked else 0,
    )


def _followed(job: Job, say: Say) -> Launched:
    """Wait for the Job, and copy what its pods left. Ctrl-C deletes it first, and copies what it had recorded; another
    signal, as when the terminal goes away, ends only the waiting."""
    tool, name = kubectl(job.configuration), _name(job)
    try:
        with _and_then(f"If the Job goes on, {_collect(job)}."):
            state = follow(tool, name, lambda now: say(_progress(name, now)))
    except KeyboardInterrupt as stop:
        if type(stop) is not KeyboardInterrupt:
            say(f"Job {name} goes on; {_collect(job)}")
            raise
        _keep_log(job, say)  # before they are gone
        _delete(job, say)
        return _collected(job, None)
    _keep_log(job, say)
    return _collected(job, state)


@contextmanager
def _and_then(next_step: str) -> Iterator[None]:
    """Say what to do next where the cluster refuses something."""
    try:
        yield
    except ClusterError as error:
        raise ClusterError(error.what, error.why, next_step) from error


def _delete(job: Job, say: Say) -> None:
    name = _name(job)
    say(f"deleting Job {name}, so that its profilers write what they have")
    command = (*kubectl(job.configuration), "delete", "job", name, "--cascade=foreground", "--timeout=180s")
    try:
        ask(command)
    except ClusterError as error:
        say(f"Job {name} may go on: {error}")


def _progress(name: str, state: JobState) -> str:
    pods = f"{state.active} active, {state.succeeded} succeeded, {state.failed} failed"
    why = f"; waiting: {'; '.join(state.waiting)}" if state.waiting else ""
    return f"Job {name}: {state.ended.lower() or 'runs'} ({pods}){why}"


def _keep_log(job: Job, say: Say) -> None:
    """Keep what the pods printed beside the objects, where it can still be had."""
    selector = f"--selector=job-name={_name(job)}"
    command = (
        *kubectl(job.configuration),
        "logs",
        selector,
        "--prefix",
        "--tail=-1",
        "--max-log-requests=100",
    )
    try:
        (job.launch_folder / LOG_FILE).write_text(ask(command), encoding="utf-8")
    except (ClusterError, OSError) as error:
        say(f"what the pods printed is not kept: {error}")


def _collected(job: Job, state: JobState | None) -> Launched:
    """Copy the results, and say how the Job ended."""
    lost = ""
    try:
        copy_results(
            kubectl(job.configuration),
            f"{_name(job)}-results",
            job.launch_folder / RESULTS_POD_FILE,
            f"{RESULTS}/{job.run_id}",
            job.folder,
        )
    except ClusterError as error:
        lost = f"; its results are not here: {error}. Once that is mended, {_collect(job)}"
    codes = [row.exit_code for row in rank_rows(job.folder) if row.state == "failed" and row.exit_code]
    launched = _outcome(_name(job), state, codes[0] if codes else 1)
    code = launched.exit_code or (ClusterError.exit_code if lost else 0)
    return replace(launched, message=launched.message + lost, exit_code=code)


def _outcome(name: str, state: JobState | None, failure: int) -> Launched:
    """How a Job ended; `failure` is the exit code of one that failed."""
    if state is None:
        return Launched(state="cancelled", message=f"Job {name} was deleted", exit_code=130)
    if state.ended == "Complete":
        return Launched(state="done", message=f"Job {name} is complete", exit_code=0)
    kind: State = "timed out" if state.reason == "DeadlineExceeded" else "failed"
    message = f"Job {name} failed ({state.reason or 'no reason given'}); {LOG_FILE} has what its pods printed"
    return Launched(state=kind, message=message, exit_code=failure)


def _only_here(job: Job) -> tuple[str, ...]:
    """A notice on files of this machine that the program names: the pods see those of the image."""
    here = [word for word in job.app if not word.startswith("-") and Path(job.working_folder, word).is_file()]
    own = [
        word
        for word in here
        if not Path(word).is_absolute() or any(Path(word).is_relative_to(each) for each in job.readable)
    ]
    return (f"{', '.join(own)} is here; the pods need it in the image",) if own else ()


def _secret(job: Job, settings: Settings) -> tuple[str, ...]:
    """A notice on variables of this shell: what they hold is written nowhere, so the cluster has to know it."""
    if not job.pass_env:
        return ()
    tool, name = shlex.join(kubectl(job.configuration)), settings.given.secrets.environment_secret_name
    values = " ".join(f'--from-literal={each}="${each}"' for each in job.pass_env)
    return (
        f"{', '.join(job.pass_env)} is read from the secret {name}, if there is one: "
        f"{tool} create secret generic {name} {values}",
    )
