"""One GPU as the catalogue describes it. Every number can name its source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from rocm_perf.model.vendor import Vendor

MatrixUnit = Literal["MFMA", "WMMA", "tensor core"]
Works = Literal["yes", "no", "untested"]
_MACHINE = (
    8  # GPUs: the most that machines with the links of the catalogue have; racks such as NVL72 are not in it
)


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a number was taken from."""

    title: str
    url: str = ""
    note: str = ""


class Method(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether one way to measure (counters, pc_sampling_host_trap, pc_sampling_stochastic, att, roofline) works."""

    name: str
    works: Works
    since: str = ""  # first ROCm release, where known
    until: str = ""  # last ROCm release, where it was dropped
    reason: str = ""  # why not, or what is uncertain
    source: str


class Gpu(msgspec.Struct, frozen=True, kw_only=True):
    """A marketing SKU. None means that no source was found, never zero.

    Sizes are bytes, rates TFLOP/s (TOP/s for integers) without sparsity, bandwidth GB/s (1e9). Mappings by wave size
    hold what one SIMD has at that size. On NVIDIA a compute unit is an SM, a SIMD one of its four partitions, a wave
    a warp, and LDS shared memory.
    """

    name: str
    gfx: str  # gfx942, sm_90
    vendor: Vendor
    family: str  # CDNA 3, RDNA 4, Hopper
    aliases: tuple[str, ...] = ()
    device_ids: tuple[str, ...] = ()  # PCI, "0x74a1"
    compute_units: int
    simds_per_cu: int
    dies: int  # XCDs; 1 where there are none
    shader_engines: int | None = None  # of one die
    arrays_per_engine: int | None = None
    wave_sizes: tuple[int, ...]  # the one that compilers choose by default first
    max_waves_per_simd: Mapping[int, int]
    vgprs_per_simd: Mapping[int, int]  # per lane, shared by the waves of a SIMD; with AGPRs where unified
    vgpr_granule: Mapping[int, int]
    max_vgprs: int  # that one wave can address; with AGPRs where unified
    unified_agprs: bool
    sgprs_per_simd: int | None  # None: not a limit
    sgpr_granule: int | None
    max_sgprs: int | None  # None: no such registers
    max_workgroup_size: int
    max_workgroups_per_cu: int | None
    lds_bytes: int  # of one compute unit (of one work-group processor on RDNA: see `cus_per_lds`)
    cus_per_lds: int  # compute units that share it: 2 on RDNA
    max_lds_per_workgroup: int
    lds_granule: int
    lds_banks: int
    lds_bank_bytes: int | None = None  # that one of them reads or writes in a clock
    l1_bytes: int | None
    l1_line_bytes: int | None = None  # of the vector L1
    l2_bytes: int | None  # all slices of all dies
    l2_channels: int | None  # of all dies
    l2_channel_bytes: int | None = None  # that one of them reads in a clock
    last_level_bytes: int | None  # Infinity Cache
    clock_mhz: float
    memory_kind: str
    memory_bytes: int | None
    memory_gbps: float
    memory_bus_bits: int | None = None  # with the next, an independent way to the bandwidth
    memory_gbps_per_pin: float | None = None  # Gbit/s
    vector_tflops: Mapping[str, float]  # by dtype: f64, f32, f16, ...
    link_kind: str | None = None  # of the links to other GPUs of a machine: xGMI, NVLink
    links: int | None = None  # to other GPUs
    link_gbps: float | None = None  # one link, in one direction
    links_per_peer: int | None = None  # where GPUs are connected directly; None: all can serve one peer
    matrix_unit: MatrixUnit | None
    matrix_tflops: Mapping[str, float]  # by dtype: f64, f32, xf32, f16, bf16, f8, f6, f4, i8
    board_power_w: float | None
    gpus_per_power_sensor: int | None = None  # of one package; the others say 0
    cycles_per_wave_count: int | None = (
        None  # clocks that SQ_WAVE_CYCLES and SQ_WAIT_* count as one; None: one
    )
    methods: tuple[Method, ...] = ()
    sources: Mapping[str, Source] = {}  # by field, "matrix_tflops.f16" for an entry of a mapping

    @property
    def simds(self) -> int:
        """SIMDs of the whole GPU."""
        return self.compute_units * self.simds_per_cu

    def link_limit(self, ranks: int) -> float | None:
        """What the links of one GPU carry in one direction to the others of a group on one machine, in GB/s; None
        where it is not known, or where so many are not on one machine."""
        if not self.links or not self.link_gbps or ranks < 2:
            return None
        used = self.links if self.links_per_peer is None else (ranks - 1) * self.links_per_peer
        return used * self.link_gbps if used <= self.links and ranks <= _MACHINE else None

    @property
    def wave_size(self) -> int:
        """The wave size that compilers choose by default."""
        return self.wave_sizes[0]
