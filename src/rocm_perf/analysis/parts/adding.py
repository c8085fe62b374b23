"""How rows and shares of several parts become one: what can be added up is added up; the rest, such as a median or a
sentence, is that of the part which has most of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import msgspec

from rocm_perf.model.quantity import Quantity, unavailable

Row = TypeVar("Row", bound=msgspec.Struct)


def added(parts: Iterable[Sequence[Row]], key: Sequence[str], numbers: Sequence[str]) -> tuple[Row, ...]:
    """Rows with the same key as one, largest sum of the first number first."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for rows in parts:
        for row in rows:
            groups.setdefault(tuple(getattr(row, name) for name in key), []).append(row)
    sums = [as_one(members, numbers) for members in groups.values()]
    return tuple(sorted(sums, key=lambda row: -(getattr(row, numbers[0]) or 0)))


def as_one(members: Sequence[Row], numbers: Sequence[str]) -> Row:
    """The member with the largest first number, with the sums over all; None where no member has the number."""
    most = max(members, key=lambda row: getattr(row, numbers[0]) or 0)
    return msgspec.structs.replace(most, **{name: _sum(members, name) for name in numbers})


def added_counts(parts: Iterable[dict[str, int]]) -> dict[str, int]:
    """The sums under each name, largest first."""
    sums: dict[str, int] = {}
    for counts in parts:
        for name, count in counts.items():
            sums[name] = sums.get(name, 0) + count
    return dict(sorted(sums.items(), key=lambda entry: -entry[1]))


def pooled(shares: Sequence[Quantity]) -> Quantity:
    """A share over all parts: the first input of all of them by the second; unknown where no part knows it."""
    known = [share for share in shares if share.known and len(share.inputs) == 2]
    if not known:
        return shares[0]
    names = list(known[0].inputs)
    inputs = {name: sum(share.inputs.get(name, 0) for share in known) for name in names}
    if not inputs[names[1]]:
        return unavailable(known[0].unit, known[0].formula, f"{names[1]} is zero")
    return msgspec.structs.replace(
        known[0], value=inputs[names[0]] / inputs[names[1]], inputs=inputs, doubt=known[0].doubt
    )


def _sum(members: Sequence[msgspec.Struct], name: str) -> Any:
    values = [value for row in members if (value := getattr(row, name)) is not None]
    return sum(values) if values else None
