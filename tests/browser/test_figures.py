"""Figures in a browser: marks speak under the pointer and the keyboard, the flame graph zooms and searches."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rocm_perf.analysis.overview import examine
from rocm_perf.ingest.load import load
from rocm_perf.render.figures.files import picture_files
from rocm_perf.render.page.page import page as page_text

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

RECORDING = Path(__file__).parents[1] / "data" / "h200" / "eager_sync.json.gz"
CELLS = "#operators .flame-cells .mark"
TIP = ".figure-tip.shown"


@cache
def report() -> str:
    return page_text(examine(load(RECORDING), RECORDING.name))


@pytest.fixture
def shown(page: Page, tmp_path: Path) -> Page:
    """The page of a recording with operators, opened from disk."""
    path = tmp_path / "report.html"
    path.write_text(report(), encoding="utf-8")
    page.goto(path.as_uri())
    page.wait_for_selector(CELLS)
    return page


def width(locator: Locator) -> float:
    box = locator.bounding_box()
    assert box
    return float(box["width"])


def test_a_dot_of_the_roofline_says_what_it_stands_for(shown: Page) -> None:
    dot = shown.locator("#roofline svg.on-wide .mark:has(.dot)").last  # the smallest lies on top
    dot.scroll_into_view_if_needed()
    dot.hover()
    tip = shown.locator(TIP)
    assert "FLOP/B" in tip.inner_text()
    assert tip.inner_text().splitlines()[0] in (dot.get_attribute("aria-label") or "")
    shown.mouse.move(2, 2)
    assert shown.locator(TIP).count() == 0


def test_the_keyboard_goes_from_mark_to_mark(shown: Page) -> None:
    first = shown.locator("#families svg.on-wide .mark").first
    first.focus()
    told = shown.locator(TIP).inner_text()
    shown.keyboard.press("ArrowDown")
    assert shown.locator(TIP).inner_text() != told
    assert first.get_attribute("tabindex") == "-1"
    shown.keyboard.press("Escape")
    assert shown.locator(TIP).count() == 0


def test_the_still_flame_graph_gives_way_on_screen_and_stays_in_print(shown: Page) -> None:
    still = shown.locator("#operators .picture > svg.figure.on-wide")
    assert not still.is_visible()
    shown.emulate_media(media="print")
    assert still.is_visible()
    assert not shown.locator("#operators .flame").is_visible()


def test_a_click_zooms_and_zooming_out_goes_back(shown: Page) -> None:
    everything = shown.locator(CELLS).count()
    narrow = shown.locator(CELLS, has_text="aten::addmm").first
    before = width(narrow)
    narrow.click()
    widest = width(shown.locator(CELLS, has_text="aten::addmm").first)
    assert widest > before
    assert widest == pytest.approx(width(shown.locator(".flame-cells")), abs=2)
    assert shown.locator(CELLS).count() < everything
    shown.get_by_role("button", name="Zoom out").click()
    assert shown.locator(CELLS).count() == everything


def test_a_search_marks_cells_and_says_their_share(shown: Page) -> None:
    shown.locator(".flame-tools input").fill("layer_norm")
    matches = shown.locator(f"{CELLS}.match")
    assert 0 < matches.count() < shown.locator(CELLS).count()
    assert all(
        "layer_norm" in (label or "")
        for label in matches.evaluate_all("all => all.map(one => one.ariaLabel)")
    )
    assert "found" in shown.locator(".flame-said").inner_text()


def test_arrow_keys_walk_the_flame_graph_and_enter_zooms(shown: Page) -> None:
    shown.locator(f"{CELLS}[tabindex='0']").focus()
    focused = "document.activeElement.dataset.place"
    assert shown.evaluate(focused) == "0"
    shown.keyboard.press("ArrowDown")
    inner = shown.evaluate(focused)
    assert inner != "0"
    everything = shown.locator(CELLS).count()
    shown.keyboard.press("Enter")
    assert shown.evaluate(focused) == inner
    assert shown.locator(CELLS).count() < everything
    shown.keyboard.press("Escape")
    assert shown.locator(CELLS).count() == everything


def test_the_other_measure_is_another_picture(shown: Page) -> None:
    assert "GPU time" in shown.locator(".flame-said").inner_text()
    shown.get_by_role("button", name="By host time").click()
    assert "host time" in shown.locator(".flame-said").inner_text()


def test_a_narrow_screen_has_its_own_drawing(shown: Page) -> None:
    assert shown.locator("#roofline svg.on-wide").is_visible()
    shown.set_viewport_size({"width": 390, "height": 800})
    assert shown.locator("#roofline svg.on-narrow").is_visible()
    assert not shown.locator("#roofline svg.on-wide").is_visible()
    wide = shown.evaluate("document.documentElement.scrollWidth")
    assert wide <= 390


def test_a_file_is_coloured_by_itself(page: Page, tmp_path: Path) -> None:
    document = examine(load(RECORDING), RECORDING.name)
    for picture in picture_files(document, "report").values():
        (tmp_path / picture.name).write_text(picture.content, encoding="utf-8")
    page.goto((tmp_path / "report-roofline.svg").as_uri())
    colour = page.evaluate("getComputedStyle(document.querySelector('.roof')).stroke")
    assert colour == "rgb(21, 25, 31)"
