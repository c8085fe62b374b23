"""Programs that stand in for those which print one JSON object per line."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rocm_perf.backends.machine import FoundGpu, Machine, Tool, Torch

H200 = FoundGpu(index=0, vendor="NVIDIA", gfx="sm_90", name="NVIDIA H200", compute_units=132)
GPU_LINE = {
    "gpu": {
        "name": "NVIDIA H200",
        "gfx": "sm_90",
        "uuid": "1111-22",
        "compute_units": 132,
        "memory_bytes": 150_754_820_096,
    },
    "torch": "2.11.0",
}


def program(path: Path, lines: Sequence[dict[str, Any]], *, after: str = "") -> str:
    """A program that writes its arguments to a file beside it, prints the lines, and then does something."""
    text = "".join(json.dumps(line) + "\n" for line in lines)
    path.write_text(
        f"#!{sys.executable}\nimport json, os, pathlib, sys, time\n"
        f"here = pathlib.Path({str(path)!r})\n"
        "with here.with_suffix('.runs').open('a') as runs: runs.write(json.dumps(sys.argv[1:]) + '\\n')\n"
        f"sys.stdout.write({text!r})\nsys.stdout.flush()\n{after}\n"
    )
    path.chmod(0o755)
    return str(path)


def runs(path: Path) -> list[list[str]]:
    """The arguments of each time that a program was started."""
    return [json.loads(line) for line in path.with_suffix(".runs").read_text().splitlines()]


def machine(
    *, python: str = "", nvcc: str = "", gpus: tuple[FoundGpu, ...] = (H200,), cuda: str = "13.0"
) -> Machine:
    """A machine with an H200, and with torch and nvcc where they are given."""
    return Machine(
        host="h",
        gpus=gpus,
        tools={"nvcc": Tool(name="nvcc", path=nvcc, version="13.0")} if nvcc else {},
        torch=Torch(python=python, version="2.11.0", cuda=cuda) if python else None,
    )
