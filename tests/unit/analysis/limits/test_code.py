"""Causes from machine code: real AMD kernels with one limit each, and small tables by hand."""

from __future__ import annotations

import os
from collections.abc import Sequence

import pytest

from rocm_perf.analysis.basis.names import demangle
from rocm_perf.analysis.limits.code import CodeEvidence, code_causes, code_evidence
from rocm_perf.analysis.roofline.devices import devices
from rocm_perf.arch.codeobject import disassembly
from rocm_perf.arch.codeobject.disassembly import NoDisassemblerError, find_disassembler
from rocm_perf.arch.codeobject.survey import CodeSource, Wanted, survey
from rocm_perf.collect.run.device_code import joined
from rocm_perf.model.device_code import DeviceCode, InstructionCount, KernelCode
from rocm_perf.model.results.limits import Cause
from rocm_perf.model.trace import Trace
from tests.compile_amd import ARCHS, Compiler
from tests.unit.analysis.traces import Row, trace

PLANTED = {
    "double_steps": ("accidental-f64", "likely"),
    "byte_copy": ("narrow-accesses", "likely"),
    "divide": ("integer-division", "likely"),
    "waves": ("special-functions", "likely"),
    "phases": ("barriers", "likely"),
    "half_product": ("matrix-units-unused", "likely"),
    "largest": ("contended-atomics", "hint"),
}
NOTHING = ("doubles", "float_steps", "wide_copy")


def recording(kernels: Sequence[str], gfx: str | None, code: DeviceCode) -> Trace:
    """A recording of kernels that ran on one GPU, with their code."""
    launch = {"agent_id": 0, "workgroup_x": 256, "workgroup_y": 1, "workgroup_z": 1}
    dispatches: list[Row] = [
        {
            **launch,
            "kernel": kernel,
            "dispatch_id": number,
            "start_ns": 100 * number,
            "end_ns": 100 * number + 50,
        }
        for number, kernel in enumerate(kernels)
    ]
    agents: list[Row] = [{"agent_id": 0, "kind": "GPU", "gfx": gfx}]
    return joined(trace(dispatches=dispatches, **({"agents": agents} if gfx else {})), code)  # type: ignore[arg-type]


def found_in(recorded: Trace) -> dict[str, CodeEvidence]:
    return {kernel: evidence for (_, kernel), evidence in code_evidence(recorded, devices(recorded)).items()}


def causes_of(recorded: Trace) -> dict[str, list[Cause]]:
    return {kernel: code_causes(evidence, kernel) for kernel, evidence in found_in(recorded).items()}


@pytest.fixture(scope="module")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> Compiler:
    return Compiler.of_this_run(tmp_path_factory)


def compiled(compiler: Compiler, source: str, arch: str) -> DeviceCode:
    try:
        find_disassembler(os.environ.get(disassembly.VARIABLE))
    except NoDisassemblerError as error:
        pytest.skip(str(error))
    path = compiler.compile(source, arch, "-gline-tables-only").path
    found = survey([CodeSource(path)], Wanted(matches=lambda _: True), limit_s=60, demangle=demangle)
    if reasons := [kernel.unread for kernel in found.kernels if kernel.unread]:
        pytest.skip(reasons[0])
    return found


@pytest.mark.parametrize("arch", ARCHS)
def test_planted_limits(arch: str, compiler: Compiler) -> None:
    code = compiled(compiler, "code_limits", arch)
    causes = causes_of(recording([kernel.name for kernel in code.kernels], arch, code))
    first = {kernel: (listed[0].id, listed[0].certainty) for kernel, listed in causes.items() if listed}
    assert {kernel: first[kernel] for kernel in PLANTED} == PLANTED
    assert [causes[kernel] for kernel in NOTHING] == [[], [], []]
    steps = causes["double_steps"][0]
    assert steps.source == "code"
    assert "(code_limits.hip:9)" in steps.evidence[0]
    assert steps.remedy


def test_how_much_accidental_doubles_cost_depends_on_the_gpu(compiler: Compiler) -> None:
    shares = {}
    for arch in ("gfx90a", "gfx1151"):
        code = compiled(compiler, "code_limits", arch)
        shares[arch] = causes_of(recording(["double_steps"], arch, code))["double_steps"][0].share
    assert shares["gfx90a"] < 0.7  # as fast as floats there
    assert shares["gfx1151"] == 0.95


def test_spills_and_indexed_arrays(compiler: Compiler) -> None:
    spilled = causes_of(recording(["spilled"], "gfx942", compiled(compiler, "code_limits", "gfx942")))[
        "spilled"
    ][0]
    assert (spilled.id, spilled.certainty) == ("spills", "likely")
    assert "vector registers" in spilled.evidence[1]
    array = causes_of(recording(["indexed"], "gfx942", compiled(compiler, "planted", "gfx942")))["indexed"][0]
    assert array.id == "private-array"


def test_what_the_evidence_holds(compiler: Compiler) -> None:
    code = compiled(compiler, "code_limits", "gfx90a")
    evidence = found_in(recording(["byte_copy", "half_product", "phases"], "gfx90a", code))
    assert evidence["byte_copy"].widths("load", "store") == {1: 1.0}
    assert [one.has_matrix for one in evidence.values()] == [False, False, False]
    assert evidence["phases"].count("barrier", in_loops=True) == evidence["phases"].count("barrier")
    assert evidence["phases"].lds_bytes == 1024
    assert sum(one.slots for one in evidence["phases"].instructions) == pytest.approx(1.0)
    assert evidence["phases"].waves is not None


def a_kernel(**facts: object) -> DeviceCode:
    known = {
        "symbol": "k",
        "name": "k",
        "arch": "gfx942",
        "file": "app",
        "vgprs": 32,
        "scratch_bytes": 0,
        "wave_size": 64,
    }
    return DeviceCode(kernels=(KernelCode(**{**known, **facts}),))  # type: ignore[arg-type]


