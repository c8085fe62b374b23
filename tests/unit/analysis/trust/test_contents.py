"""Excerpts of tables that are not about kernels in time."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.trust.contents import excerpts
from rocm_perf.model import schema
from rocm_perf.model.trace import Trace


def test_kernels_without_times_are_counted_in_one_pass() -> None:
    rows = [{"dispatch_id": 1, "kernel": "k", "pass_id": number} for number in (1, 2, 3)]
    (shown,) = excerpts(Trace({"dispatches": schema.conform("dispatches", pl.DataFrame(rows))}))
    assert shown.rows[0][:2] == ("k", "1")


def test_a_reading_that_is_no_number_is_left_empty() -> None:
    rows = [
        {"time_ns": time, "agent_id": 0, "metric": "power_w", "value": float("nan"), "unit": "W"}
        for time in (1, 2)
    ]
    (shown,) = excerpts(Trace({"samples": schema.conform("samples", pl.DataFrame(rows))}))
    assert "nan" not in str(shown.rows)
