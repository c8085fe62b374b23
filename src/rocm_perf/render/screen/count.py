"""What a kernel was counted to do, in a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from rocm_perf.model.results.count import Counting
from rocm_perf.model.results.roofline import Roofline
from rocm_perf.render.drawings.roofline import roofline_drawing
from rocm_perf.render.lines import facts, paragraph, show, uncut
from rocm_perf.render.screen.drawn import BAR_FROM, characters_of
from rocm_perf.render.screen.terminal import View, section_blocks
from rocm_perf.render.sections.count import basis_facts, count_sections, headline

_ROWS = 20
_WIDEST, _HEIGHT = 100, 16


def print_count(counting: Counting, console: Console, *, by_line: bool, next_command: str) -> None:
    """Print the answer, what it rests on, every count, and how to go on."""
    width = console.width
    for block in (*paragraph(headline(counting), width, style="bold"), *facts(basis_facts(counting), width)):
        show(console, block)
    for row in _drawing(counting, console):
        show(console, row)
    for section in count_sections(counting, by_line=by_line, top=_ROWS):
        console.print()
        for part in section_blocks(section, View(width=width)):
            show(console, part)
    console.print()
    show(console, uncut(("Next", "bold"), f"  {next_command}"))


def _drawing(counting: Counting, console: Console) -> list[Text]:
    """The kernel under its roofs, where its time is known and there is room."""
    characters = characters_of(console)
    if characters is None or console.width < BAR_FROM:
        return []
    roofline = Roofline((counting.roofline.gpu,), (counting.roofline.point,))
    drawing = roofline_drawing(
        roofline, [counting.kernel], width=min(console.width, _WIDEST), height=_HEIGHT, characters=characters
    )
    return [Text(""), Text(drawing.caption), *drawing.lines] if drawing else []
