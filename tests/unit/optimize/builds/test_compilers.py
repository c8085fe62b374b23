"""Which compiler is taken, and why the others are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_perf.backends.machine import Machine, Tool
from rocm_perf.errors import ToolAbsentError
from rocm_perf.optimize.builds import compilers
from rocm_perf.optimize.builds.commands import commands_in
from rocm_perf.optimize.builds.compilers import Compiler, find_compilers
from rocm_perf.optimize.builds.device_code import device_recipe
from rocm_perf.optimize.builds.recipe import recipe_of

SCRIPT = "#!/bin/sh\necho 'AMD clang version 19.0.0git (llvm)'\n"


def _machine(*tools: Tool, rocm: str = "") -> Machine:
    return Machine(host="here", tools={tool.name: tool for tool in tools}, rocm_paths=(rocm,) if rocm else ())


@pytest.fixture
def no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compilers, "find_spec", lambda name: None)


def test_hipcc_comes_first(tmp_path: Path) -> None:
    program = tmp_path / "llvm" / "bin" / "amdclang++"
    program.parent.mkdir(parents=True)
    program.write_text(SCRIPT)
    program.chmod(0o755)
    hipcc = Tool(name="hipcc", path="/opt/rocm/bin/hipcc", version="7.2.0")
    usable = find_compilers(_machine(hipcc, rocm=str(tmp_path)), "gfx942", {"PATH": ""}).usable
    assert [str(compiler) for compiler in usable] == ["hipcc 7.2.0", "amdclang++ 19.0.0"]
    assert all(compiler.makes == "program" for compiler in usable)


@pytest.mark.usefixtures("no_package")
def test_what_is_missing_is_said_with_its_reason() -> None:
    broken = Tool(name="hipcc", path="/opt/rocm/bin/hipcc", problem="crashes: SIGSEGV")
    found = find_compilers(_machine(broken), "gfx942", {"PATH": ""})
    assert not found.usable
    with pytest.raises(ToolAbsentError) as caught:
        found.for_vendor("AMD")
    message = str(caught.value)
    assert "hipcc: /opt/rocm/bin/hipcc crashes: SIGSEGV; amdclang++: not installed" in message
    assert "Install hipcc of ROCm, or the package ziglang for device code alone." in message


@pytest.mark.usefixtures("no_package")
def test_a_clang_that_cannot_compile_for_the_chip_is_not_used(tmp_path: Path) -> None:
    program = tmp_path / "clang++-19"
    program.write_text(
        SCRIPT + 'case "$*" in *version*) exit 0;; esac\necho "error: unknown target gfx942"; exit 1\n'
    )
    program.chmod(0o755)
    (absent,) = find_compilers(_machine(), "gfx942", {"PATH": f"{tmp_path}:/usr/bin:/bin"}).absent[2:3]
    assert (absent.name, absent.why) == ("clang", "error: unknown target gfx942")


def test_nvcc_is_for_nvidia() -> None:
    nvcc = Tool(name="nvcc", path="/usr/local/cuda/bin/nvcc", version="13.0")
    compiler = find_compilers(_machine(nvcc), "sm_90", {"PATH": ""}).for_vendor("NVIDIA", "program")
    assert compiler.argv == ("/usr/local/cuda/bin/nvcc", "-x", "cu")


def test_device_code_takes_what_all_compilers_understand_from_the_users_command() -> None:
    source = Path("/src/scale.cpp")
    text = "hipcc -O2 -DN=4 -I inc -std=c++20 -ffast-math -fopenmp --offload-arch=gfx90a -lfoo -o scale scale.cpp"
    like = recipe_of(commands_in(text, source.parent), source=source, product=None, origin="")
    clang, nvcc = (
        Compiler("clang", "AMD", ("clang", "-x", "hip")),
        Compiler("nvcc", "NVIDIA", ("nvcc", "-x", "cu")),
    )
    amd = device_recipe(source, clang, "gfx942", folder=Path("/work"), like=like)
    assert str(amd) == (
        "clang -x hip --cuda-device-only --no-gpu-bundle-output -fuse-cuid=none --offload-arch=gfx942 "
        "-O2 -DN=4 -I inc -std=c++20 -ffast-math -o /src/scale.hsaco /src/scale.cpp"
    )
    nvidia = device_recipe(source, nvcc, "sm_90", folder=Path("/work"), like=like)
    assert "-ffast-math" not in str(nvidia)
    assert str(nvidia).startswith("nvcc -x cu -cubin -arch=sm_90 -O2 -DN=4 -I inc")
