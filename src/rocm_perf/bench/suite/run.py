"""Running a suite in the Python that has torch. A variant that takes its process down is left out, and the others run
in a fresh one."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from rocm_perf.arch.data_sheet import data_sheet_rate, product_rate
from rocm_perf.arch.matching import match
from rocm_perf.backends.device_build import device_part
from rocm_perf.backends.machine import Machine
from rocm_perf.bench.json_lines import Line, python_command, run_lines
from rocm_perf.bench.suite.request import SuiteRequest
from rocm_perf.errors import RocmPerfError, ToolAbsentError
from rocm_perf.model.machine_ceilings import MachineCeilings, MeasuredGpu
from rocm_perf.model.results.suite import LeftOut, ProductCase, ProductPeak, ProductSuite

Progress = Callable[[str], None]
_INSIDE = "rocm_perf.bench.suite.inside"
_LIMIT_S = 900.0
_LIBRARY, _NO_LIBRARY = "ROCM_PERF_GEMM_LIBRARY", "ROCM_PERF_NO_GEMM_LIBRARY"


@dataclass
class Collected:
    """The lines of one process after another."""

    progress: Progress
    gpu: MeasuredGpu | None = None
    torch: str = ""
    file: str = ""  # of the variant that runs
    begun: Line | None = None  # the case that runs
    cases: list[Line] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)

    def add(self, line: Line) -> None:
        """Keep one line."""
        if "gpu" in line:
            self.gpu, self.torch = msgspec.convert(line["gpu"], MeasuredGpu), line["torch"]
        elif "file" in line:
            self.file, self.begun = line["file"], None
        elif "begins" in line:
            self.begun = line["begins"]
            self.progress(f"{self.begun['variant']} {self.begun['dtype']} {_shape_text(self.begun)}")
        else:
            self.begun = None
            self._keep(line)

    def _keep(self, line: Line) -> None:
        if "reason" in line:
            self.left_out.append(_left_out(line, line["reason"]))
        else:
            self.cases.append(line)

    def died(self, problem: str) -> None:
        """The process ended while a variant ran: it is left out from here on."""
        what = self.begun or {"variant": Path(self.file).stem}
        self.left_out.append(_left_out(what, f"its process ended: {problem}"))


def run_suite(
    machine: Machine,
    request: SuiteRequest,
    ceilings: Sequence[MachineCeilings] = (),
    progress: Progress = lambda _: None,
) -> ProductSuite:
    """Every variant on every type and shape. Raises ToolAbsentError where there is no GPU, or no torch for it."""
    python = _python(machine)
    lines = Collected(progress)
    variables = _library(machine, progress)
    remaining = [str(file) for file in request.files]
    while remaining:
        lines.file = ""
        asked = {
            "device": request.device,
            "files": remaining,
            "dtypes": request.dtypes,
            "shapes": request.shapes,
        }
        command = python_command(python, _INSIDE, json.dumps(asked))
        problem = run_lines(command, lines.add, limit_s=_LIMIT_S, variables=variables)
        if not problem:
            break
        if not lines.file:
            raise ToolAbsentError(
                "the suite cannot run", f"torch failed: {problem}", "rocm-perf doctor may say why."
            )
        lines.died(problem)
        remaining = remaining[remaining.index(lines.file) + 1 :]
    return _suite(lines, ceilings)


def _python(machine: Machine) -> str:
    """The interpreter whose torch works with the GPUs that are here."""
    if machine.vendor is None:
        raise ToolAbsentError(
            "there is no GPU to run the suite on", next_step="rocm-perf doctor says what was looked for."
        )
    torch = machine.torch
    if torch is None:
        raise ToolAbsentError(
            "the suite needs torch", "no python on PATH has it", "Activate the environment that does."
        )
    if not (torch.hip if machine.vendor == "AMD" else torch.cuda):
        why = f"that of {torch.python} is not built for {machine.vendor} GPUs"
        raise ToolAbsentError(
            f"the suite needs a torch for {machine.vendor}", why, "Activate another environment."
        )
    return torch.python


def _library(machine: Machine, progress: Progress) -> Mapping[str, str]:
    """Where the variant of our own finds its library, or why it does not."""
    try:
        progress("compiling the kernel of our own")
        return {_LIBRARY: str(device_part(machine, "gemm", "librocm_perf_gemm.so", is_library=True))}
    except RocmPerfError as error:
        return {_LIBRARY: "", _NO_LIBRARY: str(error)}


def _suite(lines: Collected, ceilings: Sequence[MachineCeilings]) -> ProductSuite:
    assert lines.gpu is not None  # the first line, or the process would have failed
    dtypes = dict.fromkeys(line["dtype"] for line in lines.cases)
    peaks = {dtype: _peak(dtype, lines.gpu, ceilings) for dtype in dtypes}
    return ProductSuite(
        suite="wmma",
        gpu=lines.gpu,
        host=socket.gethostname(),
        date=datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        torch=lines.torch,
        peaks=tuple(peaks.values()),
        cases=tuple(_case(line, peaks[line["dtype"]]) for line in lines.cases),
        left_out=tuple(lines.left_out),
    )


def _peak(dtype: str, gpu: MeasuredGpu, ceilings: Sequence[MachineCeilings]) -> ProductPeak:
    known = match(gpu.agent).gpu
    rate = product_rate(dtype, known)
    same = [one for one in ceilings if (one.gpu.name, one.gpu.compute_units) == (gpu.name, gpu.compute_units)]
    machine = max(same, key=lambda one: one.date, default=None)
    measured = machine.best(rate) if machine else None
    return ProductPeak(
        dtype=dtype,
        rate=rate,
        data_sheet=data_sheet_rate(rate, known),
        measured=measured.value if measured else None,
        measured_on=machine.where_and_when if machine and measured else "",
    )


def _case(line: Line, peak: ProductPeak) -> ProductCase:
    m, n, k = line["shape"]
    tflops = 2.0 * m * n * k / median(line["times_ms"]) / 1e9
    facts: dict[str, Any] = {
        name: line[name] for name in ("variant", "dtype", "correct", "error", "largest_error", "tolerance")
    }
    return ProductCase(
        **facts,
        m=m,
        n=n,
        k=k,
        times_ms=tuple(line["times_ms"]),
        tflops=tflops,
        percent_of_data_sheet=_percent(tflops, peak.data_sheet),
        percent_of_measured=_percent(tflops, peak.measured),
    )


def _percent(rate: float, peak: float | None) -> float | None:
    return 100 * rate / peak if peak else None


def _left_out(line: Line, reason: str) -> LeftOut:
    return LeftOut(
        variant=line["variant"],
        reason=reason,
        dtype=line.get("dtype", ""),
        shape=_shape_text(line) if "shape" in line else "",
    )


def _shape_text(line: Line) -> str:
    return "x".join(map(str, line["shape"]))
