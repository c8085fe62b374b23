"""Measuring the GPU of this machine: by a native program where a compiler for it is here, and through torch."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from datetime import datetime, timezone

import msgspec

from rocm_perf.arch.data_sheet import product_rate
from rocm_perf.arch.matching import match
from rocm_perf.backends.device_build import device_compiler, device_part
from rocm_perf.backends.machine import Machine
from rocm_perf.bench.json_lines import Line, python_command, run_lines
from rocm_perf.errors import RocmPerfError, ToolAbsentError
from rocm_perf.model.machine_ceilings import (
    MATRIX,
    VECTOR,
    MachineCeilings,
    MeasuredGpu,
    MeasuredRate,
    NotMeasured,
)

Progress = Callable[[str], None]
_LIMIT_S = 240.0
_INSIDE = "rocm_perf.bench.ceilings.inside"
_FACTORS = {"TB/s": 1e9, "GB/s": 1e6, "TFLOP/s": 1e9, "TOP/s": 1e9}  # amount / ms, per unit
_PACKED = "packed_f32"
_NATIVE_ONLY = ("L2 read", "LDS read", "f16 vector", "f32 vector", "f64 vector", "launch", "launch and wait",
                "stream synchronization", "device synchronization")  # fmt: skip
_BY_TORCH = tuple(f"{dtype}{MATRIX}" for dtype in ("f16", "bf16"))


class Collected:
    """The lines of one program, as they come."""

    def __init__(self, how: str, progress: Progress) -> None:
        self.how = how
        self.gpu: MeasuredGpu | None = None
        self.rates: list[Line] = []
        self.absent: list[NotMeasured] = []
        self._progress = progress

    def add(self, line: Line) -> None:
        """Keep one line."""
        if "gpu" in line:
            self.gpu = msgspec.convert(line["gpu"], MeasuredGpu)
        elif "reason" in line:
            self.absent.append(NotMeasured(line.get("name") or line["product"] + MATRIX, line["reason"]))
        else:
            self.rates.append(line)
            self._progress(line.get("name") or f"products of {line['product']}")


def measure(machine: Machine, device: int, progress: Progress = lambda _: None) -> MachineCeilings:
    """Everything that can be measured of one GPU. Raises ToolAbsentError where nothing can."""
    if machine.vendor is None:
        raise ToolAbsentError(
            "there is no GPU to measure", next_step="rocm-perf doctor says what was looked for."
        )
    native, no_native = _native(machine, device, progress)
    torch, no_torch = _torch(machine, device, progress, everything=not native.rates)
    gpu = native.gpu or torch.gpu
    if gpu is None or not (native.rates or torch.rates):
        raise ToolAbsentError("the GPU cannot be measured", f"{no_native}; {no_torch}")
    rates = [_rate(line, source.how, gpu) for source in (native, torch) for line in source.rates]
    return MachineCeilings(
        gpu=gpu,
        host=socket.gethostname(),
        date=datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        rates=tuple(rates),
        not_measured=_not_measured(rates, (*native.absent, *torch.absent), no_native, no_torch),
    )


def _native(machine: Machine, device: int, progress: Progress) -> tuple[Collected, str]:
    """What the native program measures, and why something is missing."""
    try:
        compiler = device_compiler(machine)
        lines = Collected(f"kernels compiled by {compiler.name} {compiler.version}".rstrip(), progress)
        progress(f"compiling with {compiler.name}")
        program = device_part(machine, "ceilings", "ceilings")
    except RocmPerfError as error:
        return Collected("", progress), str(error)
    problem = run_lines([str(program), str(device)], lines.add, limit_s=_LIMIT_S)
    return lines, f"the native program failed: {problem}" if problem else ""


def _torch(machine: Machine, device: int, progress: Progress, *, everything: bool) -> tuple[Collected, str]:
    lines = Collected("torch", progress)
    torch = machine.torch
    if torch is None:
        return lines, "no python on PATH has torch"
    if not (torch.hip if machine.vendor == "AMD" else torch.cuda):
        return lines, f"the torch of {torch.python} is not built for {machine.vendor} GPUs"
    progress(f"starting torch {torch.version}")
    lines.how = f"torch {torch.version}"
    command = python_command(torch.python, _INSIDE, str(device), "all" if everything else "matrix")
    problem = run_lines(command, lines.add, limit_s=_LIMIT_S)
    return lines, f"torch failed: {problem}" if problem else ""


def _rate(line: Line, how: str, gpu: MeasuredGpu) -> MeasuredRate:
    """The rate of a line; a time in microseconds where nothing but calls is counted."""
    unit, times = line["unit"], line["times_ms"]
    if unit == "us":
        samples = tuple(1e3 * time for time in times)
    else:
        samples = tuple(line["amount"] / time / _FACTORS[unit] for time in times)
    return MeasuredRate(name=_name(line, gpu), unit=unit, samples=samples, how=how)


def _name(line: Line, gpu: MeasuredGpu) -> str:
    """The name of the ceiling: of a product, the chip decides on which units it is computed."""
    known = match(gpu.agent).gpu
    if "product" in line:
        return product_rate(line["product"], known)
    if line["name"] == f"f32{VECTOR}" and known and _PACKED in known.vector_tflops:
        return f"{_PACKED}{VECTOR}"  # two values per instruction, which is another peak on these chips
    return str(line["name"])


def _not_measured(
    rates: Sequence[MeasuredRate], said: Sequence[NotMeasured], no_native: str, no_torch: str
) -> tuple[NotMeasured, ...]:
    """What programs said they could not measure, and what was left out because a program is missing or failed."""
    measured = {rate.name for rate in rates}
    left_out = [
        *(NotMeasured(name, no_native) for name in _NATIVE_ONLY if no_native),
        *(NotMeasured(name, no_torch) for name in _BY_TORCH if no_torch),
    ]
    return tuple(one for one in (*said, *left_out) if one.name not in measured)
