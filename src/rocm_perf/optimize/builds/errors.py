"""Why a source did not become a program."""

from __future__ import annotations

from rocm_perf.errors import RocmPerfError

_SHOWN_LINES = 8


class BuildError(RocmPerfError):
    """A build that failed; `complaint` holds the first lines of what the compiler said."""

    exit_code = 6

    def __init__(self, what: str, why: str = "", next_step: str = "", complaint: str = "") -> None:
        self.complaint = complaint
        super().__init__(what, why, next_step)


def first_complaint(text: str) -> str:
    """The line in which a compiler says what is wrong; the last line where none does."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = (line for line in lines if " error" in f" {line}" and "errors generated" not in line)
    return next(errors, lines[-1] if lines else "it said nothing")[:300]


def first_lines(text: str) -> str:
    """The first lines of a compiler's message."""
    lines = text.strip().splitlines()
    left_out = len(lines) - _SHOWN_LINES
    more = [f"({left_out} more lines)"] if left_out > 0 else []
    return "\n".join((*lines[:_SHOWN_LINES], *more))
