"""Makes a recording of our own tracer with any number of kernels: a decode loop, in the layout of docs/formats.md.

One thread launches 115 kernels a step and waits for them; 25 names, as of a small model with 7 layers. The first steps
take the host longer, as they do in programs. The same arguments always give the same bytes.
"""

from __future__ import annotations

import argparse
import json
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]

LAYERS, IN_A_LAYER, BESIDE = 7, 15, 10
STEP = np.array([*range(IN_A_LAYER)] * LAYERS + [*range(IN_A_LAYER, IN_A_LAYER + BESIDE)])
NAMES = IN_A_LAYER + BESIDE
PID, AGENT, CONTEXT, STREAM = 4242, 0, 1, 7
START_NS, BOOT_NS = 1_700_000_000_000_000_000, 90_000_000_000
SLOW_STEPS, SLOWER = 20, 4
BETWEEN_LAUNCHES_NS, LAUNCH_NS, TO_THE_GPU_NS, BETWEEN_KERNELS_NS = 6_000, 3_500, 4_000, 900
BETWEEN_STEPS_NS = 30_000
ROWS_OF_A_BLOCK = 1 << 15  # as the tracer has them
_WIDTHS = (1, 2, 4, 8)


@dataclass(frozen=True)
class Loop:
    """The times of a decode loop: of kernels, of their launches, and of the wait that ends each step."""

    kernels: Numbers  # start and duration, one column each
    launches: Numbers
    waits: Numbers


def decode_loop(kernels: int) -> Loop:
    """The times of so many kernels; a last step that is not complete has no wait."""
    random = np.random.default_rng(7)
    steps = -(-kernels // len(STEP))
    shape = (steps, len(STEP))
    host = np.where(np.arange(steps)[:, None] < SLOW_STEPS, SLOWER, 1)
    durations = (2_000 + STEP * 350) + random.integers(0, 900, shape)
    launching = LAUNCH_NS * host + random.integers(0, 1_500, shape)
    launched = np.cumsum(launching + BETWEEN_LAUNCHES_NS * host - LAUNCH_NS, axis=1) - launching
    # A kernel begins when it has arrived and the one before has ended: whichever comes last, all along the step.
    before = np.cumsum(durations + BETWEEN_KERNELS_NS, axis=1) - durations
    begun = before + np.maximum.accumulate(launched + TO_THE_GPU_NS - before, axis=1)
    waiting = launched[:, -1] + launching[:, -1] + 500
    waited = np.maximum(begun[:, -1] + durations[:, -1] + 2_000 - waiting, 1_000)
    lengths = waiting + waited + BETWEEN_STEPS_NS
    starts = START_NS + np.cumsum(lengths) - lengths
    whole = kernels // len(STEP)
    return Loop(
        kernels=_spans(begun + starts[:, None], durations)[:kernels],
        launches=_spans(launched + starts[:, None], launching)[:kernels],
        waits=_spans(waiting + starts, waited)[:whole],
    )


def _spans(starts: Numbers, durations: Numbers) -> Numbers:
    return np.column_stack([starts.ravel(), durations.ravel()])


def make(file: Path, kernels: int) -> None:
    """Write the recording, over an older one if there is one."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("wb") as output:
        output.write(b"RPTRACE1")
        for content in _contents(decode_loop(kernels)):
            output.write(struct.pack("<II", len(content), zlib.crc32(content)) + content)


def _contents(loop: Loop) -> Iterator[bytes]:
    yield _document(
        {
            "recorder": "rocm-perf cupti",
            "host": "made-host",
            "pid": PID,
            "command": "./made --up",
            "cupti_time_ns": START_NS,
            "boot_time_ns": BOOT_NS,
            "devices": [
                {"id": AGENT, "name": "NVIDIA H200", "computeMajor": 9, "computeMinor": 0, "warpSize": 32}
            ],
        }
    )
    yield _texts(
        [*(_kernel_name(number) for number in range(NAMES)), "cudaLaunchKernel", "cudaStreamSynchronize"]
    )
    yield _table("p", np.array([[AGENT, CONTEXT, STREAM]]))
    yield _table("g", np.array([[32 + 4 * n, 1024 * n, 8 + n, 1, 1, 256, 1, 1] for n in range(NAMES)]))
    for letter, rows in (("c", _calls(loop)), ("k", _kernels(loop))):
        for first in range(0, len(rows), ROWS_OF_A_BLOCK):
            yield _table(letter, rows[first : first + ROWS_OF_A_BLOCK])
    yield _document({"end": {"dropped_records": 0, "signal": 0}})


def _kernel_name(number: int) -> str:
    functor = f"at::native::made_functor_{number}<c10::BFloat16>"
    return f"void at::native::made_kernel_{number}<4, {functor}, std::array<char*, 3ul> >(int, {functor})"


def _kernels(loop: Loop) -> Numbers:
    """Start, duration, correlation, name, place, shape."""
    rows = np.arange(len(loop.kernels))
    names = STEP[rows % len(STEP)]
    return np.column_stack([loop.kernels, _correlation(rows), names, np.zeros_like(rows), names])


def _calls(loop: Loop) -> Numbers:
    """Start, duration, correlation, name, thread, result; in the order of time."""
    launch, wait = NAMES, NAMES + 1
    launches = _calls_of(loop.launches, _correlation(np.arange(len(loop.launches))), launch)
    ends = (np.arange(len(loop.waits)) + 1) * (len(STEP) + 1)
    calls = np.concatenate([launches, _calls_of(loop.waits, ends, wait)])
    return calls[np.argsort(calls[:, 0], kind="stable")]


def _correlation(launches: Numbers) -> Numbers:
    """Calls are numbered from 1 on, and a wait comes after each step."""
    return launches + launches // len(STEP) + 1


def _calls_of(spans: Numbers, correlation: Numbers, name: int) -> Numbers:
    same = np.ones_like(correlation)
    return np.column_stack([spans, correlation, name * same, PID * same, 0 * same])


def _document(fields: Mapping[str, object]) -> bytes:
    return json.dumps(fields).encode()


def _texts(texts: Sequence[str]) -> bytes:
    encoded = [text.encode() for text in texts]
    return struct.pack(f"<cII{len(encoded)}I", b"S", 0, len(encoded), *map(len, encoded)) + b"".join(encoded)


def _table(letter: str, rows: Numbers) -> bytes:
    """Each column as what it has above its least value, in as few bytes as that takes."""
    least = rows.min(axis=0)
    above = rows - least
    widths = [_width(int(most)) for most in above.max(axis=0)]
    head = struct.pack("<ccHI", b"T", letter.encode(), rows.shape[1], len(rows))
    columns = [struct.pack("<qB", int(value), width) for value, width in zip(least, widths, strict=True)]
    values = [
        column.astype(f"<u{width}").tobytes() for column, width in zip(above.T, widths, strict=True) if width
    ]
    return head + b"".join(columns) + b"".join(values)


def _width(most: int) -> int:
    return next(width for width in _WIDTHS if most < 1 << 8 * width) if most else 0


def main() -> None:
    """Make the recording that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", type=int, default=1_000_000)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    make(options.output, options.kernels)
    print(f"{options.output}: {options.output.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
