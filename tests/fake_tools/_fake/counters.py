"""Hardware counters of the GPUs that the stand-ins know: a part of AMD's public definitions (ROCm 7.0), the blocks
they are counted in, and how many of a block fit into one pass. Before 7.0, gfx942 had neither TCC_BUBBLE nor what it
brings to FETCH_SIZE, nor the operations on 8-bit floats."""

from __future__ import annotations

import re

from .settings import Version

LIMITS = {
    "SQ": 8, "TA": 2, "TD": 2, "CPC": 2, "CPF": 2, "GRBM": 2, "TCP": 4, "TCC": 4, "GDS": 4, "SPI": 6, "GL1C": 4,
    "GL2C": 4,
}  # fmt: skip

_GFX9 = """
GRBM_COUNT GRBM_GUI_ACTIVE GRBM_SPI_BUSY GRBM_TA_BUSY GRBM_EA_BUSY CPC_CPC_STAT_BUSY CPC_CPC_STAT_IDLE
CPF_CPF_STAT_BUSY CPF_CPF_STAT_STALL SPI_CSN_BUSY SPI_CSN_WAVE SPI_CSN_NUM_THREADGROUPS SPI_RA_BAR_CU_FULL_CSN
SPI_RA_LDS_CU_FULL_CSN SPI_RA_SGPR_SIMD_FULL_CSN SPI_RA_VGPR_SIMD_FULL_CSN SPI_RA_WAVE_SIMD_FULL_CSN
SPI_RA_REQ_NO_ALLOC_CSN SQC_DCACHE_HITS SQC_DCACHE_MISSES SQC_DCACHE_REQ SQC_ICACHE_HITS SQC_ICACHE_MISSES
SQC_ICACHE_REQ SQ_ACCUM_PREV SQ_ACCUM_PREV_HIRES SQ_ACTIVE_INST_ANY SQ_ACTIVE_INST_LDS SQ_ACTIVE_INST_MISC
SQ_ACTIVE_INST_SCA SQ_ACTIVE_INST_VALU SQ_ACTIVE_INST_VMEM SQ_BUSY_CU_CYCLES SQ_BUSY_CYCLES SQ_CYCLES SQ_IFETCH
SQ_INSTS SQ_INSTS_BRANCH SQ_INSTS_FLAT
SQ_INSTS_GDS SQ_INSTS_LDS SQ_INSTS_MFMA SQ_INSTS_SALU SQ_INSTS_SMEM SQ_INSTS_VALU SQ_INSTS_VALU_CVT
SQ_INSTS_VALU_INT32 SQ_INSTS_VALU_INT64 SQ_INSTS_VMEM SQ_INSTS_VMEM_RD SQ_INSTS_VMEM_WR SQ_INST_CYCLES_SALU
SQ_INST_LEVEL_LDS SQ_INST_LEVEL_VMEM SQ_ITEMS SQ_LDS_ADDR_CONFLICT SQ_LDS_BANK_CONFLICT SQ_LDS_IDX_ACTIVE
SQ_LDS_MEM_VIOLATIONS SQ_LDS_UNALIGNED_STALL SQ_LEVEL_WAVES SQ_THREAD_CYCLES_VALU SQ_VALU_MFMA_BUSY_CYCLES
SQ_WAIT_ANY SQ_WAIT_INST_ANY SQ_WAIT_INST_LDS SQ_WAVES SQ_WAVES_EQ_64 SQ_WAVES_LT_64 SQ_WAVES_RESTORED
SQ_WAVES_SAVED SQ_WAVE_CYCLES TA_BUFFER_WAVEFRONTS TA_FLAT_READ_WAVEFRONTS TA_FLAT_WAVEFRONTS
TA_FLAT_WRITE_WAVEFRONTS TA_TA_BUSY TA_TOTAL_WAVEFRONTS TCC_ATOMIC TCC_BUSY TCC_CYCLE TCC_HIT TCC_MISS TCC_PROBE
TCC_READ TCC_REQ TCC_WRITE TCC_WRITEBACK TCP_GATE_EN1 TCP_GATE_EN2 TCP_PENDING_STALL_CYCLES
TCP_TCC_ATOMIC_WITHOUT_RET_REQ TCP_TCC_ATOMIC_WITH_RET_REQ TCP_TCC_READ_REQ TCP_TCC_WRITE_REQ
TCP_TCP_TA_DATA_STALL_CYCLES TCP_TOTAL_ACCESSES TCP_TOTAL_CACHE_ACCESSES TCP_TOTAL_READ TCP_TOTAL_WRITE TD_TC_STALL
TD_TD_BUSY TD_LOAD_WAVEFRONT TD_STORE_WAVEFRONT
"""
_EA = """
{ea}_ATOMIC {ea}_ATOMIC_LEVEL {ea}_RDREQ {ea}_RDREQ_32B {ea}_RDREQ_DRAM {ea}_RDREQ_LEVEL {ea}_WRREQ {ea}_WRREQ_64B
{ea}_WRREQ_DRAM {ea}_WRREQ_LEVEL {ea}_WRREQ_STALL {ea}_RD_UNCACHED_32B
"""
_GFX11 = """
GL2C_EA_RDREQ_128B GL2C_EA_RDREQ_32B GL2C_EA_RDREQ_64B GL2C_EA_RDREQ_96B GL2C_EA_WRREQ_64B GL2C_HIT GL2C_MC_RDREQ
GL2C_MC_WRREQ GL2C_MC_WRREQ_STALL GL2C_MISS GRBM_COUNT GRBM_GUI_ACTIVE SQC_LDS_BANK_CONFLICT SQC_LDS_IDX_ACTIVE
SQ_ACCUM_PREV SQ_BUSY_CYCLES SQ_INSTS_FLAT SQ_INSTS_GDS SQ_INSTS_LDS SQ_INSTS_SALU SQ_INSTS_SMEM SQ_INSTS_TEX_LOAD
SQ_INSTS_TEX_STORE SQ_INSTS_VALU SQ_INSTS_WAVE32 SQ_INSTS_WAVE32_LDS SQ_INSTS_WAVE32_VALU SQ_INST_CYCLES_VMEM
SQ_INST_LEVEL_GDS SQ_INST_LEVEL_LDS SQ_WAIT_ANY SQ_WAIT_INST_ANY SQ_WAIT_INST_LDS SQ_WAVE32_INSTS SQ_WAVE64_INSTS
SQ_WAVES SQ_WAVE_CYCLES TA_BUFFER_LOAD_WAVEFRONTS TA_BUFFER_STORE_WAVEFRONTS TA_TA_BUSY
"""
_MATH = [
    f"SQ_INSTS_VALU_{op}_{kind}" for op in ("ADD", "MUL", "FMA", "TRANS") for kind in ("F16", "F32", "F64")
]
_MATRIX = ("BF16", "F16", "F32", "F64", "I8")
_SUMMED = re.compile(r"(TA|TD|TCP|TCC|GL2C)_|SQ_WAVES$")  # blocks with many instances have a _sum beside them

