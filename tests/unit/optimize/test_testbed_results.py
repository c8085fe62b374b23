"""The programs of the testbed compute what they say: their kernels, run by threads of a CPU, beside numpy."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from rocm_perf.optimize.candidate import Edit, applied
from rocm_perf.optimize.source.tree import below, children, text_of, tree_of
from tests.gpu.optimize.references import REFERENCES, largest_error

pytestmark = pytest.mark.native
TESTBED = Path(__file__).parents[3] / "testbed"
HEADERS = Path(__file__).parent / "on_cpu"
# Sizes that are no multiple of a block, and few repetitions: a thread of the GPU is one of the CPU.
SIZES = {
    "softmax_testbed": (5, 2),
    "reduction_barrier": (700_001, 1),
    "histogram_atomic": (30_001, 2),
    "layernorm_dynamic": (5, 4),
    "transpose_template": (100, 4),
    "stencil": (66, 3),
    "gather_latency": (300, 2),
    "matmul": (64, 2),
}


def for_a_cpu(text: bytes) -> bytes:
    """The source with its launches as calls, and shared memory of a fixed size."""
    edits = []
    for call in below(tree_of(text).root_node, "call_expression"):
        for configuration in children(call, "kernel_call_syntax"):
            kernel = text_of(call.child_by_field_name("function"))
            sizes = text_of(configuration).removeprefix("<<<").removesuffix(">>>")
            arguments = text_of(call.child_by_field_name("arguments")).removeprefix("(")
            launch = f"launched(Config({sizes}), {kernel}, {arguments}"
            edits.append(Edit(call.start_byte, call.end_byte, launch.encode()))
    return applied(text, edits).replace(b"extern __shared__ float staged[]", b"static float staged[1 << 14]")


@pytest.mark.parametrize("name", REFERENCES)
def test_a_program_equals_numpy(name: str, tmp_path: Path) -> None:
    compiler = shutil.which("c++") or pytest.skip("there is no C++ compiler")
    (source,) = TESTBED.glob(f"{name}.*")
    changed, program, out = tmp_path / "program.cpp", tmp_path / "program", tmp_path / "out"
    changed.write_bytes(for_a_cpu(source.read_bytes()))
    folders = ("-I", str(HEADERS), "-I", str(TESTBED))
    argv = (
        compiler,
        "-std=c++20",
        "-D__HIP__",
        "-O1",
        "-pthread",
        *folders,
        "-o",
        str(program),
        str(changed),
    )
    subprocess.run(argv, check=True, capture_output=True)
    size, repetitions = SIZES[name]
    subprocess.run(
        [program, str(size), str(repetitions), "--out", out], check=True, capture_output=True, timeout=120
    )
    assert largest_error(name, out.read_bytes(), size, repetitions) < 1e-6
