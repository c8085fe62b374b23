"""The picture of a report at the top of the README: `python scripts/picture.py`, after `make test-browser` has fetched the browser.

The demo's slow loop, with counters so that the roofline has kernels, as the page looks in Chromium: 256 colours are
enough for it, and a third of the size.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "images" / "report.png"
