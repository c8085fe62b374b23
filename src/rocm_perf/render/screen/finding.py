"""A finding on the first screen: what it is, how it is known, what it is worth, what to do, where to look closer."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from rich.text import Text

from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding
from rocm_perf.render.grid import squeezed
from rocm_perf.render.lines import MARKS, labelled, line, paragraph, uncut
from rocm_perf.render.sections.headline import worth

_INDENT = "   "
_LABEL = 5  # the longest of why, worth, do, see
_NAMED = 2  # lines of the title of a finding that is only named
_WORD = 0.6  # of the width: longer names of kernels leave no room for what is said of them


@dataclass(frozen=True)
class Detail:
    """How much of each finding is shown; None: all of it, wrapped."""

    reasons: int
    lines: int | None = None


def finding_lines(
    number: int, finding: Finding, document: Document, detail: Detail, width: int
) -> Iterator[Text]:
    """The lines of one finding, its title behind its number."""
    yield from _title(number, finding, width, detail.lines)
    for label, text in _facts(finding, document, detail.reasons, width):
        yield from _fact(label, text, width, detail.lines)
    if finding.next_command:
        yield from _command(finding.next_command, width)


def finding_named(number: int, finding: Finding, document: Document, width: int) -> Iterator[Text]:
    """What a finding is, and what it is worth."""
    yield from _title(number, finding, width, _NAMED)
    if value := worth(finding, document):
        yield from _fact("worth", value, width, 1)


def _title(number: int, finding: Finding, width: int, lines: int | None) -> Iterator[Text]:
    title = _squeezed_words(finding.title, width)
    first, *rest = paragraph(title, width, lines, indent=_INDENT, style="bold")
    yield line((f"{number}  ", MARKS[finding.severity][1]), (first.plain.lstrip(), "bold"))
    yield from rest


def _squeezed_words(text: str, width: int) -> str:
    return " ".join(squeezed(word, int(_WORD * width)) for word in text.split())


def _fact(label: str, text: str, width: int, lines: int | None) -> Iterator[Text]:
    for row in labelled(label, text, width - len(_INDENT), lines, room=_LABEL):
        yield Text(_INDENT, no_wrap=True, overflow="ellipsis").append_text(row)


def _command(command: str, width: int) -> Iterator[Text]:
    """A command to copy, continued on further lines where it is too long."""
    head = _INDENT + "see".ljust(_LABEL + 2)
    first, *more = textwrap.wrap(
        command,
        width - 2,
        initial_indent=head,
        subsequent_indent=2 * _INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )
    ends = [" \\"] * len(more) + [""]
    yield uncut((head, "bold"), first[len(head) :] + ends[0])
    for row, end in zip(more, ends[1:], strict=True):
        yield uncut(row + end)


def _facts(finding: Finding, document: Document, reasons: int, width: int) -> Iterator[tuple[str, str]]:
    if finding.evidence and reasons:
        yield "why", _squeezed_words("; ".join(finding.evidence[:reasons]), width)
    if value := worth(finding, document):
        yield "worth", value
    if finding.remedy:
        yield "do", finding.remedy
