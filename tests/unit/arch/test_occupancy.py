"""Occupancy against LLVM's own tests, the compiler's own remarks, and NVIDIA's calculator on a real H200."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rocm_perf.arch.catalog import gpus, gpus_of
from rocm_perf.arch.codeobject.reader import read
from rocm_perf.arch.gpu import Gpu
from rocm_perf.arch.occupancy import Occupancy, Resources, occupancy
from rocm_perf.errors import UsageError
from tests.compile_amd import ARCHS, Compiler

# The most VGPRs for each number of waves: the file of a SIMD, shared in granules, as LLVM's AMDGPUBaseInfo has both
# (512 by 8; 256 by 4; 1024 by 16; 1536 by 24).
CDNA2_TABLE = {64: 8, 72: 7, 80: 6, 96: 5, 128: 4, 168: 3, 256: 2, 512: 1}
GFX908_TABLE = {24: 10, 28: 9, 32: 8, 36: 7, 40: 6, 48: 5, 64: 4, 84: 3, 128: 2, 256: 1}
RDNA2_TABLE = {64: 16, 80: 12, 96: 10, 112: 9, 128: 8, 144: 7, 160: 6, 192: 5, 256: 4}
RDNA3_TABLE = {96: 16, 120: 12, 144: 10, 168: 9, 192: 8, 216: 7, 240: 6, 256: 5}

# (chip, wave size) -> VGPRs: waves, from LLVM's own test, occupancy-levels.ll. Its GFX9 has the file of gfx908.
LLVM_LEVELS = {
    ("gfx908", 64): {24: 10, 28: 9, 80: 3, 84: 3, 88: 2, 96: 2, 128: 2},
    ("gfx1030", 32): {24: 16, 80: 12, 84: 10, 88: 10, 96: 10, 100: 9, 112: 9, 128: 8},
    ("gfx1030", 64): {24: 16, 80: 6, 84: 5, 88: 5, 96: 5, 100: 4, 112: 4, 128: 4},
    ("gfx1100", 32): {24: 16, 80: 16, 84: 16, 88: 16, 96: 16, 100: 12, 112: 12},
    ("gfx1100", 64): {24: 16, 80: 9, 84: 9, 88: 8, 96: 8, 100: 7, 112: 6},
}


def of(gfx: str, **asked: int | bool) -> Occupancy:
    return occupancy(_gpu(gfx), _resources(gfx, **asked))


def _gpu(gfx: str) -> Gpu:
    products = gpus_of(gfx)
    if not products:
        pytest.skip(f"the catalogue has no {gfx}")
    return products[0]


def _resources(gfx: str, **asked: int | bool) -> Resources:
    """Unless asked otherwise a wave on each of four SIMDs, so that whole workgroups do not round anything down."""
    wave = _gpu(gfx).wave_size
    defaults: dict[str, int | bool] = {"vgprs": 16, "workgroup_size": 4 * wave, "wave_size": wave}
    return msgspec.convert({**defaults, **asked}, Resources)


@pytest.mark.parametrize(
    ("gfx", "table"),
    [
        ("gfx90a", CDNA2_TABLE),
        ("gfx942", CDNA2_TABLE),
        ("gfx950", CDNA2_TABLE),
        ("gfx908", GFX908_TABLE),
        ("gfx1030", RDNA2_TABLE),
        ("gfx1100", RDNA3_TABLE),
        ("gfx1151", RDNA3_TABLE),
        ("gfx1201", RDNA3_TABLE),
    ],
)
def test_most_vgprs_for_each_number_of_waves(gfx: str, table: dict[int, int]) -> None:
    waves = {most: of(gfx, vgprs=most).waves_per_simd for most in table}
    assert waves == table
    behind = {most: of(gfx, vgprs=most + 1).waves_per_simd for most in table if most < max(table)}
    assert all(behind[most] < table[most] for most in behind)


@pytest.mark.parametrize(("chip", "levels"), LLVM_LEVELS.items())
def test_waves_as_llvm_tests_them(chip: tuple[str, int], levels: dict[int, int]) -> None:
    gfx, wave = chip
    assert {
        vgprs: of(gfx, vgprs=vgprs, wave_size=wave, workgroup_size=4 * wave).waves_per_simd
        for vgprs in levels
    } == levels


def test_agprs_share_the_file_from_cdna_2_on() -> None:
    assert of("gfx90a", vgprs=61, agprs=32).allocated_vgprs == 96  # 64 + 32: AGPRs begin at a multiple of 4
    assert of("gfx90a", vgprs=61, agprs=33).allocated_vgprs == 104
    assert of("gfx908", vgprs=57, agprs=48).waves_per_simd == 4  # files of their own: 60 of 256
    assert of("gfx908", vgprs=57, agprs=100).waves_per_simd == 2


def test_wave64_on_rdna_takes_twice_the_registers() -> None:
    assert of("gfx1100", vgprs=96, wave_size=64).waves_per_simd == 8
    assert of("gfx1100", vgprs=48, wave_size=64).waves_per_simd == 16


def test_lds_limits_and_says_what_would_help() -> None:
    occupied = of("gfx942", lds_static=24 << 10)
    assert (occupied.workgroups_per_cu, occupied.waves_per_simd, occupied.limiters) == (2, 2, ("LDS",))
    (step,) = occupied.steps
    assert str(step) == "use <= 21,504 bytes of LDS (now 24,576) -> 3 waves per SIMD"
    assert of("gfx942", lds_static=step.at_most).workgroups_per_cu == 3
    assert of("gfx942", lds_static=20 << 10, lds_dynamic=4 << 10) == occupied


def test_vgprs_limit_and_say_what_would_help() -> None:
    occupied = of("gfx942", vgprs=104)
    assert (occupied.waves_per_simd, occupied.share, occupied.limiters) == (4, 0.5, ("VGPRs",))
    assert str(occupied.steps[0]) == "use <= 96 VGPRs (now 104) -> 5 waves per SIMD"
    assert "VGPRs and AGPRs" in str(of("gfx942", vgprs=64, agprs=40).steps[0])


def test_two_limiters_need_two_steps() -> None:
    occupied = of("gfx942", vgprs=104, lds_static=16 << 10)
    assert occupied.limiters == ("VGPRs", "LDS")
    assert [(step.resource, step.at_most) for step in occupied.steps] == [
        ("VGPRs", 96),
        ("bytes of LDS", 12_800),
    ]
    assert {step.waves_per_simd for step in occupied.steps} == {5}


def test_workgroups_start_whole() -> None:
    assert (
        of("gfx942", vgprs=96, workgroup_size=1024).waves_per_simd == 4
    )  # 5 fit a SIMD, but 16 waves at a time
    occupied = of("gfx942", workgroup_size=64 * 9)
    assert (occupied.workgroups_per_cu, occupied.limiters, occupied.steps) == (3, ("workgroup size",), ())


def test_workgroup_slots() -> None:
    """They are barriers: a workgroup of one wave needs none."""
    few = msgspec.structs.replace(_gpu("gfx942"), max_workgroups_per_cu=8)
    assert occupancy(few, _resources("gfx942", workgroup_size=64)).workgroups_per_cu == 32
    occupied = occupancy(few, _resources("gfx942", workgroup_size=128))
    assert (occupied.workgroups_per_cu, occupied.limiters, occupied.steps) == (8, ("workgroup slots",), ())


def test_sgprs() -> None:
    """800 in granules of 16 on gfx9; no limit from gfx10 on."""
    assert of("gfx942", sgprs=96).waves_per_simd == 8
    occupied = of("gfx942", sgprs=102)
    assert (occupied.waves_per_simd, occupied.allocated_sgprs, occupied.limiters) == (7, 112, ("SGPRs",))
    assert str(occupied.steps[0]) == "use <= 96 SGPRs (now 102) -> 8 waves per SIMD"
    assert of("gfx1100", sgprs=106).waves_per_simd == 16


def test_a_workgroup_of_a_pair_of_compute_units() -> None:
    pair = of("gfx1100", lds_static=48 << 10)
    alone = of("gfx1100", lds_static=48 << 10, cu_mode=True)
    assert (pair.workgroups_per_cu, pair.waves_per_simd) == (1, 2)  # two in the 128 KiB of the pair
    assert (alone.workgroups_per_cu, alone.waves_per_simd) == (1, 2)  # one in the 64 KiB of each
    assert of("gfx1100", lds_static=40 << 10).workgroups_per_cu == 1.5


def test_full_waves_are_limited_by_nothing_else() -> None:
    occupied = of("gfx942", vgprs=64)
    assert (occupied.share, occupied.limiters, occupied.steps) == (1.0, ("wave slots",), ())


def test_what_does_not_fit_at_all() -> None:
    occupied = of("gfx942", lds_static=65 << 10)
    assert (occupied.waves_per_simd, occupied.limiters) == (0, ("LDS",))
    assert of("gfx942", vgprs=513).waves_per_simd == 0
    with pytest.raises(UsageError, match="at most 1,024"):
        of("gfx942", workgroup_size=1025)
    with pytest.raises(UsageError, match="no waves of 32"):
        of("gfx942", wave_size=32)
    with pytest.raises(UsageError, match="negative"):
        of("gfx942", vgprs=-1)


@pytest.fixture(scope="session")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> Compiler:
    return Compiler.of_this_run(tmp_path_factory)


@pytest.mark.native
@pytest.mark.parametrize("arch", [*ARCHS, "gfx908", "gfx950", "gfx1030", "gfx1201"])
@pytest.mark.parametrize("keep", [4, 16, 22, 28, 40, 64, 90, 120])
def test_registers_as_the_compiler_counts_them(arch: str, keep: int, compiler: Compiler) -> None:
    """The compiler leaves the placing of whole workgroups aside; with a wave on each SIMD it does not matter."""
    built = compiler.compile("registers", arch, f"-DKEEP={keep}")
    (remark,) = built.remarks
    (kernel,) = read(built.path)[0].kernels
    asked = Resources(
        vgprs=kernel.vgprs or 0,
        agprs=kernel.agprs or 0,
        sgprs=kernel.sgprs or 0,
        workgroup_size=4 * kernel.wave_size,
        wave_size=kernel.wave_size,
    )
    expected = int(remark["Occupancy [waves/SIMD]"])
    assert occupancy(_gpu(arch), asked).waves_per_simd == expected


resources = st.builds(
    Resources,
    vgprs=st.integers(1, 256),
    agprs=st.integers(0, 256),
    sgprs=st.integers(0, 108),
    lds_static=st.integers(0, 70_000),
    lds_dynamic=st.integers(0, 10_000),
    workgroup_size=st.integers(1, 1024),
    wave_size=st.sampled_from([32, 64]),
    cu_mode=st.booleans(),
)


@given(gpu=st.sampled_from(gpus()), asked=resources, more=st.integers(1, 40_000), data=st.data())
def test_asking_for_more_never_gains(gpu: Gpu, asked: Resources, more: int, data: st.DataObject) -> None:
    assume(asked.wave_size in gpu.wave_sizes)
    field = data.draw(st.sampled_from(["vgprs", "agprs", "sgprs", "lds_static", "lds_dynamic"]))
    greedy = msgspec.structs.replace(asked, **{field: getattr(asked, field) + more})
    before, after = occupancy(gpu, asked), occupancy(gpu, greedy)
    assert 0 <= after.waves_per_simd <= before.waves_per_simd <= before.max_waves_per_simd
    assert before.limiters


@given(gpu=st.sampled_from(gpus()), asked=resources)
def test_a_step_gains_and_is_the_least(gpu: Gpu, asked: Resources) -> None:
    assume(asked.wave_size in gpu.wave_sizes)
    occupied = occupancy(gpu, asked)
    assume(len(occupied.steps) == 1)
    step = occupied.steps[0]
    assert step.at_most < step.now
    assert step.waves_per_simd > occupied.waves_per_simd
    assert occupancy(gpu, _with(asked, step.resource, step.at_most)).waves_per_simd == step.waves_per_simd
    assert (
        occupancy(gpu, _with(asked, step.resource, step.at_most + 1)).waves_per_simd
        == occupied.waves_per_simd
    )


def _with(asked: Resources, resource: str, amount: int) -> Resources:
    if resource == "bytes of LDS":
        return msgspec.structs.replace(asked, lds_static=amount, lds_dynamic=0)
    if resource == "SGPRs":
        return msgspec.structs.replace(asked, sgprs=amount)
    return msgspec.structs.replace(asked, vgprs=amount, agprs=0)


# (registers, shared bytes, threads a block, blocks an SM): cudaOccupancyMaxActiveBlocksPerMultiprocessor of CUDA 13
# on a real H200; a part of the 880 that were asked for, all of which agreed.
H200 = (
    (10, 0, 32, 32), (10, 0, 96, 21), (10, 1, 192, 10), (10, 1, 512, 4), (10, 1000, 96, 21), (10, 1000, 160,
    12), (10, 10000, 32, 20), (10, 10000, 160, 12), (10, 10000, 768, 2), (10, 20000, 32, 11), (10, 20000, 96,
    11), (10, 20000, 128, 11), (10, 20000, 160, 11), (10, 21000, 32, 10), (10, 30000, 1024, 2), (10, 70000,
    128, 3), (32, 1, 96, 21), (32, 6000, 96, 21), (32, 6000, 256, 8), (32, 6000, 384, 5), (32, 10000, 96, 20),
    (32, 10000, 128, 16), (32, 10000, 160, 12), (32, 30000, 64, 7), (32, 50000, 64, 4), (32, 50000, 160, 4),
    (32, 50000, 256, 4), (32, 76000, 256, 3), (40, 0, 64, 24), (40, 0, 160, 9), (40, 1, 96, 16), (40, 1, 160,
    9), (40, 1000, 64, 24), (40, 6000, 32, 32), (40, 6000, 64, 24), (40, 6000, 160, 9), (40, 6000, 192, 8),
    (40, 10000, 64, 20), (40, 10000, 160, 9), (40, 30000, 32, 7), (40, 30000, 160, 7), (40, 113000, 128, 2),
    (48, 0, 32, 32), (48, 0, 128, 10), (48, 0, 160, 8), (48, 1, 96, 13), (48, 1000, 32, 32), (48, 1000, 96,
    13), (48, 6000, 96, 13), (48, 6000, 128, 10), (48, 10000, 96, 13), (48, 10000, 192, 6), (48, 10000, 256,
    5), (48, 76000, 96, 3), (64, 0, 64, 16), (64, 0, 192, 5), (64, 1, 64, 16), (64, 1, 160, 6), (64, 1000,
    128, 8), (64, 1000, 160, 6), (64, 30000, 32, 7), (80, 0, 32, 24), (80, 1000, 64, 12), (80, 10000, 32, 20),
    (80, 120000, 160, 1), (80, 120000, 256, 1), (128, 6000, 96, 5), (128, 76000, 192, 2), (128, 200000, 64,
    1), (168, 6000, 64, 6), (168, 76000, 32, 3), (255, 120000, 32, 1),
)  # fmt: skip


def test_blocks_as_nvidia_counts_them() -> None:
    h200 = next(gpu for gpu in gpus_of("sm_90") if "H200" in gpu.name)
    for registers, shared, threads, blocks in H200:
        asked = Resources(vgprs=registers, lds_dynamic=shared, workgroup_size=threads, wave_size=32)
        assert occupancy(h200, asked).workgroups_per_cu == blocks, (registers, shared, threads)
