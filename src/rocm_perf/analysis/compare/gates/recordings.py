"""Limits on two populations of runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from msgspec.structs import replace

from rocm_perf.analysis.compare.gates.expressions import Dimension, Expression, Of, Subject, require
from rocm_perf.analysis.compare.gates.limits import Range, Value, check
from rocm_perf.errors import UsageError
from rocm_perf.model.results.check import Check
from rocm_perf.model.results.comparison import (
    Change,
    Comparison,
    Count,
    KernelChange,
    ModuleChange,
    OperatorChange,
    StepKindChange,
)
from rocm_perf.units import format_bytes, format_ns, format_ratio

WHOLE: dict[str, Dimension] = {"wall": "time", "kernels": "count", "memory": "size", "findings": "count"}
_SCORES = {
    "latency": "wall",
    "kernel-count": "kernels",
    "peak-memory": "memory",
}  # names of rows of the scorecard
OF_A_MEMBER: dict[Subject, dict[str, Dimension]] = {
    "kernel": {"median": "time", "total": "time", "calls": "count"},
    "operator": {"total": "time", "host": "time", "calls": "count"},
    "module": {"total": "time", "host": "time", "calls": "count"},
    "step": {"median": "time", "token": "time", "steps": "count"},
}
_OF_THE_WHOLE = WHOLE | {score: WHOLE[quantity] for score, quantity in _SCORES.items()}
_SEVERAL = 2  # runs a side: fewer show no spread


def require_known(expressions: Sequence[Expression]) -> None:
    """Raise UsageError unless all of them are about something that two populations have."""
    for expression in expressions:
        if expression.pattern is None and expression.quantity in OF_A_MEMBER["kernel"]:
            raise UsageError(
                f"cannot judge --fail-on {expression.text!r}",
                f"{expression.quantity} is that of a kernel, operator or module",
                f'Write for example "kernel:*.{expression.text}".',
            )
        require(expression, OF_A_MEMBER[expression.subject] if expression.pattern else _OF_THE_WHOLE)


def judge(comparison: Comparison, expressions: Sequence[Expression]) -> tuple[Check, ...]:
    """Each limit against the comparison."""
    return tuple(
        check(one.text, one.limits, list(_values(comparison, one)), _nothing(comparison, one))
        for one in expressions
    )


def _nothing(comparison: Comparison, expression: Expression) -> str:
    """Why no value can be judged."""
    if expression.subject == "operator" and comparison.operators_unavailable:
        return comparison.operators_unavailable
    if expression.subject == "module" and not comparison.modules:
        return f"no module can be compared: {comparison.modules_unavailable}"
    if expression.subject == "step" and not comparison.kinds:
        return "no kind of step can be compared: a side does not annotate its steps"
    known = {
        "kernel": [change.kernel for change in comparison.kernels],
        "operator": [change.operator for change in comparison.operators],
        "module": [change.module for change in comparison.modules],
        "step": [row.name for row in _rows(comparison)],
    }[expression.subject]
    listed = f"; there are {', '.join(known[:3])}, ..." if known else ""
    return f"no {expression.subject} matches {expression.pattern!r}{listed}"


def _values(comparison: Comparison, expression: Expression) -> Iterator[Value]:
    quantity = _SCORES.get(expression.quantity, expression.quantity)
    if expression.pattern is not None:
        yield from _of_members(comparison, expression, expression.pattern)
    elif quantity == "wall":
        doubt = comparison.wall_unavailable or comparison.wall_doubt
        yield _of_time(f"wall of a {comparison.per}", comparison.wall, doubt)
    elif quantity == "kernels":
        yield _of_count(f"kernels of a {comparison.per}", comparison.launches)
    elif quantity == "memory":
        yield _of_memory(comparison)
    else:
        came = sum(finding.fate == "came" for finding in comparison.findings)
        yield _exact("findings that came", came)


def _of_members(comparison: Comparison, expression: Expression, pattern: str) -> Iterator[Value]:
    """One value for each kernel, operator, module or kind of step that the pattern matches."""
    if expression.subject == "operator":
        for operator in comparison.operators:
            if _matches(pattern, operator.category, *operator.base_names, *operator.new_names):
                yield _of_use(operator.operator, operator, expression.quantity)
    elif expression.subject == "module":
        for module in comparison.modules:
            if _matches(pattern, module.module, module.module.rpartition("/")[2]):
                yield _of_use(module.module, module, expression.quantity)
    elif expression.subject == "step":
        for row in _rows(comparison):
            if _matches(pattern, row.name):
                yield _of_step(row, expression.quantity)
    else:
        for kernel in comparison.kernels:
            names = (kernel.kernel, kernel.family, *kernel.base_names, *kernel.new_names)
            if _matches(pattern, *names):
                yield _of_kernel(kernel, expression.quantity)


def _rows(comparison: Comparison) -> tuple[StepKindChange, ...]:
    return comparison.kinds.rows if comparison.kinds else ()


def _of_step(row: StepKindChange, quantity: str) -> Value:
    if quantity == "steps":
        return _of_count(f"{row.name} steps", row.steps)
    if quantity == "token":
        return _of_time(f"a token of {row.name}", row.token)
    return _of_time(f"{row.name} step", row.time)


def _matches(pattern: str, *names: str) -> bool:
    return any(fnmatchcase(name.lower(), pattern.lower()) for name in names)


def _of_use(name: str, change: OperatorChange | ModuleChange, quantity: str) -> Value:
    if quantity == "calls":
        return _of_count(f"{name} calls", change.calls)
    return _of_time(f"{name} {quantity}", change.gpu if quantity == "total" else change.host)


def _of_kernel(change: KernelChange, quantity: str) -> Value:
    name = f"{change.kernel} {quantity}"
    if quantity == "calls":
        return _of_count(name, change.calls)
    if quantity == "total":
        return _of_time(name, change.total)
    if change.match == "vanished":  # nothing of it can take longer than before
        before = change.median.base or 0
        gone: dict[Of, Range] = {
            "relative change": (-1, -1),
            "change": (-before, -before),
            "new value": (0, 0),
        }
        return Value(name, gone, "it vanished")
    doubt = "it appeared; a limit on its total can be judged" if change.match == "appeared" else None
    return _of_time(name, change.median, doubt)


def _of_time(name: str, change: Change, doubt: str | None = None) -> Value:
    text = f"{_time(change.base)} -> {_time(change.new)}"
    if change.ratio is not None:
        text += f" ({format_ratio(change.ratio, change.interval)})"
    return Value(name, {} if doubt else _ranges(change), text, doubt or change.no_interval)


def _ranges(change: Change) -> dict[Of, Range]:
    """Where the change lies. What only one side has changed by as much as its runs say; what came needs several."""
    base = change.base or 0
    if change.interval:
        low, high = change.interval
        return {
            "relative change": (low - 1, high - 1),
            "change": (base * (low - 1), base * (high - 1)),
            "new value": (base * low, base * high),
        }
    before, after = change.base_runs, change.new_runs
    if not before or not after or (any(before) and any(after)):
        return {}
    if any(after) and min(len(before), len(after)) < _SEVERAL:
        return {}
    whole = math.inf if any(after) else -1 if any(before) else 0.0
    return {
        "relative change": (whole, whole),
        "change": (min(after) - max(before), max(after) - min(before)),
        "new value": (min(after), max(after)),
    }


def _of_memory(comparison: Comparison) -> Value:
    peak = comparison.memory
    if peak is None:
        return Value("peak memory", {}, "unknown", comparison.memory_unavailable)
    value = _of_count("peak memory", peak)
    return replace(value, text=f"{format_bytes(peak.base)} -> {format_bytes(peak.new)}")


def _of_count(name: str, count: Count) -> Value:
    low, high = count.new_range[0] - count.base_range[1], count.new_range[1] - count.base_range[0]
    ranges: dict[Of, Range] = {"change": (low, high), "new value": count.new_range}
    if count.base_range[0]:
        ranges["relative change"] = (
            count.new_range[0] / count.base_range[1] - 1,
            count.new_range[1] / count.base_range[0] - 1,
        )
    return Value(name, ranges, f"{count.base:g} -> {count.new:g}", "there are none before")


def _exact(name: str, number: float) -> Value:
    return Value(name, {"new value": (number, number)}, f"{number:g}", "only their number is known")


def _time(value: float | None) -> str:
    return "-" if value is None else format_ns(value)
