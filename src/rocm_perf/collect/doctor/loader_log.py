"""What glibc's dynamic loader writes with LD_DEBUG=files: which libraries each process loads, at its start and later.

A log is named after a process, and goes on when that process executes another program; children that were only forked
write into their parent's, under their own number."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePath

_MOST_BYTES = 64 << 20  # far more than any program writes: a line for each library and its relatives
_LINE = re.compile(r"\s*(\d+):\s+(.*)")
_INIT = re.compile(r"calling init: (.+)")
_PROGRAM = re.compile(r"(?:initialize program|transferring control): (.+)")
_ASKED = re.compile(r"file=(.+?) \[\d+\];  (needed|dynamically loaded) by (.+?) \[\d+\]")


@dataclass
class Image:
    """One program in one process."""

    pid: int
    program: str = ""
    paths: list[str] = field(default_factory=list)  # of the libraries, in their order
    names: set[str] = field(default_factory=set)  # of the files that were asked for


def log_variables(prefix: Path) -> dict[str, str]:
    """What makes the loader of a program and of its children write logs named PREFIX.PID."""
    return {"LD_DEBUG": "files", "LD_DEBUG_OUTPUT": str(prefix)}


def read_logs(prefix: Path) -> list[Image]:
    """Every program that was started, in the order of process numbers."""
    images: list[Image] = []
    for file in sorted(prefix.parent.glob(f"{prefix.name}.*"), key=lambda file: int(file.suffix[1:])):
        with file.open(encoding="utf-8", errors="replace") as stream:
            images += images_in(stream.read(_MOST_BYTES).splitlines())
    return images


def images_in(lines: Iterable[str]) -> list[Image]:
    """The programs in the lines of one log."""
    current: dict[int, Image] = {}
    images: list[Image] = []

    def begin(image: Image) -> Image:
        current[image.pid] = image
        images.append(image)
        return image

    first: int | None = None
    for pid, text in _entries(lines):
        first = pid if first is None else first
        image = current.get(pid) or begin(_forked(current.get(first), pid))
        if match := _ASKED.fullmatch(text):
            file, how, asking = match.groups()
            if how == "needed" and image.program and PurePath(asking).name not in image.names:
                image = begin(
                    Image(pid)
                )  # not one of its libraries: this process has executed another program
            image.names.add(PurePath(file).name)
        elif match := _PROGRAM.fullmatch(text):
            image.program = match.group(1)
        elif match := _INIT.fullmatch(text):
            image.paths.append(match.group(1))
    return images


def _entries(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    for line in lines:
        if match := _LINE.fullmatch(line.rstrip()):
            yield int(match.group(1)), match.group(2)


def _forked(parent: Image | None, pid: int) -> Image:
    """A process that has just appeared: what it was forked from, or nothing."""
    if parent is None:
        return Image(pid)
    return Image(pid, parent.program, list(parent.paths), set(parent.names))
