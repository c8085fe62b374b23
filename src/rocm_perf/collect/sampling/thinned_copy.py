"""A thinned copy of a sample file, made a few rows at a time while the file itself grows on. It takes the place of the
file in one step once it has everything: a process that is killed before that leaves the file as it was. Standard
library only."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path

from rocm_perf.collect.sampling.sample_rows import Row, RowFormat, write_all, write_lines
from rocm_perf.collect.sampling.thinning import Grid, Thinner

_DRAFT = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC


@dataclass(frozen=True)
class Block:
    """What one sampler has written to a file, which may hold those of earlier ones."""

    start: int  # bytes before its header
    rows_start: int  # bytes before its first row
    format: RowFormat
    rows: int = 0


def draft_of(path: Path) -> Path:
    """Where the copy of a file is made: beside it, under a hidden name, which nobody takes for a recording."""
    file = Path(os.path.realpath(path))
    return file.with_name(f".{file.name}.thinning")


class ThinnedCopy:
    """The copy of a file whose last block becomes thinner: `block` is that of the copy."""

    def __init__(self, path: Path, original: Block, grid: Grid) -> None:
        self._path = path
        self._original = original
        self._thinner = Thinner(grid)
        self._source = path.open("rb")
        self._handle = os.open(draft_of(path), _DRAFT, 0o644)
        self.block = Block(original.start, original.start, replace(original.format, is_thinned=True))

    def begin(self, facts: Mapping[str, object]) -> None:
        """Copy what earlier samplers wrote, and write the header."""
        write_all(self._handle, self._source.read(self._original.start))
        header_bytes = write_lines(self._handle, self.block.format.header(facts))
        self.block = replace(self.block, rows_start=self.block.start + header_bytes)
        self._source.seek(self._original.rows_start)

    def advance(self, rows: int) -> bool:
        """Copy so many rows more, and return whether that was all."""
        lines = [line.decode().rstrip("\n") for line in islice(self._source, rows)]
        parsed = map(self._original.format.parsed, lines)
        self._write(chain.from_iterable(map(self._thinner.add, parsed)))
        return len(lines) < rows

    def replace(self) -> int:
        """Take the place of the file, and return the handle under which it is written on."""
        self._write(self._thinner.rest())
        os.fsync(self._handle)
        draft_of(self._path).replace(self._path)
        self._source.close()
        return self._handle

    def drop(self) -> None:
        """Leave the file as it is."""
        self._source.close()
        os.close(self._handle)
        draft_of(self._path).unlink(missing_ok=True)

    def _write(self, rows: Iterable[Row]) -> None:
        lines = [self.block.format.line(row) for row in rows]
        write_lines(self._handle, lines)
        self.block = replace(self.block, rows=self.block.rows + len(lines))
