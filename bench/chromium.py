"""A report in Debian's Chromium: when something is seen, when its timeline is drawn, and how fast frames follow each
other while the timeline moves."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PATIENCE_MS = 120_000
EXTENT = ".timeline-extent"  # says how much is in view: it is written whenever the timeline was drawn
_SCROLLER = ".timeline-scroller"

# The moment of the first frame after the one that drew the timeline, and that of the first paint.
_WATCH = f"""window.drawnMs = new Promise((tell) => {{
  const look = () => {{
    if (document.querySelector("{EXTENT}")?.textContent) tell(performance.now());
    else requestAnimationFrame(look);
  }};
  requestAnimationFrame(look);
}});
window.paintedMs = new Promise((tell) => {{
  const look = (seen) => seen.getEntriesByName("first-contentful-paint").forEach((paint) => tell(paint.startTime));
  new PerformanceObserver(look).observe({{ type: "paint", buffered: true }});
}});"""
_PAN = """async (frames) => {
  const canvas = document.querySelector(".timeline-canvas");
  const next = () => new Promise(requestAnimationFrame);
  const between = [];
  for (let frame = 0, last = await next(); frame < frames; frame += 1) {
    canvas.dispatchEvent(new WheelEvent("wheel", { deltaX: 24, cancelable: true }));
    const now = await next();
    between.push(now - last);
    last = now;
  }
  return between;
}"""


@dataclass(frozen=True)
class Opening:
    """How long a page took to open, from the moment it was asked for."""

    first_paint_ms: float
    drawn_ms: float  # until the timeline was on the screen


@contextmanager
def chromium() -> Iterator[Browser]:
    """Chromium without a window."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


def opened_report(page: Page, report: Path) -> Opening:
    """Open a report from disk, and wait for its timeline."""
    page.add_init_script(_WATCH)
    page.goto(report.as_uri(), timeout=PATIENCE_MS)
    page.locator(EXTENT, has_text="in view").wait_for(timeout=PATIENCE_MS)
    painted, drawn = page.evaluate("Promise.all([paintedMs, drawnMs])")
    return Opening(first_paint_ms=painted, drawn_ms=drawn)


def zoomed_in(page: Page, times: int) -> None:
    """Zoom by the keyboard, each time to 70 % of what was in view, and wait until that is drawn."""
    page.locator(_SCROLLER).focus()
    for _ in range(times):
        pressed(page, "w")


def pressed(page: Page, key: str) -> None:
    """Press a key that changes what is in view, and wait until that is drawn."""
    from playwright.sync_api import expect

    before = page.locator(EXTENT).inner_text()
    page.keyboard.press(key)
    expect(page.locator(EXTENT)).not_to_have_text(before, timeout=PATIENCE_MS)


def frame_times(page: Page, frames: int) -> list[float]:
    """Milliseconds from frame to frame while the timeline moves sideways in each of them."""
    between: list[float] = page.evaluate(_PAN, frames)
    return between
