"""The optimisation loop in a terminal: a line for each attempt while it runs, the answer at its end."""

from __future__ import annotations

from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

from rocm_perf.model.results.optimize import Attempt, Conclusion, Optimization
from rocm_perf.render.lines import facts, paragraph, show, uncut
from rocm_perf.render.screen.terminal import View, section_blocks
from rocm_perf.render.sections.optimization import basis_facts, factor, headline, optimization_sections
from rocm_perf.text import clean_lines

_STYLES: dict[Conclusion, str] = {"improved": "bold green", "stopped": "bold yellow"}


def attempt_line(attempt: Attempt) -> str:
    """What is said of an attempt as soon as its fate is known."""
    is_told = attempt.reason.startswith(factor(attempt.replay))
    pace = f" {factor(attempt.replay)}" if attempt.replay and not is_told else ""
    return f"{attempt.number}. {attempt.name}: {attempt.verdict}{pace}; {attempt.reason}"


def print_optimization(result: Optimization, console: Console, next_command: str) -> None:
    """Print the answer, what it rests on, every attempt, and the change."""
    width = console.width
    blocks = paragraph(headline(result), width, style=_STYLES.get(result.conclusion, "bold"))
    for block in (*blocks, *facts(basis_facts(result), width)):
        show(console, block)
    for section in optimization_sections(result):
        console.print()
        for part in section_blocks(section, View(width=width)):
            show(console, part)
    if result.diff:
        console.print()
        show(console, _diff(result.diff))
    if next_command:
        console.print()
        show(console, uncut(("Next", "bold"), f"  {next_command}"))


def _diff(text: str) -> Text:
    """In colours, its lines whole, however long: it is there to be copied."""
    diff = Syntax("", "diff", theme="ansi_dark", background_color="default").highlight(clean_lines(text))
    diff.no_wrap, diff.overflow = True, "ignore"
    return diff
