"""What Perfetto's trace processor holds of an exported trace, compared with the trace."""

from __future__ import annotations

import polars as pl
import pytest

from rocm_perf.model.derived import DerivedTracks
from rocm_perf.model.trace import Trace
from rocm_perf.render.formats.slices import COPY, KERNEL, slices_of
from tests.browser.trace_processor import TraceProcessor

SHOWN = {"dispatches": KERNEL, "copies": COPY, "ranges": "marker_api"}


def check(processor: TraceProcessor, trace: Trace, derived: DerivedTracks) -> None:
    """Compare what the trace processor holds with the tables of the trace, count by count and sum by sum."""
    slices = slices_of(trace)
    recorded = slices.rows.group_by("category").agg(
        pl.len().alias("slices"), (pl.col("end_ns") - pl.col("start_ns")).sum().alias("dur")
    )
    expected = {category: (count, dur) for category, count, dur in recorded.iter_rows()}
    if derived.slices.height:
        length = derived.slices["end_ns"] - derived.slices["start_ns"]
        expected["rocm_perf"] = (derived.slices.height, int(length.sum()))
    sums = processor.query("select category, count(*) n, sum(dur) dur from slice group by category")
    assert {row["category"]: (row["n"], row["dur"]) for row in sums} == expected
    for table, category in SHOWN.items():
        rows = trace.table(table)
        count = rows.height - (int(rows["on_gpu"].sum()) if "on_gpu" in rows.columns else 0)
        assert expected.get(category, (0, 0))[0] == count
    flows = slices.rows.filter(pl.col("category").is_in([KERNEL, COPY]))["flows"].is_not_null().sum()
    assert processor.one("select count(*) from flow") == flows
    readings = trace.table("samples").drop_nulls(["time_ns", "value"])
    values = processor.query("select count(*) n, total(value) total from counter")[0]
    assert values["n"] == readings.height + derived.readings.height
    total = sum(float(frame["value"].sum()) for frame in (readings, derived.readings))
    assert values["total"] == pytest.approx(total)
    wrong = "select name, value from stats where severity in ('error', 'data_loss') and value > 0"
    assert processor.query(wrong) == []
    few = slices.tracks.height + trace.rows("processes") + trace.rows("agents") * 4
    own = derived.slices["track"].n_unique() + derived.readings["track"].n_unique()
    lanes = int(slices.rows.select("track", "lane").n_unique())
    counters = int(readings.select("agent_id", "metric", "unit").n_unique())
    assert processor.one("select count(*) from track") <= few + own + lanes + counters + 1
