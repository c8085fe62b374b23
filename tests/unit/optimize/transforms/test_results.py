"""Loops that are written anew compute what the old ones did: compiled for this machine and run for every length,
alignment and size of a block, thread after thread."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from rocm_perf.optimize.source.parse import parse
from rocm_perf.optimize.transforms import unroll_by_hand, vector_loads
from tests.unit.optimize.transforms.trying import captured, setting

BLOCK, GRID = (
    "int i = threadIdx.x; i < n; i += blockDim.x",
    ("int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x"),
)
# Each leaves elements in y, and what a thread has summed up in `left`; sums of small integers are exact in any order.
LOOPS = [
    f"for ({GRID}) y[i] = 3 * x[i] + y[i];",
    f"for ({BLOCK}) {{ y[i] = x[i] + i; }}",
    f"for ({BLOCK}) sum += x[i] * i;",
    f"for ({BLOCK}) {{ const float v = x[i]; sum += v > 2 ? v : 1; }}",
    "for (int i = 0; i < n; ++i) sum = sum / 2 + x[i];",
    "for (unsigned i = 4; i < n; i++) y[i] = x[i] * x[i];",
    "for (int i = 0; i < n; ++i) sum += x[i] * y[first + i];",
    "for (size_t i = 0; i < n; i += 1) { y[i] -= x[i]; sum += y[i]; }",
    f"for ({BLOCK}) {{ sum += x[i]; y[i] += 1; }}",
    "for (int i = 3; i < n; i += 5) { sum += x[i] + i; }",
    f"for ({BLOCK}) highest = fmaxf(highest, x[i]);",
]
HARNESS = Path(__file__).parent / "harness.h"


def kernel(loop: str) -> str:
    return (
        "__global__ void k(const float* x, float* y, float* left, int n) {\n"
        "  __shared__ float part[32];\n  const int first = 2;\n  float sum = 0, highest = 0;\n"
        f"  {loop}\n  part[threadIdx.x] = sum + first + highest;\n"
        "  left[blockIdx.x * blockDim.x + threadIdx.x] = part[threadIdx.x];\n}\n"
    )


def variants(loop: str) -> dict[str, str]:
    """The text of the kernel with each of the changes."""
    text = kernel(loop).encode()
    source = parse(text)
    known = setting(captured(source.kernels[0]))
    changes = [
        each
        for transform in (vector_loads.TRANSFORM, unroll_by_hand.TRANSFORM)
        for each in transform.candidates(source, source.kernels[0], known)[0]
    ]
    return {each.by: each.applied_to(text).decode() for each in changes}


def test_every_loop_has_a_change() -> None:
    made = [set(variants(loop)) for loop in LOOPS]
    assert all(made)
    assert sum("vector loads" in each for each in made) >= 9
    assert sum("unroll in the text" in each for each in made) >= 9


@pytest.mark.native
def test_results_are_the_same(tmp_path: Path) -> None:
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler is installed")
    parts, calls = [f'#include "{HARNESS}"\n'], []
    for number, loop in enumerate(LOOPS):
        parts.append(f"namespace original_{number} {{\n{kernel(loop)}}}\n")
        for by, text in variants(loop).items():
            space = f"changed_{number}_{by.replace(' ', '_')}"
            parts.append(f"namespace {space} {{\n{text}}}\n")
            joined = "highest" in loop
            calls.append(
                f'compare("{space}", original_{number}::k, {space}::k, {"true" if joined else "false"});'
            )
    parts.append(f"int main() {{ {' '.join(calls)} return concluded(); }}\n")
    source = tmp_path / "loops.cpp"
    source.write_text("".join(parts))
    program = tmp_path / "loops"
    flags = ["-std=c++17", "-O1", "-fsanitize=undefined,address", "-fno-sanitize-recover=all"]
    subprocess.run([compiler, *flags, "-o", str(program), str(source)], check=True, timeout=300)
    done = subprocess.run([str(program)], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == f"{len(calls) * 2 * 4 * 70 * 5} comparisons\n"  # grids, blocks, lengths, alignments
