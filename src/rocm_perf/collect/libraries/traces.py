"""The calls of rocBLAS, hipBLASLt, MIOpen, Tensile and RCCL, from what these libraries log themselves.

Their logs go into a folder of the run. MIOpen and Tensile have no log file: MIOpen writes to standard error, of which
the run keeps a part; Tensile to standard output, which belongs to the program, so it is never switched on here.
"""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from rocm_perf.collect.libraries.logs import hipblaslt, miopen, rccl, rocblas, tensile
from rocm_perf.collect.libraries.logs.call import Call
from rocm_perf.errors import RocmPerfError
from rocm_perf.model.library_trace import COLUMNS, FILE_NAME
from rocm_perf.units import format_count

LOGS = ".library-logs"
# The variables that switch a library's log on, and the beginnings of names by which a user may have done it himself.
_SWITCHES: tuple[tuple[tuple[str, ...], dict[str, str]], ...] = (
    (
        ("ROCBLAS_LAYER", "ROCBLAS_LOG_"),
        {"ROCBLAS_LAYER": "2", "ROCBLAS_LOG_BENCH_PATH": "{logs}/rocblas.log"},
    ),
    (("HIPBLASLT_LOG_",), {"HIPBLASLT_LOG_MASK": "32", "HIPBLASLT_LOG_FILE": "{logs}/hipblaslt_%i.log"}),
    (("MIOPEN_ENABLE_LOGGING", "MIOPEN_LOG_LEVEL"), {"MIOPEN_ENABLE_LOGGING_CMD": "1"}),
    (
        ("NCCL_DEBUG",),
        {
            "NCCL_DEBUG": "INFO",
            "NCCL_DEBUG_SUBSYS": "INIT,COLL",
            "NCCL_DEBUG_FILE": "{logs}/rccl_%h.%p.log",
        },
    ),
)
# Where one call stands in several forms of a log, the first of these counts.
_FORMS = ("bench", "command", "log", "kernel", "trace", "profile")
_PARSERS = (rocblas.parse, hipblaslt.parse, miopen.parse, rccl.parse, tensile.parse)
_LONGEST_LINE = 1 << 16


@dataclass(frozen=True)
class LibraryTrace:
    """The calls that the libraries of a run logged, and where they were written."""

    path: Path | None  # None where nothing was logged
    calls: tuple[Call, ...] = ()  # alike ones together
    summary: str = ""
    notices: tuple[str, ...] = ()


def environment(folder: Path, given: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables for a run. A library whose log the user has already set up is left alone.

    The folder is made at once: rocBLAS aborts the program when it cannot open its log.
    """
    present = os.environ if given is None else given
    logs = Path(os.path.abspath(folder)) / LOGS
    logs.mkdir(parents=True, exist_ok=True)
    chosen: dict[str, str] = {}
    for names, variables in _SWITCHES:
        if not any(name.startswith(names) for name in present):
            chosen |= {name: value.replace("{logs}", str(logs)) for name, value in variables.items()}
    return chosen


def gather(folder: Path, stderr_tail: str = "") -> LibraryTrace:
    """Read the logs of a run and write `library_trace.csv` beside them."""
    counted: Counter[Call] = Counter()
    unknown: Counter[str] = Counter()
    notices: list[str] = []
    communicators = rccl.Communicators()
    for path in sorted((folder / LOGS).glob("*.log")):
        try:
            _count(path.name, _lines(path), counted, unknown, communicators)
        except OSError as error:
            notices.append(f"{path.name} cannot be read: {error.strerror}")
    _count("", iter(stderr_tail.splitlines()), counted, unknown, communicators)
    calls = _alike(counted, communicators)
    notices += [f"{format_count(count, 'line')} of {name} not understood" for name, count in unknown.items()]
    if any(call.library == "miopen" for call in calls):
        notices.append("MIOpen logs to stderr only: its calls are those in the part of it that was kept")
    if not calls:
        return LibraryTrace(None, notices=tuple(notices), summary="no library logged a call")
    try:
        _write(calls, folder / FILE_NAME)
    except RocmPerfError as error:
        notices.append(str(error))
        return LibraryTrace(None, calls=calls, summary=_summary(calls), notices=tuple(notices))
    return LibraryTrace(folder / FILE_NAME, calls=calls, summary=_summary(calls), notices=tuple(notices))


def _lines(path: Path) -> Iterator[str]:
    with path.open(errors="replace") as file:
        while line := file.readline(_LONGEST_LINE):
            yield line.rstrip("\n")


def _count(
    name: str,
    lines: Iterable[str],
    counted: Counter[Call],
    unknown: Counter[str],
    communicators: rccl.Communicators,
) -> None:
    """Count the calls of a log. A file with a name is a library's own, so that every line in it should be one."""
    pid = _pid_of(name)
    for line in lines:
        call = _parsed(line)
        if call is not None:
            counted[replace(call, calls=1, pid=call.pid or pid)] += call.calls
        elif rccl.is_other(line):
            communicators.learn(line)
        elif name and line.strip():
            unknown[name] += 1


@lru_cache(maxsize=1 << 14)
def _parsed(line: str) -> Call | None:
    return next((call for parse in _PARSERS if (call := parse(line)) is not None), None)


def _pid_of(name: str) -> int | None:
    """The process that wrote a log: hipBLASLt and RCCL put it into the name of the file."""
    stem = name.removesuffix(".log").replace(".", "_").rpartition("_")[2]
    return int(stem) if stem.isdigit() and len(stem) < 10 else None


def _alike(counted: Counter[Call], communicators: rccl.Communicators) -> tuple[Call, ...]:
    """The counted calls, of each library in one form of its log."""
    forms: dict[str, int] = {}
    for call in counted:
        forms[call.library] = min(forms.get(call.library, len(_FORMS)), _FORMS.index(call.form))
    kept: Counter[Call] = Counter()
    for call, count in counted.items():
        if forms[call.library] == _FORMS.index(call.form):
            kept[communicators.named(call)] += count
    return tuple(replace(call, calls=count) for call, count in kept.items())


def _write(calls: tuple[Call, ...], path: Path) -> None:
    from rocm_perf.files import write_whole

    def write(draft: Path) -> None:
        with draft.open("w", newline="", encoding="utf-8", errors="replace") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(COLUMNS)
            writer.writerows([getattr(call, column) for column in COLUMNS] for call in calls)

    write_whole(path, write, overwrite=True)


def _summary(calls: tuple[Call, ...]) -> str:
    """`rocblas: 120 calls in 3 shapes; rccl: 40 calls in 1 shape`."""
    libraries = dict.fromkeys(call.library for call in calls)
    return "; ".join(
        f"{library}: {format_count(sum(call.calls for call in own), 'call')} "
        f"in {format_count(len({replace(call, calls=1, pid=None, rank=None) for call in own}), 'shape')}"
        for library in libraries
        if (own := [call for call in calls if call.library == library])
    )
