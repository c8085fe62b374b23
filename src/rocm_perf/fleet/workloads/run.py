"""Recording one workload: its command runs, what it recorded is read, and the run's folder gets its files."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec
from msgspec.structs import replace

from rocm_perf import user_program
from rocm_perf.analysis.overview import examine
from rocm_perf.collect.run.launch import exit_code, launch
from rocm_perf.collect.run.streams import STDERR
from rocm_perf.errors import EmptyCaptureError, NotSupportedError, OutputError, RocmPerfError
from rocm_perf.fleet.job import THIS_ROCM_PERF
from rocm_perf.fleet.ranks import rank_rows
from rocm_perf.fleet.workloads.outputs import Outputs, write_bundle, write_outputs
from rocm_perf.fleet.workloads.plan import RAW, Step
from rocm_perf.fleet.workloads.workload import Workload
from rocm_perf.ingest.load import load
from rocm_perf.model.document import Document
from rocm_perf.model.machine_ceilings import MachineCeilings

Status = Literal["recorded", "partly recorded", "failed", "not started"]
FAILURES: tuple[Status, ...] = ("failed", "not started")
# Runs rocm-perf with these arguments, and returns its exit code, and why it refused to start.
Profile = Callable[[Sequence[str]], tuple[int, str]]

_BY_DOCKER = {  # exit codes of `docker run` itself
    125: "docker could not start the container",
    127: "the image has no rocm-perf, which rocm-perf build adds",
}
_ENDED_BY_SIGNAL = (129, 130, 143)  # SIGHUP, SIGINT, SIGTERM: sent to all of a terminal or a job


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one workload."""

    name: str
    status: Status
    exit_code: int
    folder: str = ""
    files: tuple[str, ...] = ()  # in the folder
    finding: str = ""  # the first one of the report
    reason: str = ""  # why it failed
    notices: tuple[str, ...] = ()
    interrupted: bool = False  # by a signal that is meant for the whole run


def new_folder(output: Path, now: time.struct_time | None = None) -> Path:
    """Make the folder of a run, which is called after the time; a second one of that time gets a number."""
    stamp = time.strftime("%Y%m%d_%H%M%S", now or time.localtime())
    try:
        output.mkdir(parents=True, exist_ok=True)
        for folder in _names(output, stamp):
            try:
                folder.mkdir()
            except FileExistsError:
                continue
            return folder
    except OSError as error:
        why = error.strerror or str(error)
        raise OutputError(f"cannot write to {output}", why, "Choose another folder with -d.") from error
    raise OutputError(f"cannot write to {output}", f"every folder called {stamp} is taken")


def record_step(step: Step, profile: Profile) -> tuple[int, str]:
    """Run a step; returns its exit code, and why it was refused, if it was."""
    is_launch = step.argv[:2] == ("rocm-perf", "launch")
    if step.where != "container" and not is_launch:
        return profile(step.argv[1:])
    argv = (*THIS_ROCM_PERF, *step.argv[1:]) if is_launch else step.argv
    stdout = STDERR if step.stdout_to_stderr else None
    code = exit_code(launch(argv, user_program.environment(), stdout=stdout, watch_stderr=False).status)
    return code, "" if is_launch else _BY_DOCKER.get(code, "")


def finish_step(
    step: Step, code: int, refusal: str = "", machines: tuple[MachineCeilings, ...] = ()
) -> tuple[Outcome, Document | None]:
    """What came of a step that ended with a code, and its analysis; the folder of the run gets its files."""
    folder = Path(step.folder)
    done = Outcome(
        name=step.workload.name, status="recorded", exit_code=code, folder=step.folder, notices=step.notices
    )
    try:
        document, outputs = _finish(step, folder, machines)
    except RocmPerfError as error:
        with suppress(OSError):
            folder.rmdir()  # nothing was written there
        return replace(
            done,
            status="failed",
            exit_code=code or error.exit_code,
            folder=step.folder if folder.exists() else "",
            reason=refusal or str(error),
            interrupted=code in _ENDED_BY_SIGNAL,
        ), None
    done = replace(
        done,
        files=tuple(str(file.relative_to(folder)) for file in outputs.files),
        finding=document.findings[0].title if document.findings else "",
        notices=(*step.notices, *outputs.notices),
    )
    if code == NotSupportedError.exit_code:
        return replace(done, status="partly recorded"), document
    if code:
        states = {row.state for row in rank_rows(folder / RAW)}
        ending = "its timeout stopped it" if "timed out" in states else f"its command ended with {code}"
        reason = f"{ending}; what was recorded is kept"
        return replace(done, status="failed", reason=reason, interrupted="interrupted" in states), document
    return done, document


def without_image(workload: Workload, reason: str) -> Outcome:
    """The outcome of a workload that cannot be started."""
    return Outcome(
        name=workload.name,
        status="not started",
        exit_code=NotSupportedError.exit_code,
        reason=f"it has no image: {reason}",
    )


def exit_code_of(outcomes: Sequence[Outcome]) -> int:
    """That of the first workload that failed, or else was not recorded whole."""
    return next((each.exit_code for each in outcomes if each.exit_code), 0)


def _names(output: Path, stamp: str) -> Iterator[Path]:
    yield output / stamp
    yield from (output / f"{stamp}-{number}" for number in range(2, 1000))


def _finish(step: Step, folder: Path, machines: tuple[MachineCeilings, ...]) -> tuple[Document, Outputs]:
    """Read what was recorded, and write the files of the run."""
    raw = folder / RAW
    if not raw.is_dir():
        raise EmptyCaptureError("nothing was recorded", "the command did not get as far as that")
    trace = load(raw, as_one=True)
    document = examine(trace, step.folder, machines=machines)
    write_bundle(trace, folder)
    return document, write_outputs(trace, document, raw, folder, step.workload.name)
