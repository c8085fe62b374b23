"""`optimize --static` with a snapshot: candidates are proven by executing their code, with no GPU."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from rocm_perf.backends.probe import probe_machine
from rocm_perf.model.results.optimize import Attempt, Optimization
from rocm_perf.optimize.builds.compilers import find_compilers
from rocm_perf.optimize.builds.device_code import device_recipe
from rocm_perf.optimize.builds.workshop import Workshop
from rocm_perf.optimize.request import Request
from rocm_perf.optimize.session import optimize
from tests.amd_snapshots import Launched, values, write_snapshot

pytestmark = pytest.mark.softgpu
ARCH = "gfx1151"
SOURCE = """#include <hip/hip_runtime.h>
__global__ void row_sums(const float* in, float* out, int width) {
  int row = blockIdx.x * 64 + threadIdx.x;  // blockDim is an argument that only a launch fills in
  float sum = 0.0f;
  for (int i = 0; i < width; ++i) sum += in[row * width + i];
  out[row] = sum;
}
"""
SKIPS = SOURCE.partition("__global__")[1] + SOURCE.partition("__global__")[2].replace(
    "i < width", "i < width - 1"
)
ROWS, WIDTH = 512, 40


def summed(
    rows: np.ndarray[tuple[int, int], np.dtype[np.float32]],
) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """Sums in the order of the kernel."""
    sums = np.zeros(ROWS, np.float32)
    for column in rows.T:
        sums = sums + column
    return sums


@pytest.fixture
def result(tmp_path: Path) -> Optimization:
    source = tmp_path / "rows.hip"
    source.write_text(SOURCE)
    patches = tmp_path / "patches"
    patches.mkdir()
    (patches / "skips.hip").write_text(SKIPS)
    compiler = find_compilers(probe_machine(), ARCH).for_vendor("AMD")
    with Workshop(device_recipe(source, compiler, ARCH, folder=tmp_path)) as workshop:
        original = workshop.build_original()
        data = values(ROWS * WIDTH)
        launched = Launched(
            kernel=original.code.symbols(ARCH, "row_sums")[0],
            before=(data, np.zeros(ROWS, np.float32)),
            after=(data, summed(data.reshape(ROWS, WIDTH))),
            groups=ROWS // 64,
            workgroup=64,
            scalars=struct.pack("<i", WIDTH),
        )
        write_snapshot(tmp_path, launched, original.product, ARCH)
    asked = Request(
        target=source,
        build=f"hipcc -O3 -o {tmp_path / 'rows'} {source}",
        arch=ARCH,
        static=True,
        snapshots=(tmp_path / "snap",),
        patches=(patches,),
        folder=tmp_path / "ledger",
    )
    return optimize(asked, lambda _: None, lambda _: None)


def test_right_candidates_are_proven_and_wrong_ones_refused(result: Optimization) -> None:
    by_name: dict[str, Attempt] = {one.name: one for one in result.attempts}
    skips = by_name["skips"]
    assert skips.verdict == "rejected"
    assert skips.reason.startswith(
        "captured: dispatch 1: the new code does not give the application's result"
    )
    unrolled = next(one for one in result.attempts if one.name.startswith("unroll by 4:"))
    assert unrolled.verdict == "not measured"
    gates = {one.gate: one.words for one in unrolled.passages}
    assert gates["captured"].startswith("bit for bit the same on 1 dispatch")
    assert gates["fresh"].startswith("the original's result on 2 fresh states")
    assert result.conclusion == "static only"
    assert any("__restrict__" in name for name in by_name)  # the snapshot shows that buffers do not overlap
