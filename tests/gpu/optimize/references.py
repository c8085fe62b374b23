"""What the programs of the testbed should compute, by numpy in double precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]


class Reference(NamedTuple):
    """The result of a program for a size and a number of repetitions, and how its file stores it."""

    values: Callable[[int, int], Doubles]
    size: int
    repetitions: int
    dtype: str = "f4"


def _mixed(count: int, seed: int) -> NDArray[np.uint32]:
    """`mixed` of gpu.h."""
    value = np.arange(count, dtype=np.uint32) + np.uint32(seed * 0x9E3779B9 & 0xFFFFFFFF)
    value = (value ^ (value >> 16)) * np.uint32(0x7FEB352D)
    value = (value ^ (value >> 15)) * np.uint32(0x846CA68B)
    return np.asarray(value ^ (value >> 16), dtype=np.uint32)


def _floats(count: int, seed: int) -> Doubles:
    return (_mixed(count, seed) >> 8) / 8388608.0 - 1.0


def _softmax(rows: int, _: int) -> Doubles:
    scaled = _floats(rows * 1024, 1).reshape(rows, 1024) * 4.0
    raised = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def _reduction(count: int, _: int) -> Doubles:
    padded = np.zeros(-(-count // (1024 * 256)) * 1024 * 256)
    padded[:count] = _floats(count, 2) ** 2
    return np.asarray(padded.reshape(-1, 1024, 256).sum(axis=(0, 2)))


def _histogram(count: int, repetitions: int) -> Doubles:
    return np.bincount(_mixed(count, 3) % 256, minlength=256).astype(np.float64) * repetitions


def _layer_norm(rows: int, repetitions: int) -> Doubles:
    values, gain, result = _floats(rows * 2048, 4), _floats(2048, 5), np.zeros(rows * 2048)
    for launch in range(min(repetitions, 2)):
        width = (2048, 768)[launch]
        part = values[: rows * width].reshape(rows, width)
        normal = (part - part.mean(axis=1, keepdims=True)) / np.sqrt(part.var(axis=1, keepdims=True) + 1e-5)
        result[: rows * width] = (normal * gain[:width]).ravel()
    if repetitions % 2:  # the last launch was of the large shape
        return _layer_norm(rows, 1)
    return result


def _transpose(size: int, repetitions: int) -> Doubles:
    values, result = _floats(size * size, 6), np.zeros(size * size)
    for launch in range(repetitions - 2, repetitions):
        height = size // 2 if launch % 2 == 0 else size
        result[: size * height] = values[: size * height].reshape(height, size).T.ravel()
    return result


def _stencil(width: int, repetitions: int) -> Doubles:
    plate = _floats(width * (width // 2), 8).reshape(width // 2, width)
    for _ in range(repetitions):
        inner = plate[1:-1, 1:-1]
        around = plate[1:-1, :-2] + plate[1:-1, 2:] + plate[:-2, 1:-1] + plate[2:, 1:-1]
        plate = plate.copy()
        plate[1:-1, 1:-1] = inner + 0.2 * (around - 4 * inner)
    return plate


def _gather(items: int, _: int) -> Doubles:
    entries, neighbours = 4 * 1024 * 1024, 96
    indices = (_mixed(items * neighbours, 10) % entries).reshape(neighbours, items)
    return np.asarray(_floats(neighbours, 11) @ _floats(entries, 9)[indices])


def _matmul(size: int, _: int) -> Doubles:
    n = -(-size // 32) * 32
    return np.asarray(_floats(n * n, 12).reshape(n, n) @ _floats(n * n, 13).reshape(n, n))


REFERENCES = {
    "softmax_testbed": Reference(_softmax, 4096, 50),
    "reduction_barrier": Reference(_reduction, 16 * 1024 * 1024, 30),
    "histogram_atomic": Reference(_histogram, 8 * 1024 * 1024, 30, "u4"),
    "layernorm_dynamic": Reference(_layer_norm, 2048, 40),
    "transpose_template": Reference(_transpose, 1984, 40),
    "stencil": Reference(_stencil, 2048, 40),
    "gather_latency": Reference(_gather, 16 * 1024, 40),
    "matmul": Reference(_matmul, 1024, 20),
}


def largest_error(program: str, written: bytes, size: int = 0, repetitions: int = 0) -> float:
    """How far off the result of a program is at most, beside the largest value there is."""
    reference = REFERENCES[program]
    expected = reference.values(size or reference.size, repetitions or reference.repetitions).ravel()
    values = np.frombuffer(written, dtype=reference.dtype).astype(np.float64)
    if values.shape != expected.shape:
        return float("inf")
    error = float(np.abs(values - expected).max() / np.abs(expected).max())
    return error if np.isfinite(error) else float("inf")
