"""A canvas of cells: dots finer than a cell, and texts over them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from rich.text import Text

from rocm_perf.render.drawings.characters import Characters, Dot

Cell = tuple[int, int]  # column from the left, row from the bottom


@dataclass(frozen=True)
class Canvas:
    """Dots and texts. A text hides the dots behind it."""

    columns: int
    rows: int
    characters: Characters
    _dots: dict[Cell, set[Dot]] = field(default_factory=lambda: defaultdict(set))
    _texts: dict[Cell, tuple[str, str]] = field(default_factory=dict)

    def dot(self, column: float, row: float) -> None:
        """Set the dot at a place in cells; one beyond the canvas is not drawn."""
        across, up = self.characters.dots
        if self._holds(int(column // 1), int(row // 1)):
            self._dots[int(column), int(row)].add((int(column % 1 * across), int(row % 1 * up)))

    def write(self, start: Cell, text: str, style: str = "") -> None:
        """Write a text from a cell to the right; what would stand beyond the canvas is not drawn."""
        for place, character in enumerate(text):
            self._texts[start[0] + place, start[1]] = character, style

    def is_free(self, start: Cell, length: int, *, of_dots: bool = True) -> bool:
        """Whether so many cells from this one are on the canvas and empty, or at least without a text."""
        cells = [(start[0] + place, start[1]) for place in range(length)]
        taken = self._texts.keys() | (self._dots.keys() if of_dots else set())
        return all(self._holds(*cell) and cell not in taken for cell in cells)

    def lines(self, style: str = "") -> list[Text]:
        """The canvas from top to bottom, its dots in a style."""
        return [
            Text.assemble(*(self._cell((column, row), style) for column in range(self.columns)))
            for row in range(self.rows - 1, -1, -1)
        ]

    def _cell(self, cell: Cell, style: str) -> tuple[str, str]:
        return self._texts.get(cell, (self.characters.cell(self._dots.get(cell, set())), style))

    def _holds(self, column: int, row: int) -> bool:
        return 0 <= column < self.columns and 0 <= row < self.rows
