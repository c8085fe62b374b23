"""The GPU libraries of a program in a terminal: the verdict first, then each process and what is doubtful."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from rocm_perf.model.results.program_libraries import LoadedLibrary, LoadingProcess, ProgramLibraries
from rocm_perf.render.lines import paragraph, show
from rocm_perf.render.screen.doctor import problem_lines
from rocm_perf.units import format_count

_MOST_PROCESSES = 8  # ranks are alike; --json has them all


def print_libraries(answer: ProgramLibraries, console: Console) -> None:
    """Print the whole answer."""
    for block in blocks(answer, console.width):
        show(console, block)


def blocks(answer: ProgramLibraries, width: int) -> Iterator[RenderableType]:
    """Lines and tables of the answer, none wider than the terminal."""
    yield from paragraph(answer.verdict, width, 3, style="bold")
    for note in answer.notes:
        yield from paragraph(f"note: {note}", width, 2)
    for process in answer.processes[:_MOST_PROCESSES]:
        yield Text("")
        yield from paragraph(f"{process.program} ({process.pid})", width, 1, style="bold")
        yield _table(process)
    left = len(answer.processes) - _MOST_PROCESSES
    if left > 0:
        yield from paragraph(
            f"and {format_count(left, 'more process', 'more processes')} (--json has all)", width, 1
        )
    for problem in answer.problems:
        yield Text("")
        yield from problem_lines(problem, width)


def _table(process: LoadingProcess) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for library in process.libraries:
        style = "" if library.origin == "system" else "yellow"
        table.add_row(Text(library.name), Text(library.role), Text(_where(library), style=style))
    return table


def _where(library: LoadedLibrary) -> str:
    whose = {
        "system": f"the system's {library.owner}".rstrip(),
        "package": f"{library.owner}'s own copy",
        "elsewhere": "another copy",
    }[library.origin]
    return ", ".join(part for part in (library.version, whose, library.path) if part)
