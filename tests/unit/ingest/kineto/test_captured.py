"""Graphs whose capture is in a torch.profiler trace: launches between the calls that begin and end it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rocm_perf.errors import InputError
from rocm_perf.ingest.load import load, load_path
from rocm_perf.model import bundle
from rocm_perf.model.trace import Trace
from tests.unit.ingest.kineto.test_trace import span, trace


def launch(name: str, ts: int, correlation: int, function: str = "hipLaunchKernel", **more: Any) -> str:
    size = {"kernel": name, "grid": [8, 1, 1], "block": [64, 1, 1], "shared memory": 0}
    return span("cuda_runtime", function, str(ts), "1", correlation=correlation, **(size | more))


def op(name: str, ts: int, number: int) -> str:
    return span("cpu_op", name, str(ts), "5", **{"External id": number, "Input Dims": [[4, number]]})


BEGIN = span("cuda_runtime", "hipStreamBeginCapture", "10", "1", correlation=1)
END = span("cuda_runtime", "hipStreamEndCapture", "90", "1", correlation=2)
CAPTURED = [
    op("aten::mm", 20, 1),
    launch("gemm", 22, 11, "hipExtModuleLaunchKernel", grid=[512, 1, 1]),
    op("aten::add", 30, 2),
    launch("add", 32, 12),
]
EAGER = [launch("fill", 5, 13), span("kernel", "fill", "6", "1", device=2, stream=3, correlation=13)]
REPLAY = [
    span("cuda_runtime", "hipGraphLaunch", "1000", "2", correlation=99),
    *(
        span("kernel", name, str(1010 + place), "1", device=2, stream=3, correlation=99)
        for place, name in enumerate(("gemm", "add"))
    ),
]


def recorded(file: Path, *events: str) -> Trace:
    file.write_text(trace(*events))
    return load(file)


def test_launches_between_begin_and_end_that_left_no_kernel_are_captured(tmp_path: Path) -> None:
    captured = recorded(tmp_path / "c.json", *EAGER, BEGIN, *CAPTURED, END, launch("later", 95, 14))
    rows = (
        captured.table("captured_launches").select("captured_graph", "kernel", "grid_x", "workgroup_x").rows()
    )
    assert rows == [(1, "gemm", 512, 64), (1, "add", 512, 64)]
    assert captured.table("captured_graphs")["whole"].to_list() == [True]


@pytest.mark.parametrize("events", [(BEGIN, *CAPTURED), (*CAPTURED, END)])
def test_a_capture_that_the_recording_cuts_is_not_whole(tmp_path: Path, events: tuple[str, ...]) -> None:
    captured = recorded(tmp_path / "c.json", *events)
    assert captured.table("captured_launches")["kernel"].to_list() == ["gemm", "add"]
    assert captured.table("captured_graphs")["whole"].to_list() == [False]


def test_an_ordinary_trace_holds_no_captures(tmp_path: Path) -> None:
    assert not recorded(tmp_path / "e.json", *EAGER).has("captured_launches")


def test_a_program_that_captures_and_replays_in_one_recording_explains_itself(tmp_path: Path) -> None:
    both = recorded(tmp_path / "both.json", BEGIN, *CAPTURED, END, *REPLAY)
    assert both.table("dispatches")["captured_launch"].to_list() == [1, 2]
    assert both.table("captured_ops")["name"].to_list() == ["aten::mm", "aten::add"]


def test_capture_and_execution_in_one_folder_are_one_run(tmp_path: Path) -> None:
    (tmp_path / "graphs.json").write_text(trace(BEGIN, *CAPTURED, END))
    (tmp_path / "serving.json").write_text(
        trace(*[event.replace('"ts": 10', '"ts": 90010') for event in REPLAY])
    )
    (run,) = load_path(tmp_path)
    assert run.trace is not None
    assert run.trace.run.adoption is not None
    assert run.trace.run.adoption.matched_kernels == 2


def test_what_a_capture_says_survives_in_a_bundle(tmp_path: Path) -> None:
    both = recorded(tmp_path / "both.json", BEGIN, *CAPTURED, END, *REPLAY)
    bundle.write(both, tmp_path / "kept")
    again = load(tmp_path / "kept")
    assert again.run.adoption == both.run.adoption
    assert again.table("captured_ops").equals(both.table("captured_ops"))


def test_a_capture_of_something_else_is_refused_in_one_line(tmp_path: Path) -> None:
    execution, other = tmp_path / "serving.json", tmp_path / "other.json"
    execution.write_text(trace(*REPLAY))
    other.write_text(trace(BEGIN, launch("conv", 22, 11), launch("relu", 32, 12), END))
    with pytest.raises(InputError) as refusal:
        load(execution, captures=[other])
    assert str(refusal.value) == (
        f"{other} is not the capture of what {execution} replays: 0.0 % of the 2 kernels of a replay agree with the 2 "
        "of the nearest captured graph. Give the capture of the same run (same model, version and batch size), or "
        "leave out --capture."
    )


def test_a_file_without_a_capture_is_refused(tmp_path: Path) -> None:
    execution = tmp_path / "serving.json"
    execution.write_text(trace(*REPLAY))
    with pytest.raises(InputError, match="holds no capture of a graph"):
        load(execution, captures=[execution])


def test_a_capture_beside_what_replays_nothing_is_told(tmp_path: Path) -> None:
    eager, capture = tmp_path / "eager.json", tmp_path / "capture.json"
    eager.write_text(trace(*EAGER))
    capture.write_text(trace(BEGIN, *CAPTURED, END))
    assert any("it replays no graph" in notice for notice in load(eager, captures=[capture]).run.notices)


def test_arguments_of_an_unexpected_type_are_passed_over(tmp_path: Path) -> None:
    odd = json.dumps({"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": 77, "tid": 78, "ts": 40}
                     | {"dur": 1, "args": {"correlation": 15, "kernel": 5, "grid": "wide"}})  # fmt: skip
    captured = recorded(tmp_path / "c.json", BEGIN, *CAPTURED, odd, END)
    assert captured.table("captured_launches")["kernel"].to_list()[:2] == ["gemm", "add"]
