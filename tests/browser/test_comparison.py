"""The comparison's page in Chromium, opened from disk."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rocm_perf.cli.main import main
from tests.unit.serve.sites import write_bundle

if TYPE_CHECKING:
    from playwright.sync_api import Page

WIDTHS = (1440, 800, 390)
PATIENCE_S, STILL_MS = 120, 500


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("comparison")
    sides = [str(write_bundle(folder / name, name)) for name in ("sync_in_loop", "sync_hoisted")]
    page = folder / "compare.html"
    assert main(["compare", *sides, "-o", str(page)]) == 0
    return page.as_uri()


def in_view(page: Page, side: str) -> str:
    return str(page.locator(f"#timeline-{side}").get_by_text(" in view").first.inner_text())


def settled(page: Page, other_than: str = "") -> str:
    """What both timelines show once they show the same, have left what was shown, and have come to rest."""
    deadline, last = time.monotonic() + PATIENCE_S, ""
    while time.monotonic() < deadline:
        page.wait_for_timeout(STILL_MS)
        shown = in_view(page, "base")
        if shown and shown == in_view(page, "new") == last != other_than:
            return shown
        last = shown
    pytest.fail(f"the timelines do not come to rest at one view: {last}")


def test_both_timelines_move_together(page: Page, address: str) -> None:
    page.goto(address)
    page.locator("#timeline-new canvas").first.wait_for()
    before = settled(page)
    page.locator("#timeline-new").get_by_role("button", name="Zoom in").click()
    assert settled(page, other_than=before)


def test_numbers_explain_themselves_and_tables_sort(page: Page, address: str) -> None:
    page.goto(address)
    page.locator("#where-the-difference-comes-from td[data-why]").first.click()
    assert "after minus before" in page.locator(".why").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_it_fits_every_screen(page: Page, address: str, width: int, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(address)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("svg.figure:visible").count() >= 1


def test_axe_finds_nothing_serious(page: Page, address: str) -> None:
    axe = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
    if not axe.exists():
        pytest.skip("axe-core is not installed (make web)")
    page.goto(address)
    page.locator("#timeline-new canvas").first.wait_for()
    page.evaluate(axe.read_text())
    found = page.evaluate("axe.run().then(result => result.violations.map(each => [each.impact, each.id]))")
    assert not [each for each in found if each[0] in ("serious", "critical")]
