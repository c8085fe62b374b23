"""Recordings by rocprofv3 that follow from exact counts: the counters that a kernel would have left on an AMD GPU.

Cycles of each unit are its count times its cost (causes-counters, section 1). The fullest unit, or the one that is
named, is busy a chosen share of the time; how long the kernel takes follows. What is left of the waves' time are waits.
Pure: the counts are given, nothing is executed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from rocm_perf.arch.catalog import find_gpu
from rocm_perf.arch.gpu import Gpu
from rocm_perf.model.trace import Trace
from tests.unit.analysis.traces import Row, trace

PRODUCTS = {
    "gfx90a": "AMD Instinct MI210", "gfx942": "AMD Instinct MI300X", "gfx950": "AMD Instinct MI350X",
    "gfx1100": "AMD Radeon RX 7900 XTX", "gfx1151": "AMD Radeon 8060S",
}  # fmt: skip
LINE_BYTES = {"gfx90a": 64}  # of others 128
WAIT = "wait"  # instead of a unit: none is full, waves wait
BARRIER = "barrier"  # the same, and what they wait for are barriers
_LONG_NS = 200_000
_MATRIX_CYCLES = 32  # of a SIMD, for a product of 32 x 32 x 8
_SPECIAL = 4  # times as long as an addition
_F64 = {"gfx1100": 16, "gfx1151": 32}
_WAVES = 12  # on each SIMD of CDNA that are there at once, of RDNA that many of 16


@dataclass(frozen=True)
class Kernel:
    """What one workgroup does, by the names of tallies (model/results/count.py), and on which chip."""

    gfx: str
    tallies: Mapping[str, float]
    name: str = "kernel"

    @property
    def gpu(self) -> Gpu:
        return find_gpu(PRODUCTS[self.gfx])

    @property
    def is_rdna(self) -> bool:
        return self.gfx.startswith("gfx1")

    def of(self, name: str) -> float:
        return self.tallies.get(name, 0.0)

    def grid(self, workgroups: float) -> Kernel:
        """Return what a grid of so many workgroups does."""
        return replace(self, tallies={name: amount * workgroups for name, amount in self.tallies.items()})

    @property
    def turns(self) -> float:
        """Turns of the vector units: slow instructions take several."""
        slow = (_F64.get(self.gfx, 1) - 1) * (self.of("f64") + self.of("f64 conversions"))
        return self.of("vector") + (_SPECIAL - 1) * self.of("special") + slow

    @property
    def l2_reads(self) -> float:
        """Reads of L2, of 128 B (gfx90a: 64 B); half of the accesses to scratch read."""
        return self.of("load lines") + self.of("scratch lines") / 2

    @property
    def l2_writes(self) -> float:
        """Writes of L2, of 64 B."""
        return (self.of("store lines") + self.of("scratch lines") / 2) * LINE_BYTES.get(self.gfx, 128) / 64

    @property
    def l2_atomics(self) -> float:
        return max(self.of("atomics"), self.of("atomic lanes") * 4 / 64)

    @property
    def l2_requests(self) -> float:
        return self.l2_reads + self.l2_writes + self.l2_atomics

    @property
    def cycles(self) -> dict[str, float]:
        """Cycles of a compute unit that each unit is busy."""
        gpu = self.gpu
        memory = self.of("compulsory bytes") / gpu.memory_gbps * gpu.clock_mhz / 1000 * gpu.compute_units
        l2 = self.l2_requests * gpu.compute_units / (gpu.l2_channels or 1)
        return {
            **({} if self.is_rdna else {"l2": l2}),
            "vector": self.turns / (gpu.simds_per_cu if self.is_rdna else 1),
            "matrix": self.of("matrix") * _MATRIX_CYCLES / 4,
            "scalar": self.of("scalar") / (gpu.simds_per_cu if self.is_rdna else 1),
            "branch": self.of("branches") + self.of("barriers"),
            "lds": (2 if self.is_rdna else 1) * self.of("lds cycles"),
            "l1": self.of("l1 look-ups"),
            "memory": memory,
        }


def recording(
    kernel: Kernel, limit: str = "", *, busy: float = 0.9, filled: float = 1.0, counted: bool = False
) -> Trace:
    """Return one dispatch of a kernel with its counters, so many workgroups that it takes a fifth of a millisecond.

    `limit`: the unit that is busy for `busy` of the time, by default the one with the most cycles; WAIT or BARRIER: no
    unit is full, the fullest is busy for a quarter. `filled`: the share of the time that compute units have waves.
    `counted`: instead of counters, the answer of `rocm-perf count` lies beside the recording.
    """
    gpu = kernel.gpu
    fullest = max(kernel.cycles, key=lambda unit: kernel.cycles[unit])
    unit = fullest if limit in ("", WAIT, BARRIER) else limit
    if kernel.cycles[unit] < kernel.cycles[fullest] * busy:
        raise ValueError(
            f"{fullest} takes {kernel.cycles[fullest] / kernel.cycles[unit]:.1f} times as long as {unit}"
        )
    share = 0.25 if limit in (WAIT, BARRIER) else busy
    clock = gpu.clock_mhz / 1000
    groups = round(_LONG_NS * clock * gpu.compute_units * share / kernel.cycles[unit])
    whole = kernel.grid(groups)
    g = whole.cycles[unit] / gpu.compute_units / share
    values = _rdna(whole, g, limit or unit) if kernel.is_rdna else _cdna(whole, g, limit or unit, filled)
    size = round(kernel.of("work-items"))
    dispatch: Row = {
        "kernel": kernel.name, "dispatch_id": 1, "agent_id": 0, "pid": 1, "start_ns": 0, "end_ns": round(g / clock),
        "grid_x": groups * size, "grid_y": 1, "grid_z": 1, "workgroup_x": size, "workgroup_y": 1, "workgroup_z": 1,
    }  # fmt: skip
    agent: Row = {
        "agent_id": 0, "kind": "GPU", "gfx": kernel.gfx, "name": gpu.name, "cu_count": gpu.compute_units,
    }  # fmt: skip
    counters = [
        {"dispatch_id": 1, "agent_id": 0, "pid": 1, "counter": name, "value": float(round(value))}
        for name, value in values.items()
    ]
    if counted:
        return trace(agents=[agent], dispatches=[dispatch], emulated_tallies=_saved(whole, groups, dispatch))
    return trace(agents=[agent], dispatches=[dispatch], counters=counters)


def _saved(whole: Kernel, groups: int, dispatch: Row) -> list[Row]:
    """Return the rows of a saved count of the launch."""
    launch = {name: dispatch[name] for name in dispatch if name.startswith(("grid_", "workgroup_"))}
    wave = 32 if whole.is_rdna else 64
    about = {
        "kernel": whole.name, "name": whole.name, "gfx": whole.gfx, **launch, "wave_size": wave,
        "of_workgroups": groups,
    }  # fmt: skip
    return [
        {**about, "tally": name, "amount": amount, "most_at": ""} for name, amount in whole.tallies.items()
    ]


def _waits(wave_cycles: float, active: float, limit: str) -> dict[str, float]:
    """Share out the time in which waves issue nothing; with what they issue it is all of their time."""
    rest = max(0.0, wave_cycles - active)
    waiting = 0.9 if limit in (WAIT, BARRIER, "memory", "l1", "l2") else 0.3
    return {"SQ_WAIT_ANY": waiting * rest, "SQ_WAIT_INST_ANY": (1 - waiting) * rest}


def _accesses(kernel: Kernel) -> tuple[float, float]:
    """Return the bytes that memory reads and writes."""
    loads, stores = kernel.of("load lines"), kernel.of("store lines") + kernel.of("atomics")
    reads = loads / (loads + stores) if loads + stores else 1.0
    moved = kernel.of("compulsory bytes")
    return moved * reads, moved * (1 - reads)


def _cdna(kernel: Kernel, g: float, limit: str, filled: float) -> dict[str, float]:
    """Return counters of gfx90a, gfx942 and gfx950: quad-cycles, but for SQ_BUSY_CU_CYCLES and LDS."""
    gpu, of = kernel.gpu, kernel.of
    busy = g * gpu.compute_units * filled
    vector = kernel.turns + of("matrix")
    memory = of("loads") + of("stores") + of("atomics") + of("scratch accesses")
    misc = of("branches") + of("barriers")
    active = vector + of("scalar") + misc + memory + of("lds")
    wave_cycles = max(_WAVES * busy / 4, active)
    lanes = of("vector lanes") / (of("vector") * 64) if of("vector") else 1.0
    requests, is_flat = (
        kernel.l2_requests,
        kernel.gfx != "gfx90a",
    )  # where scratch has instructions of its own
    misses = min(requests, of("compulsory bytes") / 128)
    return {
        "GRBM_GUI_ACTIVE": g * gpu.dies,
        "SQ_BUSY_CU_CYCLES": busy,
        "SQ_WAVES": of("waves"),
        "SQ_WAVE_CYCLES": wave_cycles,
        **_waits(wave_cycles, active, limit),
        "SQ_ACTIVE_INST_ANY": active,
        "SQ_ACTIVE_INST_VALU": vector,
        "SQ_ACTIVE_INST_SCA": of("scalar"),
        "SQ_ACTIVE_INST_MISC": misc,
        "SQ_VALU_MFMA_BUSY_CYCLES": of("matrix") * _MATRIX_CYCLES,
        "SQ_THREAD_CYCLES_VALU": lanes * 64 * vector,
        "SQ_INSTS_VALU": of("vector") + of("matrix"),
        "SQ_INSTS_MFMA": of("matrix"),
        "SQ_INSTS_LDS": of("lds"),
        "SQ_INSTS_VMEM": memory,
        "SQ_INSTS_VALU_ADD_F64": 0.0,
        "SQ_INSTS_VALU_MUL_F64": 0.0,
        "SQ_INSTS_VALU_FMA_F64": of("f64"),
        "SQ_INSTS_VALU_ADD_F32": 0.0,
        "SQ_INSTS_VALU_MUL_F32": 0.0,
        "SQ_INSTS_VALU_FMA_F32": of("f32"),
        "SQ_INSTS_VALU_ADD_F16": 0.0,
        "SQ_INSTS_VALU_MUL_F16": 0.0,
        "SQ_INSTS_VALU_FMA_F16": of("f16"),
        "SQ_INSTS_VALU_TRANS_F16": 0.0,
        "SQ_INSTS_VALU_TRANS_F32": of("special"),
        "SQ_INSTS_VALU_TRANS_F64": 0.0,
        "SQ_INSTS_VALU_INT32": of("integer"),
        "SQ_INSTS_VALU_INT64": 0.0,
        "SQ_INSTS_VALU_CVT": of("conversions"),
        "SQ_LDS_IDX_ACTIVE": of("lds cycles"),
        "SQ_LDS_BANK_CONFLICT": of("lds conflicts"),
        "TA_TOTAL_WAVEFRONTS_sum": memory,
        "TA_FLAT_READ_WAVEFRONTS_sum": of("loads") + (of("scratch accesses") / 2 if is_flat else 0),
        "TA_BUFFER_WAVEFRONTS_sum": 0.0 if is_flat else of("scratch accesses"),
        "TCP_TOTAL_CACHE_ACCESSES_sum": of("l1 look-ups"),
        "TCP_TCC_READ_REQ_sum": kernel.l2_reads,
        "TCP_TCC_WRITE_REQ_sum": kernel.l2_writes,
        "TCP_TCC_ATOMIC_WITH_RET_REQ_sum": 0.0,
        "TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum": kernel.l2_atomics,
        "TCC_REQ_sum": requests,
        "TCC_ATOMIC_sum": kernel.l2_atomics,
        "TCC_HIT_sum": requests - misses,
        "TCC_MISS_sum": misses,
        **_hbm(kernel),
    }


def _hbm(kernel: Kernel) -> dict[str, float]:
    read, written = _accesses(kernel)
    block = "TCC_EA" if kernel.gfx == "gfx90a" else "TCC_EA0"
    wide = {"gfx942": "TCC_BUBBLE_sum", "gfx950": "TCC_EA0_RDREQ_128B_sum"}.get(kernel.gfx)
    return {
        f"{block}_RDREQ_sum": read / (128 if wide else 64),
        f"{block}_RDREQ_32B_sum": 0.0,
        f"{block}_WRREQ_sum": written / 64,
        f"{block}_WRREQ_64B_sum": written / 64,
        **({wide: read / 128} if wide else {}),
    }


def _rdna(kernel: Kernel, g: float, limit: str) -> dict[str, float]:
    """Return counters of gfx1100 and gfx1151; the latter has those that rocprof-compute names for it."""
    gpu, of = kernel.gpu, kernel.of
    active = of("instructions")
    wave_cycles = max(_WAVES * g * gpu.simds, active)
    read, written = _accesses(kernel)
    requests = of("load lines") + of("store lines") + of("scratch lines")
    misses = min(requests, of("compulsory bytes") / 128)
    values = {
        "GRBM_GUI_ACTIVE": g,
        "SQ_BUSY_CYCLES": g * (gpu.shader_engines or 1),
        "SQ_WAVES": of("waves"),
        "SQ_WAVE_CYCLES": wave_cycles,
        **_waits(wave_cycles, active, limit),
        "SQ_WAIT_INST_LDS": 0.3 * wave_cycles if limit == "lds" else 0.0,
        "SQC_LDS_IDX_ACTIVE": of("lds cycles"),
        "SQC_LDS_BANK_CONFLICT": of("lds conflicts"),
        "SQ_INSTS_VALU": of("vector") + of("matrix"),
        "SQ_INSTS_WAVE32_VALU": of("vector") + of("matrix"),
        "SQ_INSTS_SALU": of("scalar"),
        "SQ_INSTS_LDS": of("lds"),
        "SQ_INSTS_TEX_LOAD": of("loads"),
        "SQ_INSTS_TEX_STORE": of("stores"),
        "SQ_INST_CYCLES_VMEM": of("l1 look-ups"),
        "GL2C_HIT_sum": requests - misses,
        "GL2C_MISS_sum": misses,
        "GL2C_EA_RDREQ_32B_sum": 0.0,
        "GL2C_EA_RDREQ_64B_sum": 0.0,
        "GL2C_EA_RDREQ_96B_sum": 0.0,
        "GL2C_EA_RDREQ_128B_sum": read / 128,
        "GL2C_MC_WRREQ_sum": written / 64,
        "GL2C_EA_WRREQ_64B_sum": written / 64,
    }
    if kernel.gfx != "gfx1151":
        return values
    return {
        **values,
        "SQ_INST_CYCLES_VALU": kernel.turns,
        "SQ_INSTS_VALU_TRANS": of("special"),
        "SQ_INSTS_VALU_DP": of("f64") + of("f64 conversions"),
        "SQ_WAIT_BARRIER": 0.6 * wave_cycles if limit == BARRIER else 0.0,
        "GL2C_ATOMIC_sum": of("atomics"),
    }
