"""How rocm-perf itself recorded a run: what was asked for, with which profiler and why, pass by pass, and what could
not be done. `collect` writes it beside the recorded files, `ingest` reads it back."""

from __future__ import annotations

from typing import Literal

import msgspec

from rocm_perf.model.window import Window

FILE_NAME = "rocm-perf-run.json"
KIND = "rocm-perf run"
VERSION = 1
LAUNCH_FILE_NAME = "rocm-perf-launch.json"  # in a folder beside those of the hosts: how the run was launched
SNAPSHOT = "snapshot-"  # and a number: folders beside the record that hold what a ring held at some moment

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
    machine: dict[str, str] = {}  # what a reader of the report should know: rocm, driver, gpus, ...
    passes: tuple[PassRecord, ...] = ()
    overhead: OverheadRecord | None = None
    launch_cost_ns: float | None = (
        None  # what the profiler adds to a launch, measured here with small kernels
    )
    graph_kernel_cost_ns: float | None = None  # the same, to each kernel in the launch of a graph
    exit_code: int | None = None

    def __post_init__(self) -> None:
        _complete(self)


def _complete(record: PassRecord | CollectionRecord) -> None:
    """Fill in what older records do not say."""
    if record.profiled is None:
        msgspec.structs.force_setattr(record, "profiled", record.profiler != _NO_PROFILER)
