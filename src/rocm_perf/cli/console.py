"""Where laid-out results are printed: a terminal, a file, or a pipe whose reader may leave early."""

from __future__ import annotations

from rich.console import Console

from rocm_perf.cli.output import forget

_NARROWEST, _USUAL, _WIDEST = 40, 80, 1000  # columns


class ResultConsole(Console):
    """One whose reader may leave. The verb goes on all the same, because its exit code is an answer, too."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        forget(self.file)


def result_console(*, stderr: bool = False) -> Console:
    """A console as wide as the terminal, within what a layout can make use of."""
    console = ResultConsole(highlight=False, stderr=stderr)
    if not _NARROWEST <= console.width <= _WIDEST:
        console.width = min(max(console.width or _USUAL, _NARROWEST), _WIDEST)
    return console
