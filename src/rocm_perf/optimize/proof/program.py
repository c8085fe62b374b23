"""The user's program as the loop runs it: quietly, within a time limit, in a folder of its choice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

from rocm_perf import user_program
from rocm_perf.bench.run import Finished
from rocm_perf.bench.run import run as run_command
from rocm_perf.collect.run.launch import Ended
from rocm_perf.errors import RocmPerfError
from rocm_perf.replay.run import signal_text

TIMEOUT_S = 600.0


class ProgramError(RocmPerfError):
    """The user's program does not run to its end."""

    exit_code = 5


@dataclass(frozen=True)
class Program:
    """A command, where it runs, and how long it may take."""

    argv: tuple[str, ...]
    folder: Path | None = None  # None: ours
    environment: Mapping[str, str] = field(default_factory=user_program.environment)
    timeout_s: float = TIMEOUT_S

    def finished(self, variables: Mapping[str, str] | None = None) -> tuple[Finished, bytes]:
        """How a run of it ended, and what it printed. `variables` are added to its environment."""
        printed: list[bytes] = []

        def listen(stdout: IO[bytes]) -> None:
            printed.append(stdout.read())

        environment = {**self.environment, **(variables or {})}
        end = run_command(self.argv, environment, self.timeout_s, listen, folder=self.folder)
        return end, b"".join(printed)

    def launched(self, argv: tuple[str, ...], environment: Mapping[str, str]) -> Ended:
        """The same for a capture, which has its own environment."""
        end, _ = replace(self, argv=argv, environment=environment).finished()
        return Ended(
            status=end.status,
            started_ns=end.begin_ns,
            wall_ns=end.wall_ns,
            stderr_tail=end.last_line,
            timed_out=end.timed_out,
        )

    def fault(self, status: int, *, timed_out: bool, last_line: str) -> str:
        """Why a run was no good; empty where it ended well."""
        if timed_out:
            return f"it did not end within {self.timeout_s:g} s"
        if not status:
            return ""
        how = signal_text(-status) if status < 0 else f"with exit code {status}"
        return f"it ended {how}{f': {last_line}' if last_line else ''}"

    def fault_of(self, end: Finished) -> str:
        """The same of a run that was not a capture."""
        return self.fault(end.status, timed_out=end.timed_out, last_line=end.last_line)

    def unfit(self, fault: str) -> ProgramError:
        """The error for an original that does not run."""
        what = f"{' '.join(self.argv)} fails before any change"
        return ProgramError(what, fault, "Make it run to its end first.")
