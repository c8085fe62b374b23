"""Where calls of ranges lie: calls with the same names around them have one path, and the paths form a tree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import polars as pl

SHOWN = 16  # names at each end of a path; those between are counted
_NUMBER = r"#\d+$"


class Path(NamedTuple):
    """A range with its place in the nesting."""

    name: str
    parent: int | None  # another path
    depth: int
    outer: tuple[str, ...]  # the outermost names, down to the path itself if it is not deep


def number_paths(nested: pl.DataFrame) -> tuple[list[Path], pl.Series]:
    """The distinct paths, a parent before its children, and for each call the number of its own; numbered steps share a
    name."""
    paths: list[Path] = []
    numbers: dict[tuple[int | None, str], int] = {}
    of_call: list[int] = []
    names = nested["name"].str.replace(_NUMBER, "").to_list()
    for name, around in zip(names, nested["parent"].to_list(), strict=True):
        key = (None if around is None else of_call[around], name)
        if key not in numbers:
            numbers[key] = len(paths)
            paths.append(_path(paths, *key))
        of_call.append(numbers[key])
    return paths, pl.Series("path", of_call, dtype=pl.UInt32)


def _path(paths: Sequence[Path], parent: int | None, name: str) -> Path:
    if parent is None:
        return Path(name=name, parent=None, depth=0, outer=(name,))
    above = paths[parent]
    outer = (*above.outer, name) if len(above.outer) < SHOWN else above.outer
    return Path(name=name, parent=parent, depth=above.depth + 1, outer=outer)


def names_of(paths: Sequence[Path], number: int) -> tuple[str, ...]:
    """The names from the outermost range down; of a deep path those at its ends."""
    path = paths[number]
    rest = path.depth + 1 - len(path.outer)
    inner: list[str] = []
    while len(inner) < min(rest, SHOWN) and path.parent is not None:
        inner.append(path.name)
        path = paths[path.parent]
    left_out = [f"({rest - SHOWN:,} more)"] if rest > SHOWN else []
    return (*path.outer, *left_out, *reversed(inner))


def in_order(paths: Sequence[Path], firsts: Sequence[int]) -> Iterable[int]:
    """Parents before children, siblings in the order of their first call."""
    children: dict[int | None, list[int]] = defaultdict(list)
    latest_first = sorted(
        range(len(paths)), key=lambda number: (firsts[number], paths[number].name), reverse=True
    )
    for number in latest_first:
        children[paths[number].parent].append(number)
    waiting = children[None]
    while waiting:
        number = waiting.pop()
        yield number
        waiting.extend(children[number])
