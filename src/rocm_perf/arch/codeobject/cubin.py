"""NVIDIA cubins: registers, shared memory and parameters from the `.nv.info` attributes."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

import msgspec

from rocm_perf.arch.codeobject.elf import Elf, Section
from rocm_perf.arch.codeobject.model import Argument, CodeObject, Kernel

_WARP = 32
_ABI_WITH_SHIFTED_ARCH = 8  # CUDA 13
_RESERVED_SHARED = 1024  # in front of a block's own shared memory, if the object names it
_RESERVED_MARK = ".nv.reservedSmem.offset0"

# Attribute numbers (EIATTR_*), as cuobjdump --dump-elf names them.
_REGISTERS, _FRAME_BYTES, _PARAMETER, _PARAMETER_BYTES, _MAX_THREADS = 0x2F, 0x11, 0x17, 0x19, 0x05
_SIZED = 4  # an attribute whose value follows; the others carry it in their size


class _Attribute(msgspec.Struct, frozen=True):
    number: int
    data: bytes

    def integers(self) -> tuple[int, ...]:
        """The value as 32-bit integers."""
        return struct.unpack(f"<{len(self.data) // 4}I", self.data[: len(self.data) // 4 * 4])


def read_cubin(elf: Elf, index: int, place: str, size_bytes: int) -> CodeObject:
    """The kernels of one cubin."""
    number = elf.flags >> 8 if elf.abi_version >= _ABI_WITH_SHIFTED_ARCH else elf.flags
    facts = _Facts.of(elf)
    return CodeObject(
        index=index,
        place=place,
        kind="NVIDIA cubin",
        arch=f"sm_{number & 0xFF}",
        abi=str(elf.abi_version),
        size_bytes=size_bytes,
        kernels=tuple(
            _kernel(facts, section)
            for section in elf.sections
            if section.name.startswith(".text.") and f".nv.info.{section.name[6:]}" in facts.sections
        ),
    )


def _kernel(facts: _Facts, code: Section) -> Kernel:
    name = code.name[6:]
    own = list(_attributes(facts.sections[f".nv.info.{name}"].data))
    threads = next((entry.integers() for entry in own if entry.number == _MAX_THREADS), ())
    return Kernel(
        name=name,
        vgprs=facts.value(_REGISTERS, name) or code.info >> 24 or None,
        agprs=None,
        sgprs=None,
        vgpr_spills=None,
        sgpr_spills=None,
        lds_bytes=_shared_bytes(facts, name),
        scratch_bytes=facts.value(_FRAME_BYTES, name) or 0,
        dynamic_stack=None,
        wave_size=_WARP,
        max_workgroup_size=threads[0] * threads[1] * threads[2] if len(threads) == 3 else None,
        kernarg_bytes=_parameter_bytes(own),
        code_bytes=len(code.data),
        cu_mode=None,
        arguments=_arguments(own),
    )


class _Facts(msgspec.Struct, frozen=True):
    """What the whole cubin says: its sections and symbols by name, and `.nv.info` by attribute and symbol."""

    sections: dict[str, Section]
    symbols: dict[str, int]
    values: dict[tuple[int, int], int]

    @classmethod
    def of(cls, elf: Elf) -> _Facts:
        sections = {section.name: section for section in elf.sections}
        info = sections.get(".nv.info")
        values = {
            (entry.number, entry.integers()[0]): entry.integers()[1]
            for entry in (_attributes(info.data) if info else ())
            if len(entry.data) >= 8
        }
        return cls(sections, {symbol.name: number for number, symbol in enumerate(elf.symbols)}, values)

    def value(self, attribute: int, kernel: str) -> int | None:
        return self.values.get((attribute, self.symbols.get(kernel, -1)))


def _attributes(data: memoryview) -> Iterator[_Attribute]:
    """The attributes: one byte for how each is stored, one for which it is, two for its size (or its value)."""
    position = 0
    while position + 4 <= len(data):
        form, number, size = struct.unpack_from("<BBH", data, position)
        position += 4
        length = size if form == _SIZED else 0
        value = bytes(data[position : position + length]) if length else bytes(data[position - 2 : position])
        yield _Attribute(number, value)
        position += length


def _shared_bytes(facts: _Facts, kernel: str) -> int:
    section = facts.sections.get(f".nv.shared.{kernel}")
    if section is None:
        return 0
    return max(section.size_bytes - (_RESERVED_SHARED if _RESERVED_MARK in facts.symbols else 0), 0)


def _parameter_bytes(attributes: Sequence[_Attribute]) -> int:
    sizes = [entry.data for entry in attributes if entry.number == _PARAMETER_BYTES]
    return int.from_bytes(sizes[0][:2], "little") if sizes else 0


def _arguments(attributes: Sequence[_Attribute]) -> tuple[Argument, ...]:
    """The parameters in order: an entry holds an index, ordinal and offset together, and the size from bit 18 on."""
    numbered = []
    for entry in attributes:
        if entry.number == _PARAMETER and len(entry.data) >= 12:
            _, place, shape = entry.integers()[:3]
            argument = Argument(name="", offset=place >> 16, size_bytes=shape >> 18, kind="by_value")
            numbered.append((place & 0xFFFF, argument))
    return tuple(argument for _, argument in sorted(numbered, key=lambda pair: pair[0]))
