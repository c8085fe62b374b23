"""The clocks of several ranks: what the merge left, in words."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.trust.clocks import clocks
from rocm_perf.model import schema
from rocm_perf.model.trace import Trace
from rocm_perf.render.sections.clocks import clock_lines


def _trace(*rows: dict[str, object]) -> Trace:
    return Trace({"clocks": schema.conform("clocks", pl.DataFrame(rows, infer_schema_length=None))})


def _row(
    rank: int, domain: int = 0, error_ns: float | None = 2e3, reason: str | None = None
) -> dict[str, object]:
    moved = {"offset_ns": 0.0, "drift_ppm": 0.0, "collectives": 30, "basis": "collectives"}
    return {"rank": rank, "domain": domain, "error_ns": error_ns, "reason": reason, **moved}


def test_the_largest_error_of_those_that_agree_counts() -> None:
    answer = clocks(
        _trace(_row(0), _row(1, error_ns=5e3), _row(2, domain=1, error_ns=None, reason="too few"))
    )
    assert (answer.error_ns, answer.apart) == (5e3, 1)
    assert clock_lines(answer) == (
        "2 processes on one clock, to within 5.00 us (95 % of the ends of their collectives).",
        "Rank 2 is not: too few.",
    )


def test_clocks_that_nothing_connects_are_not_compared() -> None:
    answer = clocks(_trace(_row(0, error_ns=None), _row(1, domain=1, error_ns=None, reason="too few")))
    assert clock_lines(answer)[0] == "The clocks of the ranks could not be compared."


def test_one_process_has_no_clocks_to_compare() -> None:
    assert clocks(Trace({})).unavailable
