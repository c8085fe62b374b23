"""Recordings that hold nothing of the GPU."""

from __future__ import annotations

from rocm_perf.analysis.verdict.host_only import host_only
from tests.unit.analysis.traces import call, trace


def test_one_call_that_took_no_time() -> None:
    conclusion = host_only(trace(api_calls=[call("hipInit", 5, 5)]))
    assert conclusion is not None
    assert conclusion.kind == "cannot-tell"
