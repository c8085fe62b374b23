"""Merged slices hold what their events held."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.analysis.overview import overview
from rocm_perf.analysis.timeline.layer import Layer, Meaning, layer
from rocm_perf.analysis.timeline.thinning import thinned, without_long_texts
from rocm_perf.model.results.gaps import CAUSE_NAMES
from rocm_perf.model.results.timeline import Timeline
from rocm_perf.model.trace import Trace
from rocm_perf.sim.steps import Workload
from tests.properties import examples
from tests.sim.recorded import recorded
from tests.sim.strategies import workloads
from tests.unit.analysis.timeline.test_timeline import drawn, tracks
from tests.unit.analysis.traces import call, kernel, trace

KINDS = ("queue", "copies", "thread", "ranges", "gaps", "path", "phases")


def by_track(shown: Timeline) -> dict[tuple[str, ...], tuple[int, ...]]:
    """Of each track the number of events, their time, and when the last one ends."""
    sums = pl.col("count").sum(), pl.col("busy_ns").sum(), pl.col("end_ns").max()
    return {
        (track.kind, track.group, track.title): slices.select(sums).row(0)
        for track, slices in tracks(shown, *KINDS)
    }


@examples(times=0.5)
@given(workloads(), st.integers(1, 60))
@pytest.mark.whole
def test_nothing_is_lost(workload: Workload, most: int) -> None:
    recording = recorded(workload)
    document = overview(recording, "test")
    whole, merged = (drawn(recording, document, most_slices=number) for number in (1_000_000, most))
    assert by_track(merged) == by_track(whole)
    for _, slices in tracks(merged, *KINDS):
        for line in slices.sort("depth", "start_ns").partition_by("depth"):
            assert (line["end_ns"][:-1] <= line["start_ns"][1:]).all()
            assert (line["busy_ns"] <= line["end_ns"] - line["start_ns"]).all()
    if merged.slices.height > most:  # each line has at least one
        assert merged.slices.height <= sum(slices["depth"].n_unique() for _, slices in tracks(merged, *KINDS))


def repeated(kernels: int, apart_ns: int = 2_000) -> Trace:
    """Kernels of 1 us, each with its launch."""
    starts = [number * apart_ns for number in range(kernels)]
    return trace(
        dispatches=[kernel("k", at + 500, at + 1500, correlation_id=at, pid=1) for at in starts],
        api_calls=[call("hipLaunchKernel", at, at + 100, at, pid=1, tid=1) for at in starts],
    )


def test_flows_remain_between_slices_of_their_own() -> None:
    recording = repeated(200)
    whole, merged = drawn(recording), drawn(recording, most_slices=150)
    assert (whole.flows.height, whole.thinned) == (200, None)
    assert merged.flows.height < 200
    counts = merged.slices["count"]
    assert (counts.gather(merged.flows["cause"]) == 1).all()
    assert (counts.gather(merged.flows["effect"]) == 1).all()


def test_what_was_merged_is_said() -> None:
    shown = drawn(repeated(200), most_slices=150)
    assert shown.thinned is not None
    assert "critical path" in shown.thinned
    assert shown.slices.height <= 150


def test_causes_of_merged_gaps_add_up() -> None:
    recording = repeated(200)
    sums = []
    for most in (1_000_000, 150):
        shown = drawn(recording, most_slices=most)
        own = [known for known in shown.details if known.label in CAUSE_NAMES.values()]
        sums.append({known.label: known.values.sum() for known in own})
    assert sums[0] == sums[1]


def kernels(number: int) -> Layer:
    """Kernels of 1 us on one queue, one every 2 us."""
    starts = pl.Series([2_000 * place for place in range(number)], dtype=pl.Int64)
    rows = pl.DataFrame({"start_ns": starts, "end_ns": starts + 1_000}).with_columns(
        name=pl.lit("k"), on_path=pl.lit(False)
    )
    return layer("queue", rows, pl.DataFrame({"group": ["GPU 0"], "title": ["queue 1"]}))


@pytest.mark.parametrize("most", [70, 120, 149])
def test_the_judged_part_stays_exact_while_it_fits(most: int) -> None:
    judged = (100_000, 200_000)
    ((slices,), sentence) = merged_slices(kernels(150), judged, most)
    inside = slices.filter(pl.col("start_ns").is_between(*judged, closed="left"))
    assert inside["count"].to_list() == [1] * 50
    assert slices.height <= most
    assert sentence is not None
    assert "outside of the judged part" in sentence


def test_the_judged_part_is_merged_where_it_does_not_fit() -> None:
    ((slices,), sentence) = merged_slices(kernels(150), (100_000, 200_000), 30)
    assert slices.height <= 30
    assert slices["count"].sum() == 150
    assert sentence is not None
    assert sentence.count("merged") == 2


def merged_slices(only: Layer, judged: tuple[int, int], most: int) -> tuple[list[pl.DataFrame], str | None]:
    layers, sentence = thinned([only], judged, most)
    return [each.slices for each in layers], sentence


def test_details_that_would_not_fit_are_left_out() -> None:
    rows = [(at, at + 1, "k", f"{at:1000}", "short") for at in range(20)]
    schema = {
        "start_ns": pl.Int64,
        "end_ns": pl.Int64,
        "name": pl.String,
        "long": pl.String,
        "other": pl.String,
    }
    frame = pl.DataFrame(rows, schema=schema, orient="row").with_columns(on_path=pl.lit(False))
    details = {"long": Meaning("shapes"), "other": Meaning("kind")}
    only = layer("thread", frame, pl.DataFrame({"group": ["Process 1"], "title": ["thread 1"]}), details)
    (kept,), sentence = without_long_texts([only], most=10_000)
    assert list(kept.details) == ["other"]
    assert sentence is not None
    assert "shapes" in sentence
    assert without_long_texts([only]) == ([only], None)
