"""From the counts of each instruction to those of the whole dispatch, scaled where only a sample was executed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import get_args

from rocm_perf.analysis.emulated.lanes import LaneKind, lane_kind
from rocm_perf.analysis.emulated.rows import (
    INTEGER,
    Counted,
    Row,
    What,
    is_atomic,
    kind_of,
    operations_of,
    space_of,
    what_of,
)
from rocm_perf.arch.codeobject.flops import Unit
from rocm_perf.arch.codeobject.instructions import CLASSES, Class
from rocm_perf.model.results.count import (
    Accesses,
    ClassCount,
    Footprint,
    LdsUse,
    Operations,
    Space,
    Totals,
)


def totals(counted: Counted, footprint: Footprint | None, banks: int) -> Totals:
    """The counts of a dispatch. `banks`: of the LDS that an access of a wave meets."""
    rows = counted.rows
    operations = _operations(counted)
    vector = [row for row in rows if kind_of(row) == "VALU"]
    barriers = [row for row in rows if kind_of(row) == "barrier"]
    atomics = [row for row in rows if is_atomic(row)]

    def lanes_of(kind: LaneKind) -> int:
        return counted.total((row for row in vector if lane_kind(row.text) == kind), lambda row: row.lanes)

    return Totals(
        instructions=counted.total(rows, lambda row: row.executions),
        classes=_classes(counted),
        operations=operations,
        flops=sum(one.amount for one in operations if one.dtype != INTEGER),
        accesses=tuple(_accesses(counted)),
        footprint=_scaled(footprint, counted) if footprint else None,
        lds=_lds(counted, banks),
        active_lanes=counted.active(vector),
        vector_lanes=counted.total(vector, lambda row: row.lanes),
        float_lanes=lanes_of("float"),
        integer_lanes=lanes_of("integer"),
        barriers=counted.total(barriers, lambda row: row.executions),
        atomics=counted.total(atomics, lambda row: row.lanes),
        contended_atomics=counted.total(atomics, lambda row: row.same_address),
    )


def _classes(counted: Counted) -> tuple[ClassCount, ...]:
    counts: Counter[Class] = Counter()
    for row in counted.rows:
        counts[kind_of(row)] += row.executions
    whole = counts.total()
    return tuple(
        ClassCount(name=name, executions=counted.scaled(counts[name]), share=counts[name] / whole)
        for name in CLASSES
        if counts[name]
    )


def _operations(counted: Counted) -> tuple[Operations, ...]:
    """The operations of each type on each unit, the most first."""
    amounts: Counter[tuple[str, Unit]] = Counter()
    for row in counted.rows:
        amounts.update(operations_of(row))
    return tuple(
        Operations(dtype=dtype, unit=unit, amount=counted.scaled(amount))
        for (dtype, unit), amount in amounts.most_common()
        if amount
    )


def _accesses(counted: Counted) -> Iterator[Accesses]:
    executed = [row for row in counted.rows if row.executions]
    for space in get_args(Space):
        for what in get_args(What):
            rows = [row for row in executed if space_of(row) == space and what_of(row) == what]
            if rows:
                yield _access(counted, rows, space, what)


def _access(counted: Counted, rows: Sequence[Row], space: Space, what: What) -> Accesses:
    return Accesses(
        space=space,
        what=what,
        executions=counted.total(rows, lambda row: row.executions),
        lanes=counted.total(rows, lambda row: row.lanes),
        bytes=counted.total(rows, lambda row: row.bytes),
        lines=counted.total(rows, counted.lines_of),
        line_bytes=counted.line_bytes,
        efficiency=counted.efficiency(rows),
        same_address=counted.total(rows, lambda row: row.same_address),
    )


def _lds(counted: Counted, banks: int) -> LdsUse | None:
    rows = [row for row in counted.rows if row.lds_cycles]
    if not rows:
        return None
    cycles, conflicts = sum(row.lds_cycles for row in rows), sum(row.lds_conflicts for row in rows)
    return LdsUse(
        banks=banks,
        executions=counted.total(rows, lambda row: row.executions),
        bytes=counted.total(rows, lambda row: row.bytes),
        cycles=counted.scaled(cycles),
        conflict_cycles=counted.scaled(conflicts),
        conflict_share=conflicts / cycles,
    )


def _scaled(footprint: Footprint, counted: Counted) -> Footprint:
    return Footprint(
        line_bytes=footprint.line_bytes,
        read=counted.scaled(footprint.read),
        written=counted.scaled(footprint.written),
        touched=counted.scaled(footprint.touched),
        is_scaled=counted.executed.is_sample,
    )
