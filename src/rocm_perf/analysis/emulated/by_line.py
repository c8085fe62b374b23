"""The counts by source line."""

from __future__ import annotations

from rocm_perf.analysis.emulated.rows import Counted, Row, float_operations_of, space_of
from rocm_perf.model.results.count import LineUse

NO_LINES = "the code object has no line tables: compile with -gline-tables-only (or -g)"


def line_uses(counted: Counted) -> tuple[LineUse, ...]:
    """Every source line whose instructions were executed, the most executed first."""
    by_line: dict[tuple[str, int], list[Row]] = {}
    for row in counted.rows:
        if row.file is not None and row.line is not None and row.executions:
            by_line.setdefault((row.file, row.line), []).append(row)
    uses = [_line_use(counted, place, rows) for place, rows in by_line.items()]
    return tuple(sorted(uses, key=lambda use: (-use.executions, use.file, use.line)))


def _line_use(counted: Counted, place: tuple[str, int], rows: list[Row]) -> LineUse:
    moving = [row for row in rows if space_of(row) is not None]
    executions = sum(row.executions for row in rows)
    return LineUse(
        file=place[0],
        line=place[1],
        executions=counted.scaled(executions),
        share=executions / sum(row.executions for row in counted.rows),
        flops=counted.total(rows, float_operations_of),
        bytes=counted.total(moving, lambda row: row.bytes),
        lines=counted.total(moving, counted.lines_of),
        efficiency=counted.efficiency(moving),
        active=counted.active(rows),
        lds_conflict_cycles=counted.total(rows, lambda row: row.lds_conflicts),
    )
