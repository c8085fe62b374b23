"""Pages in Debian's Chromium, which may not use the network and must not complain."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

WIDE, HIGH = 1440, 900
PATIENCE_MS = 120_000  # three browsers share two cores


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent.name == "browser":
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium without a window."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed (make test-browser)"
    )
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium is here (apt install chromium)")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=program, args=["--no-sandbox"], timeout=PATIENCE_MS)
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A fresh page. The test fails where it printed an error, threw, or asked for anything but files of its own."""
    context = browser.new_context(viewport={"width": WIDE, "height": HIGH})
    context.set_default_timeout(PATIENCE_MS)
    shown = context.new_page()
    complaints: list[str] = []
    shown.on(
        "console",
        lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None,
    )
    shown.on("pageerror", lambda error: complaints.append(str(error)))
    shown.on(
        "request",
        lambda request: (
            None
            if request.url.startswith(("file:", "data:", "blob:", "http://127.0.0.1:", "about:"))
            else complaints.append(f"asked for {request.url}")
        ),
    )
    yield shown
    context.close()
    assert not complaints


@pytest.fixture
def engine_page(browser: Browser) -> Iterator[Page]:
    """A page for the trace processor, which writes its progress as warnings: they are no complaints."""
    context = browser.new_context()
    context.set_default_timeout(PATIENCE_MS)
    yield context.new_page()
    context.close()
