"""Every candidate for every program of the testbed, compiled for four AMD chips by a real compiler; a spilling one is
refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path

import pytest

from rocm_perf.arch.codeobject.report import Launch
from rocm_perf.backends.machine import Machine
from rocm_perf.optimize.builds.compilers import find_compilers
from rocm_perf.optimize.builds.device_code import device_recipe
from rocm_perf.optimize.builds.errors import BuildError
from rocm_perf.optimize.builds.gates import LaunchedKernel, examined, rebuilt
from rocm_perf.optimize.builds.workshop import Build, Workshop
from rocm_perf.optimize.guards.interface import interface_passage
from rocm_perf.optimize.guards.resources import resources_of
from rocm_perf.optimize.source.parse import parse
from rocm_perf.optimize.transforms.table import proposals
from tests.compile_amd import KERNELS
from tests.unit.optimize.transforms.trying import PROGRAMS, captured, setting

ARCHS = ("gfx90a", "gfx942", "gfx1100", "gfx1151")
pytestmark = pytest.mark.native


@contextmanager
def _workshop(source: Path, arch: str, folder: Path) -> Iterator[Workshop]:
    usable = find_compilers(Machine(host="here"), arch).usable
    if not usable:
        pytest.skip("no compiler for AMD GPUs is installed (the package ziglang has one)")
    with Workshop(device_recipe(source, usable[0], arch, folder=folder), jobs=2) as workshop:
        yield workshop


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_every_candidate_compiles_and_keeps_its_interface(program: Path, arch: str, tmp_path: Path) -> None:
    source = parse(program)
    (kernel,) = source.kernels
    with _workshop(program, arch, tmp_path) as workshop:
        original = workshop.build_original()
        symbol = original.code.symbols(arch, kernel.qualified)[0]
        most = max(one.max_workgroup_size or 1024 for one in original.code.kernels(arch))
        launch = captured(kernel, (min(256, most), 1, 1))
        candidates, _ = proposals(
            source, kernel, setting(launch, cause="unknown", arch=arch, allow_fast_math=True)
        )
        assert candidates
        builds = workshop.build_all((one.applied_to(source.text), one.flags) for one in candidates)
        for candidate, build in zip(candidates, builds, strict=True):
            assert isinstance(build, Build), f"{candidate.name}: {build}"
            items = prod(candidate.geometry.block if candidate.geometry else launch.block)
            passage = interface_passage(original.code.images, build.code.images, items)
            assert passage.passed, f"{candidate.name}: {passage.words}"
            needs = resources_of(build.code.image(arch, symbol), symbol, Launch(items))
            assert needs.vgprs
            assert needs.waves


@pytest.mark.parametrize("arch", ARCHS)
def test_a_candidate_that_spills_is_refused(arch: str, tmp_path: Path) -> None:
    program = next(path for path in PROGRAMS if path.stem == "matmul")
    text = program.read_bytes()
    starved = text.replace(b"__global__ void", b"__global__ void __attribute__((amdgpu_num_vgpr(24)))")
    assert starved != text
    with _workshop(program, arch, tmp_path) as workshop:
        original, build = workshop.build_original(), workshop.build(starved)
        assert rebuilt(workshop, build).passed
        (symbol,) = original.code.symbols(arch, "matmul")
        launched = LaunchedKernel(symbol=symbol, arch=arch, before=Launch(128), after=Launch(128))
        passage = examined(workshop, original, build, launched).passages[1]
    assert (passage.gate, passage.passed) == ("resources", False)
    assert "registers to memory, none before" in passage.words


@pytest.mark.parametrize("arch", ARCHS)
def test_what_hips_headers_declare_compiles_without_them(arch: str, tmp_path: Path) -> None:
    with _workshop(KERNELS / "prelude_names.hip", arch, tmp_path) as workshop:
        code = workshop.build_original().code
    (symbol,) = code.symbols(arch, "names<float>")
    kernel = code.image(arch, symbol).kernel(symbol)
    assert kernel is not None
    assert kernel.max_workgroup_size == 256


def test_a_variable_that_could_keep_results_is_refused(tmp_path: Path) -> None:
    program = next(path for path in PROGRAMS if path.stem == "softmax_testbed")
    kept = program.read_bytes().replace(
        b"float highest = -1e30f;", b"static __device__ float kept; float highest = kept++;"
    )
    with _workshop(program, "gfx942", tmp_path) as workshop:
        original, build = workshop.build_original(), workshop.build(kept)
        (symbol,) = original.code.symbols("gfx942", "scaled_softmax")
        launched = LaunchedKernel(symbol=symbol, arch="gfx942", before=Launch(64), after=Launch(64))
        passage = examined(workshop, original, build, launched).passages[0]
    assert not passage.passed
    assert "it adds variable" in passage.words


def test_what_does_not_compile_names_the_line_of_the_users_file(tmp_path: Path) -> None:
    program = PROGRAMS[0]
    with _workshop(program, "gfx942", tmp_path) as workshop, pytest.raises(BuildError) as caught:
        workshop.build(program.read_bytes() + b"\nint x = y;\n")
    assert f"clang failed with exit code 1: {program.name}:" in str(caught.value)
    assert "use of undeclared identifier 'y'" in str(caught.value)
