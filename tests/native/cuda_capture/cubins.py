"""Cubins as far as capture looks at them: ELF files with a section for each kernel and a symbol for each variable."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_PROGBITS, _SYMTAB, _STRTAB = 1, 2, 3
_OBJECT = 0x11  # global, data
_CUDA = 190


@dataclass(frozen=True)
class _Section:
    name: str
    kind: int
    content: bytes
    link: int = 0


def cubin(kernels: Iterable[str], code: bytes = b"code", variables: Sequence[str] = ()) -> bytes:
    """Section 1 holds the names of sections, 2 those of symbols, 3 the variables, 4 the symbols."""
    names, symbols = b"\0", _SYMBOL.pack(0, 0, 0, 0, 0, 0)
    for at, name in enumerate(variables):
        symbols += _SYMBOL.pack(len(names), _OBJECT, 0, 3, 4096 * at, 4096)
        names += name.encode() + b"\0"
    return _elf(
        [
            _Section(".strtab", _STRTAB, names),
            _Section(".nv.global", _PROGBITS, b""),
            _Section(".symtab", _SYMTAB, symbols, link=2),
            *(_Section(f".text.{name}", _PROGBITS, code) for name in kernels),
        ]
    )


def _elf(sections: Sequence[_Section]) -> bytes:
    names, places = b"\0.shstrtab\0", []
    for section in sections:
        places.append(len(names))
        names += section.name.encode() + b"\0"
    body = bytearray(names)
    table = [bytes(_SECTION.size), _section(1, _STRTAB, 0, len(names), 0)]
    for place, section in zip(places, sections, strict=True):
        table.append(_section(place, section.kind, len(body), len(section.content), section.link))
        body += section.content
    ident = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    end = _HEADER.size + len(body)
    header = _HEADER.pack(ident, 2, _CUDA, 1, 0, 0, end, 0, _HEADER.size, 0, 0, _SECTION.size, len(table), 1)
    return header + bytes(body) + b"".join(table)


def _section(name: int, kind: int, at: int, size: int, link: int) -> bytes:
    return _SECTION.pack(name, kind, 0, 0, _HEADER.size + at, size, link, 0, 1, 0)
