"""`rocm-perf launch` as a process with the fake tools on its PATH, and what it left."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.fake_tools import fake_path

PROGRAM = Path(__file__).parent / "rank_program.py"
TIME_TO_WRITE = {"OMPI_MCA_odls_base_sigkill_timeout": "10"}  # seconds, which mpirun always waits
_PATIENCE_S = 240.0


@dataclass
class Launch:
    """One launch, under way or ended."""

    folder: Path  # of the run
    process: subprocess.Popen[str]

    def finish(self) -> Finished:
        """Wait until it has ended."""
        output, errors = self.process.communicate(timeout=_PATIENCE_S)
        return Finished(self.folder, self.process.returncode, output, errors)

    def number(self) -> str:
        """The number of its job, once it has one."""
        file = self.folder / "launch" / "job-number"
        _wait_for(lambda: file.exists() and file.read_text().endswith("\n"))
        return file.read_text().strip()

    def started(self, ranks: int) -> None:
        """Wait until so many ranks run the program."""
        _wait_for(lambda: sum(file.read_text().count(" is here") for file in self._printed()) >= ranks)

    def interrupt(self) -> None:
        """As Ctrl-C does."""
        self.process.send_signal(signal.SIGINT)

    def _printed(self) -> list[Path]:
        return list(self.folder.glob("launch/job-*.out"))


@dataclass(frozen=True)
class Finished:
    """A launch that has ended."""

    folder: Path
    code: int
    output: str
    errors: str

    @property
    def record(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "launch" / "rocm-perf-launch.json").read_text())
        return found

    @property
    def ranks(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.record["ranks"]
        return rows

    @property
    def databases(self) -> dict[int, int]:
        """How many files of the profiler each rank left."""
        return {row["rank"]: len(list((self.folder / row["folder"]).rglob("*.db"))) for row in self.ranks}


def launch(launcher: str, folder: Path, *arguments: str, behaviour: str, **variables: str) -> Launch:
    """Start one; its run lies in `folder`."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    own = (launcher, "-d", str(folder.parent), "--run-id", folder.name, *arguments)
    process = subprocess.Popen(
        [sys.executable, "-m", "rocm_perf", "launch", *own, "--", sys.executable, str(PROGRAM), behaviour],
        env={**fake_path(folder.parent / f"tools-{folder.name}"), **variables},
        cwd=folder.parent,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    return Launch(folder, process)


def _wait_for(happened: Any) -> None:
    end = time.monotonic() + _PATIENCE_S
    while not happened():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.1)