# Expressions with the base names in them, so that a pass knows what a derived counter takes up.
_DERIVED_GFX9 = {
    "CU_NUM": "simd_count/simd_per_cu",
    "GPU_UTIL": "100*reduce(GRBM_GUI_ACTIVE,max)/reduce(GRBM_COUNT,max)",
    "VALUBusy": "100*reduce(SQ_ACTIVE_INST_VALU,sum)/CU_NUM/reduce(GRBM_GUI_ACTIVE,max)",
    "VALUUtilization": "100*reduce(SQ_THREAD_CYCLES_VALU,sum)/(reduce(SQ_ACTIVE_INST_VALU,sum)*MAX_WAVE_SIZE)",
    "SALUBusy": "100*reduce(SQ_INST_CYCLES_SALU,sum)/CU_NUM/reduce(GRBM_GUI_ACTIVE,max)",
    "OccupancyPercent": "400*reduce(SQ_WAVE_CYCLES,sum)/reduce(GRBM_GUI_ACTIVE,max)/CU_NUM/32",
    "MeanOccupancyPerCU": "reduce(accumulate(SQ_LEVEL_WAVES,HIGH_RES),sum)/reduce(GRBM_GUI_ACTIVE,max)/CU_NUM",
    "LDSBankConflict": "100*reduce(SQ_LDS_BANK_CONFLICT,sum)/reduce(GRBM_GUI_ACTIVE,max)/CU_NUM",
    "MemUnitStalled": "100*TCP_TCP_TA_DATA_STALL_CYCLES_max/reduce(GRBM_GUI_ACTIVE,max)/SE_NUM",
}
_FETCH = {
    "gfx942": "(TCC_BUBBLE_sum*128+(TCC_EA0_RDREQ_sum-TCC_BUBBLE_sum-TCC_EA0_RDREQ_32B_sum)*64"
    "+TCC_EA0_RDREQ_32B_sum*32)/1024",
    "gfx942 before 7.0": "(TCC_EA0_RDREQ_32B_sum*32+(TCC_EA0_RDREQ_sum-TCC_EA0_RDREQ_32B_sum)*128)/1024",
    "gfx90a": "(TCC_EA_RDREQ_32B_sum*32+(TCC_EA_RDREQ_sum-TCC_EA_RDREQ_32B_sum)*64)/1024",
    "gfx11": "(GL2C_EA_RDREQ_32B_sum*32+GL2C_EA_RDREQ_64B_sum*64+GL2C_EA_RDREQ_96B_sum*96"
    "+GL2C_EA_RDREQ_128B_sum*128)/1024",
}
_WRITE = {
    "gfx942": "((TCC_EA0_WRREQ_sum-TCC_EA0_WRREQ_64B_sum)*32+TCC_EA0_WRREQ_64B_sum*64)/1024",
    "gfx90a": "((TCC_EA_WRREQ_sum-TCC_EA_WRREQ_64B_sum)*32+TCC_EA_WRREQ_64B_sum*64)/1024",
    "gfx11": "((GL2C_MC_WRREQ_sum-GL2C_EA_WRREQ_64B_sum)*32+GL2C_EA_WRREQ_64B_sum*64)/1024",
}


