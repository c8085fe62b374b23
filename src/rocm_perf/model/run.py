"""Where a Trace comes from: the tool, the command, the files, and what was lost on the way."""

from __future__ import annotations

import msgspec

from rocm_perf.model.adoption import Adoption
from rocm_perf.model.collection import CollectionRecord


class SourceFile(msgspec.Struct, frozen=True):
    """One file that was read."""

    path: str
    size_bytes: int
    format: str
    sha256: str | None = None


class Loss(msgspec.Struct, frozen=True):
    """Something that the file should contain but that could not be read."""

    source: str
    what: str
    records: int | None = None


class Numbering(msgspec.Struct, frozen=True):
    """What the numbers say that a profiler gave to its events one by one: a file that was thinned has gaps all over."""

    counter: str  # what the file calls the number
    recorded: int  # different numbers
    numbered: int  # from the first number to the last
    followed: int  # of those that are recorded: by the next number


# What a reader says of times that a spreadsheet turned into 8.1097E+14: as a loss of rows, or as a notice of the file.
ROUNDED_ROWS = "times of dispatches that are not whole nanoseconds"
ROUNDED_FILE = "the timestamps were rounded by the program that last saved the file, so they are left out"

SIMULATOR = "rocm-perf sim"  # the tool of a recording that no machine made
LENGTHS = "lengths"  # the clock of a recording that knows how long each kernel took, but not when it ran


class RunInfo(msgspec.Struct, frozen=True):
    """Everything about a run that is not a table."""

    tool: str = "unknown"
    tool_version: str | None = None
    formats: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    command: str | None = None
    clock: str = "unknown"
    asked: tuple[str, ...] = ()  # domains the profiler was asked to record, if it says so
    sources: tuple[SourceFile, ...] = ()
    losses: tuple[Loss, ...] = ()
    notices: tuple[str, ...] = ()
    recorded_at: str | None = None
    window: str | None = None  # the part of the recording that this is, where it is not all of it
    collection: CollectionRecord | None = None  # if rocm-perf itself recorded it
    world_size: int | None = None  # the ranks of the job, if a file says so
    software: tuple[str, ...] = ()  # what the program ran with, as its files say: "CUDA runtime 12.8.93"
    numbering: Numbering | None = None  # of the file with most gaps
    adoption: Adoption | None = None  # if captures of its graphs were laid beside it
