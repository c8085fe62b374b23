"""Values that nothing could have recorded: they are taken out, counted and named, and the rest stays."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from rocm_perf.errors import InputError
from rocm_perf.model import bundle, schema
from rocm_perf.model.bounds import LONGEST, bounded, fault
from rocm_perf.model.trace import Trace

FIRST = -(1 << 63)


def _table(name: str, **columns: object) -> pl.DataFrame:
    contract = schema.SCHEMAS[name].columns
    texts = [column.name for column in contract if column.required and column.dtype == pl.String]
    return schema.conform(name, pl.DataFrame(columns).with_columns(pl.lit("x").alias(text) for text in texts))


@pytest.mark.parametrize("table", schema.SCHEMAS)
def test_a_table_that_is_possible_is_handed_on_as_it_is(table: str) -> None:
    frame = schema.empty(table)
    kept, lost = bounded(table, frame)
    assert kept is frame
    assert not lost
    assert fault(table, frame.lazy()) is None


@pytest.mark.parametrize(
    ("start", "end", "name"),
    [
        (FIRST, 5, "start_ns"),
        (0, (1 << 63) - 1, "end_ns"),
        (0, 2 * LONGEST, "start_ns to end_ns"),
        (2 * LONGEST, 0, "start_ns to end_ns"),
    ],
)
def test_impossible_times_are_not_recorded(start: int, end: int, name: str) -> None:
    frame, lost = bounded("dispatches", _table("dispatches", start_ns=[0, start], end_ns=[5, end]))
    assert lost == {name: 1}
    assert frame.select("start_ns", "end_ns").rows() == [(0, 5), (None, None)]


def test_a_row_without_its_required_value_goes() -> None:
    values = [1.0, float("nan"), float("inf"), -1e308]
    frame, lost = bounded("counters", _table("counters", value=values))
    assert lost == {"value": 3}
    assert frame["value"].to_list() == [1.0]


def test_sums_fit_into_64_bits() -> None:
    spans = _table("dispatches", start_ns=[0] * 200, end_ns=[LONGEST] * 200)
    frame, lost = bounded("dispatches", spans)
    assert lost == {"start_ns to end_ns": 200}
    assert frame["start_ns"].null_count() == 200
    sizes = _table("copies", size_bytes=[1 << 50] * 5000)
    assert bounded("copies", sizes)[1] == {"size_bytes": 5000}
    assert bounded("copies", sizes.head(4000))[1] == {}


def test_large_moments_are_not_summed() -> None:
    now = 1_800_000_000_000_000_000
    frame = _table("dispatches", start_ns=[now] * 1000, end_ns=[now + 5] * 1000)
    assert bounded("dispatches", frame)[1] == {}


@pytest.mark.parametrize("use", [Trace.table, Trace.lazy])
def test_a_bundle_with_impossible_values_is_damaged(use: object, tmp_path: Path) -> None:
    bundle.write(Trace({"dispatches": _table("dispatches", start_ns=[FIRST], end_ns=[5])}), tmp_path / "b")
    with pytest.raises(InputError, match="nothing could have recorded its start_ns"):
        use(bundle.read(tmp_path / "b"), "dispatches")  # type: ignore[operator]
