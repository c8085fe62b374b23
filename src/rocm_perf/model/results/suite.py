"""A suite of products of matrices: what each variant computes, how well, and how fast. Written as JSON."""

from __future__ import annotations

from statistics import median

import msgspec

from rocm_perf.model.machine_ceilings import MeasuredGpu

SCHEMA_VERSION = 1


class ProductPeak(msgspec.Struct, frozen=True, kw_only=True):
    """What a GPU can do at most with products of one type, in TFLOP/s or TOP/s."""

    dtype: str
    rate: str  # the units that limit it: "f16 matrix"
    data_sheet: float | None
    measured: float | None
    measured_on: str = ""  # "this machine on 2026-11-16"


class ProductCase(msgspec.Struct, frozen=True, kw_only=True):
    """One variant on one type and shape: m x k times k x n."""

    variant: str
    dtype: str
    m: int
    n: int
    k: int
    times_ms: tuple[float, ...]
    tflops: float  # at the median time; TOP/s for integers
    percent_of_data_sheet: float | None
    percent_of_measured: float | None
    correct: bool
    error: float  # root mean square of the difference to float64, relative to that of the values
    largest_error: float  # of one value, relative to the largest value
    tolerance: float

    @property
    def shape(self) -> str:
        """For example `4096`, or `32x8192x8192` (m, n, k)."""
        return str(self.m) if self.m == self.n == self.k else f"{self.m}x{self.n}x{self.k}"

    @property
    def median_ms(self) -> float:
        return median(self.times_ms)


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """A variant, or one of its cases, that was not measured, and why."""

    variant: str
    reason: str
    dtype: str = ""
    shape: str = ""


class ProductSuite(msgspec.Struct, frozen=True, kw_only=True):
    """The results of a suite on one GPU."""

    suite: str
    gpu: MeasuredGpu
    host: str
    date: str
    torch: str
    peaks: tuple[ProductPeak, ...]
    cases: tuple[ProductCase, ...]
    left_out: tuple[LeftOut, ...] = ()
    schema_version: int = SCHEMA_VERSION

    @property
    def wrong(self) -> tuple[ProductCase, ...]:
        """The cases whose result is not the product."""
        return tuple(case for case in self.cases if not case.correct)
