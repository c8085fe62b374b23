"""What a ring holds at the moment when the user asks for it: the tracer's segments, kept beside the run. The program
goes on.

The tracer writes `PREFIX.NNNNNN.rptrace` and deletes the oldest as it goes; the one with the highest number is still
being written."""

from __future__ import annotations

import os
import re
import shutil
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from rocm_perf.collect.run.layout import read_record, write_record
from rocm_perf.errors import OutputError
from rocm_perf.model.collection import SNAPSHOT, PassRecord
from rocm_perf.units import format_bytes

SNAPSHOT_SIGNAL = signal.SIGUSR1
_SEGMENT = re.compile(r"(.+)\.(\d{6,})\.rptrace")


@dataclass
class Snapshots:
    """Takes snapshots of one run of the application."""

    home: Path  # the folder of this process of rocm-perf, with its record
    running: PassRecord  # the run, as it is known before its end
    last_s: float
    say: Callable[[str], None]
    shown: Path | None = None  # what the folder is called, if that is not its path

    def announce(self) -> None:
        """Say how to ask for one."""
        self.say(f"kill -USR1 {os.getpid()} keeps the last {self.last_s:g} s; the program goes on")

    def take(self) -> None:
        """Keep the segments that are there now, and say how to analyse them. Whatever fails is one line."""
        folder = _free_folder(self.home)
        try:
            segments = _segments(self.home / self.running.folder)
            kept = [_keep(file, self.home, folder, is_open=is_open) for file, is_open in segments]
            sizes = [size for size in kept if size is not None]
            if not sizes:
                self.say("there is nothing to keep yet: the ring is empty")
                return
            self._write_record(folder)
        except (OSError, OutputError) as error:
            shutil.rmtree(folder, ignore_errors=True)
            self.say(
                f"the snapshot cannot be kept: {getattr(error, 'strerror', None) or error}; the program goes on"
            )
            return
        self.say(
            f"kept {format_bytes(sum(sizes))}: rocm-perf analyze {(self.shown or self.home) / folder.name}"
        )

    def _write_record(self, folder: Path) -> None:
        """The record of the run as if it had ended now: without it nobody knows what the files are."""
        record = read_record(self.home)
        if record is not None:
            note = f"{folder.name}: the last {self.last_s:g} s at the moment of a signal; the program went on"
            write_record(
                folder, replace(record, state="done", passes=(self.running,), notices=(*record.notices, note))
            )


def _free_folder(home: Path) -> Path:
    number = 1
    while (folder := home / f"{SNAPSHOT}{number}").exists():
        number += 1
    return folder


def _segments(folder: Path) -> Iterator[tuple[Path, bool]]:
    """The segments of every process, and whether each is still being written."""
    rings: dict[tuple[Path, str], list[tuple[int, Path]]] = {}
    for file in sorted(folder.rglob("*.rptrace")):
        if match := _SEGMENT.fullmatch(file.name):
            rings.setdefault((file.parent, match.group(1)), []).append((int(match.group(2)), file))
    for members in rings.values():
        newest = max(members)
        yield from ((file, (number, file) == newest) for number, file in members)


def _keep(file: Path, home: Path, folder: Path, *, is_open: bool) -> int | None:
    """Keep one segment under the same path, and return its size; None if the ring has dropped it meanwhile. What is
    complete needs no second copy on the disk."""
    target = folder / file.relative_to(home)
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        if is_open or not _linked(file, target):
            shutil.copyfile(file, target)
    except FileNotFoundError:
        return None
    return target.stat().st_size


def _linked(file: Path, target: Path) -> bool:
    """Whether the file has a second name now; some file systems have none."""
    try:
        target.hardlink_to(file)
    except FileNotFoundError:
        raise
    except OSError:
        return False
    return True