def mix(*rows: tuple[str, str, int | None, int, int]) -> tuple[dict[str, object], ...]:
    return tuple(
        {"work": work, "dtype": dtype, "width_bytes": width, "loop": depth, "depth": depth, "count": count}
        for work, dtype, width, depth, count in rows
    )


def causes_with(
    *rows: tuple[str, str, int | None, int, int], kernel: str = "k", **facts: object
) -> list[Cause]:
    listed = tuple(InstructionCount(**row) for row in mix(*rows))  # type: ignore[arg-type]
    code = a_kernel(mix=listed, symbol=kernel, name=kernel, **facts)
    return causes_of(recording([kernel], str(facts.get("arch", "gfx942")), code))[kernel]


STEP = ("multiply-add", "f64", None, 1, 1)
BOTH_WAYS = ("conversion", "f64", None, 1, 2)


def test_arithmetic_beside_much_memory_is_only_a_hint() -> None:
    (alone,) = causes_with(STEP, BOTH_WAYS)
    steps = (("multiply-add", "f64", None, 1, 4), ("conversion", "f64", None, 1, 8))
    (beside,) = causes_with(*steps, ("load", "", 4, 1, 1))
    assert (alone.id, alone.certainty, beside.certainty) == ("accidental-f64", "likely", "hint")
    assert beside.share < 0.5 < alone.share


def test_doubles_that_are_meant() -> None:
    assert causes_with(STEP) == []  # no conversion
    assert causes_with(STEP, BOTH_WAYS, kernel="void scale<double>(double*)") == []
    kept = ("compare-and-swap", "", 8, 1, 1)
    assert [cause.id for cause in causes_with(STEP, BOTH_WAYS, kept)] == ["contended-atomics"]


def test_a_loop_counts_ten_times() -> None:
    inside = causes_with(("special", "f32", None, 1, 1), ("integer", "", None, 0, 10))
    outside = causes_with(("special", "f32", None, 0, 1), ("integer", "", None, 0, 10))
    assert [cause.id for cause in inside] == ["special-functions"]
    assert inside[0].share == pytest.approx(40 / 50)
    assert outside == []


def test_divisions_by_one_number_are_products_in_the_loop() -> None:
    before, inside = ("integer division", "", None, 0, 1), ("integer", "high half", None, 1, 4)
    (cause,) = causes_with(before, inside, ("integer", "", None, 1, 20))
    assert (cause.id, "by a number that does not change" in cause.evidence[0]) == ("integer-division", True)
    assert causes_with(inside, ("integer", "", None, 1, 20)) == []  # as random numbers are made
    (long,) = causes_with(("integer division", "", None, 1, 1), inside, ("integer", "", None, 1, 20))
    assert "does not change" not in long.evidence[0]  # parts of a division of 64 bits


def test_spills_outside_of_loops_are_a_hint() -> None:
    scratch = (("scratch load", "", 4, 0, 30), ("scratch store", "", 4, 0, 30), ("integer", "", None, 0, 30))
    (cause,) = causes_with(*scratch, vgpr_spills=40, scratch_bytes=160)
    assert (cause.id, cause.certainty) == ("spills", "hint")
    (unknown,) = causes_with(*scratch, scratch_bytes=160)
    assert unknown.id == "scratch"  # a stack, or an array with constant indices: the compiler spilled nothing


def test_without_instructions_scratch_is_said_and_nothing_else() -> None:
    code = a_kernel(scratch_bytes=512, unread="cannot disassemble: no llvm-objdump is on the path")
    (cause,) = causes_of(recording(["k"], "gfx942", code))["k"]
    assert (cause.id, cause.certainty) == ("scratch", "hint")
    assert "no llvm-objdump" in cause.evidence[0]
    assert found_in(recording(["k"], "gfx942", code))["k"].has_matrix is None


def test_several_codes_of_a_name_leave_a_hint() -> None:
    (cause,) = causes_with(STEP, BOTH_WAYS, variants=3)
    assert cause.certainty == "hint"
    assert "3 codes of this name" in cause.evidence[-1]


def test_registers_that_keep_waves_out() -> None:
    few = causes_with(("arithmetic", "f32", None, 0, 4), vgprs=256, agprs=128)
    assert [(cause.id, cause.certainty) for cause in few] == [("occupancy-registers", "hint")]
    assert "1 of 8 waves" in few[0].title


def test_a_loop_larger_than_the_instruction_cache() -> None:
    rows = (("arithmetic", "f32", None, 1, 9),)
    assert [cause.id for cause in causes_with(*rows, largest_loop_bytes=256 << 10)] == ["instruction-fetch"]
    assert causes_with(*rows, largest_loop_bytes=64 << 10) == []


def test_code_for_another_gpu_is_not_taken() -> None:
    assert found_in(recording(["k"], "gfx90a", a_kernel())) == {}
    assert list(found_in(recording(["k"], None, a_kernel()))) == ["k"]  # the recording does not say which GPU
    assert found_in(recording(["other"], "gfx942", a_kernel())) == {}


def test_kernels_are_joined_in_any_spelling() -> None:
    code = a_kernel(symbol="_Z7spilledILi128EfEvPT0_", name="void spilled<128, float>(float*)")
    for kernel in ("spilled<128, float>(T2 *)", "void spilled<128, float>(float*) [clone .kd]"):
        assert list(found_in(recording([kernel], "gfx942", code))) == [kernel]


def test_a_recording_without_code() -> None:
    bare = trace(dispatches=[{"kernel": "k", "agent_id": 0, "start_ns": 0, "end_ns": 9}])
    assert code_evidence(bare, devices(bare)) == {}
