"""How far a number may be from the expected one: by the type of the expected array, or what the user allows."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rocm_perf.errors import UsageError

# Per type, a share of the expected number plus the same share of its array's root mean square: sums taken in another
# order differ in proportion to what was added, not to what is left. Each is below what the next lower precision costs,
# and above rounding: for float32, other orders of summation stay within 2e-6 and TF32 is off by 3e-4.
_RELATIVE = {
    "float64": 1e-10,
    "float32": 2e-5,
    "float16": 2e-3,  # two units in the last place
    "bfloat16": 1.6e-2,
    "float8_e4m3fn": 0.25,
    "float8_e5m2": 0.5,
    "complex64": 2e-5,
    "complex128": 1e-10,
}


@dataclass(frozen=True)
class Tolerance:
    """What is allowed: `absolute` alone where it is given, else a share that depends on the type."""

    absolute: float | None = None

    def __post_init__(self) -> None:
        if self.absolute is not None and not 0 <= self.absolute < math.inf:
            raise UsageError(
                f"{self.absolute} is not a tolerance", "it is the largest difference allowed, 0 or more"
            )

    def relative(self, dtype: str) -> float:
        """The share of the expected number that an element of this type may be off by; exact for integers."""
        return 0.0 if self.absolute is not None else _RELATIVE.get(dtype, 0.0)

    def is_exact(self, dtype: str) -> bool:
        """Whether elements of this type have to be the same: integers, truth values."""
        return dtype not in _RELATIVE
