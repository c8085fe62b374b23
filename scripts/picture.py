"""Make the picture of a report at the top of the README: `python scripts/picture.py` (needs `.[browser]` and Chromium).

It shows the page about the demo's slow loop, as Chromium draws it.
"""

from __future__ import annotations

import argparse
import io
import os
import shutil
import sys
import tempfile
from pathlib import Path

from rocm_perf import api
from rocm_perf.cli.demo import BEFORE, DEVICE, workload_file
from rocm_perf.model import bundle

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "report.png"
WIDTH, HEIGHT = 1440, 1720
CLOSER = 9  # strokes of W, until single kernels can be told apart in the timeline
SETTLED_MS = 400  # after a stroke nothing moves any more
MOST_BYTES = 300_000  # whoever opens the README fetches it


def demo_page(folder: Path) -> Path:
    """The page about the demo's slow loop. It is made within the folder, so that the commands in it have no path."""
    os.chdir(folder)
    bundle.write(api.simulate(workload_file(BEFORE), DEVICE), Path(BEFORE), overwrite=True)
    return api.report(BEFORE).save("report.html").resolve()


def screenshot(page: Path, *, width: int, height: int) -> bytes:
    """The top of a page as PNG."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        chromium = driver.chromium.launch(
            executable_path=shutil.which("chromium") or shutil.which("google-chrome"), args=["--no-sandbox"]
        )
        shown = chromium.new_page(viewport={"width": width, "height": height})
        shown.goto(page.as_uri())
        for _ in range(CLOSER):
            shown.locator(".timeline-scroller").press("w")
            shown.wait_for_timeout(SETTLED_MS)
        shown.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
        shown.wait_for_timeout(SETTLED_MS)
        picture = bytes(shown.screenshot())
        chromium.close()
    return picture


def with_few_colours(picture: bytes) -> bytes:
    """The picture with a palette of 256 colours, which is a third of the size and looks the same."""
    from PIL import Image

    small = io.BytesIO()
    whole = Image.open(io.BytesIO(picture)).convert("RGB")
    whole.quantize(256, dither=Image.Dither.NONE).save(small, "PNG", optimize=True)
    return small.getvalue()


def main() -> int:
    """Write the picture, unless it is too large; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, default=PICTURE)
    parser.add_argument("--width", type=int, default=WIDTH)
    parser.add_argument("--height", type=int, default=HEIGHT)
    args = parser.parse_args()
    output: Path = args.output.resolve()
    with tempfile.TemporaryDirectory() as folder:
        page = demo_page(Path(folder))
        picture = with_few_colours(screenshot(page, width=args.width, height=args.height))
    if len(picture) > MOST_BYTES:
        print(f"the picture has {len(picture):,} bytes, more than {MOST_BYTES:,}: make it smaller (--height)")
        return 1
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_bytes(picture)
    print(f"wrote {output}: {len(picture):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
