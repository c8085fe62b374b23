"""Expressions: reading, writing back, values as numbers and as columns, expansion, and input made to hurt."""

from __future__ import annotations

import gzip
import math
import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.arch.expression import Expression, ExpressionError, inline, parse
from rocm_perf.arch.expression_tree import (
    Accumulate,
    Binary,
    MinMax,
    Name,
    Negative,
    Number,
    Operator,
    Reduce,
    Select,
)
from tests.properties import examples

NAMES = ("SQ_WAVES", "TCC_HIT_sum", "cu_count", "a", "e5")
FETCH = "(B*128+(R-B-S)*64+S*32)/1024"

names = st.sampled_from(NAMES)
numbers = st.one_of(
    st.integers(0, 10**6).map(float), st.floats(0, 1e300, allow_subnormal=False), st.sampled_from([1e22, 0.5])
).map(Number)
ranges = st.tuples(st.integers(0, 99), st.integers(0, 99))
choices = st.lists(
    st.tuples(st.just("DIMENSION_XCC"), st.lists(ranges, min_size=1, max_size=2).map(tuple)),
    min_size=1,
    max_size=2,
).map(tuple)
leaves: st.SearchStrategy[Expression] = st.one_of(
    numbers, names.map(Name), st.builds(Accumulate, names, st.sampled_from(["HIGH_RES", "LOW_RES", "NONE"]))
)


def larger(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    return st.one_of(
        st.builds(Binary, st.sampled_from(["+", "-", "*", "/"]), inner, inner),
        st.builds(Negative, inner),
        st.builds(
            MinMax, st.sampled_from(["min", "max"]), st.lists(inner, min_size=1, max_size=3).map(tuple)
        ),
        st.builds(
            Reduce,
            inner,
            st.sampled_from(["sum", "max", "min", "avr"]),
            st.sampled_from([(), ("D",), ("D", "E")]),
        ),
        st.builds(Select, inner, choices),
    )


expressions = st.recursive(leaves, larger, max_leaves=12)


arithmetic_only = st.recursive(
    names.map(Name),
    lambda inner: (
        st.builds(Binary, st.sampled_from(["+", "-", "*", "/"]), inner, inner) | st.builds(Negative, inner)
    ),
    max_leaves=12,
)


@given(expressions | arithmetic_only)
@examples(times=8)
def test_text_reads_back_as_the_same_expression(expression: Expression) -> None:
    assert parse(str(expression)) == expression


OPERATIONS: dict[Operator, Callable[[float, float], float]] = {
    "+": float.__add__,
    "-": float.__sub__,
    "*": float.__mul__,
    "/": float.__truediv__,
}


def arithmetic(expression: Expression, values: dict[str, float]) -> float | None:
    """The value, computed apart from the code under test; None where a divisor is zero."""
    match expression:
        case Number(value):
            return value
        case Name(name):
            return values[name]
        case Negative(operand):
            inner = arithmetic(operand, values)
            return None if inner is None else -inner
        case MinMax(which, operands):
            results = [arithmetic(each, values) for each in operands]
            known = [value for value in results if value is not None]
            return None if len(known) < len(results) else sorted(known)[0 if which == "min" else -1]
        case Binary(operator, left, right):
            first, second = arithmetic(left, values), arithmetic(right, values)
            if first is None or second is None or (operator == "/" and second == 0):
                return None
            return OPERATIONS[operator](first, second)
    raise AssertionError(expression)


plain = st.recursive(
    st.one_of(st.integers(0, 8).map(lambda value: Number(float(value))), names.map(Name)),
    lambda inner: st.one_of(
        st.builds(Binary, st.sampled_from(["+", "-", "*", "/"]), inner, inner),
        st.builds(Negative, inner),
        st.builds(
            MinMax, st.sampled_from(["min", "max"]), st.lists(inner, min_size=1, max_size=3).map(tuple)
        ),
    ),
    max_leaves=10,
)
values_of_names = st.fixed_dictionaries({name: st.integers(-9, 9).map(float) for name in NAMES})


@given(plain, values_of_names)
def test_values_equal_plain_arithmetic(expression: Expression, values: dict[str, float]) -> None:
    expected = arithmetic(expression, values)
    frame = pl.DataFrame({name: [value] for name, value in values.items()})
    column = frame.select(x=expression.column({name: pl.col(name) for name in NAMES}))["x"].to_list()
    if expected is None:
        with pytest.raises(ExpressionError, match="is zero"):
            expression.evaluate(values)
        assert column == [None]
    else:
        assert expression.evaluate(values) == expected
        assert column == [expected]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1+2*3", 7),
        ("(1+2)*3", 9),
        ("8-4-2", 2),
        ("8/4/2", 1),
        ("8/(4/2)", 4),
        ("-2*3", -6),
        ("2--3", 5),
        ("2*-3", -6),
        (".5e1 + 1e-1*10.", 6),
        ("min(3,2,4)-max(1,5)", -3),
        (FETCH, (5 * 128 + (100 - 5 - 20) * 64 + 20 * 32) / 1024),
        ("reduce(R,sum)/reduce(R,max)", 10),
        ("reduce( R , max , [ DIMENSION_XCC ] )", 13),
        ("select(R,[DIMENSION_XCC=[0],DIMENSION_INSTANCE=[1:3]])", 17),
        ("reduce(accumulate(R, HIGH_RES),sum)", 19),
    ],
)
def test_worked_values(text: str, value: float) -> None:
    given_values = {
        "B": 5.0,
        "R": 100.0,
        "S": 20.0,
        "reduce(R,max)": 10.0,
        "reduce(R,max,[DIMENSION_XCC])": 13.0,
        "select(R,[DIMENSION_XCC=[0],DIMENSION_INSTANCE=[1:3]])": 17.0,
        "accumulate(R,HIGH_RES)": 19.0,
    }
    assert parse(text).evaluate(given_values) == value


