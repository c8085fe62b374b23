"""Recordings that hold nothing of the GPU."""

from __future__ import annotations

import pytest

from rocm_perf.analysis.verdict.host_only import host_only
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
