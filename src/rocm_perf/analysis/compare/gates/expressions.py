"""What `--fail-on` says: a metric, and one or more limits that all have to be exceeded.

`wall>3%` is about the change relative to base, `wall>+50us` about the change itself, `wall>20ms` about the new value.
`wall>3% and +50us` fails where both are exceeded, so that neither tiny times nor tiny shares raise an alarm.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from rocm_perf.errors import UsageError

Of = Literal["relative change", "change", "new value"]
Dimension = Literal["time", "size", "count"]
Subject = Literal["kernel", "operator", "module", "step"]

_LONGEST = 500  # characters of an expression
_UNITS: dict[str, tuple[Dimension, float]] = {
    "ns": ("time", 1),
    "us": ("time", 1e3),
    "ms": ("time", 1e6),
    "s": ("time", 1e9),
    "B": ("size", 1),
    "KiB": ("size", 1 << 10),
    "MiB": ("size", 1 << 20),
    "GiB": ("size", 1 << 30),
}
_LIMIT = rf"[-+]?\d+(?:\.\d+)?\s*(?:%|{'|'.join(_UNITS)})?"
_EXPRESSION = re.compile(
    rf"\s*(?P<metric>\S.*?)\s*(?P<side>[<>])\s*(?P<limits>{_LIMIT}(?:\s+and\s+[<>]?\s*{_LIMIT})*)\s*",
    re.ASCII,
)
_PARTS = re.compile(r"(?P<side>[<>])?\s*(?P<sign>[-+])?(?P<number>[\d.]+)\s*(?P<unit>%|[A-Za-z]*)")
_MEMBER = re.compile(r"(?P<subject>kernel|operator|module|step):(?P<pattern>.+)\.(?P<quantity>\w+)")
_SUBJECTS: dict[str, Subject] = {
    "kernel": "kernel",
    "operator": "operator",
    "module": "module",
    "step": "step",
}


class Limit(msgspec.Struct, frozen=True):
    """A bound on a value: above it, or below it, is too much."""

    of: Of
    bound: float  # a share of base, or in ns, bytes or things
    above: bool
    dimension: Dimension | None  # None: a share goes with everything


class Expression(msgspec.Struct, frozen=True):
    """One `--fail-on`."""

    text: str
    quantity: str  # wall, kernels, median, spills, ...
    pattern: str | None  # of what the subject is; None: of the whole, or of every kernel
    limits: tuple[Limit, ...]
    subject: Subject = "kernel"


def parse(text: str) -> Expression:
    """The expression that a text spells; raises UsageError if it spells none."""
    match = _EXPRESSION.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        raise _unclear(text, "it is not METRIC>LIMIT")
    limits = tuple(
        _limit(text, part, match["side"]) for part in re.split(r"\s+and\s+", match["limits"].strip())
    )
    member = _MEMBER.fullmatch(match["metric"])
    if member:
        return Expression(text, member["quantity"], member["pattern"], limits, _SUBJECTS[member["subject"]])
    subject = match["metric"].partition(":")[0]
    if subject != match["metric"] and subject in _SUBJECTS:
        raise _unclear(text, f"a limit on {subject}s is {subject}:PATTERN.QUANTITY>LIMIT")
    return Expression(text, match["metric"], None, limits)


def require(expression: Expression, known: dict[str, Dimension]) -> None:
    """Raise UsageError unless the quantity is one of the known ones, and the limits have its unit."""
    dimension = known.get(expression.quantity)
    if dimension is None:
        raise _unclear(expression.text, f"{expression.quantity!r} is none of {', '.join(known)}")
    for limit in expression.limits:
        if limit.dimension not in (None, dimension) and limit.bound:
            units = [name for name, (kind, _) in _UNITS.items() if kind == dimension]
            wanted = (
                f"a limit on it needs %, {' or '.join(units)}" if units else "a limit on it has no unit but %"
            )
            raise _unclear(expression.text, wanted)


def _limit(text: str, part: str, side: str) -> Limit:
    match = _PARTS.fullmatch(part.strip())
    if match is None:
        raise _unclear(text, f"{part!r} is not a limit")
    above = (match["side"] or side) == ">"
    number = float(match["number"]) * (-1 if match["sign"] == "-" else 1)
    if match["unit"] == "%":
        if not above and number >= 0:
            raise _unclear(
                text, f"a share below which a change is too much is negative: <-{match['number']}%"
            )
        return Limit("relative change", number / 100, above, None)
    dimension, factor = _UNITS.get(match["unit"], ("count", 1.0))
    return Limit("change" if match["sign"] else "new value", number * factor, above, dimension)


def _unclear(text: str, why: str) -> UsageError:
    return UsageError(
        f"cannot judge --fail-on {text!r}",
        why,
        'Write for example "wall>3%", "wall>3% and +50us" or "kernels>+10", behind the paths.',
    )
