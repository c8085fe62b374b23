"""Code objects as a loader leaves them in memory, with what the executor needs to know of their kernels."""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from rocm_perf.arch.codeobject import disassembly
from rocm_perf.arch.codeobject.elf import EM_AMDGPU, Elf, Relocation
from rocm_perf.arch.codeobject.hsaco import read_hsaco
from rocm_perf.arch.codeobject.model import Kernel
from rocm_perf.errors import InputError, NotSupportedError
from rocm_perf.softgpu.listing import complete_listing

EXECUTED = ("gfx90a", "gfx942", "gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151")
_MOST_BYTES = 1 << 32
_GRANULE = 4096
# LLVM, AMDGPUUsage: relocation records.
_ABSOLUTE_64, _RELATIVE_64 = 3, 13


@dataclass(frozen=True)
class LoadedCode:
    """A code object at an address."""

    arch: str
    base: int
    memory: bytes  # from the base on, relocated
    kernels: Mapping[str, Kernel]
    symbols: Mapping[str, int]  # addresses
    image: bytes  # the file

    @property
    def size_bytes(self) -> int:
        return len(self.memory)

    def kernel(self, name: str) -> Kernel:
        """The kernel of this name."""
        if name in self.kernels:
            return self.kernels[name]
        known = ", ".join(sorted(self.kernels)[:5]) or "none"
        raise InputError(f"the code object has no kernel {name}", f"it has {known}")

    def descriptor(self, name: str) -> int:
        """The address of a kernel's descriptor."""
        if (address := self.symbols.get(f"{name}.kd")) is None:
            raise InputError(f"the code object has no descriptor of {name}")
        return address

    @cached_property
    def listing(self) -> str:
        """The disassembly of all functions, with addresses as the file has them."""
        tool = disassembly.find_disassembler(os.environ.get(disassembly.VARIABLE))
        return complete_listing(self.image, lambda image: disassembly.listing(image, (), tool))


def load_code(image: bytes, base: int, place: str = "the code object") -> LoadedCode:
    """The code object as a loader leaves it at an address, a multiple of 4096."""
    elf = Elf(image, place)
    if elf.machine != EM_AMDGPU:
        raise InputError(f"{place} is not an AMD code object")
    code = read_hsaco(elf, 0, place, len(image))
    if code.arch not in EXECUTED:
        executed = ", ".join(EXECUTED)
        raise NotSupportedError(f"{place} is made for {code.arch}", f"the executor knows {executed}")
    symbols = {symbol.name: base + symbol.address for symbol in elf.symbols if symbol.section}
    memory = _laid_out(elf, place)
    for relocation in elf.relocations:
        _relocate(memory, relocation, base, symbols)
    kernels = {kernel.name: kernel for kernel in code.kernels}
    return LoadedCode(
        arch=code.arch, base=base, memory=bytes(memory), kernels=kernels, symbols=symbols, image=bytes(image)
    )


def _laid_out(elf: Elf, place: str) -> bytearray:
    end = max((segment.address + segment.size_bytes for segment in elf.segments), default=0)
    if end > _MOST_BYTES:
        raise InputError(f"cannot load {place}", f"it wants {end:,} bytes of memory")
    memory = bytearray(-(-end // _GRANULE) * _GRANULE)
    for segment in elf.segments:
        memory[segment.address : segment.address + len(segment.data)] = segment.data
    return memory


def _relocate(memory: bytearray, relocation: Relocation, base: int, symbols: Mapping[str, int]) -> None:
    if relocation.kind == _RELATIVE_64:
        value = base + relocation.addend
    elif relocation.kind == _ABSOLUTE_64 and relocation.symbol in symbols:
        value = symbols[relocation.symbol] + relocation.addend
    else:
        name = relocation.symbol or f"kind {relocation.kind}"
        raise NotSupportedError(
            "cannot load the code object", f"it refers to {name}, which it does not define"
        )
    if not 0 <= relocation.address <= len(memory) - 8:
        raise InputError("cannot load the code object", "a relocation lies outside of it")
    struct.pack_into("<Q", memory, relocation.address, value & (1 << 64) - 1)
