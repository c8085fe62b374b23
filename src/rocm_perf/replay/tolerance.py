"""How far a value may be off: by type, where bit for bit is not to be had."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import polars as pl

from rocm_perf.errors import UsageError

Dtype = Literal["f16", "bf16", "f32", "f64"]
_BYTES: dict[Dtype, int] = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8}
_POLARS = {"f16": pl.Float16, "f32": pl.Float32, "f64": pl.Float64}
_EXAMPLE = "Write for example f32=1e-6,1e-5: absolute, relative."


@dataclass(frozen=True)
class Tolerance:
    """Two values are close if they differ by at most `absolute`, or by `relative` of the larger."""

    dtype: Dtype
    absolute: float
    relative: float

    def __str__(self) -> str:
        return f"{self.dtype} within {self.absolute:g} absolute or {self.relative:g} relative"

    @property
    def option(self) -> str:
        """As options take it."""
        return f"{self.dtype}={self.absolute:g},{self.relative:g}"

    def far_off(self, expected: bytes, got: bytes) -> int:
        """How many values of two stretches of the same length are not close. Bits that are the same always are."""
        whole = len(expected) // _BYTES[self.dtype] * _BYTES[self.dtype]
        pairs = pl.DataFrame({
            "wanted": values(self.dtype, expected[:whole]),
            "got": values(self.dtype, got[:whole]),
        })  # fmt: skip
        far = int(pairs.select((~self._is_close(pl.col("wanted"), pl.col("got"))).sum()).item())
        return far + (expected[whole:] != got[whole:])

    def _is_close(self, wanted: pl.Expr, got: pl.Expr) -> pl.Expr:
        """As math.isclose has it, but NaN is close to NaN."""
        apart = (wanted - got).abs()  # not finite where one of the two is not
        allowed = pl.max_horizontal(
            self.relative * wanted.abs(), self.relative * got.abs(), pl.lit(self.absolute)
        )
        same = (wanted == got) | (wanted.is_nan() & got.is_nan())
        return same | (apart.is_finite() & (apart <= allowed))


# Two replays of a reduction by atomics differ in their last bits. An absolute tolerance is for the user to give: small
# integers look like tiny floats.
DEFAULT = (Tolerance("f32", 0.0, 1e-5),)


def parse_tolerance(text: str) -> Tolerance:
    """The tolerance that a text like `f32=1e-6,1e-5` stands for: absolute, relative."""
    name, _, numbers = text.partition("=")
    parts = numbers.split(",")
    known: tuple[Dtype, ...] = get_args(Dtype)
    dtype = next((one for one in known if one == name), None)
    if dtype is None or len(parts) != 2:
        raise UsageError(f"{text!r} is not a tolerance", f"types are {', '.join(known)}", _EXAMPLE)
    try:
        absolute, relative = (float(part) for part in parts)
    except ValueError as error:
        raise UsageError(f"{text!r} is not a tolerance", "two numbers belong there", _EXAMPLE) from error
    if not (0 <= absolute < math.inf and 0 <= relative < 1):
        raise UsageError(
            f"{text!r} is not a tolerance", "absolute is 0 or more, relative from 0 to below 1", _EXAMPLE
        )
    return Tolerance(dtype, absolute, relative)


def values(dtype: Dtype, data: bytes) -> pl.Series:
    """Little-endian values of the type, as f64."""
    if dtype == "bf16":  # the upper half of a f32
        wide = bytearray(2 * len(data))
        wide[2::4], wide[3::4] = data[0::2], data[1::2]
        return values("f32", bytes(wide))
    if not data:
        return pl.Series(dtype=pl.Float64)
    kind = pl.Array(_POLARS[dtype], len(data) // _BYTES[dtype])
    raw = pl.Series([data]).bin.reinterpret(dtype=kind, endianness="little")
    numbers: pl.Series = raw.explode().cast(pl.Float64)
    return numbers