def test_names_are_counters_and_constants_not_functions_or_dimensions() -> None:
    text = "400*reduce(accumulate(SQ_LEVEL_WAVES,HIGH_RES),sum)/max(A,select(B,[DIMENSION_XCC=[0]]))/CU_NUM"
    assert parse(text).names == {"SQ_LEVEL_WAVES", "A", "B", "CU_NUM"}


def test_unsigned_counters_do_not_wrap_round() -> None:
    frame = pl.DataFrame({"a": [3], "b": [5]}, schema={"a": pl.UInt64, "b": pl.UInt64})
    made = frame.select(x=parse("a-b").column({"a": pl.col("a"), "b": pl.col("b")}))
    assert made["x"].to_list() == [-2.0]


def test_columns_keep_nulls_and_never_make_infinities() -> None:
    frame = pl.DataFrame({"hit": [1, 0, None, 4], "miss": [3, 0, 2, None]})
    columns = {"hit": pl.col("hit"), "miss": pl.col("miss")}
    rate = frame.select(x=parse("hit/(hit+miss)").column(columns))["x"].to_list()
    least = frame.select(x=parse("min(hit,miss)").column(columns))["x"].to_list()
    assert rate == [0.25, None, None, None]
    assert least == [1.0, 0.0, None, None]


def test_instances_are_not_told_by_a_sum() -> None:
    for text in (
        "reduce(A,max)",
        "reduce(A,avr)",
        "reduce(A,sum,[D])",
        "select(A,[D=[0]])",
        "accumulate(A,NONE)",
    ):
        with pytest.raises(
            ExpressionError, match=re.escape(f"{parse(text)} has no value: a recording holds only")
        ):
            parse(text).evaluate({"A": 1.0})
        with pytest.raises(ExpressionError, match="holds only the sum"):
            parse(text).column({"A": pl.col("A")})


@pytest.mark.parametrize(
    ("text", "column", "says"),
    [
        ("", 1, "a counter, a number or '(' was expected, not the end"),
        ("1 +", 4, "not the end"),
        ("1 + )", 5, "not ')'"),
        ("(1", 3, "')' was expected"),
        ("A B", 3, "an operator was expected, not 'B'"),
        ("A $ B", 3, "'$ B' is not part of one"),
        ("3X", 1, "'3X' is not part"),
        ("A + open(B)", 5, "there is no function 'open'"),
        ("__import__(A)", 1, "there is no function '__import__'"),
        ("reduce(A,median)", 10, "sum or max or min or avr was expected, not 'median'"),
        ("accumulate(A,HIGH)", 14, "HIGH_RES or LOW_RES or NONE"),
        ("accumulate(1,NONE)", 12, "a counter was expected"),
        ("select(A,[D=[1.5]])", 14, "an instance number was expected"),
        ("select(A,[])", 11, "a dimension was expected"),
        ("1e999", 1, "a finite number was expected"),
        ("A.b", 2, "'.b' is not part"),
        ("²", 1, "is not part"),
        ("min()", 5, "not ')'"),
    ],
)
def test_mistakes_are_told_with_their_column(text: str, column: int, says: str) -> None:
    with pytest.raises(ExpressionError, match=re.escape(says)) as refusal:
        parse(text)
    assert f"at column {column}:" in str(refusal.value)