def hardware(gfx: str, rocm: Version) -> list[str]:
    """Counters of the hardware; gfx1151 has none before ROCm 7.2."""
    if gfx.startswith("gfx11"):
        return [] if gfx == "gfx1151" and rocm < (7, 2) else sorted(_GFX11.split())
    ea = "TCC_EA0" if gfx == "gfx942" else "TCC_EA"
    is_new = gfx == "gfx942" and rocm >= (7, 0)
    matrix = [*_MATRIX, "F8"] if is_new else _MATRIX
    own = ["TCC_BUBBLE"] if is_new else [] if gfx == "gfx942" else ["TCP_TCP_LATENCY"]
    mops = [f"SQ_INSTS_VALU_MFMA_{part}{kind}" for part in ("", "MOPS_") for kind in matrix]
    return sorted([*_GFX9.split(), *_EA.format(ea=ea).split(), *_MATH, *mops, *own])


def derived(gfx: str, rocm: Version) -> dict[str, str]:
    """Counters computed from others, and how."""
    base = hardware(gfx, rocm)
    if not base:
        return {}
    family = "gfx11" if gfx.startswith("gfx11") else gfx
    unsummed = ("TA_TA_BUSY", "GL2C_MC_WRREQ_STALL") if family == "gfx11" else ()
    summed = [name for name in base if _SUMMED.match(name) and name not in unsummed]
    sums = {f"{name}_sum": f"reduce({name},sum)" for name in summed}
    fetch = "gfx942 before 7.0" if gfx == "gfx942" and rocm < (7, 0) else family
    own = {"FETCH_SIZE": _FETCH[fetch], "WRITE_SIZE": _WRITE[family]}
    if gfx != "gfx942":
        block = "GL2C" if family == "gfx11" else "TCC"
        own["L2CacheHit"] = f"100*reduce({block}_HIT,sum)/(reduce({block}_HIT,sum)+reduce({block}_MISS,sum))"
    return dict(sorted({**sums, **own, **({} if family == "gfx11" else _DERIVED_GFX9)}.items()))


def known(gfx: str, rocm: Version) -> set[str]:
    return {*hardware(gfx, rocm), *derived(gfx, rocm)}


def block(name: str) -> str:
    start = name.split("_", 1)[0]
    return "SQ" if start == "SQC" else start


def over_capacity(names: list[str], gfx: str, rocm: Version) -> dict[str, int]:
    """Blocks of which one pass would need more counters than there are, and how many it would need."""
    base, formulas = set(hardware(gfx, rocm)), derived(gfx, rocm)
    needed: set[str] = set()
    for name in names:
        words = re.findall(r"\w+", formulas.get(name, name))
        needed |= {bare for word in words if (bare := re.sub(r"_(sum|max|min|avr)$", "", word)) in base}
    counts: dict[str, int] = {}
    for name in needed:
        counts[block(name)] = counts.get(block(name), 0) + 1
    return {name: count for name, count in counts.items() if count > LIMITS.get(name, 4)}
