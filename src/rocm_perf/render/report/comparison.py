"""A comparison as Markdown, for a comment on a pull request: the answer and the checks first, long tables folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rocm_perf.model.results.comparison import Comparison
from rocm_perf.render.report.markdown import plain, section_lines
from rocm_perf.render.sections.comparison import basis_lines, comparison_sections, headline, title
from rocm_perf.render.sections.section import Section

_FOLDED = ("By GPU", "Three views of the difference", "Kernels", "Operators")
_WIDTH = 160  # columns: a page has room for intervals


def comparison_markdown(comparison: Comparison, top: int, sections: Sequence[str] = ()) -> str:
    """The whole comment, or the sections of it that are named."""
    return "\n".join(_lines(comparison, top, sections)).rstrip() + "\n"


def _lines(comparison: Comparison, top: int, sections: Sequence[str]) -> Iterator[str]:
    yield f"# {plain(title(comparison))}"
    yield ""
    yield f"**{plain(headline(comparison))}**"
    yield ""
    for text in basis_lines(comparison):
        yield f"{plain(text)}  "
    yield ""
    for section in comparison_sections(comparison, top, width=_WIDTH, bars=False, show=sections):
        yield from _section(section)


def _section(section: Section) -> Iterator[str]:
    if section.unavailable:
        yield f"{section.title}: {plain(section.unavailable)}."
        yield ""
    else:
        yield from _folded(section) if section.title in _FOLDED else section_lines(section)


def _folded(section: Section) -> Iterator[str]:
    heading, *lines = section_lines(section)
    yield f"<details><summary>{heading.lstrip('# ')}</summary>"
    yield ""
    yield from lines
    yield "</details>"
    yield ""
