"""Drawings with the words that explain them, and what a console can show of them."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from rocm_perf.model.document import Document
from rocm_perf.model.results.ledger import Ledger
from rocm_perf.model.results.phases import Phases
from rocm_perf.render.drawings.characters import ASCII, UNICODE, Characters
from rocm_perf.render.drawings.phases import STYLES, phases_bar
from rocm_perf.render.drawings.ranks import ranks_drawing
from rocm_perf.render.drawings.roofline import roofline_drawing
from rocm_perf.render.drawings.time_shares import time_bar, time_legend
from rocm_perf.render.drawings.traffic import traffic_drawing
from rocm_perf.render.grid import squeezed
from rocm_perf.render.lines import paragraph
from rocm_perf.render.sections.phases import phase_line
from rocm_perf.render.time_shares import segments
from rocm_perf.units import format_ns

BAR_FROM = 100  # columns of a terminal
_FEWEST = 2  # segments of a bar that says something
_SECTION_WIDTH, _SECTION_HEIGHT, _SECTION_KERNELS = 100, 20, 10


def characters_of(console: Console) -> Characters | None:
    """What drawings in this console are made of; None for a pipe, a file or a terminal that cannot show any."""
    if not console.is_terminal or console.is_dumb_terminal:
        return None
    return ASCII if console.options.ascii_only else UNICODE


def bars_of(console: Console) -> Characters:
    """What bars in tables are made of, wherever the console prints."""
    return ASCII if console.options.ascii_only else UNICODE


def share_lines(ledger: Ledger, characters: Characters, width: int) -> list[Text]:
    """Return the bar of the judged time and what its letters stand for; nothing where one segment is all of it."""
    shown = segments(ledger)
    if len(shown) < _FEWEST:
        return []
    return [time_bar(shown, width, characters), *time_legend(shown, width)]


def phase_lines(phases: Phases, characters: Characters, width: int) -> Iterator[Text]:
    """The bar of the phases, and what its characters stand for."""
    if len(phases.rows) > 1:
        yield phases_bar(phases, width, characters)
    for row in paragraph(phase_line(phases, characters.phases), width, 3):
        for name, key in characters.phases.items():
            if phases.phase(name):
                row.highlight_words([f"{key} "], STYLES[name])
        yield row


def section_drawing(name: str, document: Document, characters: Characters, width: int) -> list[Text]:
    """The drawing of a section, if it has one and there is room for it."""
    if name == "phases" and width >= BAR_FROM:
        return list(phase_lines(document.phases, characters, width))
    if name == "ledger" and width >= BAR_FROM:
        return share_lines(document.ledger, characters, width)
    if name == "ranks" and width >= BAR_FROM and document.ranks.map:
        return list(ranks_drawing(document.ranks.map, width, characters))
    if name == "communication" and width >= BAR_FROM and document.communication.traffic:
        return list(traffic_drawing(document.communication.traffic, characters))
    if name == "roofline" and width >= BAR_FROM:
        return _roofline_with_names(document, characters, min(width, _SECTION_WIDTH))
    return []


def _roofline_with_names(document: Document, characters: Characters, width: int) -> list[Text]:
    """The roofline, and below it the longest kernels behind their letters."""
    kernels = document.roofline.kernels[:_SECTION_KERNELS]
    drawing = roofline_drawing(
        document.roofline,
        [row.kernel for row in kernels],
        width=width,
        height=_SECTION_HEIGHT,
        characters=characters,
    )
    if drawing is None:
        return []
    names = [
        Text.assemble(
            (drawing.letters[row.kernel], "bold cyan"),
            f"{format_ns(row.total_ns):>9}  {squeezed(row.short_name, width - 12)}",
            no_wrap=True,
        )
        for row in kernels
        if row.kernel in drawing.letters
    ]
    return [Text(drawing.caption), *drawing.lines, *names]
