"""`doctor -- APP`: run the program under the loader's own log, and say which GPU libraries it loads and what that means
for profilers."""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from rocm_perf import user_program
from rocm_perf.backends.machine import Machine
from rocm_perf.collect.doctor.gpu_libraries import gpu_library
from rocm_perf.collect.doctor.library_findings import library_findings
from rocm_perf.collect.doctor.loader_log import Image, log_variables, read_logs
from rocm_perf.collect.request.application import find_application
from rocm_perf.collect.run.launch import Ended, launch
from rocm_perf.collect.run.streams import STDERR
from rocm_perf.model.finding import Finding
from rocm_perf.model.results.program_libraries import LoadingProcess, ProgramLibraries
from rocm_perf.units import NS_PER_S, format_count
from rocm_perf.version import __version__

_ELF64_LITTLE = b"\x7fELF\x02\x01"
_PT_INTERP = 3
_HEAD_BYTES = 1 << 16  # the program headers follow the first

EXIT_FINE, EXIT_DOUBTFUL, EXIT_NOTHING = 0, 4, 5


def watch_program(
    command: tuple[str, ...], machine: Machine, environment: Mapping[str, str], timeout_s: float
) -> ProgramLibraries:
    """Run the program, for so long at most, and report on the libraries of all its processes."""
    file = find_application(command, environment)
    with tempfile.TemporaryDirectory(prefix="rocm-perf-") as folder:
        prefix = Path(folder) / "loader"
        variables = {**environment, **log_variables(prefix)}
        ended = launch(command, variables, stdout=STDERR, timeout_s=timeout_s, grace_s=2, watch_stderr=False)
        images = read_logs(prefix)
    return report(command, images, ended, machine, is_static=_is_static(file))


def report(
    command: tuple[str, ...], images: list[Image], ended: Ended, machine: Machine, *, is_static: bool = False
) -> ProgramLibraries:
    """The report on the programs in the loader's logs. Pure but for the links in paths."""
    processes = [_process(image, machine) for image in images]
    loading = tuple(process for process in processes if process.libraries)
    problems = tuple(library_findings(loading, command, machine))
    return ProgramLibraries(
        producer=f"rocm-perf {__version__}",
        command=command,
        verdict=_verdict(loading, problems, bool(images)),
        exit_code=_exit_code(loading, problems),
        program_status=ended.status,
        wall_s=ended.wall_ns / NS_PER_S,
        timed_out=ended.timed_out,
        processes=loading,
        other_processes=len(processes) - len(loading),
        problems=problems,
        notes=tuple(_notes(ended, command, has_log=bool(images), is_static=is_static)),
    )


def _process(image: Image, machine: Machine) -> LoadingProcess:
    libraries = (gpu_library(path, machine.rocm_paths) for path in dict.fromkeys(image.paths))
    known = {library.file: library for library in libraries if library is not None}
    return LoadingProcess(pid=image.pid, program=image.program, libraries=tuple(known.values()))


def _verdict(processes: tuple[LoadingProcess, ...], problems: tuple[Finding, ...], has_log: bool) -> str:
    if not has_log:
        return "Unknown: the loader of this program keeps no log."
    if not processes:
        return "It loads no GPU library: a profiler would record nothing of it."
    bad = [finding for finding in problems if finding.severity != "info"]
    if bad:
        return f"Doubtful: {bad[0].title}."
    several = format_count(len(processes), "process", "processes")
    return f"Fine: one copy of each GPU library in {several}."


def _exit_code(processes: tuple[LoadingProcess, ...], problems: tuple[Finding, ...]) -> int:
    if not processes:
        return EXIT_NOTHING
    return EXIT_DOUBTFUL if any(finding.severity != "info" for finding in problems) else EXIT_FINE


def _notes(ended: Ended, command: tuple[str, ...], *, has_log: bool, is_static: bool) -> Iterator[str]:
    if is_static:
        yield f"{command[0]} is linked statically: what it is made of cannot be seen, and no profiler gets in"
    elif not has_log:
        yield "it is not linked against glibc, has rights of another user (setuid), or clears its environment"
    if ended.timed_out:
        yield f"it still ran after {ended.wall_ns / NS_PER_S:.0f} s and was ended (--timeout); it may load more later"
    elif ended.status:
        yield f"the program {user_program.failure(ended.status)}: what it would have loaded later is not known"
    if ended.left_behind:
        yield f"it left {format_count(len(ended.left_behind), 'process', 'processes')} running"


def _is_static(file: Path) -> bool:
    """Whether an executable names no loader (a program header PT_INTERP); a script is as its interpreter is."""
    try:
        with file.open("rb") as stream:
            head = stream.read(_HEAD_BYTES)
        if head[:6] != _ELF64_LITTLE:
            return False
        (offset,) = struct.unpack_from("<Q", head, 32)
        size, count = struct.unpack_from("<HH", head, 54)
        kinds = [struct.unpack_from("<I", head, offset + size * number)[0] for number in range(count)]
    except (OSError, struct.error):
        return False
    return _PT_INTERP not in kinds
