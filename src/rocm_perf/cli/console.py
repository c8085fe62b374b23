"""Where results are printed: a terminal, a file, or a pipe whose reader may leave early."""

from __future__ import annotations

import os
from typing import IO

from rich.console import Console


class ResultConsole(Console):
    """A console whose reader may leave; the verb goes on, because its exit code is an answer too."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        forget(self.file)


def result_console(*, stderr: bool = False) -> Console:
    """The console that results are printed to: stdout, or stderr."""
    return ResultConsole(highlight=False, stderr=stderr)


def forget(stream: IO[str]) -> None:
    """Discard what is still written to a stream that nobody reads, so that Python does not complain at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, stream.fileno())
    finally:
        os.close(nowhere)
