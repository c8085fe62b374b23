"""The report of a bundle of a million events: what it costs to make, and how it opens and moves in Debian's Chromium.

The bundle is made on first use, from a recorded trace that is tiled and whose times are warped. Every report is made by
a process of its own, and every opening has a fresh page of one browser.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import measure
from bench.bench_torch import DATA, trace_of
from bench.chromium import Opening, chromium, frame_times, opened_report, zoomed_in

if TYPE_CHECKING:
    from playwright.sync_api import Page, ViewportSize

ROOT = Path(__file__).resolve().parents[1]
SIZE: ViewportSize = {"width": 1440, "height": 900}
FRAMES = 120
STEPS = {
    "everything": 0,
    "12 %": 6,
    "0.5 %": 15,
}  # in view while panning, after zooming in to 70 % so many times

_MAKE = """import sys
from pathlib import Path
from bench.warp import warped
from rocm_perf.ingest.load import load
from rocm_perf.model import bundle
bundle.write(warped(load(Path(sys.argv[1]))), Path(sys.argv[2]))"""


def bundle_of(events: int) -> Path:
    """The bundle to report on, made on first use, in a child: this process has to stay small (see measure.run)."""
    trace = trace_of(events)
    bundle = DATA / f"{trace.name.removesuffix('.json.gz')}-bundle"
    if not bundle.is_dir():
        command = [sys.executable, "-c", _MAKE, str(trace), str(bundle)]
        subprocess.run(command, check=True, cwd=ROOT, env={"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"})
    return bundle


def openings(report: Path, rounds: int) -> tuple[list[Opening], dict[str, list[float]]]:
    """How the report opened, each time in a fresh page, and how the timeline of the last one moved."""
    opened: list[Opening] = []
    frames: dict[str, list[float]] = {}
    with chromium() as browser:
        for number in range(rounds):
            context = browser.new_context(viewport=SIZE, reduced_motion="reduce")
            page = context.new_page()
            opened.append(opened_report(page, report))
            if number == rounds - 1:
                frames = panned(page)
            context.close()
    return opened, frames


def panned(page: Page) -> dict[str, list[float]]:
    """The times of frames while the timeline moves, by what was in view."""
    frames, done = {}, 0
    for name, steps in STEPS.items():
        zoomed_in(page, steps - done)
        frames[name] = frame_times(page, FRAMES)
        done = steps
    return frames


def table(
    made: measure.Result, report: Path, opened: Sequence[Opening], frames: dict[str, list[float]]
) -> str:
    """The medians as Markdown, with the fastest and the slowest."""
    rows = [
        ("make the report", _spread([sample.wall_s for sample in made.samples], "s", 2)),
        ("its processor time", f"{made.cpu_s:.2f} s"),
        ("its peak memory", f"{made.peak_rss_bytes / 1e9:.2f} GB"),
        ("size", f"{report.stat().st_size / 1e6:.2f} MB"),
        ("first paint", _spread([each.first_paint_ms for each in opened], "ms")),
        ("timeline drawn", _spread([each.drawn_ms for each in opened], "ms")),
    ]
    rows += [
        (f"frame while panning, {name} of the recording in view", _frames(times))
        for name, times in frames.items()
    ]
    return "\n".join(["| | |", "|---|---:|", *(f"| {name} | {text} |" for name, text in rows)])


def _spread(values: Sequence[float], unit: str, digits: int = 0) -> str:
    middle, low, high = statistics.median(values), min(values), max(values)
    return f"{middle:.{digits}f} {unit} ({low:.{digits}f} to {high:.{digits}f})"


def _frames(times: Sequence[float]) -> str:
    slow = statistics.quantiles(times, n=20)[-1]
    return f"{statistics.median(times):.1f} ms, 95 % within {slow:.1f} ms"


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--events", type=int, default=1_000_000, help="about how many (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="reports, and openings (default %(default)s)")
    return parser.parse_args()


def main() -> int:
    """Runs the bench; exit code 1 when no report was made."""
    chosen = options()
    bundle, report = bundle_of(chosen.events), DATA / "report.html"
    (made,) = measure.interleaved([measure.report("report", bundle, report)], chosen.rounds)
    if made.failed:
        print(made.samples[-1].error, file=sys.stderr)
        return 1
    opened, frames = openings(report, chosen.rounds)
    host = measure.machine()
    print(table(made, report, opened, frames), "", sep="\n")
    print(f"{bundle.name}; {host['cpu']}, {host['cores']} cores; Python {host['python']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
