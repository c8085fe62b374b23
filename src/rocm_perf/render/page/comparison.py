"""Two sides of runs as one HTML file: the answer, where the difference comes from, what is matched, what was found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from markupsafe import Markup

from rocm_perf.model.results.comparison import Comparison, FindingChange, Side
from rocm_perf.model.results.timeline import Timeline
from rocm_perf.render.figures.figure import NARROW, WIDE, Draw, Figure, in_page
from rocm_perf.render.figures.waterfall import intervals_figure, waterfall_figure
from rocm_perf.render.page.cells import Explanations
from rocm_perf.render.page.payload import payload
from rocm_perf.render.page.templates import Link, filled, inert
from rocm_perf.render.page.views import View
from rocm_perf.render.sections.comparison import basis_lines, comparison_sections, headline, pace, title
from rocm_perf.render.sections.section import Column, Section, code, count, grids, number, text, time
from rocm_perf.units import format_ns
from rocm_perf.version import __version__

ROWS = 300  # of each list; `--json` has all
_WIDE_COLUMNS = 200  # room for every column
_FATES = {"went": "Gone", "came": "New", "stayed": "On both sides"}


@dataclass(frozen=True)
class Wall:
    """One side at the top of the page."""

    title: str
    label: str  # empty where it is the title
    time: str
    runs: str


def comparison_page(
    comparison: Comparison, timelines: Sequence[Timeline | None] = (), links: Sequence[Link] = ()
) -> str:
    """The comparison as HTML. `timelines` are those of the middle run of each side; `links` lead to other pages of a
    server."""
    explanations = Explanations({})
    sections = comparison_sections(comparison, ROWS, width=_WIDE_COLUMNS, bars=False, show=("all",))
    views = [_view(section, comparison, explanations) for section in (*sections, _runs(comparison))]
    return filled(
        "comparison.html",
        producer=f"rocm-perf {__version__}",
        title=title(comparison),
        headline=headline(comparison),
        walls=_walls(comparison),
        pace=_pace(comparison),
        verdict=comparison.wall.verdict if comparison.setting is None else "no difference shown",
        basis=tuple(basis_lines(comparison)),
        fates=tuple(_fates(comparison)),
        views=views,
        intervals=_drawn(intervals_figure, comparison),
        timelines=[payload({}, one) for one in timelines] if all(timelines) else (),
        aligned=_alignment(comparison),
        links=links,
        explanations=inert(explanations.entries),
    )


def _walls(comparison: Comparison) -> tuple[Wall, ...]:
    sides = zip(
        comparison.side_names,
        (comparison.base, comparison.new),
        (comparison.wall.base, comparison.wall.new),
        strict=True,
    )
    return tuple(
        Wall(
            title=name,
            label="" if side.label == name else side.label,
            time="unknown" if wall is None else format_ns(wall),
            runs=f"of a {comparison.per}, "
            + ("one run" if len(side.runs) == 1 else f"median of {len(side.runs)} runs"),
        )
        for name, side, wall in sides
    )


def _pace(comparison: Comparison) -> tuple[str, str]:
    """How much faster, and how sure that is."""
    wall = comparison.wall
    if comparison.wall_unavailable or wall.ratio is None:
        return "unknown", comparison.wall_unavailable or wall.no_interval or ""
    faster, interval = pace(wall)
    if wall.verdict == "no difference shown" and wall.interval:
        return "no difference shown", interval
    return faster, interval or wall.no_interval or ""


def _fates(comparison: Comparison) -> Iterator[tuple[str, str, list[FindingChange]]]:
    """Findings that went, came and stayed."""
    for fate, name in _FATES.items():
        changes = [finding for finding in comparison.findings if finding.fate == fate]
        if changes:
            yield fate, name, changes


def _view(section: Section, comparison: Comparison, explanations: Explanations) -> View:
    name = section.title.lower().replace(" ", "-")
    tables = tuple(explanations.table(grid, name) for grid in section.grids)
    if section.title != "Where the difference comes from":
        return View(name, section, tables)
    draw = partial(waterfall_figure, sides=comparison.side_names)
    return View(name, section, tables, figure=_drawn(draw, comparison.finest_waterfall))


def _drawn(draw: Draw, subject: object) -> Markup | None:
    """The figure for wide and for narrow screens; None where there is nothing to draw."""
    wide, narrow = draw(subject, WIDE), draw(subject, NARROW)
    if not isinstance(wide, Figure) or not isinstance(narrow, Figure):
        return None
    return Markup(in_page(wide, "on-wide") + in_page(narrow, "on-narrow"))


def _alignment(comparison: Comparison) -> str:
    """What stands above each other in the two timelines."""
    where = "their first steps" if comparison.per == "step" else "the part that is judged"
    several = max(len(comparison.base.runs), len(comparison.new.runs)) > 1
    whose = "The middle run of each side" if several else "Both runs"
    return f"{whose}, aligned by {where}; they move together."


@dataclass(frozen=True)
class _RunRow:
    """A run of either side."""

    side: str
    label: str
    tool: str
    wall_ns: float | None
    steps: int
    kernel_ns: float
    dispatches: float


def _runs(comparison: Comparison) -> Section:
    """What was measured in each run."""
    before, after = comparison.side_names
    rows = [*_run_rows(before, comparison.base), *_run_rows(after, comparison.new)]
    columns: tuple[Column[_RunRow], ...] = (
        text("side", lambda row: row.side),
        number(f"wall of a {comparison.per}", lambda row: time(row.wall_ns)),
        number("steps", lambda row: count(row.steps) if row.steps else "-"),
        number(f"kernels of a {comparison.per}", lambda row: f"{row.dispatches:,.6g}"),
        number("kernel time", lambda row: time(row.kernel_ns)),
        text("recorded by", lambda row: row.tool),
        code("run", lambda row: row.label),
    )
    return Section("Runs", grids=grids("", rows, columns))


def _run_rows(name: str, side: Side) -> Iterator[_RunRow]:
    for run in side.runs:
        units = run.steps or 1
        yield _RunRow(
            side=name,
            label=run.label,
            tool=run.tool,
            wall_ns=None if run.wall_ns is None else run.wall_ns / units,
            steps=run.steps,
            kernel_ns=run.kernel_ns / units,
            dispatches=run.dispatches / units,
        )
