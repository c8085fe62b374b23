"""Carrying a plan out: its runs one after the other, as far as it makes sense to go on."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from rocm_perf import user_program
from rocm_perf.backends import profilers
from rocm_perf.backends.base import Command
from rocm_perf.backends.machine import Machine
from rocm_perf.collect.plan.planned import Plan, PlannedRun
from rocm_perf.collect.request.request import Request
from rocm_perf.collect.run import outcome
from rocm_perf.collect.run.inputs import Input
from rocm_perf.collect.run.launch import Ended, launch
from rocm_perf.collect.run.layout import RunFolder, explained
from rocm_perf.collect.run.overhead import interleaved
from rocm_perf.collect.run.signals import ending_waits
from rocm_perf.collect.run.snapshots import SNAPSHOT_SIGNAL, Snapshots
from rocm_perf.collect.run.streams import STDERR
from rocm_perf.collect.run.unopened import unopened
from rocm_perf.collect.run.verdict import Attempt, Ran, application_failed, judge, stopped
from rocm_perf.errors import OutputError, RocmPerfError
from rocm_perf.model.collection import UNPROFILED, PassRecord
from rocm_perf.units import format_count

_STATUS_FILE = ".exit_status"


@dataclass(frozen=True)
class Setting:
    """What the runs of all plans share."""

    request: Request
    machine: Machine
    folder: RunFolder
    input: Input
    say: Callable[[str], None]
    only_pass: int  # the one of a plan's runs that is done; 0: all of them
    save: Callable[[Attempt], None]  # called after each run
    first_environment: dict[str, str]  # of the run whose times are shown
    is_shown: bool = True  # what the application writes


def runs_of(plan: Plan, request: Request) -> list[PlannedRun | None]:
    """Return all runs of the application that a plan takes; None is one without a profiler."""
    return interleaved(plan.runs, request.overhead_runs if plan.profiled else 0)


def prepared(plan: Plan, setting: Setting) -> Attempt:
    """A plan, ready to be carried out, or the reason why it cannot be."""
    number = setting.only_pass
    runs = runs_of(plan, setting.request)
    if number:
        runs = runs[number - 1 : number] or [
            None
        ]  # other ranks are recorded in this launch, and need this one
    attempt = Attempt(plan, runs, continued=number > 1)
    if problem := _unprepared(plan, setting.machine):
        attempt.verdict, attempt.reason = "profiler", problem
        attempt.pending.clear()
    return attempt


def proceed(attempt: Attempt, setting: Setting) -> None:
    """Carry out what is left of it, until it is done or falls short."""
    before = attempt.verdict
    while attempt.pending and not attempt.must_stop and attempt.verdict == before:
        run = attempt.pending.pop(0)
        if run is not None and run.purpose in attempt.gave_up:
            continue
        if attempt.passes or attempt.pending:
            setting.say(f"run {len(attempt.passes) + 1}: {_describe(run)}")
        with ending_waits():
            if run is None:
                _run_alone(attempt, setting)
            else:
                _run_profiled(attempt, run, setting)
            setting.save(attempt)


def _unprepared(plan: Plan, machine: Machine) -> str:
    """Why the profilers of a plan cannot be made ready; empty if they are."""
    for name in dict.fromkeys(run.profiler for run in plan.runs):
        try:
            if profiler := profilers.PROFILERS.get(name):
                profiler.prepare(machine)
        except RocmPerfError as error:
            return str(error)
    return ""


def _describe(run: PlannedRun | None) -> str:
    if run is None:
        return "without a profiler, to measure what profiling costs"
    names = ", ".join(run.counters[:4]) + (", ..." if len(run.counters) > 4 else "")
    return f"{run.purpose}{f' ({names})' if names else ''} with {run.profiler}"


def _launched(
    argv: tuple[str, ...],
    added: dict[str, str],
    setting: Setting,
    *,
    watched: bool,
    snapshots: Snapshots | None = None,
) -> Ended:
    return launch(
        argv,
        {**user_program.environment(), **added},
        stdin=setting.input.next_run(asks_nobody=not setting.is_shown),
        stdout=STDERR if setting.request.stdout_to_stderr else None,
        timeout_s=setting.request.timeout_s,
        watch_stderr=watched,
        own_signals={SNAPSHOT_SIGNAL: snapshots.take} if snapshots else None,
        is_shown=setting.is_shown,
    )


def _run_alone(attempt: Attempt, setting: Setting) -> None:
    request = setting.request
    ended = _launched(request.command, request.environment, setting, watched=False)
    attempt.passes.append(
        PassRecord(
            number=len(attempt.passes) + 1,
            profiler=profilers.NO_PROFILER.name,
            profiled=False,
            purpose=UNPROFILED,
            argv=request.command,
            environment=request.environment,
            started_ns=ended.started_ns,
            wall_ns=ended.wall_ns,
            exit_status=ended.status,
            outcome="recorded",
        )
    )
    if not stopped(attempt, ended) and ended.status:
        application_failed(attempt, ended.status)


def _run_profiled(attempt: Attempt, run: PlannedRun, setting: Setting) -> None:
    home = setting.folder
    folder = home.path / run.folder
    command = _with_exit_code(run.command, setting.request.command, folder)
    if home.notice:
        raise OutputError(f"cannot write to {folder}", home.notice)  # where the profiler would follow a link
    if run.profiled:
        home.make(run.folder)
    _write_files(command, home)
    first = not attempt.profiled
    logs = setting.first_environment if first else {}
    added = {**setting.request.environment, **logs, **command.environment}
    about = PassRecord(
        number=len(attempt.passes) + 1,
        profiler=run.profiler,
        profiled=run.profiled,
        purpose=run.purpose,
        argv=command.argv,
        environment=added,
        folder=run.folder if run.profiled else "",
        counters=run.counters,
    )
    ended = _launched(
        command.argv,
        added,
        setting,
        watched=run.profiled or bool(logs),
        snapshots=_snapshots(about, setting),
    )
    if first:
        attempt.stderr_tail = ended.stderr_tail
    if ended.left_behind:
        count = format_count(len(ended.left_behind), "process", "processes")
        attempt.notices.append(
            f"the application left {count} running; what they still record is not included"
        )
    folder = home.current / run.folder
    ran = Ran(run, ended, None if command.separates_exit_code else _own_status(folder))
    seen = outcome.look(folder, replace(run, command=command))
    explanation = judge(attempt, ran, seen, unopened(setting.request.wish.window, seen, ended.wall_ns))
    failed = seen.outcome == "empty" and explanation != seen.explanation
    attempt.passes.append(
        replace(
            about,
            started_ns=ended.started_ns,
            wall_ns=ended.wall_ns,
            exit_status=ran.status,
            outcome="failed" if failed else seen.outcome,
            explanation=explanation,
        )
    )


def _snapshots(about: PassRecord, setting: Setting) -> Snapshots | None:
    """Where a ring is recorded, what keeps it when the user asks for it."""
    last_s = setting.request.wish.window.last_s
    if last_s is None or not about.profiled:
        return None
    home = setting.folder
    kept = Snapshots(home.below, replace(about, outcome="recorded"), last_s, setting.say, home.path)
    kept.announce()
    return kept


def _write_files(command: Command, home: RunFolder) -> None:
    for path, text in command.files.items():
        name = Path(path).relative_to(home.path)
        folder = home.make(str(name.parent))
        with explained(Path(path)):
            (folder / name.name).write_bytes(os.fsencode(text))  # an argument need not be UTF-8


def _with_exit_code(command: Command, application: tuple[str, ...], folder: Path) -> Command:
    """The command; where a tool keeps the application's exit code to itself, a script around it writes it down."""
    if command.separates_exit_code:
        return command
    file = str(folder / ".application.sh")
    status = shlex.quote(str(folder / _STATUS_FILE))
    text = f"{shlex.join(application)}\ncode=$?\necho $code > {status}\nexit $code\n"
    ends_as_given = command.argv[-len(application) :] == application  # else it goes through a script already
    count = len(application) if ends_as_given else 2
    argv = (*command.argv[:-count], "/bin/sh", file)
    return replace(command, argv=argv, files={**command.files, file: text})


def _own_status(folder: Path) -> int | None:
    with suppress(OSError, ValueError):
        return int((folder / _STATUS_FILE).read_text())
    return None
