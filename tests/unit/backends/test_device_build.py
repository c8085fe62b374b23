"""Programs for the GPU: how compilers are called, and that the sources compile for real chips."""

from __future__ import annotations

import os
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

from rocm_perf.arch.codeobject.reader import read
from rocm_perf.backends.device_build import device_part
from rocm_perf.backends.machine import FoundGpu, Machine, Tool
from rocm_perf.backends.native_build import NATIVE, sources
from rocm_perf.errors import NotSupportedError, ToolAbsentError
from tests.compile_amd import Compiler

STANDIN = Path(__file__).parents[2] / "native" / "hip_standin"
COPIES_ARGUMENTS = '#!/bin/sh\necho "$@" > {log}\nwhile [ "$1" != -o ]; do shift; done; echo whole > "$2"\n'
CHIPS = ("gfx942", "gfx1100", "gfx1151")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def machine(path: Path, name: str, *gpus: FoundGpu) -> Machine:
    return Machine(host="h", gpus=gpus, tools={name: Tool(name=name, path=str(path), version="1")})


def amd(index: int, gfx: str) -> FoundGpu:
    return FoundGpu(index=index, vendor="AMD", gfx=gfx)


def compiler(tmp_path: Path, text: str = COPIES_ARGUMENTS) -> Path:
    file = tmp_path / "rocm" / "bin" / "compiler"
    file.parent.mkdir(parents=True)
    file.write_text(text.format(log=tmp_path / "log"))
    file.chmod(0o755)
    return file


def test_hipcc_compiles_for_each_chip_that_is_here_once(tmp_path: Path) -> None:
    here = machine(compiler(tmp_path), "hipcc", amd(0, "gfx942"), amd(1, "gfx942"), amd(2, "gfx1100"))
    part = device_part(here, "ceilings", "ceilings")
    words = (tmp_path / "log").read_text().split()
    assert [word for word in words if "arch" in word] == ["--offload-arch=gfx942", "--offload-arch=gfx1100"]
    assert f"-Wl,-rpath,{tmp_path / 'rocm' / 'lib'}" in words
    assert "-shared" not in words
    assert part.read_text() == "whole\n"
    (tmp_path / "log").unlink()
    assert device_part(here, "ceilings", "ceilings") == part
    assert not (tmp_path / "log").exists()


def test_a_library_for_nvcc(tmp_path: Path) -> None:
    gpu = FoundGpu(index=0, vendor="NVIDIA", gfx="sm_90")
    device_part(machine(compiler(tmp_path), "nvcc", gpu), "gemm", "gemm.so", is_library=True)
    words = (tmp_path / "log").read_text().split()
    assert {"-shared", "-Xcompiler", "-fPIC", "-gencode=arch=compute_90,code=sm_90"} <= set(words)


def test_another_chip_is_another_program(tmp_path: Path) -> None:
    path = compiler(tmp_path)
    parts = {
        device_part(machine(path, "hipcc", amd(0, gfx)), "ceilings", "ceilings")
        for gfx in ("gfx942", "gfx1100")
    }
    assert len(parts) == 2


def test_what_is_missing_or_fails_is_said(tmp_path: Path) -> None:
    with pytest.raises(ToolAbsentError, match="there is no GPU"):
        device_part(Machine(host="h"), "ceilings", "ceilings")
    with pytest.raises(ToolAbsentError, match="hipcc is not installed"):
        device_part(Machine(host="h", gpus=(amd(0, "gfx942"),)), "ceilings", "ceilings")
    broken = compiler(tmp_path, "#!/bin/sh\necho 'error: unknown chip' >&2; exit 1\n")
    with pytest.raises(NotSupportedError, match="error: unknown chip"):
        device_part(machine(broken, "hipcc", amd(0, "gfx942")), "ceilings", "ceilings")


def compiled(source: Path, gfx: str, target: Path, factory: pytest.TempPathFactory, *flags: str) -> None:
    clang = Compiler.of_this_run(factory)
    spec = find_spec("ziglang")
    assert spec is not None
    assert spec.origin is not None
    includes = ("-I", STANDIN, "-I", NATIVE, "-idirafter", Path(spec.origin).parent / "lib" / "include")
    command = [
        *clang.clang(), "-x", "hip", "-std=c++17", "-O2", "-Wall", "-Werror", "-nogpulib", "-nogpuinc",
        f"--offload-arch={gfx}", *flags, *map(str, includes), str(source),
    ]  # fmt: skip
    done = subprocess.run([*command, "-o", str(target)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.native
@pytest.mark.parametrize("gfx", CHIPS)
@pytest.mark.parametrize("source", sources(("ceilings", "gemm")), ids=lambda path: path.stem)
def test_each_source_compiles_for_the_chip(
    source: Path, gfx: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    flags = ("--cuda-device-only", "--no-gpu-bundle-output", "-fdeclspec", "-fuse-cuid=none")
    compiled(source, gfx, tmp_path / "x.hsaco", tmp_path_factory, *flags)
    compiled(source, gfx, tmp_path / "x.o", tmp_path_factory, "--cuda-host-only", "-c")
    (code,) = read(tmp_path / "x.hsaco")
    assert code.arch == gfx
    for kernel in code.kernels:
        assert (kernel.vgpr_spills, kernel.scratch_bytes) == (0, 0), kernel.name


@pytest.mark.native
def test_each_source_compiles_for_cuda(tmp_path: Path) -> None:
    nvcc = next(
        (path for folder in os.environ["PATH"].split(":") if (path := Path(folder, "nvcc")).exists()), None
    )
    if nvcc is None:
        pytest.skip("nvcc is not here")
    gpu = FoundGpu(index=0, vendor="NVIDIA", gfx="sm_90")
    here = machine(nvcc, "nvcc", gpu)
    program = device_part(here, "ceilings", "ceilings")
    assert device_part(here, "gemm", "gemm.so", is_library=True).stat().st_size > 10_000
    done = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    if done.returncode:  # without a GPU it says so
        assert done.stderr.startswith("choosing the GPU failed: ")
    else:
        assert '"memory copy"' in done.stdout
