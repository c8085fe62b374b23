"""The GPU work of two sides aligned operator by operator: what became of it, and the difference in three views."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rocm_perf.model.results.alignment import AlignedWork, Alignment, Share
from rocm_perf.model.results.comparison import Comparison
from rocm_perf.render.sections.changes import WIDE, arrow, difference_formula, signed, time_or_none
from rocm_perf.render.sections.section import (
    Column,
    Columns,
    Grid,
    Section,
    code,
    explained,
    grids,
    number,
    text,
)
from rocm_perf.units import format_list

COPY = "copy "
_NAMES = 3  # operators of a row that are listed
_VIEW = 2  # a view has this part of the rows of other lists
_GPU = "of the durations of kernels, copies and fills, summed; means over the steps that run the same calls"


def model_sections(comparison: Comparison, top: int, width: int) -> list[Section]:
    """What became of each piece of work, then by module, operator and family; none where nothing was aligned."""
    alignment = comparison.alignment
    if alignment is None:
        return []
    return [_work(comparison, alignment, top, width), _views(comparison, alignment, top)]


def _work(comparison: Comparison, alignment: Alignment, top: int, width: int) -> Section:
    changed = [row for row in alignment.work if row.difference_ns or row.fate != "same"]
    total = f"{arrow(alignment.base_ns, alignment.new_ns)} ({signed(alignment.difference_ns)})"
    lines = [f"GPU work of a {comparison.per}, aligned by operators, shapes and order: {total}."]
    lines += _of_steps(comparison, alignment)
    if not changed:
        lines.append("Both sides run the same operators and kernels, in the same time.")
    return Section(
        "What became of the work",
        lines=tuple(lines),
        grids=grids("", changed, tuple(_work_columns(comparison, width)), top),
        notes=alignment.notes,
    )


def _work_columns(comparison: Comparison, width: int) -> Iterator[Column[AlignedWork]]:
    before, after = comparison.side_names
    formula = f"{difference_formula(comparison)}: {_GPU}"
    yield explained("difference", signed, lambda row: row.difference_ns, formula)
    if width >= WIDE:
        yield explained(before, time_or_none, lambda row: row.base_ns, _GPU)
        yield explained(after, time_or_none, lambda row: row.new_ns, _GPU)
    yield number("times", lambda row: f"{row.places:,}")
    yield text("what", lambda row: row.fate)
    yield code("operators", _operators, whole=_in_full)


def _of_steps(comparison: Comparison, alignment: Alignment) -> list[str]:
    """Which steps the times are of, where some of a side run other operators."""
    sides = zip(comparison.side_names, (alignment.base_steps, alignment.new_steps), strict=True)
    return [
        f"{name.capitalize()}: {steps.alike:,} of {steps.of:,} steps run the same calls; times are means over them."
        for name, steps in sides
        if steps.alike < steps.of
    ]


def _operators(row: AlignedWork) -> str:
    """The operators of a row; where these are the same, what else differs."""
    base, new = (format_list(list(names), _NAMES) for names in (row.base_operators, row.new_operators))
    if row.fate == "other kernels":
        return f"{base or new}: {_kernels(row.base_kernels)} -> {_kernels(row.new_kernels)}"
    if not base or not new or row.fate in ("same", "other shapes"):
        return base or new
    return f"{base} -> {new}"


def _kernels(names: Sequence[str]) -> str:
    """The kernels; copies and fills only where there are no others."""
    return format_list([name for name in names if not name.startswith(COPY)] or list(names), 1)


def _in_full(row: AlignedWork) -> str:
    sides = ((row.base_operators, row.base_kernels), (row.new_operators, row.new_kernels))
    return " -> ".join(f"{' + '.join(names)} [{', '.join(kernels)}]" for names, kernels in sides if names)


def _views(comparison: Comparison, alignment: Alignment, top: int) -> Section:
    rows = max(top // _VIEW, 1)
    shown = [
        grid
        for title, shares in (
            ("module", alignment.modules),
            ("operator", alignment.operators),
            ("family", alignment.families),
        )
        for grid in _view(comparison, title, shares, rows)
    ]
    return Section(
        "Three views of the difference",
        lines=(
            f"By module, by operator and by family of kernels: each sums to {signed(alignment.difference_ns)}.",
        ),
        grids=tuple(shown),
    )


def _view(comparison: Comparison, title: str, shares: Sequence[Share], most: int) -> tuple[Grid, ...]:
    """The largest differences, and all others in one row, so that the rows sum to the difference."""
    rest = shares[most:]
    rows = [*shares[:most], *([_others(rest)] if len(rest) > 1 else rest)]
    before, after = comparison.side_names
    columns: Columns[Share] = (
        explained("difference", signed, lambda share: share.difference_ns, difference_formula(comparison)),
        explained(before, time_or_none, lambda share: share.base_ns, _GPU),
        explained(after, time_or_none, lambda share: share.new_ns, _GPU),
        code(title, lambda share: share.name),
    )
    return grids("", rows, columns)


def _others(shares: Sequence[Share]) -> Share:
    return Share(
        name=f"{len(shares):,} others",
        base_ns=sum(share.base_ns for share in shares),
        new_ns=sum(share.new_ns for share in shares),
        difference_ns=sum(share.difference_ns for share in shares),
    )
