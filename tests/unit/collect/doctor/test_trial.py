"""Trying methods: what is asked for, how the outcome is judged, and which program is run."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import polars as pl
import pytest

from rocm_perf.backends.machine import FoundGpu, Machine, Tool
from rocm_perf.backends.profilers import PROFILERS
from rocm_perf.collect.doctor.methods import ways
from rocm_perf.collect.doctor.report import report
from rocm_perf.collect.doctor.trial import Say, outcome, try_methods, workload
from rocm_perf.collect.request.request import Request
from rocm_perf.errors import NotSupportedError, ToolAbsentError, UsageError
from rocm_perf.model import schema
from rocm_perf.model.collection import CollectionRecord, PassRecord
from rocm_perf.model.trace import Trace
from tests.unit.backends.machines import OPEN, amd, nvidia, torch, write

BY_METHOD = {way.method: way for way in ways(amd().gpus[0], PROFILERS)}
TOOLS = ("rocprofv3", "att-decoder")


@dataclass(frozen=True)
class Recorded:
    record: CollectionRecord
    exit_code: int = 0
    trace: Trace | None = None


def recorded(
    rows: str = "", explanation: str = "", could_not: tuple[str, ...] = (), status: int = 0
) -> Recorded:
    run = PassRecord(
        number=1,
        profiler="rocprofv3",
        purpose="trace",
        argv=("x",),
        exit_status=status,
        explanation=explanation,
    )
    record = CollectionRecord(
        run_id="1", host="h", pid=1, command=("x",), folder="/", started_at="", profiler="rocprofv3", passes=(run,),
        could_not=could_not,
    )  # fmt: skip
    trace = Trace({rows: _rows(rows)}) if rows else None
    return Recorded(record, 0, trace)


def _rows(table: str) -> pl.DataFrame:
    """Three rows of nulls and zeros, as the contract allows."""
    empty = schema.empty(table)
    return pl.DataFrame(
        {name: [_zero(dtype)] * 3 for name, dtype in empty.schema.items()}, schema=empty.schema
    )


def _zero(dtype: pl.DataType) -> object:
    if dtype == pl.Boolean:
        return False
    return "" if dtype == pl.String else 0


class Recorder:
    """In the place of `collect.session.record`."""

    def __init__(self, answer: Recorded | Exception) -> None:
        self.answer = answer
        self.requests: list[Request] = []

    def __call__(self, request: Request, machine: Machine, say: Say) -> Recorded:
        self.requests.append(request)
        say("noise")
        if isinstance(self.answer, Recorded):
            return self.answer
        if request.profiler == "timing":
            return recorded()
        raise self.answer


def tried(
    machine: Machine, recorder: Recorder, own: tuple[str, ...] = ("true",)
) -> dict[tuple[str, str], bool]:
    said: list[str] = []
    trials = try_methods(machine, report(machine, PROFILERS).gpus, recorder, said.append, own)
    assert all(words.startswith("trying ") for words in said)
    return {key: trial.works for key, trial in trials.items()}


def test_each_method_that_may_work_is_asked_for_once() -> None:
    recorder = Recorder(recorded("dispatches"))
    found = tried(amd(tools=TOOLS), recorder)
    assert list(found) == [
        ("gfx942", name)
        for name in ("timing", "API trace", "kernel trace", "counters", "PC sampling, host trap",
                     "PC sampling, stochastic", "ATT", "roofline")
    ]  # fmt: skip
    timing, api, kernels, counters, trap, stochastic, att = recorder.requests
    assert (timing.profiler, timing.wish.domains) == ("timing", ())
    assert (api.wish.domains, kernels.wish.domains) == (("hip",), ("kernel",))
    assert (counters.counters, counters.wish.counters) == (("SQ_WAVES",), ())
    assert trap.wish.pc_sampling is not None
    assert stochastic.wish.pc_sampling is not None
    assert (trap.wish.pc_sampling.method, stochastic.wish.pc_sampling.unit) == ("host_trap", "cycles")
    assert att.wish.att
    assert len({request.output for request in recorder.requests}) == 7
    assert all(request.stdout_to_stderr and request.timeout_s for request in recorder.requests)
    assert not any(Path(request.output).parent.exists() for request in recorder.requests)  # thrown away


def test_rows_are_the_proof() -> None:
    found = tried(amd(tools=TOOLS), Recorder(recorded("dispatches")))
    assert [name for (_, name), works in found.items() if works] == ["timing", "kernel trace"]


def test_what_is_known_not_to_work_is_left_alone() -> None:
    recorder = Recorder(recorded())
    tried(amd("gfx90a", "6.2", ("rocprofv3",)), recorder)
    assert [request.wish.att for request in recorder.requests] == [False] * 4
    assert not any(request.wish.pc_sampling for request in recorder.requests)
    recorder = Recorder(recorded())
    assert tried(amd(device_nodes=()), recorder) == {}


def test_two_kinds_of_gpu_are_tried_apart() -> None:
    gpus = tuple(
        FoundGpu(index=n, vendor="AMD", gfx=gfx) for n, gfx in enumerate(("gfx942", "gfx942", "gfx1100"))
    )
    recorder = Recorder(recorded("dispatches"))
    found = tried(amd(gpus=gpus), recorder)
    assert {gfx for gfx, _ in found} == {"gfx942", "gfx1100"}
    assert {request.environment["HIP_VISIBLE_DEVICES"] for request in recorder.requests} == {"0", "2"}
    alone = Recorder(recorded("dispatches"))
    tried(amd(), alone)
    assert not any(request.environment for request in alone.requests)


def test_nvidia_is_asked_for_its_own_counter() -> None:
    recorder = Recorder(recorded("dispatches"))
    tried(nvidia(), recorder)
    assert [request.counters for request in recorder.requests if request.counters] == [
        ("sm__warps_launched.sum",)
    ]


def test_a_refusal_is_a_failure_in_its_own_words() -> None:
    error = NotSupportedError("rocprofv3 cannot profile this here", "no reason")
    machine = amd()
    trials = try_methods(machine, report(machine, PROFILERS).gpus, Recorder(error), lambda _: None, ("true",))
    assert trials["gfx942", "kernel trace"].words == "rocprofv3 cannot profile this here: no reason"
    assert trials["gfx942", "timing"].works


def test_a_program_that_fails_by_itself_tells_nothing_of_profilers() -> None:
    machine = amd()
    recorder = Recorder(recorded(status=1))
    trials = try_methods(machine, report(machine, PROFILERS).gpus, recorder, lambda _: None, ("true",))
    assert len(recorder.requests) == 1
    assert trials["gfx942", "kernel trace"].words.startswith("the program already fails without a profiler")
    made = report(machine, PROFILERS, trials)
    assert (made.exit_code, made.verdict[0]) == (4, "No: programs cannot use gfx942 yet.")


@pytest.mark.parametrize(
    ("done", "works", "words"),
    [
        (recorded("dispatches"), True, "3 rows of dispatches through rocprofv3"),
        (recorded("api_calls"), False, "rocprofv3 recorded no dispatches"),
        (recorded(explanation="aqlprofile API table load failed"), False, "aqlprofile API table load failed"),
        (recorded(could_not=("kernel trace: why",)), False, "kernel trace: why"),
        (recorded("dispatches", status=1), False, "the workload ended with 1 below rocprofv3"),
        (recorded("dispatches", status=-11), False, "the workload ended with -11 below rocprofv3"),
    ],
)
def test_an_outcome_is_told_by_rows(done: Recorded, works: bool, words: str) -> None:
    assert outcome(BY_METHOD["kernel trace"], done) == (works, words)


def test_a_program_of_the_users_own_must_be_there() -> None:
    machine = amd()
    recorder = Recorder(recorded())
    with pytest.raises(UsageError, match="no application"):
        try_methods(machine, report(machine, PROFILERS).gpus, recorder, lambda _: None, ("no-such-app",))
    assert recorder.requests == []


def script(path: Path, text: str) -> str:
    write(path, f"#!/bin/sh\n{text}\n").chmod(0o755)
    return str(path)


KERNELS = BY_METHOD["kernel trace"]


@pytest.mark.parametrize(
    ("machine", "compiler", "options"),
    [
        (amd("gfx942:sramecc+"), "hipcc", "-x hip --offload-arch=gfx942 -O2"),
        (nvidia(), "nvcc", "-arch=sm_90 -O2"),
    ],
)
def test_the_workload_is_compiled_once(tmp_path: Path, machine: Machine, compiler: str, options: str) -> None:
    path = script(
        tmp_path / compiler, 'echo "$@" >> "$(dirname "$0")/calls"; for last; do :; done; touch "$last"'
    )
    with_compiler = amd(
        gpus=machine.gpus, tools={compiler: Tool(name=compiler, path=path)}, device_nodes=OPEN
    )
    folder = tmp_path / "work"
    folder.mkdir()
    first = workload(KERNELS, machine.gpus[0], with_compiler, folder)
    assert workload(KERNELS, machine.gpus[0], with_compiler, folder) == first
    (call,) = (tmp_path / "calls").read_text().splitlines()
    assert call == f"{options} {folder / 'workload.cu'} -o {first[0]}"


def test_a_compiler_that_fails_is_quoted(tmp_path: Path) -> None:
    path = script(tmp_path / "hipcc", "echo 'clang: error: cannot find ROCm device library' >&2; exit 1")
    machine = amd(tools={"hipcc": Tool(name="hipcc", path=path)})
    with pytest.raises(
        ToolAbsentError, match=r"cannot find ROCm device library\. Give a program of your own"
    ):
        workload(KERNELS, machine.gpus[0], machine, tmp_path)


def test_torch_where_there_is_no_compiler(tmp_path: Path) -> None:
    machine = amd(torch=torch(hip="6.4"))
    command = workload(KERNELS, machine.gpus[0], machine, tmp_path)
    assert command == ("/usr/bin/python", str(tmp_path / "workload.py"))
    compile(Path(command[1]).read_text(), command[1], "exec")
    with pytest.raises(ToolAbsentError, match="neither hipcc nor torch"):
        workload(KERNELS, machine.gpus[0], amd(), tmp_path)


@pytest.mark.native
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc")
def test_the_workload_compiles_for_cuda(tmp_path: Path) -> None:
    source = resources.files("rocm_perf.collect.doctor") / "workloads" / "workload.cu"
    with resources.as_file(source) as file:
        subprocess.run(["nvcc", "-arch=sm_90", "-cubin", str(file), "-o", str(tmp_path / "x")], check=True)
