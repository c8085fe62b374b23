"""A run that finds the kernel at fault: launches wait for one another, and the runtime logs each of them. Its timings
mean nothing."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Literal

import msgspec

from rocm_perf.analysis.basis.names import demangle
from rocm_perf.arch.toml import read_toml
from rocm_perf.collect.run.launch import Ended, exit_code, launch
from rocm_perf.errors import OutputError, ToolAbsentError

SCHEMA_VERSION = 1
HIP_LOG = "hip-log"  # HIP adds _PID
SANITIZER = "compute-sanitizer"
SANITIZER_LOG = "sanitizer-%p.log"  # %p: the process

# Documented under "HIP environment variables" and "Logging HIP activity"; level 3 names every kernel that is launched.
AMD_VARIABLES = {
    "HIP_LAUNCH_BLOCKING": "1",
    "AMD_SERIALIZE_KERNEL": "3",
    "AMD_SERIALIZE_COPY": "3",
    "AMD_LOG_LEVEL": "3",
    "AMD_LOG_LEVEL_SIZE": "256",  # MiB per process; HIP then starts the file again
}
NVIDIA_VARIABLES = {"CUDA_LAUNCH_BLOCKING": "1"}
TIMINGS = "Launches were made to wait for one another: the timings of this run are not valid"

Certainty = Literal["certain", "likely", "unsure", "none"]
_TAIL_BYTES = 4 * 1024 * 1024
_LAUNCHED = re.compile(r"ShaderName\s*: (.+?)\s*$", re.MULTILINE)
_REFUSED = re.compile(r"(hip\w+): Returned (hipError(?!NotReady)\w+)")
_KEPT = 5


class FaultText(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One text and its meaning (fault_texts.toml)."""

    name: str
    text: str
    meaning: str
    next_step: str


class _FaultTexts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    fault: tuple[FaultText, ...]


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """What the runtime said of a fault."""

    name: str
    meaning: str
    next_step: str
    line: str  # as printed
    kernel: str = ""
    address: str = ""
    reason: str = ""
    gpu: str = ""


class DebugReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a debug run found."""

    schema_version: int = SCHEMA_VERSION
    command: tuple[str, ...]
    environment: dict[str, str]
    exit_code: int
    fault: Fault | None = None
    kernel: str = ""  # the one at fault
    certainty: Certainty = "none"
    because: str = ""
    last_kernels: tuple[str, ...] = ()  # launched last, the newest first
    failed_call: str = ""  # the last HIP call that returned an error
    next_step: str = ""
    logs: tuple[str, ...] = ()
    timings: str = TIMINGS


@cache
def fault_texts() -> tuple[FaultText, ...]:
    """All texts that are known, the most telling first."""
    data = (resources.files("rocm_perf.collect") / "fault_texts.toml").read_bytes()
    return msgspec.convert(read_toml(data, "fault_texts.toml"), _FaultTexts).fault


def debug_environment(folder: Path) -> dict[str, str]:
    """The variables to set for the run, for both vendors: a runtime ignores what is not its own."""
    log = {"AMD_LOG_LEVEL_FILE": str(folder.absolute() / HIP_LOG)}
    return {**AMD_VARIABLES, **log, **NVIDIA_VARIABLES}


def debug_command(app: tuple[str, ...], folder: Path, sanitizer: str = "") -> tuple[str, ...]:
    """The command to run; with a sanitizer, below it."""
    if not sanitizer:
        return app
    return (sanitizer, "--log-file", str(folder.absolute() / SANITIZER_LOG), *app)


def debug(  # noqa: PLR0913  (a run has this many sides)
    app: tuple[str, ...],
    folder: Path,
    environment: Mapping[str, str],
    *,
    sanitizer: str = "",
    stdout: int | None = None,
    timeout_s: float | None = None,
) -> DebugReport:
    """Run the application and say which kernel is at fault. The logs stay in the folder."""
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise OutputError(f"cannot write logs to {folder}", error.strerror or str(error)) from error
    variables = debug_environment(folder)
    command = debug_command(app, folder, sanitizer)
    ended = launch(command, {**environment, **variables}, stdout=stdout, timeout_s=timeout_s)
    logs = {str(path): _tail(path) for path in sorted(folder.iterdir())}
    return report(command, variables, ended, logs)


def report(
    command: tuple[str, ...], variables: dict[str, str], ended: Ended, logs: Mapping[str, str]
) -> DebugReport:
    """What the run's error output and logs tell. Pure."""
    fault = find_fault([*logs.values(), ended.stderr_tail])
    launched = {path: _launched(text) for path, text in logs.items() if _launched(text)}
    faulty = _faulty_logs(logs, launched)
    kernel, certainty, because = _kernel(fault, [launched[path] for path in faulty])
    code = exit_code(ended.status)
    return DebugReport(
        command=command,
        environment=variables,
        exit_code=code,
        fault=fault,
        kernel=kernel,
        certainty=certainty,
        because=because,
        last_kernels=tuple(launched[faulty[0]][:_KEPT]) if len(faulty) == 1 else (),
        failed_call=_failed_call(logs.values()),
        next_step=_next_step(fault, ended, code),
        logs=tuple(logs),
    )


