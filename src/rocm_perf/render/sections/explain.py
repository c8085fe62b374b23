"""How the numbers of a table are made: in words, where a page would show it at a click."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from rocm_perf.model.quantity import Quantity
from rocm_perf.render.grid import GridColumn, Value
from rocm_perf.render.sections.section import Grid

_OPERATORS = re.compile(r"(?<=[\w)])([*/+])(?=[\w(])")


def explanations(grid: Grid, formulas: Mapping[str, str]) -> list[str]:
    """Return how each number of a table is made, column by column; `formulas` are those of the Document."""
    names = next((column.cells for column in grid.columns if not column.numeric and not column.bars), ())
    found = (
        text
        for column in grid.columns
        if column.numeric
        for text in _of_column(column, [*names] or [""] * len(column.cells), formulas)
    )
    return list(dict.fromkeys(found))


def _of_column(column: GridColumn, names: list[str], formulas: Mapping[str, str]) -> Iterator[str]:
    values = column.values or [None] * len(column.cells)
    for name, cell, value in zip(names, column.cells, values, strict=True):
        if isinstance(value, Quantity):
            yield f"{_of(column.heading, name)} {cell} = {_made(value)}"
        elif column.formula:
            yield f"{column.heading.strip()}: {formulas.get(column.formula, column.formula)}"


def _of(heading: str, name: str) -> str:
    """What a number is called: "busy, LDS:", or the name alone under a heading that says nothing."""
    if heading in ("value", "") and name:
        return f"{name.strip()}:"
    return f"{heading.strip()}, {name.strip()}:" if name else f"{heading.strip()}:"


def _made(value: Quantity) -> str:
    """A formula with its inputs, or why it has no value."""
    inputs = ", ".join(f"{name} = {_exact(each)}" for name, each in value.inputs.items())
    formula = _OPERATORS.sub(r" \1 ", value.formula)  # a line may end there
    parts = (formula, f"with {inputs}" if inputs else "", value.doubt or "", value.unavailable or "")
    return "; ".join(part for part in parts if part)


def _exact(value: Value) -> str:
    return f"{value:,}"
