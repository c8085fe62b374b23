"""Findings, targets, doubts and holes: what to do, and how far to trust it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from rocm_perf.model.coverage import Coverage
from rocm_perf.model.document import Document
from rocm_perf.model.quantity import Quantity
from rocm_perf.model.results.comparison import Comparison
from rocm_perf.model.results.contents import Excerpt
from rocm_perf.model.results.metrics import KernelMetric
from rocm_perf.model.results.scorecard import Score, ScoreChange
from rocm_perf.render.grid import GridColumn
from rocm_perf.render.sections.section import (
    Column,
    Columns,
    Grid,
    Section,
    explained,
    finding_item,
    grids,
    number,
    rate,
    share,
    size,
    text,
    time,
)
from rocm_perf.units import format_bytes, format_count, format_ns, format_number, format_ratio, format_share

_AMOUNTS = ("B", "FLOP", "OP", "cycles", "instructions", "waves")  # of a kernel: sums over its dispatches
_POWERS = {"": 1.0, "M": 1e6, "G": 1e9, "T": 1e12}  # as excerpts write numbers
_UNITS: dict[str, Callable[[float], str]] = {
    "_ns": format_ns,
    "_bytes": format_bytes,
}  # of columns, by their ends
_BYTES, _STATISTICS = "B", ("min", "mean", "max", "value", "low", "high")  # that rows give a unit for
_METRIC_COLUMNS = ("metric", "value", "unit")
_MANY_COUNTERS = 100  # more of which no metric is made are not listed
NO_FINDINGS = (
    "no change to launches, waits or copies would gain anything worth mentioning: look at the kernels"
)

_LEAST_CHANGE = 0.0005  # of a share that is written with one decimal
_SHARES_OF_SYNC = (
    "Sync shares are those of the wall in which the host is in a synchronising call: all of it, and the part in which "
    "the GPU is idle meanwhile."
)
_SCORE_COLUMNS: Columns[Score] = (
    explained("value", share, lambda row: row.value),
    text("verdict", lambda row: row.verdict),
    text("target", lambda row: row.target),
    text("what", lambda row: row.title),
)


def findings_section(document: Document, top: int) -> Section:
    """What holds the program back, in full."""
    if not document.findings:
        return Section("Findings", unavailable=NO_FINDINGS)
    return Section("Findings", items=tuple(finding_item(row) for row in document.findings[:top]))


def scorecard_section(document: Document, top: int) -> Section:
    """Every target beside its value."""
    unknown = tuple(f"{row.title}: {row.reason}" for row in document.scorecard if row.reason)
    sources = dict.fromkeys(row.source for row in document.scorecard)
    return Section(
        "Scorecard",
        grids=grids("", document.scorecard, _SCORE_COLUMNS, top),
        notes=(*unknown, f"targets: {'; '.join(sources)}"),
        unavailable=None if document.scorecard else "no target applies",
    )


def scorecard_changes_section(comparison: Comparison) -> Section:
    """Every target beside its value before and after the change."""
    rows = comparison.scorecard
    before, after = comparison.side_names
    columns: tuple[Column[ScoreChange], ...] = (
        explained(before, _score_value, lambda row: row.base),
        explained(after, _score_value, lambda row: row.new),
        number("change", _score_change),
        text("verdict", lambda row: row.verdict),
        text("target", lambda row: row.target),
        text("what", lambda row: row.title),
    )
    reasons = dict.fromkeys(f"{row.title}: {row.reason}" for row in rows if row.reason)
    return Section(
        "Scorecard",
        lines=(_SHARES_OF_SYNC,) if rows else (),
        grids=grids("", rows, columns),
        notes=(*reasons, _sources(rows)) if rows else (),
        unavailable=None if rows else "no target applies",
    )


def _sources(rows: Sequence[ScoreChange]) -> str:
    """Where the targets come from: what they share, then what is said of single rows."""
    common = min((row.source for row in rows), key=len)
    titles: dict[str, list[str]] = {}
    for row in rows:
        titles.setdefault(row.source.removeprefix(common).lstrip(",: "), []).append(row.title)
    single = [f"{', '.join(names)}: {rest}" for rest, names in titles.items() if rest]
    return f"targets: {'; '.join((common, *single))}"


def _score_value(value: Quantity) -> str:
    """A value in its unit, with a question mark where it is doubtful."""
    if value.value is None:
        return "-"
    doubt = "?" if value.doubt else ""
    if value.unit == "ns":
        return time(value)
    if value.unit == "relative":
        return f"{value.value:.3g}"
    if value.unit == "B":
        return f"{size(value.value)}{doubt}"
    return share(value) if not value.unit else f"{format_number(value.value)}{doubt}"


def _score_change(row: ScoreChange) -> str:
    """Of shares the difference in points of a percent, of anything else the change in percent."""
    if row.change is None:
        return "-"
    if row.new.unit:
        return "=" if not row.change else format_ratio(1 + row.change)
    return f"{100 * row.change:+.1f} pt" if abs(row.change) >= _LEAST_CHANGE else "="


def sanity_section(document: Document, top: int) -> Section:
    """What cannot be true, or should not be trusted."""
    if not document.sanity and not any(document.coverage.recorded.values()):
        return Section("Sanity", unavailable="nothing was recorded that could be checked")
    if not document.sanity:
        return Section("Sanity", lines=("Nothing in the recording contradicts itself or physics.",))
    return Section("Sanity", items=tuple(finding_item(row) for row in document.sanity[:top]))


def coverage_section(document: Document, top: int) -> Section:
    """What was recorded, and what is missing."""
    coverage = document.coverage
    paired = pairing(coverage)
    recorded = ", ".join(f"{name} {rows:,}" for name, rows in coverage.recorded.items()) or "nothing"
    return Section(
        "Coverage",
        lines=(f"{paired[0].upper()}{paired[1:]}.", f"Recorded: {recorded}."),
        items=tuple(finding_item(hole) for hole in coverage.holes[:top]),
        notes=document.run.notices,
    )


def pairing(coverage: Coverage) -> str:
    """How many kernels are paired with the call that launched them."""
    if not coverage.dispatched:
        return "no kernels were recorded"
    kernels = format_count(coverage.dispatched, "kernel")
    if coverage.launched is None:
        return f"{kernels} recorded; launches were not recorded, so none can be paired"
    launches = format_count(coverage.launched, "launch", "launches")
    if coverage.paired is None:
        return f"{kernels} and {launches} recorded, without ids to pair them"
    paired = format_share(coverage.paired_share or 0)
    missing = f", about {coverage.missing:,} missing" if coverage.missing else ""
    matched = (
        ""
        if coverage.captured is None
        else f"; {coverage.captured:,} of {coverage.replayed:,} replayed ones match their capture"
    )
    return f"{launches}, {kernels} recorded{missing}, {coverage.paired:,} paired ({paired}){matched}"


def tables_section(document: Document, top: int) -> Section:
    """Rows of tables that no other section covers."""
    filled = _notable(document)
    if not filled:
        return Section("Other tables", unavailable="the other sections cover everything recorded")
    return Section("Other tables", grids=tuple(excerpt_grid(excerpt, top) for excerpt in filled))


def _measured(excerpt: Excerpt, document: Document) -> list[Excerpt]:
    """In place of counters, what they say of the kernel that took longest, and those of which no metric is made, unless
    they are the many that Nsight Compute derives from few."""
    rows = document.metrics.rows
    if excerpt.table != "counters" or not rows:
        return [excerpt]
    of_kernel = [row for row in rows if (row.kernel, row.gpu) == (rows[0].kernel, rows[0].gpu)]
    metrics = Excerpt(
        table=excerpt.table,
        title=f"What the counters say of {rows[0].short_name}",
        columns=_METRIC_COLUMNS,
        rows=tuple(
            (_measure(row), rate(row.value) + ("?" if row.doubt else ""), row.unit) for row in of_kernel
        ),
        left_out=0,
    )
    others = tuple(row for row in excerpt.rows if row[0] not in document.metrics.counters)
    raw = replace(excerpt, title="Counters of which no metric is made, per dispatch", rows=others)
    return [metrics, raw] if others and len(others) + excerpt.left_out <= _MANY_COUNTERS else [metrics]


def _measure(row: KernelMetric) -> str:
    """What was measured, and over how many dispatches it was summed."""
    summed = row.unit in _AMOUNTS and row.dispatches > 1
    return f"{row.title}, sum of {row.dispatches:,} dispatches" if summed else row.title


def notable_excerpts(document: Document) -> list[Excerpt]:
    """Excerpts worth a look, with metrics in place of the counters that they come from."""
    return [shown for excerpt in _notable(document) for shown in _measured(excerpt, document)]


def first_excerpts(document: Document) -> list[Excerpt]:
    """Excerpts for a first screen: beside kernels no raw counters, and no metric that is doubtful."""
    excerpts = notable_excerpts(document)
    if document.hotspots.rows:
        excerpts = [each for each in excerpts if each.table != "counters" or each.columns == _METRIC_COLUMNS]
    sure = [[row for row in each.rows if not any(cell.endswith("?") for cell in row)] for each in excerpts]
    return [replace(each, rows=tuple(rows)) for each, rows in zip(excerpts, sure, strict=True) if rows]


def _notable(document: Document) -> list[Excerpt]:
    """Beside kernels, those of counters and samples; without kernels, all."""
    filled = [excerpt for excerpt in document.excerpts if excerpt.rows]
    if document.hotspots.rows:
        return [excerpt for excerpt in filled if excerpt.table in ("counters", "pc_samples", "instructions")]
    return [excerpt for excerpt in filled if excerpt.table != "summaries" or not document.domains]


def excerpt_grid(excerpt: Excerpt, most: int) -> Grid:
    """The first rows of a table, times and sizes with their units."""
    rows = excerpt.rows[:most]
    by_column = list(zip(excerpt.columns, map(list, zip(*rows, strict=True)), strict=True))
    units = dict(by_column).get("unit", [""] * len(rows))
    columns = [
        GridColumn(
            _heading(name),
            cells,
            numeric=all(_looks_numeric(cell) for cell in cells),
            formula=f"as the recording has it: {name} of the table {excerpt.table}",
        )
        for name, cells in ((name, _with_units(name, written, units)) for name, written in by_column)
    ]
    filled = [column for column in columns if column.heading != "unit" or any(column.cells)]
    return Grid(tuple(filled), excerpt.title, len(excerpt.rows) - len(rows) + excerpt.left_out)


def _heading(name: str) -> str:
    for ending in _UNITS:
        name = name.removesuffix(ending)
    return name.replace("_", " ")


def _with_units(name: str, cells: list[str], units: Sequence[str]) -> list[str]:
    """The cells of a column of times or sizes with their unit; so where a row gives the unit of its numbers."""
    ending = next((ending for ending in _UNITS if name.endswith(ending)), "")
    if ending:
        return [_written(cell, _UNITS[ending]) for cell in cells]
    if name == "unit":
        return ["" if unit == _BYTES else unit for unit in cells]
    if name in _STATISTICS:
        return [
            _written(cell, format_bytes) if unit == _BYTES else cell
            for cell, unit in zip(cells, units, strict=True)
        ]
    return cells


def _written(cell: str, write: Callable[[float], str]) -> str:
    """A number of an excerpt ("57.17 G") in the unit that it has."""
    number, _, power = cell.replace(",", "").partition(" ")
    try:
        return write(float(number) * _POWERS[power])
    except (KeyError, ValueError):
        return cell


def _looks_numeric(cell: str) -> bool:
    return not cell or cell[0].isdigit() or (cell[0] == "-" and cell[1:2].isdigit())
