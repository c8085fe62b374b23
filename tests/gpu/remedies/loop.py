"""The loop around a program's step: timed without a profiler, or run a few times for a recording.

Every program is started as `python -m tests.gpu.remedies.programs.NAME --variant V`, in a process of its own, and
prints one line of JSON. `--steps N` runs N steps after the warm-up, for a recording by another process; `--torch-trace
FILE` records those steps by torch.profiler. One program at a time uses the GPU: it holds the lock of `--gate FILE` to
its end, while others import their libraries.
"""

from __future__ import annotations

import argparse
import fcntl
import gzip
import json
import os
import re
import statistics
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

REPEATS = 5
REPEAT_S = 0.5  # long enough that a synchronisation at its end does not count
WARM_UP_S = 0.5
WARM_UP_STEPS = 3
TINY = bool(os.environ.get("REMEDIES_TINY"))  # a dry run without a GPU: small sizes, short loops

_held: list[IO[str]] = []  # the lock lasts as long as the process


Pace = Iterator[None]  # each value asks for one step


@dataclass(frozen=True, kw_only=True)
class Loop:
    """A program that is set up: `items` are the samples, tokens or the like that one step processes.

    `drive` runs a step each time that the pace asks for one; a framework with a loop of its own asks the pace instead.
    """

    drive: Callable[[Pace], object]
    items: float
    synchronize: Callable[[], object]
    rank: int = 0  # only rank 0 prints
    agree: Callable[[int], int] = int  # ranks agree on how many steps a repeat has


def sized(full: int, tiny: int) -> int:
    """Return the size to use: the small one in a dry run."""
    return tiny if TINY else full


def driven(step: Callable[[], object]) -> Callable[[Pace], None]:
    """Return what runs the step as often as it is asked for."""

    def drive(pace: Pace) -> None:
        for _ in pace:
            step()

    return drive


def torch_loop(step: Callable[[], object], items: float) -> Loop:
    """Return the loop of a program that uses torch's current device."""
    return Loop(drive=driven(step), items=items, synchronize=torch_synchronize())


def torch_synchronize() -> Callable[[], object]:
    """Return what waits for torch's current device."""
    import torch

    return torch.cuda.synchronize if torch.cuda.is_available() else lambda: None


def run(make: Callable[[str], Loop], variants: tuple[str, ...]) -> None:
    """Set one variant up, run its loop as the command line asks, and print what it took."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--variant", choices=variants, default="base")
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--torch-trace", type=Path)
    parser.add_argument("--gate", type=Path)
    args = parser.parse_args()
    if args.gate and not int(os.environ.get("LOCAL_RANK", "0")):
        _held.append(args.gate.open("w"))
        fcntl.flock(_held[0], fcntl.LOCK_EX)
    begun = time.perf_counter()
    loop = make(args.variant)
    answer: dict[str, object] = {"variant": args.variant, "items_per_step": loop.items}
    if args.torch_trace:
        loop.drive(_traced(loop, args.steps, args.torch_trace))
    elif args.steps:
        loop.drive(_recorded(loop, args.steps, answer))
    else:
        loop.drive(_measured(loop, answer))
    if loop.rank == 0:
        print(json.dumps(answer | {"took_s": round(time.perf_counter() - begun, 2)}), flush=True)


def _rate(loop: Loop, steps: int) -> Generator[None, None, float]:
    """Return the steps per second of so many steps, until the GPU is done as well."""
    loop.synchronize()
    begun = time.perf_counter()
    for _ in range(steps):
        yield
    loop.synchronize()
    return steps / (time.perf_counter() - begun)


def _recorded(loop: Loop, steps: int, answer: dict[str, object]) -> Pace:
    yield from _rate(loop, WARM_UP_STEPS)
    rate = yield from _rate(loop, steps)
    answer |= {"steps": steps, "us_per_step": 1e6 / rate}


def _measured(loop: Loop, answer: dict[str, object]) -> Pace:
    """Take the rates of repeats, each long enough, after a warm-up."""
    repeat_s, warm_up_s = (0.01, 0.01) if TINY else (REPEAT_S, WARM_UP_S)
    yield from _rate(loop, WARM_UP_STEPS)
    rate = yield from _rate(loop, 1)
    rate = yield from _rate(loop, loop.agree(max(1, int(rate * warm_up_s))))
    rate = yield from _rate(loop, loop.agree(max(1, int(rate * warm_up_s))))
    steps = loop.agree(max(1, int(1.05 * rate * repeat_s + 1)))
    rates = [0.0] * REPEATS
    for number in range(REPEATS):
        rates[number] = yield from _rate(loop, steps)
    answer |= {"steps": steps, "steps_per_s": statistics.median(rates), "all_steps_per_s": rates}
    answer["items_per_s"] = statistics.median(rates) * loop.items


def _traced(loop: Loop, steps: int, file: Path) -> Pace:
    """Record steps by torch.profiler as its own tutorial does: a schedule with a step to warm up."""
    from torch.profiler import ProfilerActivity, profile, schedule

    yield from _rate(loop, WARM_UP_STEPS)
    with profile(
        activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
        schedule=schedule(wait=0, warmup=1, active=steps, repeat=1),
        record_shapes=True,
    ) as recording:
        for _ in range(1 + steps):
            yield
            recording.step()
    if loop.rank == 0:
        plain = file.with_suffix(".plain")
        recording.export_chrome_trace(str(plain))
        named = re.sub(rb'"traceName":\s*"[^"]*"', b'"traceName": ""', plain.read_bytes())
        file.write_bytes(gzip.compress(named, 9, mtime=0))
        plain.unlink()
