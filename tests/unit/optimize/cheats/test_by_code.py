"""Cheats that show in the code object, compiled for a real AMD chip: stopped by their gate, also where they got past
the gates of the source."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest

from rocm_perf.arch.codeobject.report import Launch
from rocm_perf.backends.probe import probe_machine
from rocm_perf.errors import ToolAbsentError
from rocm_perf.optimize.builds.compilers import find_compilers
from rocm_perf.optimize.builds.device_code import device_recipe
from rocm_perf.optimize.builds.gates import LaunchedKernel, built, examined, rebuilt
from rocm_perf.optimize.builds.workshop import Workshop
from rocm_perf.optimize.gates import Gate
from tests.gpu.optimize.cheats.table import CHEATS, TESTBED, Cheat

pytestmark = pytest.mark.native
ARCH = "gfx942"
# Which gate of the code stops a cheat, whatever the source shows. Others of the list get past all of them.
STOPPED_BY: dict[str, Gate] = {
    "does_not_compile": "build",
    "time_of_the_build": "rebuild",
    "another_parameter": "interface",
    "answers_by_address": "interface",
    "warmup_detection": "interface",
    "result_among_live_objects": "interface",
    "approximate_exponential": "precision",
}
PASSING = ("skips_the_work", "answers_for_known_inputs", "truncated_to_bfloat16")


class Laboratory:
    """Workshops for the programs of the testbed."""

    def __init__(self, stack: ExitStack, folder: Path) -> None:
        self._folder = folder
        self._compiler = find_compilers(probe_machine(), ARCH).for_vendor("AMD")
        self.workshop = cache(lambda program: stack.enter_context(self._opened(program)))

    def _opened(self, program: str) -> Workshop:
        return Workshop(device_recipe(TESTBED / program, self._compiler, ARCH, folder=self._folder))

    def stopped_by(self, cheat: Cheat) -> list[Gate]:
        workshop = self.workshop(cheat.program)
        original = workshop.build_original()
        build, passage = built(workshop, cheat.candidate.applied_to(cheat.source))
        if build is None:
            return [passage.gate]
        if cheat.gate == "rebuild":
            time.sleep(1)  # __TIME__ counts in seconds
        symbol = original.code.symbols(ARCH, cheat.kernel)[0]
        launch = Launch(workgroup_size=128)
        code = examined(workshop, original, build, LaunchedKernel(symbol, ARCH, launch, launch))
        return [one.gate for one in (rebuilt(workshop, build), *code.passages) if not one.passed]


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    with ExitStack() as stack:
        try:
            opened = Laboratory(stack, tmp_path_factory.mktemp("tools"))
        except ToolAbsentError as error:
            pytest.skip(str(error))
        yield opened


@pytest.mark.parametrize("name", [*STOPPED_BY, *PASSING])
def test_the_gate_that_stops_it(laboratory: Laboratory, name: str) -> None:
    cheat = next(one for one in CHEATS if one.name == name)
    assert laboratory.stopped_by(cheat) == ([STOPPED_BY[name]] if name in STOPPED_BY else [])
