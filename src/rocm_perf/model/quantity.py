"""A number that can defend itself: value, unit, formula, inputs; or the reason why there is none."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class Quantity(msgspec.Struct, frozen=True):
    """A derived number. `value` is None exactly when `unavailable` says why."""

    value: float | int | None
    unit: str
    formula: str
    inputs: Mapping[str, float | int] = {}
    unavailable: str | None = None
    doubt: str | None = None  # a value that exists but breaks a physical bound says so here

    def __post_init__(self) -> None:
        if (self.value is None) != (self.unavailable is not None):
            raise ValueError("a Quantity has either a value or the reason why it has none")

    @property
    def known(self) -> bool:
        return self.value is not None


def unavailable(unit: str, formula: str, reason: str) -> Quantity:
    """A Quantity that could not be computed."""
    return Quantity(None, unit, formula, unavailable=reason)


def ratio(part: float | None, whole: float | None, formula: str, part_name: str, whole_name: str) -> Quantity:
    """part / whole, or the reason why it has no value; above 1 it is kept and doubted."""
    if part is None:
        return unavailable("", formula, f"{part_name} was not recorded")
    if not whole:
        return unavailable("", formula, f"{whole_name} is {'not recorded' if whole is None else 'zero'}")
    value = part / whole
    doubt = f"{part_name} exceeds {whole_name}" if value > 1 else None
    return Quantity(value, "", formula, {part_name: part, whole_name: whole}, doubt=doubt)
