"""The honest function that cheats are compared with, and its inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

SIZES = (60, 100)


def inputs(seed: int) -> list[tuple[Any, ...]]:
    generator = np.random.default_rng(seed)
    return [(generator.standard_normal((size, 64)).astype(np.float32),) for size in SIZES]


def zeros() -> tuple[Any, ...]:
    return (np.zeros((60, 64), np.float32),)


def out_inputs(seed: int) -> tuple[Any, ...]:
    generator = np.random.default_rng(seed)
    return generator.standard_normal(64).astype(np.float32), np.empty(64, np.float32)


def honest(x: Any) -> Any:
    """Some work: a power iteration of the Gram matrix."""
    gram = x.T @ x / len(x)
    vector = np.ones(64, np.float32)
    for _ in range(4):
        vector = gram @ vector
    return vector / np.abs(vector).max()


def slow(x: Any) -> Any:
    for _ in range(40):
        honest(x)
    return honest(x)


def honest_with_temporary(x: Any) -> Any:
    """The same, and the last memory that it frees holds the result."""
    result = honest(x)
    return result.copy()


def honest_out(x: Any, out: Any) -> None:
    out[:] = x * 2 + 1