def find_fault(texts: Iterable[str]) -> Fault | None:
    """The most telling fault in what was printed; a text that names the kernel counts most."""
    printed = list(texts)
    for known in fault_texts():
        for text in printed:
            if match := re.search(known.text, text, re.MULTILINE):
                groups = {name: value.strip() for name, value in match.groupdict().items() if value}
                kernel = demangle(groups.pop("kernel", ""))
                line = match.group().strip().split("\n")[0]
                about = {"name": known.name, "meaning": known.meaning, "next_step": known.next_step}
                return Fault(**about, line=line, kernel=kernel, **groups)
    return None


def _launched(log: str) -> list[str]:
    """The kernels in a log, the newest first."""
    return [demangle(name) for name in reversed(_LAUNCHED.findall(log))]


def _faulty_logs(logs: Mapping[str, str], launched: Mapping[str, list[str]]) -> list[str]:
    """Logs of processes that launched kernels; only those that tell of a fault, if any does."""
    telling = [path for path in launched if find_fault([logs[path]]) is not None]
    return telling or list(launched)


def _kernel(fault: Fault | None, launched: list[list[str]]) -> tuple[str, Certainty, str]:
    """Which kernel is at fault, how sure that is, and why."""
    if fault is None:
        return "", "none", ""
    if fault.kernel:
        return fault.kernel, "certain", "the runtime itself names it"
    if len(launched) == 1:
        return launched[0][0], "likely", "it was launched last, and launches waited for one another"
    if launched:
        names = ", ".join(dict.fromkeys(kernels[0] for kernels in launched))
        return "", "unsure", f"{len(launched)} processes launched kernels; the last of each: {names}"
    return "", "unsure", "the runtime names no kernel, and none was logged"


def _failed_call(logs: Iterable[str]) -> str:
    refused = [match for log in logs for match in _REFUSED.findall(log)]
    return f"{refused[-1][0]}: {refused[-1][1]}" if refused else ""


def _next_step(fault: Fault | None, ended: Ended, code: int) -> str:
    if fault is not None:
        return fault.next_step
    if ended.timed_out:
        return "The program did not end in time: the kernel launched last may be the one that hangs."
    if code:
        return "The program failed, but not by a kernel fault that rocm-perf recognises: see the program's own output."
    return (
        "The program ran to its end. If it fails without `rocm-perf debug`, a missing synchronisation is likely: "
        "here no two launches overlapped."
    )


def _tail(path: Path) -> str:
    """The end of a log: the fault is there."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
        return file.read().decode(errors="replace")


def find_sanitizer(environment: Mapping[str, str]) -> str:
    """NVIDIA's compute-sanitizer, on PATH or with CUDA."""
    roots = [environment.get("CUDA_HOME", ""), environment.get("CUDA_PATH", ""), "/usr/local/cuda"]
    folders = environment.get("PATH", "").split(os.pathsep)
    folders += [str(Path(root, place)) for root in roots if root for place in ("bin", "compute-sanitizer")]
    for folder in filter(None, folders):
        path = Path(folder, SANITIZER)
        if path.is_file() and os.access(path, os.X_OK):
            return str(path)
    raise ToolAbsentError(
        f"{SANITIZER} was not found",
        "it comes with the CUDA toolkit",
        "Without --sanitize the run still finds faults.",
    )
