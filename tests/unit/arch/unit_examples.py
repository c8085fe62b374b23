"""The metrics of the table of units on numbers computed by hand."""

from __future__ import annotations

from rocm_perf.arch.catalog import find_gpu
from rocm_perf.arch.gpu import Gpu

from .counted import Pass

MI300X = find_gpu("MI300X")  # 304 CUs, 8 dies, 128 L2 channels, 5,300 GB/s, 2,100 MHz
MI210 = find_gpu("MI210")
RX7900 = find_gpu("RX 7900 XTX")  # 96 CUs, 2 SIMDs each
STRIX = find_gpu("Radeon 8060S")
RX9070 = find_gpu("RX 9070 XT")
H200 = find_gpu("H200 SXM")  # 132 SMs

G = {"GRBM_GUI_ACTIVE": 800}  # 100 cycles on each of 8 dies: 30,400 of compute units, 12,800 of L2 channels
ONE_DIE = {"GRBM_GUI_ACTIVE": 100}
BUSY = {"SQ_BUSY_CU_CYCLES": 1_000}
ACTIVE = {"sm__cycles_active.avg": 80, "gpc__cycles_elapsed.max": 100}
STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
LATENCY = {"smsp__average_warp_latency_per_inst_issued.ratio": 20}
SASS = "smsp__sass_inst_executed_op_{}.sum"
WIDTHS = {SASS.format(f"memory_{bits}b"): n for bits, n in ((8, 1), (16, 2), (32, 3), (64, 4), (128, 10))}
PLACES = {
    SASS.format(name): n
    for name, n in (("global_ld", 30), ("global_st", 10), ("shared_ld", 15), ("shared_st", 5))
}
PRIVATE = {SASS.format("local_ld"): 30, SASS.format("local_st"): 10}
SECTORS = "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_{}.sum"
USED = "smsp__sass_average_data_bytes_per_sector_mem_global_op_{}.ratio"
ASKED = {
    SECTORS.format("ld"): 30,
    SECTORS.format("st"): 10,
    USED.format("ld"): 16,
    USED.format("st"): 8,
}  # 560 bytes


def threads(kind: str) -> str:
    return f"smsp__sass_thread_inst_executed_op_{kind}_pred_on.sum"


