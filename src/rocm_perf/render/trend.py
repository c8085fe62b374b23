"""A series of values as a picture of characters: one line, or a few."""

from __future__ import annotations

from collections.abc import Collection, Sequence

_BLOCKS = "▁▂▃▄▅▆▇█"
_HEIGHT = 8


def sparkline(values: Sequence[float | None], width: int = 40) -> str:
    """The last values as one line of blocks, from the lowest to the highest of them; a dot where there is none."""
    shown = values[-width:]
    known = [value for value in shown if value is not None]
    return "".join("·" if value is None else _BLOCKS[_level(value, known, len(_BLOCKS))] for value in shown)


def plot(
    values: Sequence[float], labels: tuple[str, str], *, steps: Collection[int] = (), width: int = 60
) -> list[str]:
    """The last values from left to right, with the labels of the highest and the lowest, and a line where a step is."""
    first = max(0, len(values) - width)
    shown = values[first:]
    margin = max(map(len, labels))
    heads = {_HEIGHT - 1: labels[0], 0: labels[1]}
    return [
        f"{heads.get(row, ''):>{margin}} ┤{_row(shown, row, {step - first for step in steps})}".rstrip()
        for row in range(_HEIGHT - 1, -1, -1)
    ]


def _row(values: Sequence[float], row: int, steps: Collection[int]) -> str:
    return "".join(
        "•" if _level(value, values, _HEIGHT) == row else "┊" if place in steps else " "
        for place, value in enumerate(values)
    )


def _level(value: float, values: Sequence[float], count: int) -> int:
    """Which of so many levels between the lowest and the highest the value is on; the lowest if all are equal."""
    low, high = min(values), max(values)
    return 0 if high == low else min(count - 1, int((value - low) / (high - low) * count))
