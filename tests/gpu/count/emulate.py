"""What `rocm-perf count` gives for the kernels of known work, written to emulated.json for crosscheck_h200.py.

Usage: python3 -m tests.gpu.count.emulate, from the root of the repository, with ziglang installed. Needs no GPU.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from tests.amd_snapshots import KNOWN_WORK, write_snapshot
from tests.compile_amd import Compiler

from rocm_perf.analysis.emulated.build import counting
from rocm_perf.model.results.count import Counting
from rocm_perf.replay.counted import observe
from rocm_perf.replay.replayer import ready

TARGET = Path(__file__).parent / "emulated.json"
CHIPS = ("gfx942", "gfx1151")
UNFUSED = "-ffp-contract=off"


def counted(compiler: Compiler, kernel: str, gfx: str) -> Counting:
    """The counts of one kernel on one chip, all workgroups executed."""
    code = compiler.compile("known_work", gfx, UNFUSED).path
    with tempfile.TemporaryDirectory() as folder:
        snapshot = write_snapshot(Path(folder), KNOWN_WORK[kernel](), code, gfx)
        with ready(snapshot, emulate=True) as replayer:
            return counting(observe(replayer, None, None))


def requested_bytes(result: Counting) -> int:
    """The bytes that lanes asked the global memory for."""
    return sum(one.bytes for one in result.totals.accesses if one.space == "global")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        compiler = Compiler(Path(folder))
        results = {gfx: {kernel: counted(compiler, kernel, gfx) for kernel in KNOWN_WORK} for gfx in CHIPS}
    numbers = {
        gfx: {
            kernel: {"flops": result.totals.flops, "bytes": requested_bytes(result)}
            for kernel, result in kernels.items()
        }
        for gfx, kernels in results.items()
    }
    TARGET.write_text(json.dumps(numbers, indent=1) + "\n")


if __name__ == "__main__":
    main()
