"""Folded stacks, as flame-graph tools read them (flamegraph.pl, inferno, speedscope): one stack per line, its frames
from the outermost on between semicolons, then a blank and its weight, here nanoseconds of GPU time."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rocm_perf.files import write_whole
from rocm_perf.model.results.stacks import GpuStack
from rocm_perf.text import clean


def write(stacks: Iterable[GpuStack], path: Path, *, overwrite: bool = False) -> None:
    """Write the stacks; one without any time has no place in a flame graph."""
    lines = [f"{';'.join(map(_frame, stack.frames))} {stack.gpu_ns}\n" for stack in stacks if stack.gpu_ns]
    write_whole(path, lambda draft: draft.write_bytes("".join(lines).encode()), overwrite=overwrite)


def _frame(name: str) -> str:
    """A name that does not end its frame or its line."""
    return clean(name).replace(";", ":").strip() or "(no name)"
