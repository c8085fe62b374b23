"""Hardware counters of a simulated run: what each counter of a chip reads for the work that the workload states.

Counters of the AMD chips that are simulated, by what AMD's definitions say they count (arch/counters/definitions.tsv).
A model: reads are three quarters of the bytes, requests have their full size, every lane works, and a wave that does
not issue waits. A counter that the model knows nothing of is not recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec
import polars as pl

from rocm_perf.arch import catalog
from rocm_perf.arch.gpu import Gpu
from rocm_perf.arch.occupancy import Resources, occupancy
from rocm_perf.model import schema
from rocm_perf.model.trace import Trace
from rocm_perf.sim.engine import Run
from rocm_perf.sim.steps import Kernel

_READS = 0.75  # assumed
_MATRIX_STEP = 512  # operations that one count of an MFMA_MOPS counter stands for
_BANK_BYTES = 4


@dataclass(frozen=True)
class _Dispatch:
    """One dispatch of a kernel on a GPU, with its time."""

    kernel: Kernel
    gpu: Gpu
    duration_ns: float

    @property
    def cycles(self) -> float:
        return self.duration_ns * self.gpu.clock_mhz / 1000

    @property
    def waves(self) -> int:
        size = self.kernel.workgroup[0] * self.kernel.workgroup[1] * self.kernel.workgroup[2]
        return self.kernel.workgroups * -(-size // self.gpu.wave_size)

    @property
    def hbm(self) -> float:
        return self.kernel.bytes.get("hbm", 0.0)

    @property
    def l2(self) -> float:
        return max(self.kernel.bytes.get("l2", 0.0), self.hbm)

    @property
    def lds_cycles(self) -> float:
        """The useful cycles of all LDS together."""
        return self.kernel.bytes.get("lds", 0.0) / (_BANK_BYTES * self.gpu.lds_banks)

    @property
    def lds_busy(self) -> float:
        active = self.lds_cycles * (1 + self.kernel.lds_conflicts)
        return min(1.0, active / (self.cycles * self.gpu.compute_units))

    @property
    def arithmetic(self) -> float:
        """The share of its time that its operations take at the peak."""
        peaks = self.gpu.matrix_tflops if self.kernel.matrix else self.gpu.vector_tflops
        usual = self.gpu.vector_tflops["f32"]
        least = sum(amount / peaks.get(dtype, usual) / 1000 for dtype, amount in self.kernel.flops.items())
        return min(1.0, least / self.duration_ns)

    @property
    def residency(self) -> float:
        """The share of the wave slots that are taken: what fits, and no more than the grid has."""
        most = self.gpu.max_waves_per_simd[self.gpu.wave_size]
        needs = Resources(
            vgprs=self.kernel.vgprs,
            agprs=self.kernel.agprs,
            sgprs=self.kernel.sgprs,
            lds_static=self.kernel.lds_bytes,
            workgroup_size=self.kernel.workgroup[0] * self.kernel.workgroup[1] * self.kernel.workgroup[2],
            wave_size=self.gpu.wave_size,
        )
        fit = occupancy(self.gpu, needs).waves_per_simd
        return min(fit, self.waves / self.gpu.simds) / most


def with_counters(trace: Trace, run: Run, passes: Sequence[Sequence[str]]) -> Trace:
    """The Trace of a run with one more pass for each group of counters, as when the program runs again for each."""
    if not passes:
        return trace
    gpu = catalog.find_gpu(run.gpu.name)
    dispatches = trace.table("dispatches")
    rows: list[pl.DataFrame] = []
    again = [dispatches]
    for number, names in enumerate(passes, start=1):
        again.append(dispatches.with_columns(pl.lit(number, dispatches["pass_id"].dtype).alias("pass_id")))
        rows.append(_counted(dispatches, _kernels(run), gpu, names).with_columns(pass_id=pl.lit(number)))
    tables = {name: trace.table(name) for name in trace}
    tables["dispatches"] = pl.concat(again)
    tables["counters"] = schema.conform("counters", pl.concat(rows))
    return Trace(tables, msgspec.structs.replace(trace.run, asked=(*trace.run.asked, "counters")))


def _kernels(run: Run) -> Mapping[str, Kernel]:
    return {kernel.name: kernel for kernel in run.workload.kernels.values()}


def _counted(
    dispatches: pl.DataFrame, kernels: Mapping[str, Kernel], gpu: Gpu, names: Iterable[str]
) -> pl.DataFrame:
    """The counters of every dispatch whose kernel the workload describes; a collective is none."""
    asked = frozenset(names)
    columns = ("node", "pid", "rank", "agent_id", "dispatch_id")
    rows = [
        (*place, counter, value)
        for *place, kernel, start, end in dispatches.select(
            *columns, "kernel", "start_ns", "end_ns"
        ).iter_rows()
        if kernel in kernels
        for counter, value in counters(kernels[kernel], gpu, end - start).items()
        if counter in asked
    ]
    types = {name: dispatches.schema[name] for name in columns}
    return pl.DataFrame(rows, {**types, "counter": pl.String, "value": pl.Float64}, orient="row")


def counters(kernel: Kernel, gpu: Gpu, duration_ns: float) -> dict[str, float]:
    """Every counter that the model knows, for one dispatch."""
    one = _Dispatch(kernel, gpu, duration_ns)
    return {
        "GRBM_GUI_ACTIVE": one.cycles * gpu.dies,
        **_waves(one),
        **_work(one),
        **_memory(one),
        **_lds(one),
    }


def _waves(one: _Dispatch) -> dict[str, float]:
    gpu = one.gpu
    slots = gpu.simds * gpu.max_waves_per_simd[gpu.wave_size]
    cycles = one.residency * one.cycles * slots / (gpu.cycles_per_wave_count or 1)
    waiting = 1 - max(one.arithmetic, one.lds_busy)
    return {
        "SQ_WAVES": one.waves,
        "SQ_WAVE_CYCLES": cycles,
        "SQ_WAIT_ANY": waiting * cycles,
        "SQ_WAIT_INST_ANY": (1 - waiting) * cycles / 2,
        "SQ_WAIT_INST_LDS": one.lds_busy * cycles * 0.9,
    }


def _work(one: _Dispatch) -> dict[str, float]:
    """Multiply-adds of the vector units, or operations of the matrix units; the others count none."""
    gpu, kernel = one.gpu, one.kernel
    types = ("F16", "F32", "F64")
    counted = dict.fromkeys(
        (f"SQ_INSTS_VALU_{op}_{t}" for op in ("ADD", "MUL", "FMA", "TRANS") for t in types), 0.0
    )
    counted |= dict.fromkeys((f"SQ_INSTS_VALU_MFMA_MOPS_{t}" for t in _MATRIX_TYPES), 0.0)
    for dtype, amount in kernel.flops.items():
        if kernel.matrix:
            counted[f"SQ_INSTS_VALU_MFMA_MOPS_{dtype.upper()}"] = amount / _MATRIX_STEP
        else:
            name = "F32" if dtype == "bf16" else dtype.upper()
            counted[f"SQ_INSTS_VALU_FMA_{name}"] += amount / 2 / gpu.wave_size
    busy = one.cycles * gpu.compute_units * (0.1 if kernel.matrix else one.arithmetic)
    return counted | {
        "SQ_INSTS_VALU": sum(value for name, value in counted.items() if "MOPS" not in name),
        "SQ_ACTIVE_INST_VALU": busy,
        "SQ_THREAD_CYCLES_VALU": busy * gpu.wave_size,
        "SQ_VALU_MFMA_BUSY_CYCLES": one.cycles * gpu.simds * (one.arithmetic if kernel.matrix else 0.0),
    }


_MATRIX_TYPES = ("I8", "F8", "F6F4", "F16", "BF16", "XF32", "F32", "F64")


def _memory(one: _Dispatch) -> dict[str, float]:
    reads, writes = one.hbm * _READS, one.hbm * (1 - _READS)
    wide = one.gpu.family in ("CDNA 3", "CDNA 4")
    interface = "TCC_EA0" if wide else "TCC_EA"
    requests = reads / (128 if wide else 64)
    served = one.l2 / 128
    return {
        f"{interface}_RDREQ_sum": requests,
        f"{interface}_RDREQ_32B_sum": 0,
        f"{interface}_RDREQ_128B_sum": requests,
        f"{interface}_RDREQ_DRAM_sum": requests,
        "TCC_BUBBLE_sum": requests,
        f"{interface}_WRREQ_sum": writes / 64,
        f"{interface}_WRREQ_64B_sum": writes / 64,
        f"{interface}_WRREQ_DRAM_sum": writes / 64,
        **dict.fromkeys((f"GL2C_EA_RDREQ_{size}B_sum" for size in (32, 64, 96)), 0.0),
        "GL2C_EA_RDREQ_128B_sum": reads / 128,
        "GL2C_EA_WRREQ_64B_sum": writes / 64,
        "GL2C_MC_WRREQ_sum": writes / 64,
        "TCP_TCC_READ_REQ_sum": one.l2 * _READS / (128 if wide else 64),
        "TCP_TCC_WRITE_REQ_sum": one.l2 * (1 - _READS) / 64,
        "TCP_TCC_ATOMIC_WITH_RET_REQ_sum": 0,
        "TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum": 0,
        **{f"{block}_MISS_sum": one.hbm / 128 for block in ("TCC", "GL2C")},
        **{f"{block}_HIT_sum": served - one.hbm / 128 for block in ("TCC", "GL2C")},
    }


def _lds(one: _Dispatch) -> dict[str, float]:
    lost = one.lds_cycles * one.kernel.lds_conflicts
    return {
        f"{block}_LDS_{what}": cycles
        for block in ("SQ", "SQC")
        for what, cycles in (("IDX_ACTIVE", one.lds_cycles + lost), ("BANK_CONFLICT", lost))
    }
