"""The parts an expression is made of, and what each is worth: as a number, or as a column with one value per dispatch.

Recordings hold counters summed over the instances of a block, so `reduce(X,sum)` is X. What a sum does not
determine (`reduce(X,max)`, `select`, `accumulate`) has a value only if the caller gives one under its text, as
`str(expression)` writes it; a derived counter that was recorded is given in the same way, under its name.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

import msgspec

from rocm_perf.errors import InputError

if TYPE_CHECKING:
    import polars as pl

Operator = Literal["+", "-", "*", "/"]
Reduction = Literal["sum", "max", "min", "avr"]
Resolution = Literal["HIGH_RES", "LOW_RES", "NONE"]
Extreme = Literal["min", "max"]

MAX_DEPTH = 150  # of the tree: a walk down it stays far from Python's recursion limit
MAX_PARTS = 20_000

_PRECEDENCE: Mapping[Operator, int] = {"+": 1, "-": 1, "*": 2, "/": 2}
_ATOM = 4

T = TypeVar("T")


class ExpressionError(InputError):
    """The expression cannot be read, or has no value."""


class Algebra(Protocol[T]):
    """How parts become values of one kind, such as numbers or columns."""

    def number(self, value: float) -> T: ...
    def given(self, part: Expression) -> T | None: ...
    def negative(self, operand: T) -> T: ...
    def binary(self, part: Binary, left: T, right: T) -> T: ...
    def extreme(self, which: Extreme, operands: Sequence[T]) -> T: ...


@dataclass(frozen=True)
class Expression(ABC):
    """A formula over counters. Equal formulas are equal values; `str` gives text that parses to the same."""

    @property
    def parts(self) -> tuple[Expression, ...]:
        """The expressions directly inside this one."""
        return ()

    @cached_property
    def names(self) -> frozenset[str]:
        """Every counter and constant in the expression."""
        return frozenset(part.own_name for part in walk(self) if part.own_name)

    @property
    def own_name(self) -> str:
        """The counter that this part itself names; empty if it names none."""
        return ""

    @cached_property
    def depth(self) -> int:
        """Levels of the tree."""
        return 1 + max((part.depth for part in self.parts), default=0)

    @cached_property
    def size(self) -> int:
        """Parts of the tree, itself included."""
        return 1 + sum(part.size for part in self.parts)

    def evaluate(self, values: Mapping[str, float]) -> float:
        """Its value for the given values of names and of texts such as `reduce(X,max)`."""
        value = self.fold(_Numbers(values))
        if not math.isfinite(value):
            raise ExpressionError(f"{brief(self)} has no value", "it is not a finite number")
        return value

    def column(self, columns: Mapping[str, pl.Expr]) -> pl.Expr:
        """Its value as a column; null where an input is null or a divisor is zero."""
        return self.fold(_Columns(columns))

    def replaced(self, _parts: Sequence[Expression]) -> Expression:
        """The same expression with other parts inside it."""
        return self

    @abstractmethod
    def fold(self, algebra: Algebra[T]) -> T:
        """Its value as the algebra computes it."""

    @property
    def precedence(self) -> int:
        return _ATOM


@dataclass(frozen=True)
class Number(Expression):
    """A literal, never negative: a minus sign is an operator."""

    value: float

    def __str__(self) -> str:
        whole = self.value.is_integer() and self.value < 1e15
        return str(int(self.value)) if whole else repr(self.value)

    def fold(self, algebra: Algebra[T]) -> T:
        return algebra.number(self.value)


@dataclass(frozen=True)
class Name(Expression):
    """A counter, or a constant of the GPU."""

    name: str

    def __str__(self) -> str:
        return self.name

    @property
    def own_name(self) -> str:
        return self.name

    def fold(self, algebra: Algebra[T]) -> T:
        return _required(algebra, self)


@dataclass(frozen=True)
class Negative(Expression):
    """The negated operand: -operand."""

    operand: Expression

    def __str__(self) -> str:
        return "-" + _wrapped(self.operand, self.precedence)

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.operand,)

    @property
    def precedence(self) -> int:
        return 3

    def replaced(self, parts: Sequence[Expression]) -> Expression:
        return Negative(*parts)

    def fold(self, algebra: Algebra[T]) -> T:
        return algebra.negative(self.operand.fold(algebra))


@dataclass(frozen=True)
class Binary(Expression):
    """Two operands and the operator between them: left operator right."""

    operator: Operator
    left: Expression
    right: Expression

    def __str__(self) -> str:
        left, right = _wrapped(self.left, self.precedence), _wrapped(self.right, self.precedence + 1)
        return f"{left}{self.operator}{right}"

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.left, self.right)

    @property
    def precedence(self) -> int:
        return _PRECEDENCE[self.operator]

    def replaced(self, parts: Sequence[Expression]) -> Expression:
        return Binary(self.operator, *parts)

    def fold(self, algebra: Algebra[T]) -> T:
        return algebra.binary(self, self.left.fold(algebra), self.right.fold(algebra))


@dataclass(frozen=True)
class MinMax(Expression):
    """min(a,b,...) or max(a,b,...) of values, not of instances."""

    which: Extreme
    operands: tuple[Expression, ...]

    def __str__(self) -> str:
        return f"{self.which}({','.join(map(str, self.operands))})"

    @property
    def parts(self) -> tuple[Expression, ...]:
        return self.operands

    def replaced(self, parts: Sequence[Expression]) -> Expression:
        return MinMax(self.which, tuple(parts))

    def fold(self, algebra: Algebra[T]) -> T:
        return algebra.extreme(self.which, [part.fold(algebra) for part in self.operands])


@dataclass(frozen=True)
class Reduce(Expression):
    """reduce(operand,sum|max|min|avr[,[dimensions]]): over the instances of a block, all of them by default."""

    operand: Expression
    how: Reduction
    dimensions: tuple[str, ...] = ()

    def __str__(self) -> str:
        over = f",[{','.join(self.dimensions)}]" if self.dimensions else ""
        return f"reduce({self.operand},{self.how}{over})"

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.operand,)

    def replaced(self, parts: Sequence[Expression]) -> Expression:
        return Reduce(parts[0], self.how, self.dimensions)

    def fold(self, algebra: Algebra[T]) -> T:
        given = algebra.given(self)
        if given is not None:
            return given
        if self.how == "sum" and not self.dimensions:
            return self.operand.fold(algebra)
        raise _no_value(self)


@dataclass(frozen=True)
class Select(Expression):
    """select(operand,[dimension=[a:b]]): some instances of a block. Each choice is a dimension and its ranges."""

    operand: Expression
    choices: tuple[tuple[str, tuple[tuple[int, int], ...]], ...]

    def __str__(self) -> str:
        chosen = (f"{name}=[{','.join(map(_range, ranges))}]" for name, ranges in self.choices)
        return f"select({self.operand},[{','.join(chosen)}])"

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.operand,)

    def replaced(self, parts: Sequence[Expression]) -> Expression:
        return Select(parts[0], self.choices)

    def fold(self, algebra: Algebra[T]) -> T:
        return _required(algebra, self)


@dataclass(frozen=True)
class Accumulate(Expression):
    """accumulate(counter,HIGH_RES|LOW_RES|NONE): a level, summed over the cycles. Only hardware can do it."""

    counter: str
    resolution: Resolution

    def __str__(self) -> str:
        return f"accumulate({self.counter},{self.resolution})"

    @property
    def own_name(self) -> str:
        return self.counter

    def fold(self, algebra: Algebra[T]) -> T:
        return _required(algebra, self)


class _Numbers(msgspec.Struct, frozen=True):
    values: Mapping[str, float]

    def number(self, value: float) -> float:
        return value

    def given(self, part: Expression) -> float | None:
        return self.values.get(str(part))

    def negative(self, operand: float) -> float:
        return -operand

    def binary(self, part: Binary, left: float, right: float) -> float:
        if part.operator == "/" and right == 0:
            raise ExpressionError(f"{brief(part)} has no value", f"{brief(part.right)} is zero")
        return _ARITHMETIC[part.operator](left, right)

    def extreme(self, which: Extreme, operands: Sequence[float]) -> float:
        return min(operands) if which == "min" else max(operands)


_ARITHMETIC: Mapping[Operator, Callable[[float, float], float]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: left / right,
}


class _Columns(msgspec.Struct, frozen=True):
    columns: Mapping[str, pl.Expr]

    def number(self, value: float) -> pl.Expr:
        import polars as pl

        return pl.lit(value, pl.Float64)

    def given(self, part: Expression) -> pl.Expr | None:
        import polars as pl

        column = self.columns.get(str(part))
        # Counters are unsigned: their differences would wrap round.
        return None if column is None else column.cast(pl.Float64)

    def negative(self, operand: pl.Expr) -> pl.Expr:
        return -operand

    def binary(self, part: Binary, left: pl.Expr, right: pl.Expr) -> pl.Expr:
        import polars as pl

        match part.operator:
            case "+":
                return left + right
            case "-":
                return left - right
            case "*":
                return left * right
            case "/":
                return pl.when(right != 0).then(left / right)

    def extreme(self, which: Extreme, operands: Sequence[pl.Expr]) -> pl.Expr:
        import polars as pl

        known = pl.all_horizontal(operand.is_not_null() for operand in operands)
        extreme = pl.min_horizontal(*operands) if which == "min" else pl.max_horizontal(*operands)
        return pl.when(known).then(extreme)


def walk(expression: Expression) -> Iterator[Expression]:
    """Every part of an expression, itself first."""
    waiting = [expression]
    while waiting:
        part = waiting.pop()
        yield part
        waiting.extend(part.parts)


def brief(expression: Expression, width: int = 60) -> str:
    """The text of an expression, shortened for a message."""
    text = str(expression)
    return text if len(text) <= width else text[: width - 3] + "..."


def _required(algebra: Algebra[T], part: Expression) -> T:
    value = algebra.given(part)
    if value is None:
        raise _no_value(part)
    return value


def _no_value(part: Expression) -> ExpressionError:
    if isinstance(part, Name):
        return ExpressionError(f"{part} has no value", "it was not recorded")
    return ExpressionError(f"{brief(part)} has no value", "a recording holds only the sum over all instances")


def _wrapped(part: Expression, least: int) -> str:
    return str(part) if part.precedence >= least else f"({part})"


def _range(ends: tuple[int, int]) -> str:
    return str(ends[0]) if ends[0] == ends[1] else f"{ends[0]}:{ends[1]}"
