"""Numbers as people read them."""

from __future__ import annotations

import pytest

from rocm_perf.units import format_ratio


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