def test_values_that_do_not_exist() -> None:
    with pytest.raises(ExpressionError, match=r"A/\(B-C\) has no value: B-C is zero"):
        parse("1+A/(B-C)").evaluate({"A": 1, "B": 2, "C": 2})
    with pytest.raises(ExpressionError, match="TCC_HIT has no value: it was not recorded"):
        parse("TCC_HIT").evaluate({})
    with pytest.raises(ExpressionError, match="TCC_HIT has no value"):
        parse("TCC_HIT").column({})
    with pytest.raises(ExpressionError, match="not a finite number"):
        parse("A*A").evaluate({"A": 1e300})


def test_hostile_text_is_refused_quickly() -> None:
    with pytest.raises(ExpressionError, match="too long: 10,000,000 characters"):
        parse("A" * 10_000_000)
    hostile = (
        "(" * 40_000,
        "-" * 40_000 + "1",
        "1+" * 40_000 + "1",
        "min(" * 9_000,
        f"max({'1,' * 49_000}1)",
    )
    for text in hostile:
        with pytest.raises(ExpressionError, match="too large"):
            parse(text)


def test_reasonable_sizes_are_read() -> None:
    assert parse("+".join(["A"] * 128)).evaluate({"A": 2}) == 256
    assert parse("(" * 40 + "A" + ")" * 40) == Name("A")
    deep = parse("-" * 140 + "A")
    assert parse(str(deep)) == deep
    assert deep.evaluate({"A": 3}) == 3
    assert deep.names == {"A"}


def definitions(**texts: str) -> dict[str, Expression]:
    return {name: parse(text) for name, text in texts.items()}


def test_inline_goes_all_the_way_down() -> None:
    known = definitions(HIT_sum="reduce(HIT,sum)", ALL="HIT_sum+reduce(MISS,sum)", RATE="HIT_sum/ALL")
    expanded = inline(parse("100*RATE"), known)
    assert str(expanded) == "100*(reduce(HIT,sum)/(reduce(HIT,sum)+reduce(MISS,sum)))"
    assert expanded.evaluate({"HIT": 3, "MISS": 1}) == 75
    assert inline(parse("accumulate(HIT_sum,NONE)"), known).names == {"HIT_sum"}


def test_a_cycle_is_named() -> None:
    known = definitions(A="1+B", B="reduce(C,sum)", C="max(B,2)", SELF="SELF")
    with pytest.raises(ExpressionError, match="B is defined in terms of itself: B -> C -> B"):
        inline(parse("A"), known)
    with pytest.raises(ExpressionError, match="SELF -> SELF"):
        inline(parse("SELF"), known)


def test_definitions_that_explode_are_refused() -> None:
    doubling = {f"N{i}": parse(f"N{i + 1}+N{i + 1}") for i in range(60)}
    chain = {f"N{i}": parse(f"N{i + 1}") for i in range(10_000)}
    deep = {f"N{i}": parse("-" * 100 + f"N{i + 1}") for i in range(100)}
    for known in (doubling, chain, deep):
        with pytest.raises(ExpressionError, match="the definition of N0 is too large"):
            inline(parse("N0"), known)


def test_every_public_definition_is_read(specimens: Path) -> None:
    files = sorted((specimens / "counters").glob("ROCm_*.yaml.gz"))
    texts = {
        text
        for file in files
        for text in re.findall(r"expression: (.*)", gzip.decompress(file.read_bytes()).decode())
    }
    assert len(texts) > 300
    for text in texts:
        expression = parse(text.strip("'"))
        assert str(expression).replace("(", "").replace(")", "") == re.sub(r"[\s()']", "", text)
        assert expression.names or math.isfinite(expression.evaluate({}))
