"""Everything that `count` says, from what was executed and the GPU that the kernel was captured on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import msgspec

from rocm_perf.analysis.bottleneck.advice import would_tell_more
from rocm_perf.analysis.bottleneck.build import bottleneck, measured_of
from rocm_perf.analysis.bottleneck.launch import occupancy_evidence
from rocm_perf.analysis.bottleneck.measurements import of_intensity, of_roofline
from rocm_perf.analysis.emulated.by_line import NO_LINES, line_uses
from rocm_perf.analysis.emulated.evidence import empty_units, emulated_evidence
from rocm_perf.analysis.emulated.findings import count_findings
from rocm_perf.analysis.emulated.roofline import emulated_roofline
from rocm_perf.analysis.emulated.rows import Counted
from rocm_perf.analysis.emulated.tallies import tallies
from rocm_perf.analysis.emulated.totals import totals
from rocm_perf.analysis.limits.emulated_work import Counts, loads_of
from rocm_perf.analysis.limits.emulation import emulated_limits
from rocm_perf.analysis.roofline.ceilings import ceilings
from rocm_perf.analysis.roofline.devices import Device, device_of, named_device
from rocm_perf.arch.catalog import gpus_of
from rocm_perf.arch.codeobject.model import Kernel
from rocm_perf.arch.codeobject.report import Launch, kernel_report
from rocm_perf.arch.gpu import Gpu
from rocm_perf.arch.occupancy import Occupancy
from rocm_perf.model.machine_ceilings import MachineCeilings
from rocm_perf.model.results.bottleneck import Evidence
from rocm_perf.model.results.count import (
    Counting,
    Executed,
    Footprint,
    InstructionCount,
    Resources,
    Totals,
)
from rocm_perf.model.results.limits import KernelLimits
from rocm_perf.model.results.replay import CapturedDevice, Three
from rocm_perf.model.schema import empty

LIMITS = (
    "no time: nothing that was counted says how long the kernel takes",
    "no hit rates: the caches are not emulated, so bytes of memory have bounds",
    "waves run in another order than on a GPU, so kernels whose work depends on it may do other work",
)
_SAMPLED = (
    "scaled from {done:,} of {all:,} workgroups: exact if all do the same work; of distinct lines, the most"
)
# Where the catalogue does not have the chip: what most of those it has have.
_BANKS = 32  # to one compute unit
_LINE_BYTES = 128


class Observed(msgspec.Struct, frozen=True):
    """What was executed, and what was counted meanwhile."""

    kernel: str
    name: str
    code: str
    device: CapturedDevice
    grid: Three
    workgroup: Three
    dynamic_lds_bytes: int
    resources: Kernel
    executed: Executed
    rows: tuple[InstructionCount, ...]
    footprint: Footprint | None

    @property
    def workgroup_size(self) -> int:
        return math.prod(self.workgroup)


def counting(
    observed: Observed,
    *,
    gpu: Gpu | None = None,
    machines: Sequence[MachineCeilings] = (),
    time_ns: float | None = None,
) -> Counting:
    """The counts of a dispatch, its place under the roofs, and what they point to. `gpu` overrides the captured one."""
    device = named_device(gpu) if gpu else _captured(observed.device)
    gfx = observed.device.gfx
    counted = Counted(observed.rows, observed.executed, line_bytes_of(gfx))
    counts = totals(counted, observed.footprint, banks_of(gfx))
    launch = Launch(observed.workgroup_size, observed.dynamic_lds_bytes)
    fits = kernel_report(observed.resources, observed.name, gfx, launch).occupancy
    resources = _resources(observed, fits)
    peaks = ceilings(device, empty("ceilings"), machines)
    roofline = emulated_roofline(observed.kernel, counts, device, peaks, time_ns)
    work = _counts(observed, counted, counts)
    loads = loads_of(work, device.gpu, time_ns)
    evidence = (
        _of_launch(observed, device, fits),
        of_roofline(roofline.point),
        of_intensity(roofline.point),
        emulated_evidence(counts, resources, loads),
    )
    measured, lines = measured_of(evidence), line_uses(counted)
    units, readings, causes = emulated_limits(work, device.gpu, time_ns)
    return Counting(
        kernel=observed.kernel,
        name=observed.name,
        gfx=gfx,
        code=observed.code,
        grid=observed.grid,
        workgroup=observed.workgroup,
        executed=observed.executed,
        totals=counts,
        resources=resources,
        roofline=roofline,
        bottleneck=bottleneck(
            observed.kernel,
            measured,
            roofline.point,
            would_tell_more(measured, device, ""),
            KernelLimits(tuple(units), tuple(readings), tuple(causes)),
        ),
        findings=count_findings(counts, work, device.gpu, loads),
        lines=lines,
        lines_unavailable=None if lines else NO_LINES,
        limits=tuple(_limits(observed.executed)),
        instructions=observed.rows,
        tallies=work.tallies,
    )


def _counts(observed: Observed, counted: Counted, counts: Totals) -> Counts:
    """Return the counts of the whole grid, on which causes rest."""
    groups = observed.executed.of_workgroups
    return Counts(
        kernel=observed.kernel,
        gfx=observed.device.gfx,
        wave_size=observed.executed.wave_size,
        workgroups=groups,
        tallies=tallies(
            counted,
            compulsory_bytes=_compulsory_bytes(counts),
            spilled_registers=observed.resources.vgpr_spills or 0,
            work_items=min(math.prod(observed.grid), groups * observed.workgroup_size),
        ),
        flops={one.ceiling: one.amount for one in counts.operations},
    )


def _compulsory_bytes(counts: Totals) -> float:
    """What memory has to give and take. Of a sample, lines that workgroups share count several times, but no more
    often than they are asked for."""
    if counts.footprint is None:
        return 0.0
    most = sum(one.lines * one.line_bytes for one in counts.accesses if one.space != "scratch")
    compulsory = counts.footprint.compulsory_bytes
    return float(min(compulsory, most) if counts.footprint.is_scaled else compulsory)


def banks_of(gfx: str) -> int:
    """LDS banks that one access of a wave meets. Of a pair of compute units that share an LDS, each has its own set."""
    return next((gpu.lds_banks // gpu.cus_per_lds for gpu in gpus_of(gfx)), _BANKS)


def line_bytes_of(gfx: str) -> int:
    """The size of a line of the vector L1."""
    return next((gpu.l1_line_bytes for gpu in gpus_of(gfx) if gpu.l1_line_bytes), _LINE_BYTES)


def _captured(device: CapturedDevice) -> Device:
    return device_of(
        [
            {
                "node": 0,
                "agent_id": device.index,
                "name": device.name,
                "gfx": device.gfx,
                "cu_count": None,
                "clock_mhz": None,
                "memory_bytes": device.memory_bytes,
            }
        ]
    )


def _limits(executed: Executed) -> Iterator[str]:
    if executed.is_sample:
        yield _SAMPLED.format(done=executed.workgroups, all=executed.of_workgroups)
    yield from LIMITS


def _resources(observed: Observed, fits: Occupancy | None) -> Resources:
    kernel = observed.resources
    return Resources(
        vgprs=kernel.vgprs,
        agprs=kernel.agprs,
        sgprs=kernel.sgprs,
        lds_bytes=kernel.lds_bytes + observed.dynamic_lds_bytes,
        scratch_bytes=kernel.scratch_bytes,
        waves_per_simd=fits.waves_per_simd if fits else None,
        max_waves_per_simd=fits.max_waves_per_simd if fits else None,
        limited_by=fits.limiters if fits else (),
    )


def _of_launch(observed: Observed, device: Device, fits: Occupancy | None) -> Iterator[Evidence]:
    """What grid, registers and LDS say, where the GPU is known."""
    if device.gpu is None:
        return
    groups = observed.executed.of_workgroups
    yield empty_units(groups, device.gpu.compute_units)
    if fits is not None:
        yield occupancy_evidence(fits, groups <= fits.workgroups_per_cu * device.gpu.compute_units)
