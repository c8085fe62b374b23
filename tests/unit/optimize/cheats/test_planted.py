"""The planted cheats are what they say they are: each a patch of a testbed program, none forgotten."""

from __future__ import annotations

import pytest

from rocm_perf.optimize.candidate import applied
from rocm_perf.optimize.source.parse import parse
from tests.gpu.optimize.cheats.table import CHEATS, FOLDER, TESTBED, Cheat

PROGRAMS = sorted(path for path in TESTBED.iterdir() if path.suffix in (".cpp", ".cu", ".hip"))


def test_every_patch_is_in_the_table() -> None:
    assert sorted(cheat.name for cheat in CHEATS) == sorted(path.stem for path in FOLDER.glob("*.patch"))


@pytest.mark.parametrize("cheat", CHEATS, ids=lambda cheat: cheat.name)
def test_patch_applies(cheat: Cheat) -> None:
    assert applied(cheat.source, cheat.candidate.edits) != cheat.source


def test_the_testbed_has_eight_programs_of_one_kernel() -> None:
    kernels = {path.name: [each.qualified for each in parse(path).kernels] for path in PROGRAMS}
    assert kernels == {
        "gather_latency.cu": ["gather"],
        "histogram_atomic.hip": ["histogram"],
        "layernorm_dynamic.cpp": ["layer_norm"],
        "matmul.hip": ["matmul"],
        "reduction_barrier.cu": ["block_sums"],
        "softmax_testbed.cpp": ["scaled_softmax"],
        "stencil.hip": ["plate::heat_step"],
        "transpose_template.cu": ["transpose"],
    }
