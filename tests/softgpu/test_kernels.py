"""Compiled kernels on the executor, against their twins on this machine: bit for bit unless a case states a bound."""

from __future__ import annotations

import numpy as np
import pytest

from tests.compile_amd import ARCHS, Compiler
from tests.softgpu.cases import CASES, Case
from tests.softgpu.launching import Array, launch, load
from tests.softgpu.twins import CONTRACT, KERNELS, run_twin

pytestmark = pytest.mark.softgpu
LEVELS = ("-O0", "-O2", "-O3")


@pytest.fixture(scope="session")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> Compiler:
    return Compiler.of_this_run(tmp_path_factory)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.twin)
def test_equals_its_twin(case: Case, arch: str, level: str, compiler: Compiler) -> None:
    code = load(compiler.compile_file(KERNELS / f"{case.source}.hip", arch, level, CONTRACT).path)
    arguments = case.arguments(np.random.default_rng(7))
    launched = launch(code, case.kernel, arguments, groups=case.groups, block=case.block)
    twin = run_twin(
        compiler,
        case.source,
        case.twin,
        arguments,
        groups=case.groups,
        block=case.block,
        wave_size=launched.answer.wave_size,
    )
    for number, (found, wanted) in enumerate(zip(launched.arrays, twin, strict=True)):
        assert differing(found, wanted, case.ulps) == [], f"array {number}"


def differing(found: Array, wanted: Array, ulps: int) -> list[tuple[int, object, object]]:
    """The first elements that are further apart than so many units in the last place; any NaN equals any other."""
    if found.dtype.kind != "f":
        apart = found != wanted
    elif ulps == 0:
        as_bits = f"u{found.dtype.itemsize}"
        apart = (found.view(as_bits) != wanted.view(as_bits)) & ~(np.isnan(found) & np.isnan(wanted))
    else:
        apart = np.abs(found - wanted) > ulps * np.spacing(np.abs(wanted))
    return [(int(at), found[at], wanted[at]) for at in np.nonzero(apart)[0][:5]]
