"""What `optimize` did as one HTML file: the answer, every attempt, which gate stopped it, the change."""

from __future__ import annotations

from rocm_perf.model.results.optimize import Optimization
from rocm_perf.render.page.cells import Explanations
from rocm_perf.render.page.templates import filled, inert
from rocm_perf.render.page.views import View
from rocm_perf.render.sections.optimization import basis_facts, headline, optimization_sections
from rocm_perf.render.sections.section import Section
from rocm_perf.version import __version__


def optimization_page(result: Optimization) -> str:
    """The optimisation as HTML."""
    explanations = Explanations({})
    return filled(
        "optimization.html",
        producer=f"rocm-perf {__version__}",
        title=f"{result.kernel} of {result.source}",
        headline=headline(result),
        links=(),
        facts=tuple(basis_facts(result)),
        views=[_view(section, explanations) for section in optimization_sections(result)],
        ledger=[(attempt, _lines(attempt.patch)) for attempt in result.attempts],
        diff=_lines(result.diff),
        explanations=inert(explanations.entries),
    )


def _view(section: Section, explanations: Explanations) -> View:
    name = section.title.lower().replace(" ", "-")
    return View(name, section, tuple(explanations.table(grid, name) for grid in section.grids))


def _lines(diff: str) -> tuple[tuple[str, str], ...]:
    """The lines of a diff, each with what it does."""
    kinds = {"+": "came", "-": "went", "@": "where"}
    return tuple((kinds.get(line[:1], "same"), line) for line in diff.splitlines())
