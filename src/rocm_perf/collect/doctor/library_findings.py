"""What the libraries of a program mean for profilers: copies beside one another, and copies that hide the system's."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from rocm_perf.backends import profilers
from rocm_perf.backends.machine import Machine
from rocm_perf.collect.doctor.gpu_libraries import RUNTIMES
from rocm_perf.model.finding import Finding
from rocm_perf.model.results.program_libraries import LoadedLibrary, LoadingProcess

_AMD_RUNTIMES = ("libamdhip64", "libhsa-runtime64")
_ONE_IS_DEAF = (
    "each copy has a state of its own: what is launched through one is unknown to the other, "
    "and a profiler hears only one of them"
)


def library_findings(
    processes: tuple[LoadingProcess, ...], command: tuple[str, ...], machine: Machine
) -> Iterator[Finding]:
    """Every problem once, whichever of the processes has it."""
    seen: set[str] = set()
    for process in processes:
        for finding in (*_twice(process), *_own_runtime(process, command, machine)):
            if finding.title not in seen:  # ranks are alike
                seen.add(finding.title)
                yield finding


def _twice(process: LoadingProcess) -> Iterator[Finding]:
    """Two copies of one library in one process."""
    for name in dict.fromkeys(library.name for library in process.libraries):
        copies = [library for library in process.libraries if library.name == name]
        if len(copies) > 1:
            yield Finding(
                id="library-loaded-twice",
                severity="error" if name in RUNTIMES else "warning",
                title=f"{name} is loaded {_times(len(copies))} in one process: "
                + " and ".join(_described(copy) for copy in copies),
                evidence=(
                    f"{process.program} ({process.pid}): {', '.join(copy.path for copy in copies)}",
                    _ONE_IS_DEAF,
                ),
                remedy="Leave one: take the folder of the other out of LD_LIBRARY_PATH and LD_PRELOAD, or "
                "open the library by its name alone, which finds the one that is loaded",
            )


def _own_runtime(process: LoadingProcess, command: tuple[str, ...], machine: Machine) -> Iterator[Finding]:
    """A runtime of the program's own in place of the system's, for which the system's profilers are made."""
    own = [lib for lib in process.libraries if lib.name in RUNTIMES and lib.origin != "system"]
    if not own:
        return
    first = own[0]
    profiler = _system_profiler(machine) if first.name in _AMD_RUNTIMES else ""
    evidence = [", ".join(library.path for library in own)]
    if first.hides:
        evidence.append(f"it is used instead of {first.hides}")
    if profiler:
        evidence.append(
            f"{profiler} here belongs to the system's runtime, and may record no kernels of this one"
        )
    yield Finding(
        id="own-runtime",
        severity="warning" if profiler else "info",
        title=f"the {first.role} is {_described(first)}, not the system's",
        evidence=tuple(evidence),
        remedy=f"If a recording lacks kernels, {_instead(first)}",
        next_command=_own_profiler(first, command),
    )


def _system_profiler(machine: Machine) -> str:
    """The profiler of the system's ROCm that would be used here; empty without one."""
    of_amd = (each for each in profilers.PROFILERS.values() if each.vendor == "AMD" and each.traces)
    return next((each.name for each in of_amd if machine.tool(each.tool)), "")


def _own_profiler(library: LoadedLibrary, command: tuple[str, ...]) -> str:
    """The command that records with the profiler of the package itself; empty if it has none."""
    if library.owner not in profilers.PROFILERS:
        return ""
    return f"rocm-perf profile --profiler {library.owner} -- {shlex.join(command)}"


def _instead(library: LoadedLibrary) -> str:
    if library.owner in profilers.PROFILERS:
        return f"record with {library.owner}'s own profiler"
    if library.origin == "package":
        return f"use the profiler that comes with {library.owner}, or a {library.owner} that is built for the system's"
    return "start the program with the system's folder first in LD_LIBRARY_PATH"


def _times(count: int) -> str:
    return "twice" if count == 2 else f"{count} times"


def _described(library: LoadedLibrary) -> str:
    where = {
        "system": f"the system's ({library.owner})" if library.owner else "the system's",
        "package": f"{library.owner}'s own copy",
        "elsewhere": f"a copy in {Path(library.file).parent}",
    }[library.origin]
    return f"{where}, {library.version}" if library.version else where
