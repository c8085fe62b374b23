"""Where laid-out results are printed: a terminal, a file, or a pipe whose reader may leave early."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from rocm_perf.cli.output import forget
from rocm_perf.text import clean_lines

_NARROWEST, _USUAL, _WIDEST = 40, 80, 1000  # columns


class ResultConsole(Console):
    """A console that passes on no control characters from what it prints, and whose reader may leave.

    The verb goes on without a reader all the same, because its exit code is an answer, too.
    """

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(clean_lines(segment.text), segment.style)

    def on_broken_pipe(self) -> None:
        self.quiet = True
        forget(self.file)


def result_console(*, stderr: bool = False, no_color: bool = False) -> Console:
    """A console as wide as the terminal, within what a layout can make use of; NO_COLOR is heeded in any case."""
    console = ResultConsole(highlight=False, stderr=stderr, no_color=no_color or None)
    if not _NARROWEST <= console.width <= _WIDEST:
        console.width = min(max(console.width or _USUAL, _NARROWEST), _WIDEST)
    return console
