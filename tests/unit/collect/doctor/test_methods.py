"""The matrix of methods: GPUs, releases and tools against what the catalogue and the profilers say."""

from __future__ import annotations

import pytest

from rocm_perf.backends.amd.rocprofv3 import Rocprofv3Profiler
from rocm_perf.backends.base import Wish
from rocm_perf.backends.machine import FoundGpu, Machine, Tool
from rocm_perf.backends.profilers import PROFILERS
from rocm_perf.collect.doctor.methods import PROBE, methods
from rocm_perf.model.results.doctor import MethodAnswer
from tests.unit.backends.machines import OPEN, amd, nvidia, torch

AMD_TOOLS = ("rocprofv3", "rocprofv2", "rocprof", "att-decoder")
NAMES = [
    "timing",
    "jax.profiler",
    "torch.profiler",
    "API trace",
    "kernel trace",
    "counters",
    "PC sampling, host trap",
    "PC sampling, stochastic",
    "ATT",
    "roofline",
]
YES, NO, UNTESTED = "yes", "no", "untested"


def matrix(machine: Machine) -> dict[str, MethodAnswer]:
    return {answer.method: answer for answer in methods(machine.gpus[0], machine, PROFILERS)}


def works(machine: Machine) -> list[str]:
    return [answer.works for answer in matrix(machine).values()]


@pytest.mark.parametrize(
    ("gfx", "rocm", "expected"),
    [
        # API, kernels, counters, host trap, stochastic, ATT, roofline
        ("gfx942", "7.2", [YES, YES, YES, YES, YES, YES, YES]),
        ("gfx942", "10.0", [YES, YES, YES, YES, YES, YES, YES]),
        ("gfx942", "6.4", [YES, YES, YES, YES, NO, NO, YES]),
        ("gfx942", "6.2", [YES, YES, YES, NO, NO, NO, YES]),
        ("gfx90a", "7.0", [YES, YES, YES, YES, NO, YES, YES]),
        ("gfx90a", "6.4", [YES, YES, YES, YES, NO, NO, YES]),
        ("gfx1100", "7.2", [YES, YES, YES, UNTESTED, UNTESTED, YES, YES]),
        ("gfx1151", "7.2", [YES, YES, YES, UNTESTED, UNTESTED, YES, YES]),
        ("gfx1151", "7.0", [YES, YES, NO, UNTESTED, UNTESTED, YES, NO]),
        ("gfx1151", "6.4", [YES, YES, NO, UNTESTED, UNTESTED, NO, NO]),
        ("gfx1299", "7.2", [YES, YES, UNTESTED, UNTESTED, UNTESTED, UNTESTED, NO]),
    ],
)
def test_rocprofv3_on_each_chip_and_release(gfx: str, rocm: str, expected: list[str]) -> None:
    found = matrix(amd(gfx, rocm, AMD_TOOLS))
    assert list(found) == NAMES
    assert [answer.works for answer in found.values()] == [YES, NO, NO, *expected]
    for answer in found.values():
        assert answer.reason or answer.works == YES
        if answer.works == YES and answer.method not in ("timing", "jax.profiler", "torch.profiler"):
            assert answer.through == "rocprofv3"
        if answer.works == UNTESTED:
            assert PROBE in answer.remedy


def test_what_a_newer_release_would_bring_is_said() -> None:
    answer = matrix(amd("gfx1151", "7.0", AMD_TOOLS))["counters"]
    assert answer.reason == "gfx1151 has it from ROCm 7.2 on, and this is 7.0"
    assert answer.remedy == "ROCm 7.2 or later"
    assert matrix(amd("gfx90a", "7.0"))["PC sampling, stochastic"].remedy == ""


def test_older_profilers() -> None:
    old = matrix(amd("gfx90a", "5.7", ("rocprofv2", "rocprof")))
    assert [old[name].through for name in ("API trace", "kernel trace", "counters")] == ["rocprofv2"] * 3
    assert old["API trace"].works == YES
    assert old["ATT"].works == NO
    later = matrix(amd("gfx90a", "6.2", ("rocprofv2",)))
    assert later["API trace"].works == UNTESTED
    assert "only kernels" in later["API trace"].reason
    assert later["kernel trace"].works == YES
    first = matrix(amd("gfx90a", "5.7", ("rocprof",)))
    assert first["kernel trace"].through == "rocprof"


def test_the_tools_release_counts_not_the_runtimes() -> None:
    tool = Tool(name="rocprofv3", path="/x", rocm="6.2")
    assert matrix(amd("gfx942", "7.2", {"rocprofv3": tool}))["PC sampling, host trap"].works == NO


def test_att_needs_its_decoder() -> None:
    answer = matrix(amd("gfx942", "7.2", ("rocprofv3",)))["ATT"]
    assert answer.works == NO
    assert "librocprof-trace-decoder.so" in answer.reason


