"""Values of counters: those that follow from the simulated kernel (waves, cycles, operations, bytes), and for the rest
a number that is always the same."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from rocm_perf.sim.gpu import SimGpu
    from rocm_perf.sim.workload import Kernel, Workload

_PERCENT = re.compile(r".*(Busy|Util\w*|Percent|Stalled|BankConflict|UTIL)$")
_READ_SHARE = 2 / 3  # of the bytes that a kernel moves


@dataclass(frozen=True)
class Dispatch:
    """What is known of one kernel execution."""

    name: str
    duration_ns: int
    work_items: int
    workgroups: int
    waves: int
    kernel: Kernel | None
    gpu: SimGpu

    @property
    def cycles(self) -> float:
        """Summed over the dies, as rocprofv3 does."""
        return round(self.duration_ns * self.gpu.clock_mhz / 1000) * self.gpu.dies

    def flops(self, dtype: str, matrix: bool) -> float:
        if self.kernel is None or self.kernel.matrix != matrix:
            return 0.0
        return self.kernel.flops.get(dtype, 0.0)

    def moved(self, level: str) -> float:
        return 0.0 if self.kernel is None else self.kernel.bytes.get(level, 0.0)

    @property
    def read(self) -> float:
        return 128 * round(self.moved("hbm") * _READ_SHARE / 128)

    @property
    def written(self) -> float:
        return 64 * round((self.moved("hbm") - self.read) / 64)


def counters(dispatches: pl.DataFrame, names: tuple[str, ...], work: Workload, gpu: SimGpu) -> pl.DataFrame:
    """One row a dispatch and counter."""
    kernels = {kernel.name: kernel for kernel in work.kernels.values()}
    rows = []
    for row in dispatches.iter_rows(named=True):
        dispatch = _dispatch(row, kernels.get(row["kernel"]), gpu)
        for name in names:
            where = {key: row[key] for key in ("pid", "rank", "dispatch_id", "agent_id")}
            rows.append({**where, "counter": name, "value": float(value(name, dispatch))})
    return pl.DataFrame(rows, infer_schema_length=None)


def _dispatch(row: dict[str, int], kernel: Kernel | None, gpu: SimGpu) -> Dispatch:
    items = groups = size = 1
    for axis in "xyz":
        items *= row[f"grid_{axis}"]
        groups *= -(-row[f"grid_{axis}"] // row[f"workgroup_{axis}"])
        size *= row[f"workgroup_{axis}"]
    waves = groups * -(-size // gpu.wave_size)
    return Dispatch(str(row["kernel"]), row["end_ns"] - row["start_ns"], items, groups, waves, kernel, gpu)


def value(counter: str, of: Dispatch) -> float:
    bare = re.sub(r"_(sum|max|min|avr)$", "", counter)
    known = _machine(bare, of)
    for rule in (_operations, _memory):
        known = rule(bare, of) if known is None else known
    if known is not None:
        return known
    number = zlib.crc32(f"{of.name} {bare}".encode())
    return float(number % 101) if _PERCENT.match(bare) else float(of.waves * (number % 97))


def _machine(name: str, of: Dispatch) -> float | None:
    fixed = {
        "GRBM_COUNT": of.cycles,
        "GRBM_GUI_ACTIVE": of.cycles,
        "SQ_BUSY_CYCLES": of.cycles,
        "SQ_CYCLES": of.cycles,
        "SQ_WAVES": of.waves,
        "SPI_CSN_WAVE": of.waves,
        "SPI_CSN_NUM_THREADGROUPS": of.workgroups,
        "SQ_ITEMS": of.work_items,
        "SQ_WAVES_SAVED": 0,
        "SQ_WAVES_RESTORED": 0,
        "SQ_LDS_BANK_CONFLICT": 0,
        "SQC_LDS_BANK_CONFLICT": 0,
        "SQ_LDS_IDX_ACTIVE": of.moved("lds") // 128,
        "SQC_LDS_IDX_ACTIVE": of.moved("lds") // 128,
        "CU_NUM": of.gpu.compute_units,
        "GPU_UTIL": 100,
    }
    return fixed.get(name)


def _operations(name: str, of: Dispatch) -> float | None:
    """All vector operations are taken for fused multiply-adds: two FLOP a lane."""
    if found := re.fullmatch(r"SQ_INSTS_VALU_(ADD|MUL|FMA|TRANS)_(F\d+)", name):
        operation, dtype = found.groups()
        return of.flops(dtype.lower(), False) // (2 * of.gpu.wave_size) if operation == "FMA" else 0.0
    if found := re.fullmatch(r"SQ_INSTS_VALU_MFMA_MOPS_(\w+)", name):
        return of.flops(found.group(1).lower(), True) // 512
    return None


def _memory(name: str, of: Dispatch) -> float | None:
    through_l2 = max(of.moved("l2"), of.moved("hbm")) // 128
    misses = of.moved("hbm") // 128
    fixed = {"FETCH_SIZE": of.read / 1024, "WRITE_SIZE": of.written / 1024, "TCC_BUBBLE": 0.0}
    for block in ("TCC", "GL2C"):
        fixed |= {f"{block}_HIT": through_l2 - misses, f"{block}_MISS": misses, f"{block}_REQ": through_l2}
    fixed["L2CacheHit"] = 100 * (through_l2 - misses) / through_l2 if through_l2 else 0.0
    for ea in ("TCC_EA", "TCC_EA0"):
        fixed |= {f"{ea}_RDREQ": of.read / 64, f"{ea}_RDREQ_DRAM": of.read / 64, f"{ea}_RDREQ_32B": 0.0}
        fixed |= {f"{ea}_{kind}": of.written / 64 for kind in ("WRREQ", "WRREQ_64B", "WRREQ_DRAM")}
    fixed |= {"GL2C_EA_RDREQ_128B": of.read / 128, "GL2C_MC_RDREQ": of.read / 128}
    fixed |= {f"GL2C_EA_RDREQ_{size}B": 0.0 for size in (32, 64, 96)}
    fixed |= dict.fromkeys(("GL2C_MC_WRREQ", "GL2C_EA_WRREQ_64B"), of.written / 64)
    return fixed.get(name)
