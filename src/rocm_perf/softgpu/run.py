"""Executing a dispatch: the emulator is given a plan and answers; its exit codes become errors."""

from __future__ import annotations

import subprocess
from pathlib import Path

import msgspec

from rocm_perf.errors import InputError, OutputError, RocmPerfError, ToolAbsentError
from rocm_perf.softgpu import build
from rocm_perf.softgpu.answer import Answer
from rocm_perf.softgpu.errors import EmulationError, EmulationTimeoutError, EmulatorDefectError
from rocm_perf.softgpu.plan import Emulation, plan_text

_GRACE_S = 30.0  # to load and to write memory, beyond the time limit of the execution
_FAILURES: dict[int, tuple[type[RocmPerfError], str, str]] = {
    10: (EmulatorDefectError, "the emulator does not understand its plan", "Please report it."),
    14: (EmulationError, "the kernel cannot be executed", ""),
    16: (InputError, "the emulator cannot read its input", ""),
    17: (OutputError, "the emulator cannot write its result", "Set TMPDIR to a folder with more room."),
    18: (EmulationTimeoutError, "the kernel did not end in time", "Set a longer --timeout."),
}


def execute(emulation: Emulation, work: Path) -> Answer:
    """Execute the dispatch; what the emulator reads is kept in `work`, a folder."""
    listing, memory, plan = work / "listing.s", work / "code.bin", work / "emulator.plan"
    listing.write_text(emulation.code.listing)
    memory.write_bytes(emulation.code.memory)
    plan.write_text(plan_text(emulation, listing, memory))
    return _answer(_run([str(build.emulator()), str(plan)], emulation.options.timeout_s + _GRACE_S))


def _run(argv: list[str], timeout_s: float) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout_s, check=False
        )
    except OSError as error:
        raise ToolAbsentError(f"cannot start {argv[0]}", error.strerror or str(error)) from error
    except subprocess.TimeoutExpired as error:
        raise EmulationTimeoutError("the emulator did not end in time") from error


def _answer(done: subprocess.CompletedProcess[bytes]) -> Answer:
    try:
        answer = msgspec.json.decode(done.stdout, type=Answer)
    except msgspec.DecodeError as error:
        said = done.stderr.decode("utf-8", "replace").strip()[-300:]
        raise EmulatorDefectError("the emulator died", said or f"exit code {done.returncode}") from error
    if done.returncode == 0:
        return answer
    kind, what, next_step = _FAILURES.get(done.returncode, (EmulatorDefectError, "the emulator failed", ""))
    raise kind(what, answer.error, next_step)
