"""What `--fail-on` may say."""

from __future__ import annotations

import pytest

from rocm_perf.analysis.compare.gates.expressions import Limit, parse, require
from rocm_perf.errors import UsageError


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("wall>3%", [Limit("relative change", 0.03, above=True, dimension=None)]),
        ("wall > +3 %", [Limit("relative change", 0.03, above=True, dimension=None)]),
        ("wall>-2.5%", [Limit("relative change", -0.025, above=True, dimension=None)]),
        ("wall>+50us", [Limit("change", 50e3, above=True, dimension="time")]),
        ("wall>1.5ms", [Limit("new value", 1.5e6, above=True, dimension="time")]),
        ("kernels>+10", [Limit("change", 10, above=True, dimension="count")]),
        ("kernels>500", [Limit("new value", 500, above=True, dimension="count")]),
        ("waves<-10%", [Limit("relative change", -0.1, above=False, dimension=None)]),
        ("waves<4", [Limit("new value", 4, above=False, dimension="count")]),
        ("lds>64KiB", [Limit("new value", 65536, above=True, dimension="size")]),
        (
            "wall>3% and +50us",
            [Limit("relative change", 0.03, above=True, dimension=None), Limit("change", 50e3, True, "time")],
        ),
        (
            "wall>3% and >50us",
            [
                Limit("relative change", 0.03, above=True, dimension=None),
                Limit("new value", 50e3, True, "time"),
            ],
        ),
    ],
)
def test_limits(text: str, limits: list[Limit]) -> None:
    expression = parse(text)
    assert list(expression.limits) == limits
    assert (expression.text, expression.pattern) == (text, None)


@pytest.mark.parametrize(
    ("text", "pattern", "quantity"),
    [
        ("kernel:gemm*.median>5%", "gemm*", "median"),
        ("kernel:f<4, 2>.total>+1us", "f<4, 2>", "total"),
        ("kernel:a.b.calls>+1", "a.b", "calls"),
        ("kernel:*.median>5% and +2us", "*", "median"),
    ],
)
def test_patterns_of_kernels(text: str, pattern: str, quantity: str) -> None:
    expression = parse(text)
    assert (expression.pattern, expression.quantity) == (pattern, quantity)


@pytest.mark.parametrize(
    "text",
    [
        "", "wall", "wall>", ">3%", "wall>3%%", "wall>three", "wall=3%", "wall>3% or 5us", "wall>3% and",
        "wall>3 parsecs", "kernel:gemm>5%", "kernel:.median>5%", "wall>nan", "wall>1e3", "wall>٣%", "wall<3%",
        "w" * 600 + ">3%", "some/path",
        "wall>3%\nand 5us and",
    ],
)  # fmt: skip
def test_what_is_unclear_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as refusal:
        parse(text)
    assert refusal.value.exit_code == 2
    assert "wall>3%" in str(refusal.value)


def test_units_must_fit() -> None:
    with pytest.raises(UsageError, match="a limit on it needs %, ns or us or ms or s"):
        require(parse("wall>+3"), {"wall": "time"})
    with pytest.raises(UsageError, match="a limit on it has no unit but %"):
        require(parse("kernels>3us"), {"kernels": "count"})
    with pytest.raises(UsageError, match="'walls' is none of wall, kernels"):
        require(parse("walls>3%"), {"wall": "time", "kernels": "count"})
    require(parse("lds>0"), {"lds": "size"})  # nothing is nothing in every unit
