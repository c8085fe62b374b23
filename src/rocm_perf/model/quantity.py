"""A number with its unit, formula and inputs, or the reason why it has no value."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class Quantity(msgspec.Struct, frozen=True):
    """A derived number. If `value` is None, `unavailable` says why."""

    value: float | int | None
    unit: str
    formula: str
    inputs: Mapping[str, float | int] = {}
    unavailable: str | None = None
    doubt: str | None = None  # why a value is not to be trusted: it exceeds a physical bound

    def __post_init__(self) -> None:
        if (self.value is None) != (self.unavailable is not None):
            raise ValueError("a Quantity has either a value or the reason why it has none")

    @property
    def known(self) -> bool:
        """Whether it has a value."""
        return self.value is not None


def unavailable(unit: str, formula: str, reason: str) -> Quantity:
    """A Quantity that could not be computed."""
    return Quantity(None, unit, formula, unavailable=reason)


def ratio(part: float | None, whole: float | None, formula: str, part_name: str, whole_name: str) -> Quantity:
    """part / whole, or the reason why it has no value; a value above 1 is kept and doubted."""
    if part is None:
        return unavailable("", formula, f"{part_name} was not recorded")
    if not whole:
        return unavailable("", formula, f"{whole_name} is {'not recorded' if whole is None else 'zero'}")
    value = part / whole
    doubt = f"{part_name} exceeds {whole_name}" if value > 1 else None
    return Quantity(
        value=value, unit="", formula=formula, inputs={part_name: part, whole_name: whole}, doubt=doubt
    )
