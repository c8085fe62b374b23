"""The kernels of two files side by side, in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import accumulate
from pathlib import PurePath

from rich.console import Console

from rocm_perf.arch.codeobject.comparison import QUANTITIES, CodeComparison, KernelPair, written
from rocm_perf.render.lines import paragraph, show
from rocm_perf.render.screen.terminal import View, section_blocks
from rocm_perf.render.sections.checks import checks_section
from rocm_perf.render.sections.section import Column, Columns, Section, code, grids, number, text
from rocm_perf.units import format_count, format_list

_BY_IMPORTANCE = ("spills", "scratch", "waves", "vgprs", "lds", "instructions", "agprs", "sgprs", "code")
_NAME_ROOM, _ARCH_ROOM = 20, 10  # columns of the terminal
_NAMES_LISTED = 4
_MIXES_SHOWN = 4


def print_kernel_comparison(comparison: CodeComparison, console: Console, top: int) -> None:
    """Print what differs, with at most `top` kernels."""
    width = console.width
    blocks = paragraph(_title(comparison), width, style="bold")
    for sentence in (*_lines(comparison.pairs), *(f"note: {note}" for note in comparison.notes)):
        blocks += paragraph(sentence, width)
    for block in blocks:
        show(console, block)
    for section in _sections(comparison, top, width):
        console.print()
        for part in section_blocks(section, View(top=top, width=width)):
            show(console, part)


def _title(comparison: CodeComparison) -> str:
    """The names of the files, or their paths where these are the same."""
    base, new = PurePath(comparison.base), PurePath(comparison.new)
    return f"{base.name} -> {new.name}" if base.name != new.name else f"{base} -> {new}"


def _lines(pairs: Sequence[KernelPair]) -> Iterator[str]:
    both = [pair for pair in pairs if pair.base and pair.new]
    differing = [pair for pair in both if pair.differs]
    verb = "differs" if len(differing) == 1 else "differ"
    yield f"{format_count(len(both), 'kernel')} in both files, {len(differing):,} of them {verb}."
    spilling = sum((_more(pair, "spills") or 0) > 0 for pair in both)
    if spilling:
        yield f"{format_count(spilling, 'kernel')} {'spills' if spilling == 1 else 'spill'} more registers than before."
    slower = sum((_more(pair, "waves") or 0) < 0 for pair in both)
    if slower:
        yield f"{format_count(slower, 'kernel')} can have fewer waves in flight than before."
    for fate, heading in (("appeared", "Only in the new file"), ("vanished", "Only in the old file")):
        if names := [pair.name for pair in pairs if pair.match == fate]:
            yield f"{heading}: {format_list(names, _NAMES_LISTED)}"


def _sections(comparison: CodeComparison, top: int, width: int) -> Iterator[Section]:
    if checks := checks_section(comparison.checks):
        yield checks
    differing = [pair for pair in comparison.pairs if pair.base and pair.new and pair.differs]
    if differing:
        columns, left_out = _columns(differing[:top], width)
        notes = (f"on a wider terminal also {', '.join(left_out)}",) if left_out else ()
        yield Section("What differs", grids=grids("", differing, columns, top), notes=notes)
    for pair in differing[:_MIXES_SHOWN]:
        if mix := _mix(pair):
            yield mix


def _columns(pairs: Sequence[KernelPair], width: int) -> tuple[list[Column[KernelPair]], list[str]]:
    """The quantities that differ somewhere, as far as the line has room for them, and the names of the others."""
    names = [name for name in _BY_IMPORTANCE if any(_more(pair, name) for pair in pairs)]
    widths = [max(len(name), *(len(_arrow(pair, name)) for pair in pairs)) + 2 for name in names]
    several = len({pair.arch for pair in pairs}) > 1
    room = width - _NAME_ROOM - several * _ARCH_ROOM
    fitting = sum(edge <= room for edge in accumulate(widths))
    columns = [number(name, partial(_arrow, quantity=name)) for name in names[:fitting]]
    if several:
        columns.append(text("for", lambda pair: pair.arch))
    columns.append(
        code("kernel", lambda pair: pair.name.removeprefix("void ").partition("(")[0] or pair.name)
    )
    return columns, names[fitting:]


def _more(pair: KernelPair, quantity: str) -> float | None:
    base, new = (QUANTITIES[quantity](side) for side in (pair.base, pair.new))
    return None if base is None or new is None else new - base


def _arrow(pair: KernelPair, quantity: str) -> str:
    base, new = (written(QUANTITIES[quantity](side), quantity) for side in (pair.base, pair.new))
    return base if base == new else f"{base} -> {new}"


def _mix(pair: KernelPair) -> Section | None:
    """The instructions of both by class, if both were disassembled and they differ."""
    if not (pair.base and pair.new and pair.base.code and pair.new.code):
        return None
    before, after = pair.base.code.mix.whole.classes, pair.new.code.mix.whole.classes
    kinds = [str(kind) for kind in dict.fromkeys((*before, *after))]
    base, new = ({str(kind): count for kind, count in side.items()} for side in (before, after))
    changed = sorted(
        (kind for kind in kinds if base.get(kind, 0) != new.get(kind, 0)),
        key=lambda kind: -abs(new.get(kind, 0) - base.get(kind, 0)),
    )
    columns: Columns[str] = (
        number("difference", lambda kind: f"{new.get(kind, 0) - base.get(kind, 0):+,}"),
        number("base", lambda kind: f"{base.get(kind, 0):,}"),
        number("new", lambda kind: f"{new.get(kind, 0):,}"),
        text("instructions in the code, not weighted by execution", lambda kind: kind),
    )
    return Section(pair.name, grids=grids("", changed, columns)) if changed else None
