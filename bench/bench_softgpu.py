"""How many lane-instructions a second the software GPU executes, on kernels of the tests compiled at -O3."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.measure import machine
from tests.compile_amd import Compiler
from tests.softgpu.launching import Value, launch, load
from tests.softgpu.twins import KERNELS

from rocm_perf.softgpu.plan import Options

Launches = dict[str, tuple[str, tuple[Value, ...], tuple[int, int, int], tuple[int, int, int]]]


def launches() -> Launches:
    """Each kernel with its source, arguments, workgroups and workgroup size."""
    rng = np.random.default_rng(1)
    square = rng.standard_normal((256, 256)).astype("f4")
    row = rng.standard_normal(1 << 18).astype("f4")
    starts = rng.integers(1, 99_999, 1 << 14).astype("u4")
    bytes_ = rng.integers(0, 256, 1 << 20).astype("u1")
    return {
        "matmul": ("groups", (square, square, np.zeros_like(square), np.int32(256)), (16, 16, 1), (16, 16, 1)),
        "softmax": ("groups", (row, np.zeros_like(row), np.int32(4096)), (64, 1, 1), (256, 1, 1)),
        "saxpy": ("arithmetic", (np.float32(2), row, row, np.int32(row.size)), (1024, 1, 1), (256, 1, 1)),
        "collatz": ("integers", (starts, np.zeros_like(starts), np.int32(starts.size)), (64, 1, 1), (256, 1, 1)),
        "histogram": (
            "groups", (bytes_, np.zeros(256, "u4"), np.int32(bytes_.size)), (64, 1, 1), (256, 1, 1),
        ),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arch", nargs="+", default=["gfx942", "gfx1151"])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(machine())
    threads = os.cpu_count() or 1
    with tempfile.TemporaryDirectory() as folder:
        compiler = Compiler(Path(folder))
        for arch in options.arch:
            for kernel, (source, arguments, groups, block) in launches().items():
                code = load(compiler.compile_file(KERNELS / f"{source}.hip", arch, "-O3").path)
                for counting in (False, True):
                    chosen = Options(threads=threads, counting=counting)
                    answers = [
                        launch(code, kernel, arguments, groups=groups, block=block, options=chosen).answer
                        for _ in range(options.rounds)
                    ]
                    rate = max(answer.lane_instructions / answer.seconds for answer in answers) / 1e6
                    of_core = max(answer.lane_instructions / answer.cpu_seconds for answer in answers) / 1e6
                    counted = ", counting" if counting else ""
                    print(
                        f"{arch} {kernel}{counted}: {rate:.0f} M lane-instructions/s, {of_core:.0f} M/s of a core"
                    )


if __name__ == "__main__":
    main()
