"""AMD code objects made by hand, with kernels that no compiler has to be asked for."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from rocm_perf.arch.codeobject.elf import Elf
from rocm_perf.arch.codeobject.hsaco import read_hsaco
from rocm_perf.optimize.guards.image import CodeImage

_GFX942, _GFX1100 = 0x4C, 0x41
_CHIPS = {"gfx942": _GFX942, "gfx1100": _GFX1100}
_NOTE, _SYMTAB, _STRTAB, _PROGBITS, _NOBITS = 7, 2, 3, 1, 8
_WRITABLE_AND_ALLOCATED = 3
_POINTER = {".size": 8, ".value_kind": "global_buffer", ".address_space": "global"}
_NUMBER = {".size": 4, ".value_kind": "by_value"}


@dataclass(frozen=True)
class _Section:
    name: str
    kind: int
    data: bytes = b""
    flags: int = 0
    size: int | None = None
    link: int = 0
    entry: int = 0


def kernel(name: str = "_Z5scalePfi", **facts: Any) -> dict[str, Any]:
    """The metadata of a kernel with a pointer and a number; keys without their dot replace what it has."""
    usual: dict[str, Any] = {
        "name": name, "symbol": f"{name}.kd", "wavefront_size": 64, "vgpr_count": 16, "sgpr_count": 20, "agpr_count": 0,
        "vgpr_spill_count": 0, "sgpr_spill_count": 0, "group_segment_fixed_size": 0, "private_segment_fixed_size": 0,
        "kernarg_segment_size": 16, "max_flat_workgroup_size": 1024, "uses_dynamic_stack": False,
        "args": arguments(_POINTER, _NUMBER),
    }  # fmt: skip
    return {f".{key}": value for key, value in {**usual, **facts}.items()}


def arguments(*shapes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Arguments one after the other, each aligned to its size."""
    offset, placed = 0, []
    for shape in shapes:
        offset = -(-offset // shape[".size"]) * shape[".size"]
        placed.append({".offset": offset, **shape})
        offset += shape[".size"]
    return placed


POINTER, NUMBER = _POINTER, _NUMBER


def hidden(kind: str, offset: int, size: int = 4) -> dict[str, Any]:
    """An argument that the runtime fills in."""
    return {".offset": offset, ".size": size, ".value_kind": f"hidden_{kind}"}


def code_object(
    *kernels: Mapping[str, Any],
    arch: str = "gfx942",
    variables: Mapping[str, int] | None = None,
    unnamed_bytes: int = 0,
) -> bytes:
    """An ELF file with these kernels, and writable variables with and without a name."""
    names = b"\0"
    symbols = bytes(24)
    address = 0
    for name, size in (variables or {}).items():
        symbols += struct.pack("<IBBHQQ", len(names), 0x11, 0, 2, address, size)
        names += name.encode() + b"\0"
        address += size
    metadata = msgspec.msgpack.encode({"amdhsa.kernels": list(kernels)})
    padded = metadata + bytes(-len(metadata) % 4)
    sections = (
        _Section("", 0),
        _Section(".note", _NOTE, struct.pack("<III8s", 7, len(metadata), 32, b"AMDGPU") + padded),
        _Section(".bss", _NOBITS, flags=_WRITABLE_AND_ALLOCATED, size=address + unnamed_bytes),
        _Section(".symtab", _SYMTAB, symbols, link=4, entry=24),
        _Section(".strtab", _STRTAB, names),
    )
    return _elf(sections, _CHIPS[arch])


def _elf(sections: Sequence[_Section], flags: int) -> bytes:
    names = b"".join(section.name.encode() + b"\0" for section in sections) + b".shstrtab\0"
    every = (*sections, _Section(".shstrtab", _STRTAB, names))
    body, headers, name_at = b"", b"", 0
    for section in every:
        size = len(section.data) if section.size is None else section.size
        place = (
            name_at,
            section.kind,
            section.flags,
            0,
            64 + len(body),
            size,
            section.link,
            0,
            1,
            section.entry,
        )
        headers += struct.pack("<IIQQQQIIQQ", *place)
        body += section.data
        name_at += len(section.name) + 1
    start = struct.pack(
        "<4sBBBBB7xHHIQQQIHHHHHH", b"\x7fELF", 2, 1, 1, 64, 3,
        3, 224, 1, 0, 0, 64 + len(body), flags, 64, 56, 0, 64, len(every), len(every) - 1,
    )  # fmt: skip
    return start + body + headers


def image(*kernels: Mapping[str, Any], **settings: Any) -> CodeImage:
    """Such a code object as guards look at it."""
    data = code_object(*kernels, **settings)
    return CodeImage(read_hsaco(Elf(data, "by hand"), 0, "by hand", len(data)), data)
