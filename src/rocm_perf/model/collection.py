"""How rocm-perf itself recorded a run: what was asked for, with which profiler and why, pass by pass, and what could
not be done. `collect` writes it beside the recorded files, `ingest` reads it back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from rocm_perf.model.window import Window

FILE_NAME = "rocm-perf-run.json"
KIND = "rocm-perf run"
VERSION = 1
LAUNCH_FILE_NAME = "rocm-perf-launch.json"  # in a folder beside those of the hosts: how the run was launched
SNAPSHOT = "snapshot-"  # and a number: folders beside the record that hold what a ring held at some moment

UNPROFILED = "unprofiled"  # the purpose of a run that is there to measure what profiling costs
NO_STEPS = "steps were seen"  # in the reason where a schedule waited for steps in vain

_NO_PROFILER = "timing"  # what records from before `profiled` call a run of the program alone

State = Literal["running", "done", "interrupted", "timed out", "failed"]
Outcome = Literal["recorded", "partly", "empty", "failed", "not run"]


class PassRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One run of the application."""

    number: int
    profiler: str
    profiled: bool | None = None  # False: the program ran alone
    purpose: str  # "trace", "counters", "unprofiled"
    argv: tuple[str, ...]
    environment: dict[str, str] = {}  # variables set for it
    folder: str = ""  # relative to the record
    counters: tuple[str, ...] = ()
    started_ns: int | None = None  # boot clock, as the profilers record
    wall_ns: int | None = None
    exit_status: int | None = None  # of the application; minus N: killed by signal N
    outcome: Outcome = "not run"
    explanation: str = ""  # why nothing, or not everything, was recorded

    def __post_init__(self) -> None:
        _complete(self)


class DeepRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The runs that read counters of the kernels that took most of the time in the trace before."""

    counters: tuple[str, ...]  # the set that was asked for
    kernels: tuple[str, ...]  # as the trace spells them, the longest first
    share: float  # of the kernel time in the trace
    launches: tuple[int, ...] = ()  # of each kernel, from 1; empty: all
    runs: int  # of the program
    estimated_ns: int  # beforehand
    measured_ns: int | None = None  # afterwards


class OverheadRecord(msgspec.Struct, frozen=True):
    """Wall times of the whole program, without and with a profiler."""

    unprofiled_ns: tuple[int, ...]
    profiled_ns: tuple[int, ...]


class CollectionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The complete record of one process of rocm-perf."""

    kind: str = KIND
    version: int = VERSION
    producer: str = ""
    run_id: str
    state: State = "running"
    host: str
    pid: int  # of rocm-perf
    rank: int | None = None
    command: tuple[str, ...]
    folder: str  # where the application was started
    started_at: str  # ISO 8601, UTC
    preset: str = ""
    profiler: str  # the one that recorded in the end
    profiled: bool | None = None  # False: that was none, and the wall time is all that is known
    why: str = ""  # why this one
    asked: tuple[str, ...] = ()  # domains
    window: Window = Window()  # the part of the run that was to be recorded
    could_not: tuple[str, ...] = ()  # what was asked for, and why it was not recorded
    notices: tuple[str, ...] = ()
    machine: dict[
        str, str
    ] = {}  # what a reader of the report should know: rocm, driver, gpus, vendor, torch, ...
    passes: tuple[PassRecord, ...] = ()
    overhead: OverheadRecord | None = None
    deep: DeepRecord | None = None
    launch_cost_ns: float | None = (
        None  # what the profiler adds to a launch, measured here with small kernels
    )
    graph_kernel_cost_ns: float | None = None  # the same, to each kernel in the launch of a graph
    exit_code: int | None = None

    def __post_init__(self) -> None:
        _complete(self)


def launched_at(record: CollectionRecord) -> tuple[str, int]:
    """Return what orders the launches of a rank."""
    return record.started_at, min((run.started_ns or 0 for run in record.passes), default=0)


def joined(records: Sequence[CollectionRecord]) -> CollectionRecord:
    """Return one record of a rank that was launched several times, once for each run of the program."""
    ordered = sorted(records, key=launched_at)
    if len(ordered) == 1:
        return ordered[0]
    passes = [run for each in ordered for run in each.passes]
    return msgspec.structs.replace(
        ordered[0],
        state=next((each.state for each in ordered if each.state != "done"), "done"),
        profiled=any(each.profiled for each in ordered),
        could_not=tuple(dict.fromkeys(reason for each in ordered for reason in each.could_not)),
        notices=tuple(dict.fromkeys(notice for each in ordered for notice in each.notices)),
        passes=tuple(msgspec.structs.replace(run, number=n) for n, run in enumerate(passes, 1)),
        overhead=measured_overhead(passes),
        exit_code=next((each.exit_code for each in ordered if each.exit_code), ordered[-1].exit_code),
    )


def measured_overhead(passes: Sequence[PassRecord]) -> OverheadRecord | None:
    """The wall times of the runs that went well: the first kind of profiled run beside the unprofiled ones; None where
    one of the two is missing."""
    plain = [run for run in passes if run.purpose == UNPROFILED]
    kept = [run for run in passes if run.outcome in ("recorded", "partly") and run.purpose != UNPROFILED]
    if not plain or not kept or not kept[0].profiled:
        return None
    same = [run for run in kept if (run.profiler, run.purpose) == (kept[0].profiler, kept[0].purpose)]
    if kept[0].counters:
        same = same[:1]  # each pass counts something else, and costs something else
    without, with_ = _walls(plain), _walls(same)
    return OverheadRecord(unprofiled_ns=without, profiled_ns=with_) if without and with_ else None


def _walls(runs: Sequence[PassRecord]) -> tuple[int, ...]:
    return tuple(run.wall_ns for run in runs if run.wall_ns and run.exit_status == 0)


def _complete(record: PassRecord | CollectionRecord) -> None:
    """Fill in what older records do not say."""
    if record.profiled is None:
        msgspec.structs.force_setattr(record, "profiled", record.profiler != _NO_PROFILER)
