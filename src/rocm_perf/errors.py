"""The errors a user can see. Each says what happened, why, and what to do next; the command line
prints it once and exits with its code (docs/exit-codes.md)."""

from __future__ import annotations


class RocmPerfError(Exception):
    """Something this package refuses to do, with the reason."""

    exit_code = 1

    def __init__(self, what: str, why: str = "", next_step: str = "") -> None:
        self.what = what
        self.why = why
        self.next_step = next_step
        super().__init__(str(self))

    def __reduce__(self) -> tuple[type[RocmPerfError], tuple[str, str, str]]:
        return type(self), (self.what, self.why, self.next_step)  # from one process to another

    def __str__(self) -> str:
        sentence = f"{self.what}: {self.why}" if self.why else self.what
        if not self.next_step:
            return sentence
        return f"{sentence.rstrip('.')}. {self.next_step}"


class UsageError(RocmPerfError):
    """The request itself does not make sense."""

    exit_code = 2


class SeveralRunsError(UsageError):
    """One run was asked for, and there are several; each is described by a line of its own."""

    def __init__(self, what: str, runs: tuple[str, ...], next_step: str) -> None:
        self.runs = runs
        super().__init__(what, "; ".join(runs), next_step)

    def __reduce__(self) -> tuple[type[RocmPerfError], tuple[str, tuple[str, ...], str]]:  # type: ignore[override]
        return type(self), (self.what, self.runs, self.next_step)


class EmptyCaptureError(RocmPerfError):
    """The input is fine, but nothing was recorded in it."""

    exit_code = 5


class InputError(RocmPerfError):
    """The input cannot be read."""

    exit_code = 6


class NotARecordingError(InputError):
    """The input is readable, but it is not what a profiler records: next to a recording it can be skipped."""


class SchemaError(RocmPerfError):
    """A table breaks its column contract: a defect in an adapter, not in the user's file."""

    exit_code = 6


class ToolAbsentError(RocmPerfError):
    """This machine lacks a program, library or device that is needed."""

    exit_code = 3


class NotSupportedError(RocmPerfError):
    """This machine cannot do what was asked."""

    exit_code = 4


class OutputError(RocmPerfError):
    """The result cannot be written."""

    exit_code = 6
