"""The one place that formats nanoseconds, bytes, shares and counts for people."""

from __future__ import annotations

from collections.abc import Sequence

NS_PER_US = 1_000
NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000

_ENORMOUS = 1e6  # percent: from here on the magnitude is enough
_TIME_STEPS = ((NS_PER_S, "s"), (NS_PER_MS, "ms"), (NS_PER_US, "us"), (1, "ns"))
_SIZE_STEPS = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B"))


def format_ns(value: float) -> str:
    """A time with its unit: 1234567 -> '1.23 ms'."""
    return _scaled(value, _TIME_STEPS)


def format_bytes(value: float) -> str:
    """A size with its unit: 65536 -> '64.0 KiB'."""
    return _scaled(value, _SIZE_STEPS)


def format_share(value: float) -> str:
    """A share as a percentage: 0.1234 -> '12.3 %'; one that is small but not zero never prints as zero."""
    percent = 100 * value
    if 0 < percent < 0.1:
        return "<0.1 %"
    return f"{percent:.1f} %"


def format_ratio(ratio: float, interval: tuple[float, float] | None = None) -> str:
    """A ratio as the change it stands for: 1.05 -> '+5.0 %', and with its interval '+5.0 %, +3.0 % to +7.0 %'."""
    if interval is None:
        return _signed_percent(ratio - 1)
    low, high = (_signed_percent(bound - 1) for bound in interval)
    return f"{_signed_percent(ratio - 1)}, {low} to {high}"


def format_apart(one: float, other: float) -> tuple[str, str]:
    """Two numbers with as many digits as tell them apart: (0.1, 0.2) -> '0.1', '0.2'; as f32 at most."""
    digits = "g" if f"{one:g}" != f"{other:g}" else ".9g"
    return f"{one:{digits}}", f"{other:{digits}}"


def format_number(value: float) -> str:
    """A count, or a mean or median of counts: 1234567 -> '1,234,567', 2.5 -> '2.5'."""
    return f"{round(value, 2):,.15g}"


def format_count(value: float, singular: str, plural: str | None = None) -> str:
    """A number with its noun: (2, 'dispatch', 'dispatches') -> '2 dispatches'."""
    word = singular if value == 1 else (plural or singular + "s")
    return f"{format_number(value)} {word}"


def with_article(noun: str) -> str:
    """The noun after "a" or "an", by its first letter."""
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


def format_list(names: Sequence[str], most: int) -> str:
    """The names, or the first of them and how many more there are."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _signed_percent(change: float) -> str:
    percent = abs(100 * change)
    sign = "+" if change > 0 else "-"
    if percent >= _ENORMOUS:
        return f"{sign}{percent:.0e} %"
    digits = 2 if percent < 1 else 1 if percent < 100 else 0
    return f"{sign}{percent:,.{digits}f} %" if round(percent, 2) else "0 %"


def _scaled(value: float, steps: tuple[tuple[int, str], ...]) -> str:
    for factor, unit in steps:
        if abs(value) >= factor:
            scaled = value / factor
            if factor == 1:
                return f"{scaled:.0f} {unit}"
            digits = 2 if abs(scaled) < 10 else 1 if abs(scaled) < 100 else 0
            return f"{scaled:,.{digits}f} {unit}"
    return f"0 {steps[-1][1]}"
