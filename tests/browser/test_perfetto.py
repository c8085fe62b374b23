"""Traces that `export` writes, opened by Perfetto's own trace processor and its UI: nothing is lost, and nothing is
wrong with them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from rocm_perf import api
from rocm_perf.analysis.timeline.derived import derived_tracks
from rocm_perf.cli.demo import workload_file
from rocm_perf.ingest.load import load
from rocm_perf.model.trace import Trace
from rocm_perf.render.formats import perfetto
from rocm_perf.render.formats.slices import KERNEL, slices_of
from tests.browser.conftest import PATIENCE_MS
from tests.browser.perfetto_check import check
from tests.browser.trace_processor import TraceProcessor, served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SPECIMENS = (
    "pftrace/csc-training_hip-programming__results.pftrace",
    "torch_trace/AMD-AGI_TraceLens__mi300_resnet_act_checkpoint.json.gz",
)


def kernels_with_launches(trace: Trace) -> set[tuple[str, str, int]]:
    calls = trace.table("api_calls").select("pid", "correlation_id", pl.col("name").alias("launch"))
    pairs = trace.table("dispatches").join(calls, on=["pid", "correlation_id"])
    return set(pairs.select("launch", "kernel", "start_ns").iter_rows())


@pytest.mark.parametrize("workload", ["sync_in_loop", "straggler"])
def test_a_simulated_run(workload: str, engine_page: Page, tmp_path: Path) -> None:
    trace = api.simulate(workload_file(workload))
    derived = derived_tracks(trace, api.analyze(trace))
    perfetto.write(trace, tmp_path / "t.pftrace", derived=derived)
    with served(tmp_path) as address:
        processor = TraceProcessor(engine_page, address)
        processor.load(tmp_path / "t.pftrace")
        check(processor, trace, derived)
        arrows = processor.query(
            "select call.name launch, kernel.name kernel, kernel.ts start_ns from flow "
            "join slice call on call.id = slice_out join slice kernel on kernel.id = slice_in "
            f"where kernel.category = '{KERNEL}'"
        )
        assert {tuple(row.values()) for row in arrows} == kernels_with_launches(trace)
        own = processor.query(
            "select child.name from track child join track above on child.parent_id = above.id "
            "where above.name = 'rocm-perf'"
        )
        assert {row["name"] for row in own} >= {"phases", "critical path"}


@pytest.mark.parametrize("specimen", SPECIMENS)
def test_a_real_recording(specimen: str, engine_page: Page, specimens: Path, tmp_path: Path) -> None:
    trace = load(specimens / specimen)
    derived = derived_tracks(trace, api.analyze(trace))
    perfetto.write(trace, tmp_path / "t.pftrace", derived=derived)
    with served(tmp_path) as address:
        processor = TraceProcessor(engine_page, address)
        processor.load(tmp_path / "t.pftrace")
        check(processor, trace, derived)


def test_the_parts_of_a_trace_hold_all_of_it(engine_page: Page, tmp_path: Path) -> None:
    trace = api.simulate(workload_file("sync_in_loop"))
    counts = []
    with served(tmp_path) as address:
        for part in perfetto.write_parts(trace, tmp_path / "t.pftrace", 90_000):
            processor = TraceProcessor(engine_page, address)
            processor.load(part)
            counts.append(processor.one("select count(*) from slice"))
    assert len(counts) > 1
    assert sum(counts) == slices_of(trace).rows.height


@pytest.fixture
def ui_page(browser: Browser) -> Iterator[Page]:
    """A page for Perfetto's UI, which asks for news on the network and is content without: it gets nothing. The test
    fails where the UI threw anything."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    thrown: list[str] = []
    page.route(lambda url: not url.startswith("http://127.0.0.1:"), lambda route: route.abort())
    page.on("pageerror", lambda error: thrown.append(str(error)))
    yield page
    context.close()
    assert not thrown


def test_the_ui_shows_a_trace(ui_page: Page, tmp_path: Path) -> None:
    trace = api.simulate(workload_file("sync_in_loop"))
    perfetto.write(trace, tmp_path / "t.pftrace", derived=derived_tracks(trace, api.analyze(trace)))
    with served(tmp_path) as address:
        ui_page.goto(f"{address}/#!/?url={address}/traces/t.pftrace")
        ui_page.get_by_text("rocm-perf").first.wait_for()
        ui_page.get_by_text("unfold_more").click()
        for name in (
            "critical path",
            "phases",
            "steps",
            "queue length",
            "COMPUTE AGENT [2] QUEUE",
            "Thread 4000",
        ):
            ui_page.get_by_text(name).first.wait_for()
        ui_page.screenshot(path=tmp_path / "ui.png")
        assert not ui_page.get_by_text("went wrong").count()
