"""The report's page in a browser: it sorts, searches, explains, prints, and obeys nothing that a recording says."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from rocm_perf import api
from rocm_perf.analysis.overview import overview
from rocm_perf.model.document import Document
from rocm_perf.render.page.page import page as page_text
from tests.unit.analysis.traces import call, kernel, trace
from tests.unit.render.page.test_page import HOSTILE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parents[2]
AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
RECORDING = ROOT / "tests" / "data" / "h200" / "pairs" / "operators_graph.pt.trace.json.gz"
PHONE, TABLET, WIDE = 390, 800, 1440
KERNELS = "#kernels table"


@cache
def many_kernels() -> Document:
    """Sixty kernels, each twice as long as the one before it up to a limit, so that every order differs."""
    dispatches = [
        kernel(f"kernel_{number:02}", 1000 * number, 1000 * number + 7 * number + 1, correlation_id=number)
        for number in range(60)
    ]
    calls = [
        call("hipLaunchKernel", 1000 * number - 500, 1000 * number - 400, number) for number in range(60)
    ]
    return overview(trace(dispatches=dispatches, api_calls=calls), "runs/many")


@cache
def recorded() -> str:
    """The whole page of a real recording, with its timeline."""
    return api.report(RECORDING).html


def shown(page: Page, folder: Path, report: Document | str) -> Page:
    """A report, or that of a document, opened from disk."""
    path = folder / "report.html"
    path.write_text(report if isinstance(report, str) else page_text(report), encoding="utf-8")
    page.goto(path.as_uri())
    return page


def texts(page: Page, column: int) -> list[str]:
    cells = page.locator(f"{KERNELS} tbody tr:visible td:nth-child({column})")
    return [text.strip() for text in cells.all_inner_texts()]


def heading(page: Page, name: str) -> int:
    headings = [text.strip(" ↑↓\n") for text in page.locator(f"{KERNELS} th").all_inner_texts()]
    return headings.index(name) + 1


def test_a_table_sorts_both_ways_by_the_numbers_behind_its_texts(page: Page, tmp_path: Path) -> None:
    shown(page, tmp_path, many_kernels())
    page.click("#kernels .listing > button")  # all rows
    name, total = heading(page, "kernel"), heading(page, "total")
    longest_first = [f"kernel_{number:02}" for number in reversed(range(60))]
    assert texts(page, name) == longest_first
    page.click(f"{KERNELS} th:nth-child({total}) button")
    assert texts(page, name) == longest_first
    page.click(f"{KERNELS} th:nth-child({total}) button")
    assert texts(page, name) == longest_first[::-1]
    assert page.get_attribute(f"{KERNELS} th:nth-child({total})", "aria-sort") == "ascending"
    page.click(f"{KERNELS} th:nth-child({name}) button")
    assert texts(page, name) == sorted(longest_first)


def test_a_search_finds_rows_that_are_not_shown(page: Page, tmp_path: Path) -> None:
    shown(page, tmp_path, many_kernels())
    name = heading(page, "kernel")
    assert "kernel_03" not in texts(page, name)
    page.fill("#kernels input[type=search]", "KERNEL_03")
    assert texts(page, name) == ["kernel_03"]
    page.fill("#kernels input[type=search]", "nothing like it")
    assert texts(page, name) == []
    page.fill("#kernels input[type=search]", "")
    assert len(texts(page, name)) == 12
    page.click("#kernels .listing > button")
    assert len(texts(page, name)) == 60


def test_a_number_explains_itself_to_mouse_and_keyboard(page: Page, tmp_path: Path) -> None:
    document = many_kernels()
    shown(page, tmp_path, document)
    cell = page.locator(f"{KERNELS} tbody tr:first-child td:nth-child({heading(page, 'total')})")
    cell.click()
    said = page.inner_text(".why")
    assert str(document.hotspots.rows[0].total_ns) in said
    assert document.formulas["hotspots.total_ns"] in said
    assert "dispatches (60)" in said
    page.keyboard.press("Escape")
    assert page.locator(".why").count() == 0
    page.locator(f"{KERNELS} tbody td[tabindex='0']").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert str(document.hotspots.rows[1].total_ns) in page.inner_text(".why")
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.dataset.value") == str(document.hotspots.rows[1].total_ns)
    page.click("footer")
    assert page.locator(".why").count() == 0


def test_inputs_and_doubts_are_said(page: Page, tmp_path: Path) -> None:
    document = many_kernels()
    shown(page, tmp_path, document)
    page.click("#gpus td[data-why] >> nth=0")
    said = page.inner_text(".why")
    for name, value in document.devices[0].busy.inputs.items():
        assert name in said
        assert f"{value:,}" in said


def test_the_theme_changes_sides_and_is_kept_nowhere(page: Page, tmp_path: Path) -> None:
    shown(page, tmp_path, many_kernels())
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.click("#theme")
    dark = page.evaluate(ground)
    assert light != dark
    page.click("#theme")
    assert page.evaluate(ground) == light
    page.click("#theme")
    page.reload()
    assert page.evaluate(ground) == light


def test_a_command_is_copied(browser: Browser, tmp_path: Path) -> None:
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = shown(context.new_page(), tmp_path, recorded())
    button = page.locator(".card button.copy").first
    button.click()
    page.locator(".card button.copy", has_text="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == page.inner_text(".card .command code").replace(
        "\n", " "
    )
    context.close()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [WIDE, TABLET, PHONE])
def test_it_fits_every_screen(page: Page, tmp_path: Path, width: int, *, dark: bool) -> None:
    page.emulate_media(color_scheme="dark" if dark else "light")
    page.set_viewport_size({"width": width, "height": 900})
    shown(page, tmp_path, recorded())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".contents").is_visible() == (width == WIDE)
    page.locator("#kernels td[data-why]").first.click()
    box = page.locator(".why").bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width


def test_on_paper_nothing_is_cut_and_everything_is_open(page: Page, tmp_path: Path) -> None:
    shown(page, tmp_path, recorded())
    page.emulate_media(media="print", color_scheme="dark")
    page.set_viewport_size({"width": 720, "height": 1000})  # A4 with its margins
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    wide = "[...document.querySelectorAll('.scroll')].filter(each => each.scrollWidth > each.clientWidth + 1).length"
    assert page.evaluate(wide) == 0
    assert page.locator("#kernels th:visible", has_text="total").inner_text().strip() == "total"
    assert not page.locator("button:visible:not(th button, #timeline button)").count()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed (make web)")
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_serious(browser: Browser, tmp_path: Path, *, dark: bool) -> None:
    context = browser.new_context(bypass_csp=True, color_scheme="dark" if dark else "light")
    page = shown(context.new_page(), tmp_path, recorded())
    page.locator("#timeline canvas").first.wait_for()
    page.locator("#kernels td[data-why]").first.click()
    page.add_script_tag(path=AXE)
    found: dict[str, Any] = page.evaluate("axe.run()")
    serious = [
        f"{issue['id']}: {issue['help']}: {[node['html'][:200] for node in issue['nodes'][:3]]}"
        for issue in found["violations"]
        if issue["impact"] in ("serious", "critical")
    ]
    context.close()
    assert not serious


@pytest.mark.parametrize("name", HOSTILE, ids=lambda name: ascii(name[:24]))
def test_hostile_names_are_text(page: Page, tmp_path: Path, name: str) -> None:
    page.on("dialog", lambda dialog: pytest.fail(f"a recording opened a dialog: {dialog.message}"))
    recording = trace(
        dispatches=[kernel(name, 0, 60, correlation_id=1), kernel("other", 100, 140, correlation_id=2)],
        api_calls=[call(name, 0, 5, 1), call("hipLaunchKernel", 5, 9, 2)],
    )
    document = overview(recording, f"runs/{name}")
    shown(
        page,
        tmp_path,
        msgspec.structs.replace(document, run=msgspec.structs.replace(document.run, command=name)),
    )
    written = re.sub(r"\s+", " ", "".join(each if each.isprintable() else " " for each in name)).strip()
    assert written in re.sub(r"\s+", " ", page.text_content("#kernels table") or "")
    assert page.evaluate("document.documentElement.scrollWidth") <= WIDE
    for cell in page.locator("#kernels td[data-why]").all()[:3]:
        cell.click()
    assert page.locator("img, iframe, object, embed").count() == 0


def test_the_timeline_of_the_recording_is_drawn(page: Page, tmp_path: Path) -> None:
    shown(page, tmp_path, recorded())
    page.locator("#timeline canvas").first.wait_for()
    page.fill("#timeline input[type=search]", "layer_norm")
    page.locator(".timeline-hits", has_text=re.compile(r"\d+ hits")).wait_for()


def test_a_verdict_explains_its_number(page: Page, tmp_path: Path) -> None:
    document = many_kernels()
    shown(page, tmp_path, document)
    page.click("h1 span")
    assert f"{document.devices[0].busy_ns:,}" in page.inner_text(".why")


def test_without_a_script_everything_is_there(browser: Browser, tmp_path: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = shown(context.new_page(), tmp_path, many_kernels())
    assert page.locator(f"{KERNELS} tbody tr:visible").count() == 60
    assert not page.locator("button:visible").count()
    context.close()


def test_the_policy_stops_what_is_not_the_pages_own(browser: Browser, tmp_path: Path) -> None:
    context = browser.new_context()
    page = shown(context.new_page(), tmp_path, many_kernels())
    stopped: list[str] = []
    page.on("console", lambda message: stopped.append(message.text))
    page.evaluate(
        "() => { const one = document.createElement('script'); one.textContent = 'window.ran = true';"
        " document.body.append(one); new Image().src = 'https://example.com/x.png'; }"
    )
    assert page.evaluate("window.ran") is None
    assert any("Content Security Policy" in text for text in stopped)
    context.close()


def test_the_page_holds_the_numbers_of_json(page: Page, tmp_path: Path) -> None:
    document = api.analyze(RECORDING)
    shown(page, tmp_path, recorded())
    read = "rows => rows.map(row => [...row.cells].map(cell => Number(cell.dataset.value)))"
    cells = page.eval_on_selector_all(f"{KERNELS} tbody tr", read)
    expected = [
        [row.share, row.total_ns, row.calls, row.mean_ns, row.median_ns, row.max_ns]
        for row in document.hotspots.rows
    ]
    assert [row[:6] for row in cells] == json.loads(json.dumps(expected))
