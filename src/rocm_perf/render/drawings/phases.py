"""The phases of a recording as one bar, each as long as its share of the time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from rocm_perf.model.results.phases import Phase, PhaseName, Phases
from rocm_perf.render.drawings.characters import Characters

STYLES: dict[PhaseName, str] = {
    "before": "dim",
    "start-up": "yellow",
    "steady": "green",
    "work": "green",
    "end": "blue",
}
_NARROWEST_STEP = 2  # cells


def phases_bar(phases: Phases, width: int, characters: Characters) -> Text:
    """The bar, `width` cells long; steps are set apart where each has room for it."""
    lengths = shared_cells([row.duration_ns for row in phases.rows], width)
    bar = Text(no_wrap=True)
    for row, cells in zip(phases.rows, lengths, strict=True):
        bar.append(_segment(row, cells, phases.steps, characters), STYLES[row.name])
    return bar


def shared_cells(durations: Sequence[int], cells: int) -> list[int]:
    """The cells divided in proportion, with at least one for everything that lasts at all."""
    total = sum(durations)
    if not total:
        return [0] * len(durations)
    shares = [max(cells * duration // total, 1) if duration else 0 for duration in durations]
    longest = max(range(len(durations)), key=lambda place: durations[place])
    shares[longest] += cells - sum(shares)
    return shares


def _segment(row: Phase, cells: int, steps: int, characters: Characters) -> str:
    segment = [characters.phases[row.name]] * cells
    if row.name == "steady":
        for place in _step_ends(cells, steps):
            segment[place] = characters.step_end
    return "".join(segment)


def _step_ends(cells: int, steps: int) -> Iterator[int]:
    """The last cell of each step but the last one, where steps are wide enough to be told apart."""
    if cells >= _NARROWEST_STEP * steps:
        yield from (cells * (step + 1) // steps - 1 for step in range(steps - 1))
