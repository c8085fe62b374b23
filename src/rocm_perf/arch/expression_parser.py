"""From text to an expression, by recursive descent; an error names the column."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Literal, NamedTuple, TypeVar, get_args

from rocm_perf.arch.expression_tree import (
    MAX_DEPTH,
    MAX_PARTS,
    Accumulate,
    Binary,
    Expression,
    ExpressionError,
    Extreme,
    MinMax,
    Name,
    Negative,
    Number,
    Operator,
    Reduce,
    Reduction,
    Resolution,
    Select,
)

MAX_LENGTH = 100_000
MAX_BRACKETS = 50  # open at one place
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)(?![A-Za-z_])"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<sign>[-+*/(),=:\[\]])|(?P<end>$))"
)

W = TypeVar("W", bound=str)
T = TypeVar("T")


class Token(NamedTuple):
    """One piece of the text, and the column where it begins, counted from one."""

    kind: Literal["number", "name", "sign", "end"]
    text: str
    column: int


def parse(text: str) -> Expression:
    """The expression that the text spells."""
    if len(text) > MAX_LENGTH:
        raise ExpressionError(
            "the expression is too long", f"{len(text):,} characters", f"At most {MAX_LENGTH:,} are read."
        )
    return _Parser(text).whole()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._open = 0
        self._token = self._scan(0)

    def whole(self) -> Expression:
        expression = self._sum()
        if self._token.kind != "end":
            raise self._mistake("an operator")
        return expression

    def _scan(self, start: int) -> Token:
        match = _TOKEN.match(self._text, start)
        if match is None or match.lastgroup is None:
            at = start + len(self._text[start:]) - len(self._text[start:].lstrip())
            raise ExpressionError(
                f"the expression cannot be read at column {at + 1}",
                f"{self._text[at : at + 12]!r} is not part of one",
            )
        self._next = match.end()
        kind: Literal["number", "name", "sign", "end"] = match.lastgroup  # type: ignore[assignment]
        return Token(kind, match[kind], match.start(kind) + 1)

    def _advance(self) -> Token:
        token, self._token = self._token, self._scan(self._next)
        return token

    def _takes(self, sign: str) -> bool:
        if self._token.kind != "sign" or self._token.text != sign:
            return False
        self._advance()
        return True

    def _expect(self, sign: str) -> None:
        if not self._takes(sign):
            raise self._mistake(repr(sign))

    def _mistake(self, wanted: str) -> ExpressionError:
        met = repr(self._token.text[:40]) if self._token.text else "the end"
        return ExpressionError(
            f"the expression cannot be read at column {self._token.column}",
            f"{wanted} was expected, not {met}",
        )

    def _checked(self, expression: Expression) -> Expression:
        if expression.depth > MAX_DEPTH or expression.size > MAX_PARTS:
            raise self._too_large()
        return expression

    def _too_large(self) -> ExpressionError:
        return ExpressionError(
            f"the expression is too large at column {self._token.column}",
            f"at most {MAX_BRACKETS} nested brackets, {MAX_DEPTH} levels and {MAX_PARTS:,} parts are read",
        )

    def _sum(self) -> Expression:
        self._open += 1
        if self._open > MAX_BRACKETS:
            raise self._too_large()
        expression = self._chain(("+", "-"), self._product)
        self._open -= 1
        return expression

    def _product(self) -> Expression:
        return self._chain(("*", "/"), self._signed)

    def _chain(self, operators: tuple[Operator, ...], operand: Callable[[], Expression]) -> Expression:
        left = operand()
        while operator := next((sign for sign in operators if self._takes(sign)), None):
            left = self._checked(Binary(operator, left, operand()))
        return left

    def _signed(self) -> Expression:
        minuses = 0
        while self._takes("-"):
            minuses += 1
        expression = self._atom()
        for _ in range(minuses):
            expression = self._checked(Negative(expression))
        return expression

    def _atom(self) -> Expression:
        if self._takes("("):
            inner = self._sum()
            self._expect(")")
            return inner
        if self._token.kind == "number":
            return self._number()
        name = self._word("a counter, a number or '('")
        if not self._takes("("):
            return Name(name.text)
        call = self._call(name)
        self._expect(")")
        return self._checked(call)

    def _number(self) -> Expression:
        value = float(self._token.text)
        if not math.isfinite(value):
            raise self._mistake("a finite number")
        self._advance()
        return Number(value)

    def _call(self, function: Token) -> Expression:
        match function.text:
            case "reduce":
                return self._reduce()
            case "select":
                operand = self._sum()
                self._expect(",")
                return Select(operand, self._bracketed(self._choice))
            case "accumulate":
                counter = self._word("a counter").text
                self._expect(",")
                return Accumulate(counter, self._one_of(get_args(Resolution)))
            case "min" | "max":
                which: Extreme = "min" if function.text == "min" else "max"
                return MinMax(which, self._listed(self._sum))
        raise ExpressionError(
            f"the expression cannot be read at column {function.column}",
            f"there is no function {function.text[:40]!r}",
            "Functions: reduce, select, accumulate, min, max.",
        )

    def _reduce(self) -> Expression:
        operand = self._sum()
        self._expect(",")
        how: Reduction = self._one_of(get_args(Reduction))
        if not self._takes(","):
            return Reduce(operand, how)
        return Reduce(operand, how, self._bracketed(lambda: self._word("a dimension").text))

    def _choice(self) -> tuple[str, tuple[tuple[int, int], ...]]:
        name = self._word("a dimension").text
        self._expect("=")
        return name, self._bracketed(self._range)

    def _range(self) -> tuple[int, int]:
        first = self._whole_number()
        return first, self._whole_number() if self._takes(":") else first

    def _whole_number(self) -> int:
        if not (self._token.kind == "number" and self._token.text.isdigit() and len(self._token.text) < 10):
            raise self._mistake("an instance number")
        return int(self._advance().text)

    def _bracketed(self, item: Callable[[], T]) -> tuple[T, ...]:
        self._expect("[")
        items = self._listed(item)
        self._expect("]")
        return items

    def _listed(self, item: Callable[[], T]) -> tuple[T, ...]:
        items = [item()]
        while self._takes(","):
            items.append(item())
        return tuple(items)

    def _word(self, wanted: str) -> Token:
        if self._token.kind != "name":
            raise self._mistake(wanted)
        return self._advance()

    def _one_of(self, keywords: tuple[W, ...]) -> W:
        keyword = next((known for known in keywords if known == self._token.text), None)
        if keyword is None:
            raise self._mistake(" or ".join(keywords))
        self._advance()
        return keyword
