"""Limits on two files of GPU code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from rocm_perf.analysis.basis.names import short_name
from rocm_perf.analysis.compare.gates.expressions import Dimension, Expression, Of, require
from rocm_perf.analysis.compare.gates.limits import Range, Value, check
from rocm_perf.arch.codeobject.comparison import QUANTITIES, SIZES, KernelPair, written
from rocm_perf.errors import UsageError
from rocm_perf.model.results.check import Check

_KNOWN: dict[str, Dimension] = {name: "size" if name in SIZES else "count" for name in QUANTITIES}


def require_known(expressions: Sequence[Expression]) -> None:
    """Raise UsageError unless all of them are about something that code shows."""
    for expression in expressions:
        if expression.subject != "kernel":
            raise UsageError(
                f"cannot judge --fail-on {expression.text!r}",
                f"files of code have no {expression.subject}s",
                'Write for example "spills>0" or "kernel:gemm*.vgprs>+8".',
            )
        require(expression, _KNOWN)


def judge(pairs: Sequence[KernelPair], expressions: Sequence[Expression]) -> tuple[Check, ...]:
    """Each limit against every kernel of the new file, or those that its pattern names."""
    return tuple(check(one.text, one.limits, _values(pairs, one), _nothing(one)) for one in expressions)


def _nothing(expression: Expression) -> str:
    return f"no kernel of the new file matches {expression.pattern!r}" if expression.pattern else "no kernel"


def _values(pairs: Sequence[KernelPair], expression: Expression) -> Iterator[Value]:
    for pair in pairs:
        if pair.new and _matches(pair, expression.pattern or "*"):
            yield _value(pair, expression.quantity)


def _matches(pair: KernelPair, pattern: str) -> bool:
    names = (pair.name, short_name(pair.name), *(side.kernel.name for side in (pair.base, pair.new) if side))
    return any(fnmatchcase(name.lower(), pattern.lower()) for name in names)


def _value(pair: KernelPair, quantity: str) -> Value:
    base, new = (QUANTITIES[quantity](side) for side in (pair.base, pair.new))
    name = f"{short_name(pair.name)} ({pair.arch}) {quantity}"
    ranges: dict[Of, Range] = {}
    if new is not None:
        ranges["new value"] = (new, new)
    if new is not None and base is not None:
        ranges["change"] = (new - base, new - base)
        ranges["relative change"] = _relative(base, new)
    text = f"{written(base, quantity)} -> {written(new, quantity)}"
    return Value(name, ranges, text, "it is new" if pair.base is None else "the file does not record it")


def _relative(base: float, new: float) -> Range:
    change = new / base - 1 if base else float("inf") if new else 0.0
    return change, change
