"""Which GPU libraries a program really loads: the answer of `doctor -- APP`."""

from __future__ import annotations

from typing import Literal

import msgspec

from rocm_perf.model.finding import Finding

SCHEMA_VERSION = 1
Origin = Literal["system", "package", "elsewhere"]  # package: of Python, such as torch's wheel


class LoadedLibrary(msgspec.Struct, frozen=True, kw_only=True):
    """One library that a process has loaded."""

    name: str  # libamdhip64
    role: str  # HIP runtime
    path: str  # as the loader found it
    file: str  # without links
    version: str = ""  # in its file name, or of the release that it lies in
    origin: Origin
    owner: str = ""  # the package or release that it belongs to
    hides: str = ""  # the system's copy that is not used


class LoadingProcess(msgspec.Struct, frozen=True, kw_only=True):
    """One process of the program, and its GPU libraries in the order in which they were loaded."""

    pid: int
    program: str
    libraries: tuple[LoadedLibrary, ...] = ()


class ProgramLibraries(msgspec.Struct, frozen=True, kw_only=True):
    """The whole answer."""

    schema_version: int = SCHEMA_VERSION
    producer: str
    command: tuple[str, ...]
    verdict: str
    exit_code: int
    program_status: int  # of the program; minus N: killed by signal N
    wall_s: float
    timed_out: bool = False
    processes: tuple[LoadingProcess, ...] = ()  # those that loaded any of these libraries
    other_processes: int = 0
    problems: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
