"""How far a value may be off: by type, where bit for bit is not to be had."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

from rocm_perf.errors import UsageError

Dtype = Literal["f16", "bf16", "f32", "f64"]
_BYTES: dict[Dtype, int] = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8}
_EXAMPLE = "Write for example f32=1e-6,1e-5: absolute, relative."


@dataclass(frozen=True)
class Tolerance:
    """Two values are close if they differ by at most `absolute`, or by `relative` of the larger."""

    dtype: Dtype
    absolute: float
    relative: float

    def __str__(self) -> str:
        return f"{self.dtype} within {self.absolute:g} absolute or {self.relative:g} relative"

    def far_off(self, expected: bytes, got: bytes) -> int:
        """How many values of two stretches of the same length are not close. Bits that are the same always are."""
        size = _BYTES[self.dtype]
        whole = len(expected) // size * size
        close = partial(math.isclose, rel_tol=self.relative, abs_tol=self.absolute)
        wanted, found = values(self.dtype, expected[:whole]), values(self.dtype, got[:whole])
        suspects = [place for place, fine in enumerate(map(close, wanted, found)) if not fine]
        far = sum(not _both_nan(wanted[place], found[place]) for place in suspects)
        return far + (expected[whole:] != got[whole:])


# Two replays of a reduction by atomics differ in their last bits. An absolute tolerance is for the user to give: small
# integers look like tiny floats.
DEFAULT = (Tolerance("f32", 0.0, 1e-5),)


def parse_tolerance(text: str) -> Tolerance:
    """`f32=1e-6,1e-5`."""
    name, _, numbers = text.partition("=")
    parts = numbers.split(",")
    known: tuple[Dtype, ...] = get_args(Dtype)
    dtype = next((one for one in known if one == name), None)
    if dtype is None or len(parts) != 2:
        raise UsageError(f"{text!r} is no tolerance", f"types are {', '.join(known)}", _EXAMPLE)
    try:
        absolute, relative = (float(part) for part in parts)
    except ValueError as error:
        raise UsageError(f"{text!r} is no tolerance", "two numbers belong there", _EXAMPLE) from error
    if not (0 <= absolute < math.inf and 0 <= relative < 1):
        raise UsageError(
            f"{text!r} is no tolerance", "absolute is 0 or more, relative from 0 to below 1", _EXAMPLE
        )
    return Tolerance(dtype, absolute, relative)


def values(dtype: Dtype, data: bytes) -> Sequence[float]:
    """Little-endian values of the type."""
    if dtype == "bf16":  # the upper half of a f32
        wide = bytearray(2 * len(data))
        wide[2::4], wide[3::4] = data[0::2], data[1::2]
        return values("f32", bytes(wide))
    letter = {"f16": "e", "f32": "f", "f64": "d"}[dtype]
    return struct.unpack(f"<{len(data) // _BYTES[dtype]}{letter}", data)


def _both_nan(one: float, other: float) -> bool:
    return math.isnan(one) and math.isnan(other)
