"""Numbers as people read them."""

from __future__ import annotations

import pytest

from rocm_perf.units import format_count, format_ratio, with_article


@pytest.mark.parametrize(
    ("ratio", "interval", "text"),
    [
        (1.0, None, "0 %"),
        (1.00001, None, "0 %"),
        (1.0012, None, "+0.12 %"),
        (0.95, None, "-5.0 %"),
        (3.5, None, "+250 %"),
        (1.05, (1.03, 1.071), "+5.0 %, +3.0 % to +7.1 %"),
        (1e300, None, "+1e+302 %"),
    ],
)
def test_a_ratio_is_a_change(ratio: float, interval: tuple[float, float] | None, text: str) -> None:
    assert format_ratio(ratio, interval) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(1, "1 kernel"), (1.0, "1 kernel"), (2.5, "2.5 kernels"), (1_234_567.0, "1,234,567 kernels")],
)
def test_a_count_has_all_its_digits(value: float, text: str) -> None:
    assert format_count(value, "kernel") == text


@pytest.mark.parametrize(("noun", "said"), [("attention", "an attention"), ("gemm", "a gemm")])
def test_articles(noun: str, said: str) -> None:
    assert with_article(noun) == said
