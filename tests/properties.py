"""How many examples a property gets: conftest.py says how many are usual in this run."""

from __future__ import annotations

from collections.abc import Collection

from hypothesis import HealthCheck, settings


def examples(*, times: float, allowed: Collection[HealthCheck] = ()) -> settings:
    """Settings with so many times the usual number, for a property that is cheaper or dearer than most. `allowed` is
    what hypothesis would otherwise complain about."""
    usual = settings()
    return settings(
        max_examples=max(3, round(times * usual.max_examples)),
        suppress_health_check=[*usual.suppress_health_check, *allowed],
    )
