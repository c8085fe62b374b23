"""What a file of GPU code contains: code objects, their kernels, and the resources each kernel needs."""

from __future__ import annotations

from typing import Literal

import msgspec

Kind = Literal["AMD code object", "NVIDIA cubin", "NVIDIA PTX", "unknown"]


class Argument(msgspec.Struct, frozen=True):
    """One argument in the kernel's argument block. A text is empty if the compiler did not record it."""

    name: str
    offset: int
    size_bytes: int
    kind: str  # by_value, global_buffer, hidden_block_count_x, ...
    type_name: str = ""
    address_space: str = ""

    @property
    def hidden(self) -> bool:
        """Whether the compiler added the argument."""
        return self.kind.startswith("hidden_")


class Kernel(msgspec.Struct, frozen=True, kw_only=True):
    """One kernel. None means that the object does not record it; that is never shown as zero."""

    name: str  # mangled, as the symbol table has it
    vgprs: int | None  # without the AGPRs; where both live in one file, rounded up to the first AGPR
    agprs: int | None
    sgprs: int | None
    vgpr_spills: int | None
    sgpr_spills: int | None
    lds_bytes: int  # static
    scratch_bytes: int  # per work-item
    dynamic_stack: bool | None
    wave_size: int
    max_workgroup_size: int | None
    kernarg_bytes: int
    code_bytes: int | None
    cu_mode: bool | None  # RDNA: compiled for one compute unit instead of the pair
    arguments: tuple[Argument, ...] = ()


class CodeObject(msgspec.Struct, frozen=True, kw_only=True):
    """Code for one architecture."""

    index: int  # within the file
    place: str  # where in the file: "the file itself", "bundle 1, hipv4-amdgcn-amd-amdhsa--gfx942"
    kind: Kind
    arch: str  # gfx942, sm_90
    features: tuple[str, ...] = ()  # xnack+, sramecc-; an absent one may be on or off
    abi: str = ""  # v4, v5, v6
    size_bytes: int
    kernels: tuple[Kernel, ...] = ()
    unread: str | None = None  # why its kernels are not known
