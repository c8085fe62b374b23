"""What the profiler cost."""

from __future__ import annotations

import pytest

from rocm_perf.analysis.trust.overhead import overhead
from rocm_perf.model.collection import CollectionRecord, OverheadRecord
from rocm_perf.model.run import RunInfo
from rocm_perf.model.trace import Trace


def recording(measured: OverheadRecord | None) -> Trace:
    record = CollectionRecord(
        run_id="r", host="h", pid=1, command=("./app",), folder=".", started_at="", profiler="rocprofv3",
        overhead=measured,
    )  # fmt: skip
    return Trace({}, RunInfo(collection=record))


def test_inflation_is_median_over_median() -> None:
    cost = overhead(recording(OverheadRecord((100, 110, 90), (150, 130, 140))))
    assert cost.value == pytest.approx(1.4)
    assert cost.inputs["unprofiled_runs"] == 3
    assert cost.doubt is None


def test_a_difference_within_the_spread_is_doubted() -> None:
    assert overhead(recording(OverheadRecord((100, 140), (130,)))).doubt is not None


def test_one_unprofiled_run_has_no_spread() -> None:
    assert overhead(recording(OverheadRecord((100,), (100,)))).doubt is None


def test_not_measured_says_how_to() -> None:
    assert "--measure-overhead" in (overhead(recording(None)).unavailable or "")
    assert "recordings do not hold" in (overhead(Trace({})).unavailable or "")
