"""Findings on the first screen: each in few words, then the first with how it is known, what to do, where to look."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from rich.text import Text

from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding
from rocm_perf.render.grid import squeezed
from rocm_perf.render.lines import MARKS, labelled, line, paragraph, uncut
from rocm_perf.render.sections.headline import FEW, few_words, whole_sentences, worth

_INDENT = "   "
_LABEL = 5  # the longest of why, worth, do, see
_TITLE = 2  # lines
_WORD = 0.6  # of the width: longer names of kernels leave no room for what is said of them
_NAME = 0.4  # of the width, in a title
_ONE_LINE = 140  # columns of a terminal: here all of a summary stands on one line, if it fits
_LONGEST = 240  # characters of what to do, and of a command; `--show findings` has all of them
_BETWEEN = "   "


@dataclass(frozen=True)
class Detail:
    """How much of the first finding is shown: reasons, and lines of each text; None: all of it, wrapped."""

    reasons: int
    lines: int | None = None


def finding_summary(
    number: int, finding: Finding, document: Document, width: int, *, is_alone: bool = False
) -> Iterator[Text]:
    """Yield what a finding is, what it is worth and what to do, in as few lines as hold them. What to do is left to the
    details of a finding that is alone."""
    title = squeezed_words(finding.title, int(_NAME * width))
    value = worth(finding, document)
    room = min(FEW, width - 2 * len(_INDENT) - _LABEL)
    remedy = "" if is_alone else few_words(finding.remedy, room)
    head = (f"{number}  ", MARKS[finding.severity][1])
    said = " | ".join(filter(None, (value, remedy)))
    if width >= _ONE_LINE and len(_INDENT) + len(title) + len(_BETWEEN) + len(said) <= width:
        yield line(head, (title, "bold"), _BETWEEN * bool(said), said)
        return
    first, *rest = paragraph(title, width, _TITLE, indent=_INDENT, style="bold")
    yield line(head, (first.plain.lstrip(), "bold"))
    yield from rest
    pairs = [pair for pair in (("worth", value), ("do", remedy)) if pair[1]]
    together = (
        [("worth" if value else "do", said)]
        if pairs and len(_INDENT) + _LABEL + 2 + len(said) <= width
        else pairs
    )
    for label, text in together:
        yield from _fact(label, text, width, 1)


def finding_details(
    number: str, finding: Finding, detail: Detail, width: int, *, is_alone: bool = False
) -> Iterator[Text]:
    """Yield how a finding is known, what to do and the command that shows more, behind its number."""
    head = number.ljust(len(_INDENT))
    for label, text in _details(finding, detail, width, is_alone=is_alone):
        for row in labelled(label, text, width - len(_INDENT), detail.lines, room=_LABEL):
            yield Text(head, no_wrap=True, overflow="ellipsis").append_text(row)
            head = _INDENT
    if 0 < len(finding.next_command) <= _LONGEST:
        yield from _command(finding.next_command, width)


def squeezed_words(text: str, room: int) -> str:
    """Return the text, each word in it at most this long."""
    return " ".join(squeezed(word, room) for word in text.split())


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


def _details(finding: Finding, detail: Detail, width: int, *, is_alone: bool) -> Iterator[tuple[str, str]]:
    if finding.evidence and detail.reasons:
        why = whole_sentences("; ".join(finding.evidence[: detail.reasons]), 2 * _LONGEST)
        yield "why", squeezed_words(why, int(_WORD * width))
    says_more = detail.lines != 1 and few_words(finding.remedy) != finding.remedy.rstrip(".")
    if finding.remedy and (is_alone or says_more):
        yield "do", whole_sentences(finding.remedy, _LONGEST)
