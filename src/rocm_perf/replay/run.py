"""Running the native runner on a plan: within a time limit, its exit codes turned into errors."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec

from rocm_perf import user_program
from rocm_perf.collect.run.signals import ending_waits
from rocm_perf.errors import InputError, OutputError, RocmPerfError, ToolAbsentError
from rocm_perf.model.results.replay import Reservation
from rocm_perf.replay.errors import (
    BadPlanError,
    KernelFailedError,
    OtherGpuError,
    RelocatedError,
    ReplayTimeoutError,
    ReservationError,
    TooLargeError,
)
from rocm_perf.softgpu.device import device_preload

RESERVATION_FAILED, RELOCATED = 1, 2
_MOST_SAID = 400  # characters of what a runner said on its way out
_LAST_WAIT_S = 5.0
# A profiler or another capture would be loaded into the runner, too.
_PRELOADED = (
    "LD_PRELOAD",
    "HSA_TOOLS_LIB",
    "ROCP_TOOL_LIBRARIES",
    "CUDA_INJECTION64_PATH",
    "NVTX_INJECTION64_PATH",
)
_RELOCATED_NEXT = "Try again; `rocm-perf replay reserve-check` shows the ranges."
_FAILURES: Mapping[int, tuple[type[RocmPerfError], str, str]] = {
    RESERVATION_FAILED: (ReservationError, "an address range cannot be reserved here", _RELOCATED_NEXT),
    RELOCATED: (
        RelocatedError,
        "the GPU runtime gave other addresses than the captured ones",
        _RELOCATED_NEXT,
    ),
    10: (
        BadPlanError,
        "the runner does not understand its plan",
        "Please report it, with the output of --dry-run.",
    ),
    11: (ToolAbsentError, "there is no GPU to replay on", "`rocm-perf replay info` works without one."),
    12: (OtherGpuError, "the code is made for another GPU", ""),
    13: (InputError, "the kernel cannot be loaded", ""),
    14: (KernelFailedError, "the kernel failed", ""),
    15: (
        TooLargeError,
        "the snapshot does not fit into the device's memory",
        "Capture with --reachable-only.",
    ),
    16: (InputError, "a file of the snapshot cannot be read", ""),
    17: (OutputError, "the result of the replay cannot be written", "Set TMPDIR to a folder with more room."),
}


class RanOn(msgspec.Struct, frozen=True):
    """What the kernel ran on."""

    name: str = ""
    gfx: str = ""
    driver: str = ""


class Variable(msgspec.Struct, frozen=True):
    """A variable of the code object, and where it lies now."""

    name: str
    address: str


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What the runner printed."""

    state: str = ""
    error: str = ""
    device: RanOn = RanOn()
    reservations: tuple[Reservation, ...] = ()
    variables: tuple[Variable, ...] = ()  # of the code object, and where they lie now
    samples_ns: dict[str, tuple[float, ...]] = {}
    order: tuple[str, ...] = ()
    clocks_mhz: tuple[float, ...] = ()  # before each launch; none where the runner cannot measure them
    wall_ns: int = 0
    restored_bytes: int = 0
    cache_bytes: int = 0  # the GPU's largest cache; 0: unknown

    @property
    def device_text(self) -> str:
        parts = (self.device.name, self.device.gfx, self.device.driver)
        return ", ".join(part for part in parts if part)


class Ended(msgspec.Struct, frozen=True):
    """How a run of the runner went."""

    status: int
    answer: Answer
    said: str  # the end of its stderr


def run_plan(runner: Path, plan: Path, timeout_s: float) -> Ended:
    """Run the runner on a plan; one that does not end in time is ended, with everything it started."""
    environment = {
        name: value for name, value in user_program.environment().items() if name not in _PRELOADED
    }
    environment.update(device_preload(os.environ))
    process = None
    begun = time.monotonic()
    try:
        with ending_waits():  # or a signal in the middle of it leaves the runner behind
            process = _started(runner, plan, environment)
        out, err = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired as error:
        raise ReplayTimeoutError(
            f"the replay did not end within {timeout_s:g} s, and was ended",
            next_step="--timeout S gives it longer.",
        ) from error
    finally:
        if process is not None:
            _end(process)
    said = err.decode("utf-8", "replace").strip()[-_MOST_SAID:]
    return Ended(process.returncode, _answer(out, time.monotonic() - begun), said)


def _started(runner: Path, plan: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            [str(runner), str(plan)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )
    except OSError as error:
        raise ToolAbsentError(f"cannot start {runner}", error.strerror or str(error)) from error


def outcome(ended: Ended) -> Answer:
    """The answer of a run that did what it was asked for; else the error."""
    if ended.status == 0 and ended.answer.state == "done":
        return ended.answer
    raise failure(ended)


def failure(ended: Ended) -> RocmPerfError:
    """Why a run did not do what it was asked for."""
    reason = ended.answer.error or (ended.said.splitlines() or [""])[-1]
    is_answer = bool(ended.answer.state) or ended.status not in (RESERVATION_FAILED, RELOCATED)
    if ended.status in _FAILURES and is_answer:  # anything that goes wrong may end a program with 1 or 2
        kind, what, next_step = _FAILURES[ended.status]
        return kind(what, reason, next_step)
    how = signal_text(-ended.status) if ended.status < 0 else f"with exit code {ended.status}"
    return KernelFailedError(f"the runner ended {how} and gave no answer", reason)


def _answer(out: bytes, wall_s: float) -> Answer:
    """What the runner printed; an empty answer where it died before it could."""
    try:
        answer = msgspec.json.decode(out, type=Answer)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return Answer()
    return answer if answer.wall_ns else msgspec.structs.replace(answer, wall_ns=int(wall_s * 1e9))


def _end(process: subprocess.Popen[bytes]) -> None:
    """End its whole session, where it still runs. A driver may keep a process a while: that is not waited for."""
    if process.poll() is not None:
        return
    try:
        os.killpg(process.pid, signal.SIGKILL)  # not yet waited for, so the number is still its own
        process.wait(_LAST_WAIT_S)
    except (ProcessLookupError, subprocess.TimeoutExpired):
        pass
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def signal_text(number: int) -> str:
    """How a process ended that a signal ended."""
    return f"by {user_program.signal_name(number)}"
