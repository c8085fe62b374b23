"""What was measured, one JSON object per line: each is on disk before the next is measured."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Row = dict[str, Any]
Rows = dict[tuple[str, str], Row]  # by the pair's name and the part: truth, or a recorder

TRUTH = "truth"
APART = "apart"  # the truth, from processes of their own


def append(path: Path, row: Row) -> None:
    """Add one line; one that a killed run left unfinished is ended first."""
    before = path.read_text() if path.exists() else ""
    with path.open("a") as file:
        file.write(("\n" if before and not before.endswith("\n") else "") + json.dumps(row) + "\n")


def latest(path: Path) -> Rows:
    """The last row of each part without an error; a line that a killed run left unfinished is passed over."""
    return {(row["pair"], row["part"]): row for row in _rows(path) if "error" not in row}


def failed(path: Path) -> Rows:
    """The last error of each part that never succeeded."""
    errors = {(row["pair"], row["part"]): row for row in _rows(path) if "error" in row}
    return {key: row for key, row in errors.items() if key not in latest(path)}


def _rows(path: Path) -> Iterator[Row]:
    for line in path.read_text().splitlines():
        try:
            row: Row = json.loads(line)
        except ValueError:
            continue
        yield row
