"""What the command line prints: results on stdout, everything else on stderr. Either may be a terminal, a file, or a
pipe whose reader leaves early; names in what is printed may come from a stranger's recording."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import IO

from rocm_perf.errors import RocmPerfError, SeveralRunsError


def show(*lines: str) -> None:
    """Print lines of a result."""
    from rocm_perf.text import clean_lines

    print(*(clean_lines(line) for line in lines), sep="\n")


def show_data(text: str) -> None:
    """Print a text for other programs: as it is, unless a terminal would read it."""
    from rocm_perf.text import clean_lines

    sys.stdout.write(clean_lines(text) if sys.stdout.isatty() else text)


def show_json(text: str) -> None:
    """Print a JSON document, in ASCII if stdout accepts nothing else."""
    from rocm_perf.text import ascii_json

    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = ascii_json(text)
    print(text, flush=True)


def say(message: str, speaker: str = "rocm-perf") -> None:
    """Print a line on stderr: a notice, a step that was taken, or an error."""
    from rocm_perf.text import clean

    with suppress(OSError):  # a terminal that hung up
        print(f"{speaker}: {clean(message)}", file=sys.stderr, flush=True)


def say_error(error: RocmPerfError) -> None:
    """Print what a user is told when a verb refuses; the runs of a folder that holds several, one on each line."""
    if not isinstance(error, SeveralRunsError):
        say(str(error))
        return
    from rocm_perf.text import clean

    say(f"{error.what}:")
    with suppress(OSError):
        print(*(f"  {clean(run)}" for run in error.runs), sep="\n", file=sys.stderr, flush=True)
    say(error.next_step)


def show_status(text: str) -> None:
    """Overwrite the last line of a terminal on stderr; an empty text clears it."""
    from rocm_perf.text import clean

    print(f"\r\x1b[K{clean(text)}", end="", file=sys.stderr, flush=True)


def ready_streams() -> None:
    """Let streams that cannot encode a character print a substitute, and redirect closed ones to nowhere."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:  # in this order, opening a file reuses the closed descriptor
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))  # noqa: SIM115  (for good)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def forget(stream: IO[str]) -> None:
    """Discard the rest of the output, which nobody reads any more, so Python does not complain at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, stream.fileno())
    finally:
        os.close(nowhere)
