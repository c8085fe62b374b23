"""The counters of a chip in a terminal: block by block, one line each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rocm_perf.arch.counter_table import Block
from rocm_perf.arch.counters import Counter, Definitions


def print_counters(
    chip: Definitions,
    shown: Sequence[Counter],
    blocks: Mapping[str, Block],
    console: Console,
    *,
    formulas: bool,
) -> None:
    """Print a heading, the derived counters and one table per block; with `formulas`, how each is computed."""
    console.print(Text(heading(chip)))
    if chip.note:
        console.print(Text(f"note: {chip.note}", style="yellow"))
    width = max((len(counter.name) for counter in shown), default=0)
    for title, group in _groups(shown, blocks):
        console.print()
        console.print(title)
        console.print(_table(group, width, formulas=formulas))


def heading(chip: Definitions) -> str:
    """How many counters the chip has, and which ROCm release defines them."""
    derived = sum(counter.derived for counter in chip.counters.values())
    hardware = len(chip.counters) - derived
    return f"{chip.gfx}: {hardware} hardware counters, {derived} derived (as defined by ROCm {chip.rocm})"


def slots(block: Block) -> str:
    """How many counters of the block one pass can record."""
    return f"{block.slots} per pass" + (", assumed" if block.assumed else "")


def spaced(formula: str) -> str:
    """The formula with blanks around its operators, where a line may break."""
    return re.sub(r"(?<=[\w)])([-+/])(?=[\w(])", r" \1 ", formula)


def _groups(shown: Sequence[Counter], blocks: Mapping[str, Block]) -> Iterator[tuple[Text, list[Counter]]]:
    if group := [counter for counter in shown if counter.derived]:
        yield Text.assemble(("derived", "bold"), "  computed from hardware counters"), group
    for name, block in blocks.items():
        if group := [counter for counter in shown if counter.block == name]:
            yield Text.assemble((name, "bold"), f"  {block.title}, {slots(block)}"), group


def _table(group: Sequence[Counter], width: int, *, formulas: bool) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False, expand=True)
    table.add_column(no_wrap=True, min_width=width, overflow="ellipsis")
    table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    for counter in group:
        formula = "" if counter.expression is None else f"=\u00a0{spaced(str(counter.expression))}"
        table.add_row(Text(counter.name), Text(counter.description or formula))
        if formulas and formula:
            table.add_row("", Text(formula, style="dim", overflow="fold", no_wrap=False))
    return table
