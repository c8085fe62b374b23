"""Expressions as AMD's counter definitions and our metrics write them: `parse` reads one, `inline` expands one.

`+ - * / ( )`, numbers, names, `reduce`, `select`, `accumulate`, `min`, `max`; nothing is ever executed.
"""

from __future__ import annotations

from collections.abc import Mapping

from rocm_perf.arch.expression_parser import parse
from rocm_perf.arch.expression_tree import MAX_DEPTH, MAX_PARTS, Expression, ExpressionError, Name

__all__ = ["Expression", "ExpressionError", "inline", "parse"]


def inline(expression: Expression, definitions: Mapping[str, Expression]) -> Expression:
    """The expression with every defined name replaced by its definition, all the way down."""
    return _Inliner(definitions).expand(expression, (), 0)


class _Inliner:
    def __init__(self, definitions: Mapping[str, Expression]) -> None:
        self._definitions = definitions
        self._done: dict[str, Expression] = {}

    def expand(self, expression: Expression, trail: tuple[str, ...], level: int) -> Expression:
        if level > MAX_DEPTH:
            raise _too_large(trail)
        if isinstance(expression, Name):
            return self._defined(expression, trail, level)
        if not expression.parts:
            return expression
        expanded = expression.replaced([self.expand(part, trail, level + 1) for part in expression.parts])
        if expanded.depth > MAX_DEPTH or expanded.size > MAX_PARTS:
            raise _too_large(trail)
        return expanded

    def _defined(self, name: Name, trail: tuple[str, ...], level: int) -> Expression:
        text = name.name
        if text in trail:
            cycle = " -> ".join((*trail[trail.index(text) :], text))
            raise ExpressionError(f"{text} is defined in terms of itself", cycle)
        if text not in self._definitions:
            return name
        if text not in self._done:
            self._done[text] = self.expand(self._definitions[text], (*trail, text), level + 1)
        return self._done[text]


def _too_large(trail: tuple[str, ...]) -> ExpressionError:
    return ExpressionError(
        f"the definition of {trail[0] if trail else 'an expression'} is too large",
        f"written out, it has more than {MAX_DEPTH} levels or {MAX_PARTS:,} parts",
    )
