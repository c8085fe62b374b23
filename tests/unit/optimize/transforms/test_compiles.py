"""What transforms write compiles for real chips: for gfx942, and one change of each kind for sm_90."""

from __future__ import annotations

import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

from rocm_perf.optimize.builds.compilers import PRELUDE
from rocm_perf.optimize.candidate import Candidate
from rocm_perf.optimize.source.parse import parse
from rocm_perf.optimize.transforms.setting import Setting
from rocm_perf.optimize.transforms.table import TRANSFORMS
from tests.compile_amd import Compiler
from tests.unit.optimize.transforms.trying import PROGRAMS, TESTBED, as_launched

QUICK = ("vector loads", "unroll in the text", "restrict", "launch bounds")
_DEVICE = (
    "-x",
    "hip",
    "--cuda-device-only",
    "--no-gpu-bundle-output",
    "-nogpulib",
    "-nogpuinc",
    "-fuse-cuid=none",
)


def candidates(path: Path, arch: str) -> list[Candidate]:
    source = parse(path)
    (kernel,) = source.kernels
    known = Setting(
        cause="memory",
        arch=arch,
        wave=32,
        allow_fast_math=True,
        launches=(as_launched(source, kernel),),
        bank_conflicts=0.2,
    )
    return [each for one in TRANSFORMS for each in one.candidates(source, kernel, known)[0]]


def compiled(argv: list[str], path: Path, candidate: Candidate, folder: Path) -> None:
    """Compile the program with one change; what the compiler complains about is the failure."""
    changed = folder / path.name
    changed.write_bytes(candidate.applied_to(path.read_bytes()))
    words = [*argv, *candidate.flags, "-O3", "-I", str(TESTBED), "-o", str(folder / "out"), str(changed)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"{candidate.name}\n{done.stderr}\n{changed.read_text()}"
    assert "warning: loop not unrolled" not in done.stderr, candidate.name


def for_gfx942(factory: pytest.TempPathFactory) -> list[str]:
    compiler = Compiler.of_this_run(factory)
    package = find_spec("ziglang")
    assert package is not None
    assert package.origin is not None
    own_headers = Path(package.origin).parent / "lib" / "include"
    headers = ["-isystem", str(PRELUDE), "-idirafter", str(own_headers)]
    return [*compiler.clang(), *_DEVICE, *headers, "--offload-arch=gfx942"]


@pytest.mark.parametrize("kind", QUICK)
def test_one_of_each_kind_compiles(
    kind: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = TESTBED / "softmax_testbed.cpp"
    first = next(each for each in candidates(path, "gfx942") if each.by == kind)
    compiled(for_gfx942(tmp_path_factory), path, first, tmp_path)


@pytest.mark.native
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.name)
def test_all_compile_for_gfx942(path: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    argv = for_gfx942(tmp_path_factory)
    for candidate in candidates(path, "gfx942"):
        if not candidate.name.startswith(("unroll by 2", "unroll by 8")):  # the number alone differs
            compiled(argv, path, candidate, tmp_path)


@pytest.mark.native
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.name)
def test_one_of_each_kind_compiles_for_sm_90(path: Path, tmp_path: Path) -> None:
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        pytest.skip("nvcc is not installed")
    last = {each.by: each for each in candidates(path, "sm_90")}
    for candidate in last.values():
        compiled([nvcc, "-x", "cu", "-arch=sm_90", "-cubin"], path, candidate, tmp_path)
