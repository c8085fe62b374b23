"""Where in the model time is spent: the modules as a tree with equal ones as one line, and the operators in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rocm_perf.model.document import Document
from rocm_perf.model.quantity import Quantity, ratio
from rocm_perf.model.results.modules import ModuleLine, ModuleOperator, Modules
from rocm_perf.render.sections.layers import layer_grids, layer_lines, layer_notes
from rocm_perf.render.sections.section import (
    Columns,
    Section,
    code,
    count,
    doubts,
    explained,
    grids,
    share,
    time,
)
from rocm_perf.units import format_count, format_ns, format_share

_LEAST_SHARE = 0.01  # of the whole: smaller lines are left out
_DEEPEST = 12  # levels that are indented
_TIMES = {"gpu": "GPU time", "host": "host time of operators"}
_OUTSIDE = "(in no module)"


@dataclass(frozen=True)
class _Use:
    """An operator in the modules of one line."""

    operator: ModuleOperator
    module: str
    share: Quantity


def _title(line: ModuleLine) -> str:
    return line.name if line.modules == 1 else f"{line.modules:,} x {line.name}"


def _unless_all(line: ModuleLine) -> int | None:
    """The time of the forward pass, where there are others."""
    return line.forward.time_ns if line.forward.time_ns != line.total_ns else None


_TREE_COLUMNS: Columns[ModuleLine] = (
    explained("time", time, lambda row: row.total_ns, "modules.total_ns"),
    explained("share", share, lambda row: row.share, "total_ns / the time of everything"),
    explained("forward", time, _unless_all, "forward passes"),
    explained(
        "again", time, lambda row: row.recomputed.time_ns or None, "forward passes inside the backward pass"
    ),
    explained(
        "backward", time, lambda row: row.backward.time_ns or None, "backward operators linked to its own"
    ),
    explained("matrix", share, lambda row: row.matrix_share),
    explained("occup.", share, lambda row: row.occupancy),
    code("module", lambda row: "  " * min(row.depth, _DEEPEST) + _title(row)),
)
_EQUAL_COLUMNS: Columns[ModuleLine] = (
    explained("each", time, lambda row: row.spread.median_ns if row.spread else None, "modules.spread"),
    explained("least", time, lambda row: row.spread.least_ns if row.spread else None, "modules.spread"),
    explained("most", time, lambda row: row.spread.most_ns if row.spread else None, "modules.spread"),
    explained("calls", count, lambda row: row.calls, "calls in the forward pass"),
    code("modules", _title),
    code("longest", lambda row: row.spread.longest if row.spread else ""),
)
_OPERATOR_COLUMNS: Columns[_Use] = (
    explained("time", time, lambda row: row.operator.total_ns, "time of the operator itself, in all passes"),
    explained("share", share, lambda row: row.share),
    explained("calls", count, lambda row: row.operator.calls, "calls of the operator in these modules"),
    explained("kernels", count, lambda row: row.operator.dispatches, "kernels that it launched itself"),
    code("operator", lambda row: row.operator.name or "(without an operator)"),
    code("module", lambda row: row.module),
)


def modules_section(document: Document, top: int) -> Section:
    """The tree of modules, how alike equal ones are, and operators by the module that calls them; the layers by
    repetition where no modules are recorded for them."""
    modules, layers = document.modules, document.layers
    if modules.unavailable and not layers.rows:
        reasons = [modules.unavailable, *([f"no layers: {layers.unavailable}"] if layers.unavailable else [])]
        return Section("Modules", unavailable="; ".join(reasons))
    shown = [line for line in modules.lines if line.share >= _LEAST_SHARE]
    return Section(
        "Modules",
        lines=(*_lines(modules), *layer_lines(layers)),
        grids=(
            *grids("", shown, _TREE_COLUMNS),
            *grids("Equal modules", [line for line in shown if line.spread], _EQUAL_COLUMNS, top),
            *layer_grids(layers, top),
            *grids("Operators by module", _uses(modules), _OPERATOR_COLUMNS, top),
        ),
        notes=(
            *(() if modules.unavailable else _notes(modules, len(shown))),
            *layer_notes(layers),
            *doubts(line.matrix_share for line in shown),
        ),
    )


def _lines(modules: Modules) -> Iterator[str]:
    if modules.unavailable:
        yield f"There is no tree of modules: {modules.unavailable}."
        return
    inside = modules.total_ns - modules.outside_ns
    of_all = f" ({format_share(inside / modules.total_ns)})" if modules.total_ns else ""
    kind = _TIMES[modules.measured]
    yield f"Modules own {format_ns(inside)} of {format_ns(modules.total_ns)} {kind}{of_all}."
    again = sum(line.recomputed.time_ns for line in modules.lines if line.parent is None)
    if again:
        yield f"{format_ns(again)} of it are forward passes that ran again for the backward pass (checkpointing)."


def _use(operator: ModuleOperator, module: str, modules: Modules) -> _Use:
    part = ratio(operator.total_ns, modules.total_ns, "time / the time of everything", "time", "everything")
    return _Use(operator, module, part)


def _uses(modules: Modules) -> list[_Use]:
    """Operators by module, the longest first."""
    inside = [
        _use(operator, _place(modules, line), modules)
        for line in modules.lines
        for operator in line.operators
    ]
    outside = [_use(operator, _OUTSIDE, modules) for operator in modules.outside]
    used = [use for use in (*inside, *outside) if use.operator.total_ns]
    return sorted(used, key=lambda use: -use.operator.total_ns)


def _place(modules: Modules, line: ModuleLine) -> str:
    """The line with the one around it."""
    around = f"{modules.lines[line.parent].name} > " if line.parent is not None else ""
    return around + _title(line)


def _notes(modules: Modules, shown: int) -> Iterator[str]:
    left_out = len(modules.lines) - shown + modules.left_out
    if left_out:
        yield f"{format_count(left_out, 'line')} below {format_share(_LEAST_SHARE)} of the time are left out"
    yield "equal modules (one class, the same modules and operators inside) are one line; times include what is inside"
    if modules.backward_by:
        yield f"backward operators are linked by {modules.backward_by}"
