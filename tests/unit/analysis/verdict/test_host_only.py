"""Recordings that hold nothing of the GPU."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from rocm_perf.analysis.trust.contents import excerpts
from rocm_perf.analysis.trust.coverage import coverage
from rocm_perf.analysis.verdict.host_only import host_only
from rocm_perf.model.collection import CollectionRecord, PassRecord
from rocm_perf.model.run import Loss
from rocm_perf.model.trace import Trace
from tests.unit.analysis.traces import call, trace


def test_one_call_that_took_no_time() -> None:
    conclusion = host_only(trace(api_calls=[call("hipInit", 5, 5)]))
    assert conclusion is not None
    assert conclusion.kind == "cannot-tell"


_LOSSES = [Loss("run.rptrace", "breaks off at byte 275")]


@pytest.mark.parametrize(
    "cut",
    [trace(_LOSSES), trace(_LOSSES, api_calls=[call("hipGetDeviceCount", 0, 5)])],
    ids=["bare", "query"],
)
def test_of_a_file_that_breaks_off_that_is_said_first(cut: Trace) -> None:
    conclusion = host_only(cut)
    assert conclusion is not None
    assert conclusion.id == "nothing-readable"
    assert conclusion.evidence == ("run.rptrace: breaks off at byte 275",)
    assert "copy it again" in conclusion.remedy


def test_ranges_without_an_end_hide_no_work_of_a_gpu() -> None:
    open_range = {"name": "step", "start_ns": 5, "end_ns": None, "source": "roctx"}
    lost = [Loss("trace.csv", "ranges that were never closed", 1)]
    conclusion = host_only(trace(lost, ranges=[open_range]))
    assert conclusion is not None
    assert conclusion.id == "nothing-recorded"


def _recorded(machine: dict[str, str], explanation: str = "") -> CollectionRecord:
    done = PassRecord(number=1, profiler="torch", purpose="trace", argv=("python",), explanation=explanation)
    return CollectionRecord(
        run_id="r",
        host="h",
        pid=1,
        command=("python",),
        folder="/",
        started_at="",
        profiler="torch",
        machine=machine,
        passes=(done,),
    )


def _torch_on_cpu(machine: dict[str, str] | None) -> Trace:
    operator = {"op_id": 1, "name": "aten::mm", "category": "operator", "start_ns": 0, "end_ns": 5_000}
    recorded = trace(ops=[operator])
    record = _recorded(machine) if machine is not None else None
    asked = ("kernel", "hip")
    return recorded.described(replace(recorded.run, tool="torch.profiler", collection=record, asked=asked))


@pytest.mark.parametrize(
    ("machine", "title", "remedy"),
    [
        (
            {"torch": "2.13.0+cpu", "torch_platform": "CPU"},
            "torch ran on the CPU: this machine has no GPU, and torch 2.13.0+cpu is built for the CPU alone",
            "whl/rocm7.2 (NVIDIA: whl/cu128)",
        ),
        (
            {"torch": "2.13.0", "torch_platform": "CUDA 13.0"},
            "torch ran on the CPU: this machine has no GPU",
            "on a machine with a GPU",
        ),
        (
            {"torch": "2.13.0", "torch_platform": "ROCm 7.2", "hidden_gpus": "0000:03:00.0"},
            "torch ran on the CPU: no driver shows the GPU of this machine (0000:03:00.0)",
            "Load the GPU's driver",
        ),
        (
            {
                "torch": "2.13.0+cpu",
                "torch_platform": "CPU",
                "gpus": "MI300X",
                "vendor": "AMD",
                "rocm": "6.4.1",
            },
            "torch ran on the CPU: torch 2.13.0+cpu is built for the CPU alone, and this machine has MI300X",
            "pip install --force-reinstall torch --index-url https://download.pytorch.org/whl/rocm6.4.",
        ),
        (
            {
                "torch": "2.13.0",
                "torch_platform": "CUDA 13.0",
                "gpus": "MI300X",
                "vendor": "AMD",
                "rocm": "7.9",
            },
            "torch ran on the CPU: torch 2.13.0 is built for CUDA 13.0, and this machine has MI300X",
            "whl/rocm7.2.",
        ),
        (
            {
                "torch": "2.13.0+cpu",
                "torch_platform": "CPU",
                "gpus": "H200",
                "vendor": "NVIDIA",
                "cuda": "12.6",
            },
            "torch ran on the CPU: torch 2.13.0+cpu is built for the CPU alone, and this machine has H200",
            "whl/cu126.",
        ),
        (
            {"torch": "2.13.0", "torch_platform": "ROCm 7.2", "gpus": "MI300X", "vendor": "AMD"},
            "torch ran on the CPU: the program did not use MI300X",
            '.to("cuda")',
        ),
        (None, "torch ran on the CPU: no work of a GPU was recorded", "torch.cuda.is_available()"),
    ],
)
def test_of_torch_on_the_cpu_the_reason_is_named(
    machine: dict[str, str] | None, title: str, remedy: str
) -> None:
    recorded = _torch_on_cpu(machine)
    conclusion = host_only(recorded)
    assert conclusion is not None
    assert conclusion.title == title
    assert remedy in conclusion.remedy
    assert conclusion.evidence == ("1 operator call on threads of the CPU: aten::mm 5.00 us in 1 call",)
    assert [excerpt.rows for excerpt in excerpts(recorded)] == [(("aten::mm", "1", "5,000", "5,000"),)]
    assert not coverage(recorded).holes


def test_a_schedule_without_steps_does_not_blame_a_launcher() -> None:
    empty = trace()
    record = _recorded({}, "no steps were seen: the program made no optimizer step")
    conclusion = host_only(empty.described(replace(empty.run, tool="torch", collection=record)))
    assert conclusion is not None
    assert conclusion.id == "no-steps"
    assert "--step FUNCTION" in conclusion.remedy
    assert "launch" not in conclusion.remedy
