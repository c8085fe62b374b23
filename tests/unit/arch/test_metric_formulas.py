"""Every family of formulas on numbers computed by hand, and every formula on every GPU."""

from __future__ import annotations

import msgspec
import pytest

from rocm_perf.arch.catalog import find_gpu, gpus
from rocm_perf.arch.gpu import Gpu
from rocm_perf.arch.metric_data import metrics
from rocm_perf.arch.metric_recipes import recipes
from rocm_perf.arch.metrics import evaluate, metrics_of, quantity

from .counted import Pass, flop_counters, one, recording, table
from .unit_examples import UNITS

MI300X = find_gpu("MI300X")  # 304 CUs, 8 dies, 128 L2 channels
MI355X = find_gpu("MI355X")
MI210 = find_gpu("MI210")
MI100 = find_gpu("MI100")
MI60 = find_gpu("MI60")
RX7900 = find_gpu("RX 7900 XTX")  # 96 CUs
STRIX = find_gpu("Radeon 8060S")
RX9070 = find_gpu("RX 9070 XT")
H200 = find_gpu("H200 SXM")

F32 = {"ADD": 10, "MUL": 20, "TRANS": 5, "FMA": 100}
MIX = {"VALU": 50, "SALU": 20, "LDS": 10, "SMEM": 5, "VMEM_RD": 10, "VMEM_WR": 5, "MFMA": 25}
G = {"GRBM_GUI_ACTIVE": 800}  # 100 cycles on each of 8 dies
TCP = {
    "TCP_TOTAL_CACHE_ACCESSES_sum": 100,
    "TCP_TCC_READ_REQ_sum": 20,
    "TCP_TCC_WRITE_REQ_sum": 10,
    "TCP_TCC_ATOMIC_WITH_RET_REQ_sum": 4,
    "TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum": 6,
}


