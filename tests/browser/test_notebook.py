"""A report below a cell: the page runs in its frame, and reaches nothing outside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import rocm_perf

if TYPE_CHECKING:
    from playwright.sync_api import Page

RECORDING = Path(__file__).parents[1] / "data" / "h200" / "pairs" / "gelu_fused.pt.trace.json.gz"


def test_a_report_runs_in_its_frame(page: Page, tmp_path: Path) -> None:
    cell = tmp_path / "cell.html"
    frame_html = rocm_perf.report(RECORDING)._repr_html_()
    cell.write_text(f"<!doctype html><title>cell</title>{frame_html}", encoding="utf-8")
    page.goto(cell.as_uri())
    frame = page.frame_locator("iframe")
    assert "its kernels are the limit" in frame.locator("h1").inner_text()
    assert frame.locator("#theme").is_visible()  # only the script shows the button
    frame.locator("#theme").click()
    box = page.locator("iframe").bounding_box()
    assert box is not None
    assert box["height"] == 800
