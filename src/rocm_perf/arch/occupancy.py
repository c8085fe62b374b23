"""How many waves of a kernel a compute unit can hold, what stops it from holding more, and what would allow more.

The register arithmetic is that of LLVM's AMDGPUBaseInfo (getNumWavesPerEUWithNumVGPRs, getTotalNumVGPRs); on top of it
whole workgroups are placed, because the waves of a workgroup start together or not at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from rocm_perf.arch.gpu import Gpu
from rocm_perf.errors import UsageError

Limiter = Literal["VGPRs", "SGPRs", "LDS", "workgroup slots", "wave slots", "workgroup size"]

# AGPRs begin at the next multiple of four after the VGPRs of a unified file (LLVM, AMDGPU::getTotalNumVGPRs).
_AGPR_ALIGNMENT = 4
# Each thread block takes this much in addition to its own, from compute capability 8.0 on (CUDA programming guide).
_NVIDIA_RESERVED_LDS = 1024
_NVIDIA_RESERVING_SINCE = 80
_UNLIMITED = 1 << 20  # waves, where a resource is not used or is not a limit


class Resources(msgspec.Struct, frozen=True, kw_only=True):
    """What one dispatch needs: registers per lane, bytes of LDS per workgroup, work-items per workgroup."""

    vgprs: int
    agprs: int = 0
    sgprs: int = 0
    lds_static: int = 0
    lds_dynamic: int = 0
    workgroup_size: int
    wave_size: int
    cu_mode: bool = False  # RDNA: a workgroup stays on one of the two compute units of its pair

    def __post_init__(self) -> None:
        counts = (self.vgprs, self.agprs, self.sgprs, self.lds_static, self.lds_dynamic)
        if min(counts) < 0 or self.workgroup_size < 1 or self.wave_size < 1:
            raise UsageError(
                "registers and LDS cannot be negative, and a workgroup has at least one work-item"
            )


class Step(msgspec.Struct, frozen=True):
    """The smallest change of one resource that allows one more workgroup, and the resulting waves per SIMD."""

    resource: str  # "VGPRs", "VGPRs and AGPRs", "SGPRs", "bytes of LDS"
    now: int
    at_most: int
    waves_per_simd: float

    def __str__(self) -> str:
        asked = f"use <= {self.at_most:,} {self.resource} (now {self.now:,})"
        return f"{asked} -> {self.waves_per_simd:g} waves per SIMD"


class Occupancy(msgspec.Struct, frozen=True):
    """How many waves and workgroups fit. `limits` holds the waves per SIMD that each resource alone would allow."""

    waves_per_simd: float
    max_waves_per_simd: int
    workgroups_per_cu: float  # for a pair that shares workgroups: half of what the pair holds
    share: float  # of the most waves that the chip can hold
    limiters: tuple[Limiter, ...]
    limits: Mapping[Limiter, float]
    allocated_vgprs: int  # rounded up to what the hardware hands out
    allocated_sgprs: int
    allocated_lds: int
    steps: tuple[Step, ...]  # if there are several, all of them are needed together


class _Place(msgspec.Struct, frozen=True):
    """Where a workgroup runs: one compute unit, or the pair that shares an LDS."""

    simds: int
    lds_bytes: int
    workgroup_slots: int | None
    compute_units: int


def occupancy(gpu: Gpu, resources: Resources) -> Occupancy:
    """How many waves of a kernel with these resources fit on the GPU, and why not more."""
    _check(gpu, resources)
    place = _place(gpu, resources)
    fit = _workgroups_by_resource(gpu, resources, place)
    workgroups = min(fit.values())
    most = gpu.max_waves_per_simd[resources.wave_size]
    waves = _waves_per_workgroup(resources)
    reached = workgroups * waves / place.simds
    limiters = _limiters(fit, workgroups)
    return Occupancy(
        waves_per_simd=reached,
        max_waves_per_simd=most,
        workgroups_per_cu=workgroups / place.compute_units,
        share=reached / most,
        limiters=limiters,
        limits={name: min(count * waves / place.simds, most) for name, count in fit.items()},
        allocated_vgprs=allocated_vgprs(gpu, resources),
        allocated_sgprs=_allocated_sgprs(gpu, resources.sgprs),
        allocated_lds=_allocated_lds(gpu, resources),
        steps=_steps(gpu, resources, place, workgroups, limiters),
    )


def _limiters(fit: Mapping[Limiter, int], workgroups: int) -> tuple[Limiter, ...]:
    """What prevents one more workgroup; if no wave slot is left, nothing else matters."""
    limiters = tuple(name for name, count in fit.items() if count == workgroups)
    return ("wave slots",) if "wave slots" in limiters else limiters


def _vgpr_waves(gpu: Gpu, resources: Resources) -> int:
    taken = allocated_vgprs(gpu, resources)
    if vector_registers(gpu, resources) > gpu.max_vgprs:
        return 0
    return gpu.vgprs_per_simd[resources.wave_size] // taken if taken else _UNLIMITED


def _sgpr_waves(gpu: Gpu, resources: Resources) -> int:
    taken = _allocated_sgprs(gpu, resources.sgprs)
    return gpu.sgprs_per_simd // taken if gpu.sgprs_per_simd is not None and taken else _UNLIMITED


def vector_registers(gpu: Gpu, resources: Resources) -> int:
    """VGPRs and AGPRs as they count against the register file: their sum if they share it, else the larger."""
    if not resources.agprs:
        return resources.vgprs
    if gpu.unified_agprs:
        return _round_up(resources.vgprs, _AGPR_ALIGNMENT) + resources.agprs
    return max(resources.vgprs, resources.agprs)


def allocated_vgprs(gpu: Gpu, resources: Resources) -> int:
    """Vector registers rounded up to what the hardware hands out."""
    return _round_up(vector_registers(gpu, resources), gpu.vgpr_granule[resources.wave_size])


def _check(gpu: Gpu, resources: Resources) -> None:
    if resources.wave_size not in gpu.wave_sizes:
        sizes = " or ".join(map(str, gpu.wave_sizes))
        raise UsageError(f"{gpu.gfx} has no waves of {resources.wave_size}", f"its waves have {sizes} lanes")
    if resources.workgroup_size > gpu.max_workgroup_size:
        raise UsageError(
            f"a workgroup of {resources.workgroup_size:,} work-items cannot run on {gpu.gfx}",
            f"it allows at most {gpu.max_workgroup_size:,}",
        )


def _place(gpu: Gpu, resources: Resources) -> _Place:
    units = 1 if resources.cu_mode else gpu.cus_per_lds
    slots = gpu.max_workgroups_per_cu
    return _Place(
        simds=gpu.simds_per_cu * units,
        lds_bytes=gpu.lds_bytes * units // gpu.cus_per_lds,
        workgroup_slots=None if slots is None else slots * units,
        compute_units=units,
    )


def _workgroups_by_resource(gpu: Gpu, resources: Resources, place: _Place) -> dict[Limiter, int]:
    """Workgroups that fit in the place according to each resource alone."""
    waves = _waves_per_workgroup(resources)
    slots = gpu.max_waves_per_simd[resources.wave_size] * place.simds
    fit: dict[Limiter, int] = {
        "wave slots": slots // waves,
        "VGPRs": _vgpr_waves(gpu, resources) * place.simds // waves,
        "SGPRs": _sgpr_waves(gpu, resources) * place.simds // waves,
    }
    lds = _allocated_lds(gpu, resources)
    if lds:
        fit["LDS"] = 0 if _lds(resources) > gpu.max_lds_per_workgroup else place.lds_bytes // lds
    # The slots are barriers; a workgroup of one wave needs none (LLVM, getMaxWorkGroupsPerCU). NVIDIA counts all.
    if place.workgroup_slots is not None and (waves > 1 or gpu.vendor == "NVIDIA"):
        fit["workgroup slots"] = place.workgroup_slots
    return _named_by_workgroup_size(fit, waves, slots)


def _named_by_workgroup_size(fit: dict[Limiter, int], waves: int, slots: int) -> dict[Limiter, int]:
    """Names the workgroup size as the limit if wave slots stay empty only because no whole workgroup fits."""
    if slots % waves:
        fit["workgroup size"] = fit.pop("wave slots")
    return fit


def _waves_per_workgroup(resources: Resources) -> int:
    return -(-resources.workgroup_size // resources.wave_size)


def _lds(resources: Resources) -> int:
    return resources.lds_static + resources.lds_dynamic


def _allocated_sgprs(gpu: Gpu, sgprs: int) -> int:
    return _round_up(sgprs, gpu.sgpr_granule) if gpu.sgpr_granule else sgprs


def _allocated_lds(gpu: Gpu, resources: Resources) -> int:
    return _round_up(_lds(resources) + _reserved_lds(gpu), gpu.lds_granule)


def _reserved_lds(gpu: Gpu) -> int:
    if gpu.vendor != "NVIDIA":
        return 0
    capability = "".join(filter(str.isdigit, gpu.gfx))
    return _NVIDIA_RESERVED_LDS if int(capability) >= _NVIDIA_RESERVING_SINCE else 0


def _steps(
    gpu: Gpu, resources: Resources, place: _Place, workgroups: int, limiters: tuple[Limiter, ...]
) -> tuple[Step, ...]:
    """The changes that allow one more workgroup; none if using less of a resource would not help."""
    changes: list[tuple[str, int, int]] = []
    leaner = resources
    for limiter in limiters:
        least = _lesser(gpu, leaner, place, limiter, workgroups + 1)
        if least is None:
            return ()
        leaner, now, at_most = least
        changes.append((_named(limiter, resources), now, at_most))
    fit = min(_workgroups_by_resource(gpu, leaner, place).values())
    reached = fit * _waves_per_workgroup(leaner) / place.simds
    return tuple(
        Step(resource=resource, now=now, at_most=at_most, waves_per_simd=reached)
        for resource, now, at_most in changes
    )


def _named(limiter: Limiter, resources: Resources) -> str:
    if limiter == "VGPRs" and resources.agprs:
        return "VGPRs and AGPRs"
    return "bytes of LDS" if limiter == "LDS" else limiter


def _lesser(
    gpu: Gpu, resources: Resources, place: _Place, limiter: Limiter, workgroups: int
) -> tuple[Resources, int, int] | None:
    """The dispatch with as much of one resource as lets `workgroups` fit, what it uses now, and that amount."""
    waves = -(-workgroups * _waves_per_workgroup(resources) // place.simds)
    if limiter == "VGPRs":
        return _fewer_vgprs(gpu, resources, waves)
    if limiter == "SGPRs" and gpu.sgprs_per_simd is not None and gpu.sgpr_granule:
        most = gpu.sgprs_per_simd // waves // gpu.sgpr_granule * gpu.sgpr_granule
        return (msgspec.structs.replace(resources, sgprs=most), resources.sgprs, most) if most else None
    if limiter == "LDS":
        room = min(
            place.lds_bytes // workgroups // gpu.lds_granule * gpu.lds_granule, gpu.max_lds_per_workgroup
        )
        most = room - _reserved_lds(gpu)
        now = _lds(resources)
        return (
            (msgspec.structs.replace(resources, lds_static=most, lds_dynamic=0), now, most)
            if most > 0
            else None
        )
    return None


def _fewer_vgprs(gpu: Gpu, resources: Resources, waves: int) -> tuple[Resources, int, int] | None:
    if waves > gpu.max_waves_per_simd[resources.wave_size]:
        return None
    granule = gpu.vgpr_granule[resources.wave_size]
    most = min(gpu.vgprs_per_simd[resources.wave_size] // waves // granule * granule, gpu.max_vgprs)
    now = vector_registers(gpu, resources)
    return (msgspec.structs.replace(resources, vgprs=most, agprs=0), now, most) if most else None


def _round_up(value: int, granule: int) -> int:
    return -(-value // granule) * granule