def test_no_profiler_at_all() -> None:
    found = matrix(amd(tools=()))
    assert [answer.works for answer in found.values()] == [YES, *[NO] * 9]
    assert "apt install rocprofiler-sdk" in found["kernel trace"].remedy


def test_a_broken_profiler_is_none() -> None:
    broken = Tool(name="rocprofv3", path="/x", rocm="7.2", problem="crashes: SIGSEGV")
    answer = matrix(amd(tools={"rocprofv3": broken}))["kernel trace"]
    assert (answer.works, answer.reason) == (NO, "rocprofv3: crashes: SIGSEGV")


def test_torch_where_there_is_nothing_else() -> None:
    found = matrix(amd(tools=(), torch=torch(hip="6.4")))
    assert (found["torch.profiler"].works, found["kernel trace"].works) == (YES, YES)
    assert found["kernel trace"].through == "torch"
    assert "torch" in found["kernel trace"].reason
    assert found["counters"].works == NO


@pytest.mark.parametrize("built", [torch(), torch(cuda="13.0")])
def test_torch_for_something_else_does_not_count(built: object) -> None:
    found = matrix(amd(tools=(), torch=built))
    assert (found["torch.profiler"].works, found["kernel trace"].works) == (NO, NO)
    assert "built without ROCm" in found["torch.profiler"].reason


def test_what_nobody_may_use_works_with_nothing() -> None:
    found = matrix(amd(device_nodes=()))
    assert list(found) == NAMES
    assert {answer.works for answer in found.values()} == {NO}
    assert "/dev/dri/renderD* are missing" in found["timing"].reason
    assert "modprobe" in found["timing"].remedy


def test_h200() -> None:
    found = matrix(nvidia(torch=torch(cuda="13.0")))
    assert [answer.works for answer in found.values()] == [YES, NO, YES, YES, YES, YES, NO, NO, NO, YES]
    assert [found[name].through for name in ("torch.profiler", "API trace", "kernel trace", "counters")] == [
        "torch",
        "cupti",
        "cupti",
        "ncu",
    ]
    assert "a method of AMD GPUs" in found["ATT"].reason


def test_h200_without_cupti_or_ncu() -> None:
    found = matrix(nvidia(tools=("nvidia-smi",)))
    assert found["kernel trace"].works == NO
    assert found["kernel trace"].remedy == "sudo apt install cuda-cupti-dev-13-0 g++"
    assert found["counters"].remedy == "sudo apt install cuda-nsight-compute-13-0"
    assert found["roofline"].works == NO
    with_torch = matrix(nvidia(tools=(), torch=torch(cuda="13.0")))
    assert with_torch["kernel trace"].through == "torch"


def test_h200_whose_counters_only_root_may_read() -> None:
    assert matrix(nvidia(counters_need_root=True))["counters"].works == NO
    assert matrix(nvidia(counters_need_root=True, capabilities=("CAP_SYS_ADMIN",)))["counters"].works == YES


def test_both_vendors_in_one_machine() -> None:
    other = FoundGpu(index=0, vendor="NVIDIA", gfx="sm_90", name="NVIDIA H200")
    tools = {**amd(tools=AMD_TOOLS).tools, **nvidia().tools}
    machine = amd(gpus=(*amd().gpus, other), tools=tools, device_nodes=OPEN)
    first, second = (
        {answer.method: answer.through for answer in methods(gpu, machine, PROFILERS)} for gpu in machine.gpus
    )
    assert (first["kernel trace"], second["kernel trace"]) == ("rocprofv3", "cupti")
    assert (first["counters"], second["counters"]) == ("rocprofv3", "ncu")


class Drops(Rocprofv3Profiler):
    """A profiler that takes everything and leaves out API calls."""

    def dropped(self, wish: Wish, machine: Machine) -> tuple[str, ...]:
        return ("no API calls",) if "hip" in wish.domains else ()


def test_a_profiler_that_would_leave_it_out_is_not_the_one() -> None:
    machine = amd(tools=("rocprofv3",))
    found = {answer.method: answer for answer in methods(machine.gpus[0], machine, {"rocprofv3": Drops()})}
    assert (found["API trace"].works, found["API trace"].reason) == (NO, "rocprofv3: no API calls")
    assert found["kernel trace"].works == YES


def test_features_behind_the_chips_name_do_not_matter() -> None:
    assert works(amd("gfx942:sramecc+:xnack-", "7.2", AMD_TOOLS)) == works(amd("gfx942", "7.2", AMD_TOOLS))


def test_roofline_says_whose_peaks() -> None:
    assert matrix(amd(tools=AMD_TOOLS))["roofline"].reason == "peaks of the data sheet"
    measured = matrix(amd(tools=(*AMD_TOOLS, "rocprof-compute")))["roofline"].reason
    assert measured == "peaks of the data sheet, or measured by rocprof-compute"
    assert (
        matrix(amd("gfx1151", tools=(*AMD_TOOLS, "rocprof-compute")))["roofline"].reason
        == "peaks of the data sheet"
    )
