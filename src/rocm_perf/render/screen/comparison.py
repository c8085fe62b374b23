"""Two populations of runs compared, in a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from rocm_perf.model.results.comparison import Comparison
from rocm_perf.render.lines import paragraph, show
from rocm_perf.render.screen.terminal import View, section_blocks
from rocm_perf.render.sections.comparison import MORE, basis_lines, comparison_sections, headline, title

_STYLES = {"better": "bold green", "worse": "bold red", "no difference shown": "bold"}


def print_comparison(
    comparison: Comparison, console: Console, top: int, sections: Sequence[str] = ()
) -> None:
    """Print the comparison, with at most `top` kernels: all but the scorecard, or the sections that are named."""
    width = console.width
    blocks = paragraph(title(comparison), width, style="bold")
    style = _STYLES[comparison.wall.verdict if comparison.setting is None else "no difference shown"]
    blocks += paragraph(headline(comparison), width, style=style)
    for text in basis_lines(comparison):
        blocks += paragraph(text, width, style="dim")
    for block in blocks:
        show(console, block)
    for section in comparison_sections(comparison, top, width=width, show=sections):
        console.print()
        for part in section_blocks(section, View(top=top, width=width)):
            show(console, part)
    if not sections:
        console.print()
        for block in paragraph(MORE, width, style="dim"):
            show(console, block)
