"""AMD code objects: the kernels in the metadata note (LLVM, AMDGPUUsage: code object metadata, V3 and later)."""

from __future__ import annotations

from typing import Annotated

import msgspec

from rocm_perf.arch.codeobject.elf import Elf
from rocm_perf.arch.codeobject.model import Argument, CodeObject, Kernel
from rocm_perf.arch.codeobject.targets import abi_name, arch_of, features_of
from rocm_perf.errors import InputError

_NOTE_OWNER = "AMDGPU"
_NOTE_METADATA = 32
_UNIFIED = {"gfx90a", "gfx940", "gfx941", "gfx942", "gfx950", "gfx9-4-generic"}

_Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 40)]
_Text = Annotated[str, msgspec.Meta(max_length=1 << 20)]


class _Argument(msgspec.Struct):
    offset: _Count = msgspec.field(name=".offset")
    size: _Count = msgspec.field(name=".size")
    value_kind: _Text = msgspec.field(name=".value_kind")
    name: _Text = msgspec.field(name=".name", default="")
    type_name: _Text = msgspec.field(name=".type_name", default="")
    address_space: _Text = msgspec.field(name=".address_space", default="")


class _Kernel(msgspec.Struct):
    name: _Text = msgspec.field(name=".name")
    symbol: _Text = msgspec.field(name=".symbol")
    wave_size: Annotated[int, msgspec.Meta(ge=1, le=1024)] = msgspec.field(name=".wavefront_size")
    vgprs: _Count | None = msgspec.field(name=".vgpr_count", default=None)
    agprs: _Count | None = msgspec.field(name=".agpr_count", default=None)
    sgprs: _Count | None = msgspec.field(name=".sgpr_count", default=None)
    vgpr_spills: _Count | None = msgspec.field(name=".vgpr_spill_count", default=None)
    sgpr_spills: _Count | None = msgspec.field(name=".sgpr_spill_count", default=None)
    lds: _Count = msgspec.field(name=".group_segment_fixed_size", default=0)
    scratch: _Count = msgspec.field(name=".private_segment_fixed_size", default=0)
    kernarg: _Count = msgspec.field(name=".kernarg_segment_size", default=0)
    max_workgroup_size: _Count | None = msgspec.field(name=".max_flat_workgroup_size", default=None)
    dynamic_stack: bool | None = msgspec.field(name=".uses_dynamic_stack", default=None)
    wgp_mode: bool | int | None = msgspec.field(name=".workgroup_processor_mode", default=None)
    args: list[_Argument] = msgspec.field(name=".args", default_factory=list)


class _Metadata(msgspec.Struct):
    kernels: list[_Kernel] = msgspec.field(name="amdhsa.kernels", default_factory=list)


_DECODER = msgspec.msgpack.Decoder(_Metadata)


def read_hsaco(elf: Elf, index: int, place: str, size_bytes: int) -> CodeObject:
    """The kernels of one AMD code object."""
    arch = arch_of(elf.flags)
    return CodeObject(
        index=index,
        place=place,
        kind="AMD code object",
        arch=arch or f"gfx? (machine 0x{elf.flags & 0xFF:x})",
        features=features_of(elf.flags, elf.abi_version),
        abi=abi_name(elf.abi_version),
        size_bytes=size_bytes,
        kernels=_kernels(elf, place, arch in _UNIFIED),
        unread=_unread(elf),
    )


def _unread(elf: Elf) -> str | None:
    if elf.abi_version == 0:
        return "code object v2 describes its kernels in a format that only ROCm before 3.0 wrote"
    if not any(elf.notes(_NOTE_OWNER, _NOTE_METADATA)):
        return "it has no kernel metadata"
    return None


def _kernels(elf: Elf, place: str, unified: bool) -> tuple[Kernel, ...]:
    sizes = {symbol.name: symbol.size_bytes for symbol in elf.symbols if symbol.kind == "STT_FUNC"}
    return tuple(
        _kernel(kernel, sizes.get(kernel.symbol.removesuffix(".kd")), unified)
        for note in elf.notes(_NOTE_OWNER, _NOTE_METADATA)
        for kernel in _decoded(note, place).kernels
    )


def _decoded(note: bytes, place: str) -> _Metadata:
    try:
        return _DECODER.decode(note)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the kernel metadata of {place}", str(error)) from error


def _kernel(kernel: _Kernel, code_bytes: int | None, unified: bool) -> Kernel:
    vgprs, agprs = kernel.vgprs, kernel.agprs
    if unified and vgprs is not None and agprs:
        vgprs = max(vgprs - agprs, 0)  # the metadata counts both
    return Kernel(
        name=kernel.symbol.removesuffix(".kd"),
        vgprs=vgprs,
        agprs=agprs,
        sgprs=kernel.sgprs,
        vgpr_spills=kernel.vgpr_spills,
        sgpr_spills=kernel.sgpr_spills,
        lds_bytes=kernel.lds,
        scratch_bytes=kernel.scratch,
        dynamic_stack=kernel.dynamic_stack,
        wave_size=kernel.wave_size,
        max_workgroup_size=kernel.max_workgroup_size,
        kernarg_bytes=kernel.kernarg,
        code_bytes=code_bytes,
        cu_mode=None if kernel.wgp_mode is None else not kernel.wgp_mode,
        arguments=tuple(
            Argument(
                name=item.name,
                offset=item.offset,
                size_bytes=item.size,
                kind=item.value_kind,
                type_name=item.type_name,
                address_space=item.address_space,
            )
            for item in kernel.args
        ),
    )