UNITS: list[tuple[Gpu, Pass, str, float]] = [
    # how much of the time: 30,400 cycles of compute units
    (MI300X, {"SQ_BUSY_CU_CYCLES": 15_200, **G}, "filled", 0.5),
    (H200, ACTIVE, "filled", 0.8),
    (MI300X, G, "active_beyond", 1 / 21),  # 100 cycles in 1 us at 2.1 GHz
    (MI300X, {"SQ_INSTS": 15_200, **G}, "unit_issue", 0.1),  # five in a cycle
    (MI300X, {"SQ_ACTIVE_INST_VALU": 15_200, **G}, "unit_vector", 0.5),
    # 400 instructions of waves of 32, and 4,600 of waves of 64, which take two cycles: 9,600 of 19,200
    (RX7900, {"SQ_INSTS_VALU": 5_000, "SQ_INSTS_WAVE32_VALU": 400, **ONE_DIE}, "unit_vector", 0.5),
    (RX9070, {"SQ_INST_CYCLES_VALU": 6_400, **ONE_DIE}, "unit_vector", 0.5),  # 64 CUs of 2 SIMDs
    (MI300X, {"SQ_VALU_MFMA_BUSY_CYCLES": 60_800, **G}, "unit_matrix", 0.5),
    (MI300X, {"SQ_ACTIVE_INST_SCA": 3_040, **G}, "unit_scalar", 0.1),
    (MI300X, {"SQ_ACTIVE_INST_MISC": 3_040, **G}, "unit_branch", 0.1),
    (MI300X, {"SQ_LDS_IDX_ACTIVE": 15_200, **G}, "unit_lds", 0.5),
    (RX7900, {"SQC_LDS_IDX_ACTIVE": 2_400, **ONE_DIE}, "unit_lds", 0.5),  # one LDS for two compute units
    (MI300X, {"TCP_TOTAL_CACHE_ACCESSES_sum": 15_200, **G}, "unit_l1", 0.5),
    (MI300X, {"TCC_REQ_sum": 6_400, **G}, "unit_l2", 0.5),
    # 20,000 reads of 128 bytes and 1,400 writes of 64 in 1 us: 2.65 of 5.3 MB
    (
        MI300X,
        {"TCC_BUBBLE_sum": 20_000, "TCC_EA0_RDREQ_sum": 20_000, "TCC_EA0_RDREQ_32B_sum": 0}
        | {"TCC_EA0_WRREQ_sum": 1_406.25, "TCC_EA0_WRREQ_64B_sum": 1_406.25},
        "unit_memory",
        0.5,
    ),
    # the same of the time that compute units had waves
    (MI300X, {"SQ_INSTS": 500, **BUSY}, "working_issue", 0.1),
    (MI300X, {"SQ_ACTIVE_INST_VALU": 1_195, **BUSY}, "working_vector", 1.195),
    (MI300X, {"SQ_VALU_MFMA_BUSY_CYCLES": 2_000, **BUSY}, "working_matrix", 0.5),
    (MI300X, {"SQ_ACTIVE_INST_SCA": 100, **BUSY}, "working_scalar", 0.1),
    (MI300X, {"SQ_ACTIVE_INST_MISC": 100, **BUSY}, "working_branch", 0.1),
    (MI300X, {"SQ_LDS_IDX_ACTIVE": 500, **BUSY}, "working_lds", 0.5),
    (MI300X, {"TCP_TOTAL_CACHE_ACCESSES_sum": 500, **BUSY}, "working_l1", 0.5),
    # NVIDIA: shares of the active time, which is 80 % of it
    *(
        (H200, {f"{name}.avg.pct_of_peak_sustained_active": 50, **ACTIVE}, unit, 0.4)
        for name, unit in (
            ("smsp__issue_active", "unit_issue"),
            ("sm__pipe_fma_cycles_active", "unit_f32"),
            ("sm__pipe_alu_cycles_active", "unit_integer"),
            ("sm__pipe_fp64_cycles_active", "unit_f64"),
            ("sm__inst_executed_pipe_xu", "unit_special"),
            ("sm__inst_executed_pipe_adu", "unit_address"),
            ("sm__inst_executed_pipe_lsu", "unit_loads"),
            ("sm__pipe_tensor_cycles_active", "unit_matrix"),
        )
    ),
    *(
        (H200, {f"{name}.pct_of_peak_sustained_elapsed": 50}, unit, 0.5)
        for name, unit in (
            ("idc__request_cycles_active.avg", "unit_constants"),
            ("l1tex__data_pipe_lsu_wavefronts.avg", "unit_lds"),
            ("gpu__dram_throughput.avg", "unit_memory"),
            ("lts__d_atomic_input_cycles_active.avg", "unit_atomics"),
            ("lts__d_atomic_input_cycles_active.max", "hottest_atomics"),
            ("sm__pipe_alu_cycles_active.avg", "unit_integer"),
        )
    ),
    # what the work is
    (MI300X, {"SQ_THREAD_CYCLES_VALU": 3_200, "SQ_ACTIVE_INST_VALU": 100}, "active_lanes", 0.5),
    (MI300X, {"TCC_ATOMIC_sum": 30, "TCC_REQ_sum": 100}, "atomic_accesses", 0.3),
    (MI300X, {"TCC_EA0_ATOMIC_LEVEL_sum": 3_820, "TCC_EA0_ATOMIC_sum": 10}, "atomic_latency", 382),
    (MI210, {"TCC_EA_ATOMIC_LEVEL_sum": 3_820, "TCC_EA_ATOMIC_sum": 10}, "atomic_latency", 382),
    (MI300X, {"SQ_LDS_BANK_CONFLICT": 94, "SQ_LDS_IDX_ACTIVE": 100}, "conflict_share", 0.94),
    (RX7900, {"SQC_LDS_BANK_CONFLICT": 94, "SQC_LDS_IDX_ACTIVE": 100}, "conflict_share", 0.94),
    *(
        (
            MI300X,
            {**{f"SQ_INSTS_VALU_{op}_F{bits}": 10 for op in ("ADD", "MUL", "FMA")}, "SQ_INSTS_VALU": 100},
            name,
            0.3,
        )
        for bits, name in ((16, "f16_instructions"), (32, "f32_instructions"), (64, "f64_instructions"))
    ),
    (
        MI300X,
        {"SQ_INSTS_VALU_INT32": 20, "SQ_INSTS_VALU_INT64": 10, "SQ_INSTS_VALU": 100},
        "integer_instructions",
        0.3,
    ),
    (MI300X, {"SQ_INSTS_VALU_CVT": 30, "SQ_INSTS_VALU": 100}, "conversion_instructions", 0.3),
    # a transcendental instruction takes four cycles
    (
        MI300X,
        {f"SQ_INSTS_VALU_TRANS_F{bits}": n for bits, n in ((16, 1), (32, 4), (64, 5))}
        | {"SQ_ACTIVE_INST_VALU": 100},
        "special_instructions",
        0.4,
    ),
    (MI300X, {"TCP_TCC_READ_REQ_sum": 640, "TA_FLAT_READ_WAVEFRONTS_sum": 10}, "l2_reads_per_load", 64),
    (
        MI210,
        {"TCP_TCC_READ_REQ_sum": 640, "TA_FLAT_READ_WAVEFRONTS_sum": 10},
        "l2_reads_per_load",
        32,
    ),  # of 64 bytes
    (
        MI300X,
        {"TCP_TOTAL_CACHE_ACCESSES_sum": 160, "TA_TOTAL_WAVEFRONTS_sum": 10},
        "l1_lookups_per_access",
        16,
    ),
    (MI300X, {"TCP_TCC_WRITE_REQ_sum": 40, "SQ_WAVES": 10}, "l2_writes_per_wave", 256),
    (MI300X, {"SQC_ICACHE_MISSES": 5, "SQC_ICACHE_REQ": 100}, "fetch_misses", 0.05),
    (MI300X, {"TCP_UTCL1_TRANSLATION_MISS_sum": 1, "TCP_UTCL1_REQUEST_sum": 100}, "translation_misses", 0.01),
    (
        MI300X,
        {"SQ_INST_LEVEL_VMEM": 1, "SQ_ACCUM_PREV_HIRES": 4_000, "SQ_INSTS_VMEM": 10},
        "vmem_latency",
        400,
    ),
    (MI300X, {"SPI_RA_VGPR_SIMD_FULL_CSN": 3_040, **G}, "registers_keep_out", 0.1),
    (MI300X, {"SPI_RA_LDS_CU_FULL_CSN": 760, **G}, "lds_keeps_out", 0.1),
    (STRIX, {"SQ_WAIT_BARRIER": 30, "SQ_WAVE_CYCLES": 100}, "wait_barrier", 0.3),
    (STRIX, {"SQ_WAIT_IFETCH": 30, "SQ_WAVE_CYCLES": 100}, "wait_instruction", 0.3),
    *(
        (H200, {STALL.format(stall): 5, **LATENCY}, name, 0.25)
        for stall, name in (
            ("long_scoreboard", "wait_memory"),
            ("lg_throttle", "wait_memory_queue"),
            ("short_scoreboard", "wait_local"),
            ("mio_throttle", "wait_local_queue"),
            ("barrier", "wait_barrier"),
            ("drain", "wait_drain"),
            ("math_pipe_throttle", "wait_pipe"),
            ("wait", "wait_result"),
            ("no_instruction", "wait_instruction"),
            ("not_selected", "wait_selected"),
        )
    ),
    (H200, {threads("conversion"): 640, "sm__inst_executed_pipe_xu.sum": 40}, "conversions_of_special", 0.5),
    (
        H200,
        {
            "derived__memory_l2_theoretical_sectors_global_excessive": 78,
            "memory_l2_theoretical_sectors_global": 100,
        },
        "excess_sectors",
        0.78,
    ),
    (
        H200,
        {"lts__t_sectors_srcunit_tex_aperture_sysmem_lookup_miss.sum": 3, "lts__t_sectors.sum": 10},
        "host_accesses",
        0.3,
    ),
    (
        H200,
        {"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum": 9, "l1tex__data_pipe_lsu_wavefronts.sum": 10},
        "lds_of_l1",
        0.9,
    ),
    (H200, ASKED, "load_share", 0.75),
    (H200, ASKED, "used_load_bytes", 0.5),
    (H200, ASKED, "used_store_bytes", 0.25),
    (H200, {**ASKED, "lts__t_sectors.sum": 35}, "used_l2_bytes", 0.5),  # 560 of 1,120 bytes
    (H200, {**ASKED, "dram__bytes_read.sum": 1_000, "dram__bytes_write.sum": 400}, "used_memory_bytes", 0.4),
    (H200, {**PLACES, **PRIVATE}, "local_accesses", 0.4),
    (H200, {"sass__inst_executed_register_spilling": 30, **PRIVATE}, "spill_instructions", 0.75),
    (
        H200,
        {"smsp__inst_executed_op_shared_atom.sum": 3, "smsp__inst_executed.sum": 10},
        "local_atomics",
        0.3,
    ),
    (H200, WIDTHS, "narrow_accesses", 0.15),
    (H200, WIDTHS, "wide_accesses", 0.7),
    (
        H200,
        {
            f"l1tex__t_{what}_pipe_lsu_mem_global_op_ld.sum": n
            for what, n in (("sectors", 40), ("requests", 10))
        },
        "sectors_per_load",
        4,
    ),
    # how much runs at once
    (H200, {"launch__waves_per_multiprocessor": 0.25}, "waves_of_grid", 0.25),
    (H200, {"launch__grid_size": 264}, "workgroups_per_unit", 2),
    (H200, {"launch__block_size": 128}, "workgroup_items", 128),
    (H200, {"launch__occupancy_limit_registers": 4}, "fits_by_registers", 4),
    (H200, {"launch__occupancy_limit_shared_mem": 1}, "fits_by_local_memory", 1),
    (H200, {"launch__occupancy_limit_warps": 8}, "fits_by_workgroup", 8),
    (H200, {"launch__occupancy_limit_blocks": 32}, "fits_by_slots", 32),
]
