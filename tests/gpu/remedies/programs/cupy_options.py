"""CuPy: Black-Scholes prices of 16 million options, written as one would in NumPy, in its default type."""

from __future__ import annotations

from typing import Any

import cupy as cp
from cupyx.scipy.special import erf
from tests.gpu.remedies.loop import Loop, driven, run, sized

OPTIONS = sized(16_000_000, 1000)
RATE, VOLATILITY = 0.03, 0.2
Array = Any


def normal(x: Array) -> Array:
    return 0.5 * (1.0 + erf(x / 1.4142135623730951))


def prices(spot: Array, strike: Array, years: Array) -> tuple[Array, Array]:
    """Return the prices of calls and puts."""
    spread = VOLATILITY * cp.sqrt(years)
    d1 = (cp.log(spot / strike) + (RATE + 0.5 * VOLATILITY * VOLATILITY) * years) / spread
    d2 = d1 - spread
    discounted = strike * cp.exp(-RATE * years)
    call = spot * normal(d1) - discounted * normal(d2)
    return call, call - spot + discounted


FUSED = cp.ElementwiseKernel(
    "T spot, T strike, T years",
    "T call, T put",
    """
    T spread = T(0.2) * sqrt(years);
    T d1 = (log(spot / strike) + T(0.03 + 0.5 * 0.2 * 0.2) * years) / spread;
    T discounted = strike * exp(T(-0.03) * years);
    call = spot * normcdf(d1) - discounted * normcdf(d1 - spread);
    put = call - spot + discounted;
    """,
    "black_scholes",
)


def make(variant: str) -> Loop:
    cp.random.seed(0)
    dtype = cp.float32 if variant.endswith("float32") else cp.float64
    spot, strike, years = (
        (low + (high - low) * cp.random.random(OPTIONS)).astype(dtype)
        for low, high in ((10.0, 50.0), (10.0, 50.0), (0.2, 2.0))
    )
    price = FUSED if variant.startswith("fused") else prices

    def step() -> None:
        price(spot, strike, years)

    return Loop(drive=driven(step), items=OPTIONS, synchronize=cp.cuda.Device().synchronize)


if __name__ == "__main__":
    run(make, ("base", "fused", "float32", "fused_float32"))
