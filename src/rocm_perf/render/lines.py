"""Lines of a terminal: as wide as it is, and no more of them than planned."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich.console import Console, RenderableType
from rich.text import Text

from rocm_perf.model.finding import Severity

MARKS: dict[Severity, tuple[str, str]] = {
    "error": ("✗", "red"),
    "warning": ("!", "yellow"),
    "info": ("i", "blue"),
}

_TIED_PERCENT = "\u00a0%"  # a number and its sign stay on one line


def line(*parts: str | tuple[str, str]) -> Text:
    """One line, cut where the terminal ends. A part is plain, or has a style."""
    return Text.assemble(*(_plain(part) for part in parts), no_wrap=True, overflow="ellipsis")


def paragraph(
    text: str, width: int, most: int | None = None, *, indent: str = "", style: str = ""
) -> list[Text]:
    """A text over at most so many lines."""
    rows = textwrap.wrap(
        " ".join(text.split()).replace(" %", _TIED_PERCENT),
        width,
        initial_indent=indent,
        subsequent_indent=indent,
        max_lines=most,
        placeholder=" …",
        break_on_hyphens=False,
    )
    return [line((row.replace(_TIED_PERCENT, " %"), style)) for row in rows or [""]]


def labelled(label: str, text: str, width: int, most: int | None = None) -> list[Text]:
    """A text behind its label, which is bold."""
    first, *rest = paragraph(text, width, most, indent=" " * (len(label) + 2))
    return [line((label, "bold"), "  ", first.plain.lstrip()), *rest]


def marked(severity: Severity, text: str, width: int, most: int | None = None) -> list[Text]:
    """A text behind the mark of its severity."""
    mark, style = MARKS[severity]
    first, *rest = paragraph(text, width, most, indent="  ")
    return [line((mark, style), " ", first.plain.lstrip()), *rest]


def show(console: Console, block: RenderableType) -> None:
    """Print a block; a line that may not wrap is cut."""
    if isinstance(block, Text) and block.no_wrap:
        console.print(block, no_wrap=True, overflow="ellipsis", crop=True)
    else:
        console.print(block)


def height(blocks: Sequence[object]) -> int:
    """Lines of blocks, of which a table has one for each row and one for its headings."""
    return sum(getattr(block, "row_count", 0) + 1 for block in blocks)


def _plain(part: str | tuple[str, str]) -> str | tuple[str, str]:
    """Without the line ends and control characters that a recording may hold."""
    if isinstance(part, tuple):
        return _clean(part[0]), part[1]
    return _clean(part)


def _clean(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)
