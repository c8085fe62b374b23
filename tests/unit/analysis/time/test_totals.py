"""Totals of host domains and copies."""

from __future__ import annotations

from rocm_perf.analysis.time.totals import copy_totals, domain_totals
from tests.unit.analysis.traces import call, trace


def test_nested_calls_count_once_in_the_union() -> None:
    calls = [
        call("outer", 0, 100, tid=1),
        call("inner", 10, 30, tid=1),
        call("outer", 0, 50, tid=2),
        call("x", 0, 5, domain="hsa"),
    ]
    hip, hsa = domain_totals(trace(api_calls=calls))
    assert (hip.domain, hip.calls, hip.total_ns, hip.union_ns, hip.busiest, hip.busiest_ns) == (
        "hip",
        3,
        170,
        150,
        "outer",
        150,
    )
    assert hsa.domain == "hsa"


def test_statistics_stand_in() -> None:
    rows = [
        {"domain": "hip", "name": "hipMalloc", "calls": 2, "total_ns": 10.0},
        {"domain": "kernel", "name": "k", "total_ns": 9.0},
    ]
    (hip,) = domain_totals(trace(summaries=rows))
    assert (hip.domain, hip.calls, hip.busiest) == ("hip", 2, "hipMalloc")


def test_bandwidth_needs_sizes() -> None:
    copies = [
        {"kind": "H2D", "start_ns": 0, "end_ns": 100, "size_bytes": 5000},
        {"kind": "H2D", "start_ns": 100, "end_ns": 200},
        {"kind": "D2H", "start_ns": 0, "end_ns": 50},
    ]
    h2d, d2h = copy_totals(trace(copies=copies))
    assert (h2d.copies, h2d.size_bytes, h2d.bandwidth.value) == (2, 5000, 50.0)
    assert d2h.size_bytes is None
    assert d2h.bandwidth.unavailable is not None