BY_HAND: list[tuple[Gpu, Pass, str, float]] = [
    # FLOPs: 64 lanes x (10 + 20 + 5 + 2 x 100); 512 a matrix step
    (MI300X, {f"SQ_INSTS_VALU_{op}_F32": n for op, n in F32.items()}, "vector_f32_flops", 15_040),
    (MI210, {f"SQ_INSTS_VALU_{op}_F64": n for op, n in F32.items()}, "vector_f64_flops", 15_040),
    (MI355X, {f"SQ_INSTS_VALU_{op}_F16": n for op, n in F32.items()}, "vector_f16_flops", 15_040),
    (MI300X, {"SQ_INSTS_VALU_MFMA_MOPS_F8": 3}, "matrix_f8_flops", 1536),
    (MI300X, {"SQ_INSTS_VALU_MFMA_MOPS_BF16": 3}, "matrix_bf16_flops", 1536),
    (MI300X, {"SQ_INSTS_VALU_MFMA_MOPS_F32": 3}, "matrix_f32_flops", 1536),
    (MI300X, {"SQ_INSTS_VALU_MFMA_MOPS_F64": 3}, "matrix_f64_flops", 1536),
    (MI355X, {"SQ_INSTS_VALU_MFMA_MOPS_F6F4": 3}, "matrix_f6f4_flops", 1536),
    (MI300X, {"MfmaFlopsF16": 77}, "matrix_f16_flops", 77),
    (MI355X, {"SQ_INSTS_VALU_MFMA_MOPS_XF32": 3}, "matrix_xf32_flops", 1536),
    (MI300X, {"SQ_INSTS_VALU_MFMA_MOPS_I8": 3}, "matrix_i8_ops", 1536),
    # 3 dtypes x 64 x (1 + 1 + 1 + 2), and 4, 5 or 7 matrix dtypes x 512; no integers
    (MI210, flop_counters("gfx90a"), "flops", 3008),
    (MI300X, flop_counters("gfx942"), "flops", 3520),
    (MI355X, flop_counters("gfx950"), "flops", 4544),
    (MI300X, flop_counters("gfx942"), "tflops", 3520 / 1000 / 1000),
    # memory: 128 x 10 + 64 x (100 - 10 - 4) + 32 x 4
    (MI300X, {"TCC_BUBBLE_sum": 10, "TCC_EA0_RDREQ_sum": 100, "TCC_EA0_RDREQ_32B_sum": 4}, "dram_read_bytes", 6912),
    (
        MI355X,
        {"TCC_EA0_RDREQ_128B_sum": 10, "TCC_EA0_RDREQ_sum": 100, "TCC_EA0_RDREQ_32B_sum": 4, "TCC_BUBBLE_sum": 0},
        "dram_read_bytes",
        6912,
    ),
    (MI210, {"TCC_EA_RDREQ_sum": 100, "TCC_EA_RDREQ_32B_sum": 4}, "dram_read_bytes", 6272),
    (
        MI60,
        {"TCC_EA_RDREQ_sum": 60, "TCC_EA_RDREQ_32B_sum": 3, "TCC_EA1_RDREQ_sum": 40, "TCC_EA1_RDREQ_32B_sum": 1},
        "dram_read_bytes",
        6272,
    ),
    (RX7900, {f"GL2C_EA_RDREQ_{k}B_sum": k / 32 for k in (32, 64, 96, 128)}, "dram_read_bytes", 960),
    (RX9070, {"GL2C_EA_RDREQ_sum": 10}, "dram_read_bytes", 2560),
    (MI300X, {"FETCH_SIZE": 5}, "dram_read_bytes", 5120),
    (H200, {"dram__bytes_read.sum": 5}, "dram_read_bytes", 5),
    # 64 x 60 + 32 x (100 - 60)
    (MI300X, {"TCC_EA0_WRREQ_sum": 100, "TCC_EA0_WRREQ_64B_sum": 60}, "dram_write_bytes", 5120),
    (MI210, {"TCC_EA_WRREQ_sum": 100, "TCC_EA_WRREQ_64B_sum": 60}, "dram_write_bytes", 5120),
    (
        MI60,
        {"TCC_EA_WRREQ_sum": 90, "TCC_EA_WRREQ_64B_sum": 50, "TCC_EA1_WRREQ_sum": 10, "TCC_EA1_WRREQ_64B_sum": 10},
        "dram_write_bytes",
        5120,
    ),
    (RX7900, {"GL2C_MC_WRREQ_sum": 100, "GL2C_EA_WRREQ_64B_sum": 60}, "dram_write_bytes", 5120),
    (RX9070, {"GL2C_EA_WRREQ_sum": 10}, "dram_write_bytes", 2560),
    (MI300X, {"FETCH_SIZE": 5, "WRITE_SIZE": 3}, "dram_bytes", 8192),
    (MI300X, {"FETCH_SIZE": 1000, "WRITE_SIZE": 500}, "dram_gbps", 1536),
    (MI300X, {"FETCH_SIZE": 1000}, "dram_read_gbps", 1024),
    (MI300X, {"WRITE_SIZE": 500}, "dram_write_gbps", 512),
    (H200, {"dram__bytes.sum": 9}, "dram_bytes", 9),
    (MI300X, TCP, "l2_bytes", 128 * 20 + 64 * (10 + 4 + 6)),
    (MI210, TCP, "l2_bytes", 64 * 40),
    (MI210, TCP, "l2_gbps", 2.56),
    # caches
    (MI300X, {"TCC_HIT_sum": 30, "TCC_MISS_sum": 10}, "l2_hit_rate", 0.75),
    (RX7900, {"GL2C_HIT_sum": 30, "GL2C_MISS_sum": 10}, "l2_hit_rate", 0.75),
    (RX7900, {"L2CacheHit": 75}, "l2_hit_rate", 0.75),
    (H200, {"lts__t_sector_hit_rate.pct": 75}, "l2_hit_rate", 0.75),
    (MI300X, TCP, "l1_hit_rate", 0.6),
    (MI300X, {"TA_TOTAL_WAVEFRONTS_sum": 10, "TCP_TOTAL_ACCESSES_sum": 640}, "coalescing", 0.25),
    (MI300X, {"TCC_BUSY_sum": 6400, **G}, "l2_utilisation", 0.5),
    (MI300X, {"TCC_EA0_RDREQ_LEVEL_sum": 5000, "TCC_EA0_RDREQ_sum": 10}, "memory_read_latency", 500),
    (MI210, {"TCC_EA_RDREQ_LEVEL_sum": 5000, "TCC_EA_RDREQ_sum": 10}, "memory_read_latency", 500),
    # LDS
    (MI300X, {"SQ_LDS_BANK_CONFLICT": 20, "SQ_LDS_IDX_ACTIVE": 100}, "lds_conflict_rate", 0.25),
    (RX7900, {"SQC_LDS_BANK_CONFLICT": 20, "SQC_LDS_IDX_ACTIVE": 100}, "lds_conflict_rate", 0.25),
    (RX7900, {"LDSBankConflict": 20}, "lds_conflict_rate", 0.25),
    (MI355X, {"SQ_LDS_BANK_CONFLICT": 20, "SQ_INSTS_LDS": 40}, "lds_conflict_cycles", 0.5),
    (MI300X, {"SQ_LDS_BANK_CONFLICT": 20, "SQ_LDS_IDX_ACTIVE": 100}, "lds_bytes", 4 * 32 * 80),
    (MI300X, {"SQ_LDS_IDX_ACTIVE": 15_200, **G}, "lds_utilisation", 0.5),
    # occupancy
    (MI300X, {"SQ_WAVES": 7}, "waves", 7),
    (STRIX, {"Wavefronts": 7}, "waves", 7),
    (MI300X, {"SQ_WAVE_CYCLES": 121_600, **G}, "achieved_occupancy", 0.5),
    (MI300X, {"SQ_LEVEL_WAVES_ACCUM": 486_400, **G}, "achieved_occupancy", 0.5),
    (MI300X, {"SQ_ACCUM_PREV_HIRES": 486_400, "SQ_LEVEL_WAVES": 1, **G}, "achieved_occupancy", 0.5),
    (MI300X, {"OccupancyPercent": 50}, "achieved_occupancy", 0.5),
    (MI300X, {"MeanOccupancyPerCU": 16}, "achieved_occupancy", 0.5),
    (MI100, {"SQ_WAVE_CYCLES": 60_000, "GRBM_GUI_ACTIVE": 100}, "achieved_occupancy", 0.5),  # 120 CUs x 40
    (RX7900, {"SQ_WAVE_CYCLES": 153_600, "GRBM_GUI_ACTIVE": 100}, "achieved_occupancy", 0.5),
    (H200, {"sm__warps_active.avg.pct_of_peak_sustained_active": 50}, "achieved_occupancy", 0.5),
    (MI300X, {"SPI_RA_WAVE_SIMD_FULL_CSN": 3040, **G}, "occupancy_limit_waves", 0.1),
    (MI300X, {"SPI_RA_VGPR_SIMD_FULL_CSN": 3040, **G}, "occupancy_limit_vgprs", 0.1),
    (MI300X, {"SPI_RA_SGPR_SIMD_FULL_CSN": 3040, **G}, "occupancy_limit_sgprs", 0.1),
    (MI300X, {"SPI_RA_LDS_CU_FULL_CSN": 760, **G}, "occupancy_limit_lds", 0.1),
    (MI300X, {"SPI_RA_BAR_CU_FULL_CSN": 760, **G}, "occupancy_limit_barriers", 0.1),
    (MI300X, {f"SQ_INSTS_{kind}": n for kind, n in MIX.items()}, "instructions", 100),
    (MI300X, {"SQ_INSTS_VMEM": 15}, "vmem_instructions", 15),
    # of all kinds: branches and waits are in SQ_INSTS alone
    (MI300X, {"SQ_INSTS_VMEM": 15, "SQ_INSTS_VALU": 50}, "vmem_per_valu", 0.3),
    (RX7900, {"SQ_INSTS_LDS": 10, "SQ_INSTS_VALU": 50}, "lds_per_valu", 0.2),
    (MI300X, {"SQ_INSTS": 125, **{f"SQ_INSTS_{kind}": n for kind, n in MIX.items()}}, "instructions", 125),
    (MI300X, {"SQ_INSTS": 125, **{f"SQ_INSTS_{kind}": n for kind, n in MIX.items()}}, "valu_share", 0.4),
    # instructions: 100 in all, matrix instructions being vector instructions
    *((MI300X, {f"SQ_INSTS_{kind}": n for kind, n in MIX.items()}, f"{unit}_share", share)
      for unit, share in (("valu", 0.5), ("mfma", 0.25), ("salu", 0.2), ("lds", 0.1), ("smem", 0.05), ("vmem", 0.15))),
    (MI300X, {"SQ_THREAD_CYCLES_VALU": 3200, "SQ_ACTIVE_INST_VALU": 100}, "valu_utilisation", 0.5),
    (MI300X, {"VALUUtilization": 50}, "valu_utilisation", 0.5),
    (MI300X, {"SQ_ACTIVE_INST_VALU": 15_200, **G}, "valu_busy", 0.5),
    (MI300X, {"SQ_VALU_MFMA_BUSY_CYCLES": 60_800, **G}, "mfma_busy", 0.5),
    # waits
    (MI300X, {"SQ_WAIT_INST_ANY": 30, "SQ_WAVE_CYCLES": 100}, "issue_wait_share", 0.3),
    (RX9070, {"WAVE_ISSUE_WAIT": 30}, "issue_wait_share", 0.3),
    (MI300X, {"SQ_WAIT_ANY": 30, "SQ_WAVE_CYCLES": 100}, "wait_share", 0.3),
    (MI300X, {"SQ_WAIT_INST_LDS": 30, "SQ_WAVE_CYCLES": 100}, "lds_wait_share", 0.3),
    (STRIX, {"MemUnitBusy": 85}, "mem_unit_busy", 0.85),
    (MI300X, {"MemUnitStalled": 40}, "mem_unit_stalled", 0.4),
    (MI210, {"WriteUnitStalled": 5}, "write_unit_stalled", 0.05),
    # NVIDIA: instructions of threads
    (
        H200,
        {f"smsp__sass_thread_inst_executed_op_f{op}_pred_on.sum": n for op, n in (("add", 1), ("mul", 2), ("fma", 3))},
        "vector_f32_flops",
        9,
    ),
    *UNITS,
]  # fmt: skip


