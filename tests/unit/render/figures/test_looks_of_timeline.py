"""The timeline in the browser knows every cause and phase by its name, and shows it in the colour of the figures."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from rocm_perf.model.results.gaps import CAUSE_NAMES, Cause
from rocm_perf.model.results.phases import PhaseName
from rocm_perf.render.figures import idle, phases

SOURCE = Path(__file__).parents[4] / "web" / "src" / "timeline" / "looks.ts"
PAUSE = "pause"  # as analysis/timeline/overall.py names it


def looks_in_browser() -> dict[str, str]:
    """The look of each name in looks.ts, by the classes that figures use."""
    (block,) = re.findall(r"const LOOKS\b.*?= \{\n(.*?)\n\};", SOURCE.read_text(encoding="utf-8"), re.DOTALL)
    entries = [re.fullmatch(r'  "?([^":]+)"?: (.+),', line) for line in block.splitlines()]
    return {entry[1]: class_of(entry[2]) for entry in entries if entry}


def class_of(look: str) -> str:
    series = re.fullmatch(r"series\((\d)(, FAINT)?\)", look)
    if series:
        return f"fill-{series[1]}{' faint' if series[2] else ''}"
    return {"idle": "idle", "quiet": "idle"}[look]  # quiet: idle, and dark enough for a short gap


def test_every_cause_has_a_name() -> None:
    assert set(CAUSE_NAMES) == set(get_args(Cause))


def test_the_timeline_has_the_colours_of_the_figures() -> None:
    causes = {name: idle.LOOKS[cause] for cause, name in CAUSE_NAMES.items()}
    assert set(phases.LOOKS) == set(get_args(PhaseName))
    assert looks_in_browser() == {**causes, **phases.LOOKS, PAUSE: "idle"}
