"""Which programs of the vendors are on the machine, in which version, and asking one of them with a time limit.

Names in `Machine.tools` are those of the profilers' own programs and of `PROGRAMS`; libraries and headers come from the
vendors' own probes: `att-decoder` (librocprof-trace-decoder.so), `cupti`, `cupti.h`.
"""

from __future__ import annotations

import os
import re
import selectors
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rocm_perf.backends.machine import Tool
from rocm_perf.environment import RANKS
from rocm_perf.model.vendor import Vendor
from rocm_perf.user_program import signal_name

_LIMIT_S = 5.0
_RANKS_LIMIT_S = 60.0  # all ranks of a job ask at once, often from one file system
_ANSWER_BYTES = 1 << 20  # more is not an answer
_NOT_RUN = (126, 127)  # of a shell or the loader
# A profiler that is preloaded into every program would be preloaded into these, too.
_PRELOADED = (
    "LD_PRELOAD",
    "HSA_TOOLS_LIB",
    "ROCP_TOOL_LIBRARIES",
    "CUDA_INJECTION64_PATH",
    "NVTX_INJECTION64_PATH",
)
_ROCM_VERSION = re.compile(r"rocm[ _]version\s*:\s*(\d+(?:\.\d+)+)", re.IGNORECASE)
_NAMED = r"(?i)(?:version|release|\bv)[\s:]*v?(\d+(?:\.\d+)+)"
_ANY_NUMBER = r"(\d+(?:\.\d+)+)"


@dataclass(frozen=True)
class Program:
    """One program to look for."""

    name: str
    vendor: Vendor | None = "AMD"
    files: tuple[str, ...] = ()  # what it may be called; the first that is found counts
    asked: tuple[str, ...] = ("--version",)  # what makes it say its version; empty: it is not started
    version: str = _NAMED


# Besides those of the profilers.
PROGRAMS = (
    Program("rocprofv3-avail", asked=("--help",), version=r"(?!)"),
    Program("rocprof-compute", files=("rocprof-compute", "omniperf")),
    Program("rgp", files=("RadeonGPUProfiler", "rgp"), asked=()),  # it would open a window
    Program("amd-smi", asked=("version",), version=r"AMDSMI Tool:\s*([\d.]+)"),
    Program("rocm-smi", version=r"ROCM-SMI version:\s*([\d.]+)"),
    Program("rocminfo", asked=()),
    Program("hipcc", version=r"HIP version:\s*([\d.]+)"),
    Program("nsys", vendor="NVIDIA"),
    Program("nvcc", vendor="NVIDIA"),
    Program("nvidia-smi", vendor="NVIDIA", asked=()),
    Program("c++", vendor=None, files=("c++", "g++", "clang++"), version=_ANY_NUMBER),
)


@dataclass(frozen=True)
class Answer:
    """What a program said."""

    text: str = ""
    status: int | None = None  # exit code, or minus the signal
    problem: str = ""  # why it cannot be used


def find_program(program: Program, folders: Iterable[str]) -> str:
    """The path of a program in the first of the folders that has it; empty if none has."""
    for folder in folders:
        for name in program.files or (program.name,):
            path = os.path.join(folder, name)
            if os.path.isfile(path) and os.access(path, os.X_OK):
                return path
    return ""


def path_folders(environment: Mapping[str, str]) -> list[str]:
    return [folder for folder in environment.get("PATH", "").split(os.pathsep) if folder]


def examine(program: Program, path: str, environment: Mapping[str, str]) -> Tool:
    """The program at this path, as it describes itself."""
    answer = ask([path, *program.asked], environment) if program.asked else Answer(status=0)
    return Tool(
        name=program.name,
        path=path,
        version=_version(program, answer),
        rocm=_rocm(program, answer, path),
        problem=answer.problem,
    )


def _version(program: Program, answer: Answer) -> str:
    if answer.status != 0:
        return ""
    match = re.search(program.version, answer.text)
    return match.group(1) if match else ""


def _rocm(program: Program, answer: Answer, path: str) -> str:
    """The release of ROCm that a program belongs to: as it says itself, or else by the folder it lies in."""
    if program.vendor != "AMD":
        return ""
    said = _ROCM_VERSION.search(answer.text)
    return said.group(1) if said else rocm_release(Path(path).resolve().parent.parent)


def rocm_release(prefix: Path) -> str:
    """The release in a folder, such as `7.2.0`: by its version file, or by its name; empty if it is not a ROCm."""
    try:
        text = (prefix / ".info" / "version").read_text(errors="replace")
    except OSError:
        text = ""
    match = re.match(r"\s*(\d+(?:\.\d+)+)", text) or re.fullmatch(
        r"(?:rocm|core)-(\d+(?:\.\d+)+)", prefix.name
    )
    return match.group(1) if match else ""


def ask(argv: Sequence[str], environment: Mapping[str, str], limit_s: float | None = None) -> Answer:
    """Run a program for what it prints. It never raises, never waits for longer, and leaves no process behind."""
    if limit_s is None:
        limit_s = _RANKS_LIMIT_S if any(environment.get(name) for name in RANKS) else _LIMIT_S
    variables = {name: value for name, value in environment.items() if name not in _PRELOADED}
    try:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=variables,
            start_new_session=True,
        )
    except OSError as error:
        return Answer(problem=f"cannot be started: {error.strerror}")
    deadline = time.monotonic() + limit_s
    data, closed = _read(process, deadline)
    text = data.decode("utf-8", "replace")
    status = _ended(process, deadline if closed else 0)
    if len(data) >= _ANSWER_BYTES:
        return Answer(text, None, "prints without end")
    if status is None:
        return Answer(text, None, f"gives no answer to {' '.join(argv[1:]) or 'a call'} within {limit_s:g} s")
    if status < 0:
        return Answer(text, status, f"crashes: {signal_name(-status)}")
    if status in _NOT_RUN:
        return Answer(text, status, f"cannot be run: {_last_line(text)}")
    return Answer(text, status)


def _read(process: subprocess.Popen[bytes], deadline: float) -> tuple[bytes, bool]:
    """What a process prints until the time is up or it is too much, and whether it came to its end."""
    assert process.stdout is not None
    data, closed = b"", False
    with process.stdout as stream, selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while len(data) < _ANSWER_BYTES and (left := deadline - time.monotonic()) > 0:
            if not selector.select(left):
                break
            piece = os.read(stream.fileno(), 1 << 16)
            if not piece:
                closed = True
                break
            data += piece
    return data, closed


def _ended(process: subprocess.Popen[bytes], deadline: float) -> int | None:
    """The status of a process, or None if it had to be killed. Past the deadline its children are killed, too."""
    if deadline:
        try:
            return process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            pass
    os.killpg(process.pid, signal.SIGKILL)  # not yet waited for, so the number is still its own
    status = process.wait()
    return None if status == -signal.SIGKILL else status


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "no such program behind it"
