"""The cells of the page's tables: the text as everywhere, the number behind it, and what explains that number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from markupsafe import Markup

from rocm_perf.model.quantity import Quantity
from rocm_perf.render.grid import GridColumn, Value
from rocm_perf.render.sections.section import Grid, legend
from rocm_perf.render.use_bars import MEANINGS, bar_picture, shown_parts, swatch
from rocm_perf.text import clean, compact_json

_TAIL = (
    16  # characters of an identifier that stay when it is cut: instances of one kernel differ at their end
)
_LONG = 48


@dataclass(frozen=True)
class Cell:
    """One cell. `value` is the number as `--json` has it, `explanation` the place of its explanation in the page."""

    text: str
    value: str | None = None
    explanation: int | None = None
    whole: str = ""  # an identifier in full, where the text is shorter
    drawn: Markup | None = None  # what stands in the place of the text

    @property
    def indent(self) -> int:
        """How deep it stands in a tree: the pairs of blanks that it begins with."""
        return (len(self.text) - len(self.text.lstrip(" "))) // 2

    @property
    def parts(self) -> tuple[str, str]:
        """An identifier as what may be cut, and the end that always stays."""
        name = self.text.strip()
        return (name, "") if len(name) <= _LONG else (name[:-_TAIL], name[-_TAIL:])


@dataclass(frozen=True)
class Table:
    """A grid, row by row."""

    title: str
    columns: tuple[GridColumn, ...]
    rows: tuple[tuple[Cell, ...], ...]
    left_out: int
    legend: str = ""  # what the columns show
    key: tuple[tuple[Markup, str], ...] = ()  # what the parts of bars mean
    entire: bool = False  # it neither sorts nor hides rows


@dataclass
class Explanations:
    """What numbers say about themselves, each explanation once, in the order of the page."""

    formulas: Mapping[str, str]
    entries: list[dict[str, object]] = field(default_factory=list)
    _places: dict[bytes, int] = field(default_factory=dict)

    def table(self, grid: Grid, topic: str) -> Table:
        """A grid of a topic's section, with every number explained."""
        columns = [list(self._cells(column, topic)) for column in grid.columns]
        parts = shown_parts(bar for column in grid.columns for bar in column.bars)
        return Table(
            title=grid.title,
            columns=grid.columns,
            rows=tuple(zip(*columns, strict=True)),
            left_out=grid.left_out,
            legend=legend(grid),
            key=tuple((Markup(swatch(part)), MEANINGS[part]) for part in parts),
        )

    def place(self, value: Value, formula: str, topic: str) -> int | None:
        """Where the explanation of a number stands; None where there is nothing to say."""
        entry = self._entry(value, formula)
        if not entry:
            return None
        entry["topic"] = topic
        place = self._places.setdefault(compact_json(entry), len(self.entries))
        if place == len(self.entries):
            self.entries.append(entry)
        return place

    def _cells(self, column: GridColumn, topic: str) -> Iterator[Cell]:
        if column.bars:
            for bar in column.bars:
                busy = None if bar is None else compact_json(bar.busy).decode()
                yield Cell("", value=busy, drawn=Markup(bar_picture(bar)))
            return
        values = column.values or [None] * len(column.cells)
        wholes = column.wholes or [""] * len(column.cells)
        for text, value, whole in zip(column.cells, values, wholes, strict=True):
            bare = value.value if isinstance(value, Quantity) else value
            place = self.place(value, column.formula, topic) if column.numeric and text.strip() else None
            written = None if bare is None else compact_json(bare).decode()
            yield Cell(text, value=written, explanation=place, whole=whole if whole != text else "")

    def _entry(self, value: Value, formula: str) -> dict[str, object]:
        if isinstance(value, Quantity):
            entry = {
                "formula": value.formula,
                "unit": value.unit,
                "inputs": [(clean(name), exact(each)) for name, each in value.inputs.items()],
                "doubt": value.doubt,
                "unavailable": value.unavailable,
            }
        else:
            entry = {"formula": self.formulas.get(formula, formula)}
        return {key: each for key, each in entry.items() if each}


def exact(value: float) -> str:
    """A number with all its digits, grouped by thousands."""
    return f"{value:,}"
