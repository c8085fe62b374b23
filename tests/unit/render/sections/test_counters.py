"""Counters on the screen: what is made of them, and those of which nothing is."""

from __future__ import annotations

from rocm_perf.analysis.overview import examine
from rocm_perf.render.sections.verdicts import notable_excerpts
from tests.unit.analysis.traces import kernel, trace


def test_counters_of_which_no_metric_is_made_stay_and_sums_say_so() -> None:
    rows = [kernel("k", 1000 * n, 1000 * n + 500, dispatch_id=n) for n in (1, 2)]
    counters = [
        {"dispatch_id": n, "counter": name, "value": value}
        for n in (1, 2)
        for name, value in (("FETCH_SIZE", 4.0), ("GRBM_EA_BUSY", 7.0))
    ]
    made, raw = notable_excerpts(examine(trace(dispatches=rows, counters=counters), "x"))
    assert ("bytes read from memory, sum of 2 dispatches", "8,192?", "B") in made.rows
    assert [row[0] for row in raw.rows] == ["GRBM_EA_BUSY"]