@pytest.mark.parametrize(
    ("gpu", "counters", "metric", "expected"),
    BY_HAND,
    ids=[f"{metric}-{gpu.gfx}-{next(iter(counters))}" for gpu, counters, metric, _ in BY_HAND],
)
def test_by_hand(gpu: Gpu, counters: Pass, metric: str, expected: float) -> None:
    value = one(gpu, metric, counters)
    assert value.value == pytest.approx(expected)
    assert value.unit == metrics()[metric].unit


def test_every_metric_has_an_example() -> None:
    assert {metric for *_, metric, _ in BY_HAND} == set(metrics())


CHIPS = {gpu.gfx: gpu for gpu in gpus()}  # formulas are those of a chip: one GPU of each at first
REST = [gpu for gpu in gpus() if gpu not in CHIPS.values()]


@pytest.mark.parametrize(
    "gpu",
    [*CHIPS.values(), *(pytest.param(gpu, marks=pytest.mark.thorough) for gpu in REST)],
    ids=lambda gpu: gpu.name,
)
@pytest.mark.whole
def test_every_formula_can_be_followed(gpu: Gpu) -> None:
    """Each way to each metric, on a recording that has just its inputs."""
    for name in metrics_of(gpu.gfx):
        for recipe in recipes(gpu.gfx, name):
            inputs = recording(dict.fromkeys(recipe.counters, 2.0))
            value = quantity(evaluate(*inputs, gpu, [name]), name)
            complete = gpu.l2_channels is not None or "l2_channels" not in recipe.expression.names
            assert value.known or not complete or "is zero" in (value.unavailable or ""), (name, value)


def test_a_share_of_instructions_says_which_total_it_is_of() -> None:
    counted = {f"SQ_INSTS_{kind}": n for kind, n in MIX.items()}
    alone = one(MI300X, "valu_share", counted).doubt
    all_kinds = one(MI300X, "valu_share", {"SQ_INSTS": 125, **counted}).doubt
    assert "SQ_INSTS was not recorded" in str(alone)
    assert all_kinds is None


def test_wave_size() -> None:
    constants = table(MI300X, {"SQ_THREAD_CYCLES_VALU": 1, "SQ_ACTIVE_INST_VALU": 1}).evaluations
    assert constants["valu_utilisation"].constants == {"wave": 64}
    narrow = msgspec.structs.replace(MI300X, wave_sizes=(32,), max_waves_per_simd={32: 8})
    halved = one(narrow, "vector_f32_flops", {f"SQ_INSTS_VALU_{op}_F32": n for op, n in F32.items()})
    assert halved.value == 32 * 235
