"""Lines of a terminal: as wide as it is, and no more of them than planned."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from rich.console import Console, RenderableType
from rich.markup import escape
from rich.text import Text

from rocm_perf.model.finding import Severity
from rocm_perf.text import clean

MARKS: dict[Severity, tuple[str, str]] = {
    "error": ("✗", "red"),
    "warning": ("!", "yellow"),
    "info": ("i", "blue"),
}

_TIED_PERCENT = "\u00a0%"  # a number and its sign stay on one line


def line(*parts: str | tuple[str, str]) -> Text:
    """One line, cut where the terminal ends. A part is plain, or has a style."""
    return Text.assemble(*(_plain(part) for part in parts), no_wrap=True, overflow="ellipsis")


def uncut(*parts: str | tuple[str, str]) -> Text:
    """One line, however long, for a command or a path to copy."""
    return Text.assemble(*(_plain(part) for part in parts), no_wrap=True, overflow="ignore")


def paragraph(
    text: str, width: int, most: int | None = None, *, indent: str = "", style: str = ""
) -> list[Text]:
    """A text wrapped to the width, on `most` lines at most."""
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


def labelled(label: str, text: str, width: int, most: int | None = None, *, room: int = 0) -> list[Text]:
    """A text behind its bold label, which takes at least `room` columns."""
    padded = label.ljust(room)
    first, *rest = paragraph(text, width, most, indent=" " * (len(padded) + 2))
    return [line((padded, "bold"), "  ", first.plain.lstrip()), *rest]


def facts(pairs: Iterable[tuple[str, str]], width: int) -> list[Text]:
    """Texts in a column behind their labels; a repeated label is shown once."""
    listed = list(pairs)
    room = max((len(label) for label, _ in listed), default=0)
    before = ["", *(label for label, _ in listed)]
    return [
        row
        for last, (label, text) in zip(before, listed, strict=False)
        for row in labelled("" if label == last else label, text, width, room=room)
    ]


def verdict(answer: str, style: str, text: str, width: int) -> list[Text]:
    """The answer, in its style, and what it means."""
    first, *rest = paragraph(f"{answer}{text}", width)
    return [line((first.plain[: len(answer)], style), first.plain[len(answer) :]), *rest]


def marked(severity: Severity, text: str, width: int, most: int | None = None) -> list[Text]:
    """A text behind the mark of its severity."""
    mark, style = MARKS[severity]
    first, *rest = paragraph(text, width, most, indent="  ")
    return [line((mark, style), " ", first.plain.lstrip()), *rest]


def show(console: Console, block: RenderableType) -> None:
    """Print a block; a line that may not wrap is cut, unless it is to stay whole."""
    if isinstance(block, Text) and block.overflow == "ignore":
        console.print(block, soft_wrap=True)
    elif isinstance(block, Text) and block.no_wrap:
        console.print(block, no_wrap=True, overflow="ellipsis", crop=True)
    else:
        console.print(block)


def height(blocks: Sequence[object]) -> int:
    """How many lines the blocks take; a table takes one per row and one for its headings."""
    return sum(getattr(block, "row_count", 0) + 1 for block in blocks)


def _plain(part: str | tuple[str, str]) -> str | tuple[str, str]:
    """The part without line ends and control characters, which a recording may contain."""
    if isinstance(part, tuple):
        return clean(part[0]), part[1]
    return clean(part)


def marked_up(text: str) -> str:
    """A stranger's text among rich's markup: without anything that a terminal or rich would obey."""
    return escape(clean(text))
