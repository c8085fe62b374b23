"""What can be said about the kernels of a file without running them: resources, occupancy, instructions."""

from __future__ import annotations

import msgspec

from rocm_perf.arch.catalog import gpus_of
from rocm_perf.arch.codeobject.disassembly import Instruction
from rocm_perf.arch.codeobject.mix import Mix, mix_of
from rocm_perf.arch.codeobject.model import CodeObject, Kernel
from rocm_perf.arch.codeobject.observations import observations
from rocm_perf.arch.occupancy import Occupancy, Resources, occupancy
from rocm_perf.errors import UsageError
from rocm_perf.model.finding import Finding


class Launch(msgspec.Struct, frozen=True):
    """What only the launch determines."""

    workgroup_size: int | None = None
    lds_dynamic: int = 0


class Code(msgspec.Struct, frozen=True):
    """The instructions of a kernel, and what they show."""

    mix: Mix
    observations: tuple[Finding, ...]
    instructions: tuple[Instruction, ...] = ()  # if the listing was asked for


class KernelReport(msgspec.Struct, frozen=True, kw_only=True):
    """One kernel. A value that is None has its reason in the field after it."""

    name: str  # demangled
    kernel: Kernel
    workgroup_size: int | None  # assumed for the occupancy
    occupancy: Occupancy | None = None
    occupancy_unavailable: str | None = None
    code: Code | None = None
    code_unavailable: str | None = None


class ObjectReport(msgspec.Struct, frozen=True):
    """One code object, and those of its kernels that were asked for."""

    code_object: CodeObject  # without its kernels, which follow
    kernels: tuple[KernelReport, ...]


def kernel_report(kernel: Kernel, name: str, arch: str, launch: Launch) -> KernelReport:
    """The resources and occupancy of a kernel; `with_code` adds the instructions."""
    size = launch.workgroup_size or kernel.max_workgroup_size
    try:
        fitting = _occupancy(kernel, arch, size, launch.lds_dynamic)
    except UsageError as error:
        return KernelReport(name=name, kernel=kernel, workgroup_size=size, occupancy_unavailable=str(error))
    return KernelReport(name=name, kernel=kernel, workgroup_size=size, occupancy=fitting)


def with_code(
    report: KernelReport, arch: str, instructions: tuple[Instruction, ...], listing: bool
) -> KernelReport:
    """The report with the kernel's instructions and what they show."""
    mix = mix_of(instructions, report.kernel.scratch_bytes)
    code = Code(mix, observations(report.kernel, mix, arch), instructions if listing else ())
    return msgspec.structs.replace(report, code=code)


def _occupancy(kernel: Kernel, arch: str, workgroup_size: int | None, lds_dynamic: int) -> Occupancy:
    gpus = gpus_of(arch)  # its products differ in the number of compute units, not in what one unit holds
    if not gpus:
        raise UsageError(f"{arch} is not in the catalogue")
    if workgroup_size is None:
        raise UsageError("the launch determines the workgroup size", next_step="Give it with --workgroup N.")
    if kernel.vgprs is None:
        raise UsageError("the code object does not record its registers")
    return occupancy(
        gpus[0],
        Resources(
            vgprs=kernel.vgprs,
            agprs=kernel.agprs or 0,
            sgprs=kernel.sgprs or 0,
            lds_static=kernel.lds_bytes,
            lds_dynamic=lds_dynamic,
            workgroup_size=workgroup_size,
            wave_size=kernel.wave_size,
            cu_mode=bool(kernel.cu_mode),
        ),
    )
