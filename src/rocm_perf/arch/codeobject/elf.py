"""Reads ELF files with pyelftools; every size is checked against the file before anything is read."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import msgspec
from elftools.common.exceptions import DWARFError, ELFError
from elftools.construct import ConstructError
from elftools.elf.elffile import ELFFile

from rocm_perf.errors import InputError

MAGIC = b"\x7fELF"
EM_CUDA = 190
EM_AMDGPU = 224

_HEADER_BYTES = 64
_SECTION_BYTES = 64
_SYMBOL_BYTES = 24
_MOST_NAME_BYTES = 1 << 30  # the most that all names of a table may add up to
_SYMBOL_TABLES = ("SHT_SYMTAB", "SHT_DYNSYM")

# What pyelftools raises for headers that make no sense.
_NONSENSE = (
    ELFError, DWARFError, ConstructError, UnicodeError, ValueError, LookupError, TypeError, AttributeError,
    AssertionError, ArithmeticError, RecursionError, struct.error,
)  # fmt: skip


class Symbol(msgspec.Struct, frozen=True):
    """A name in the symbol table."""

    name: str
    kind: str  # STT_FUNC, STT_OBJECT
    section: int | None
    address: int
    size_bytes: int


class Segment(msgspec.Struct, frozen=True):
    """A part of the memory that a loader makes of the file: its data, and zeros up to its size."""

    address: int
    offset: int  # in the file
    size_bytes: int
    is_writable: bool
    data: memoryview


class Relocation(msgspec.Struct, frozen=True):
    """A word of that memory which depends on where it lies."""

    address: int
    kind: int
    symbol: str  # empty: the file's own base
    addend: int


class Section(msgspec.Struct, frozen=True):
    """A named part of the file; `data` is empty if it takes no space there."""

    index: int
    name: str
    kind: str
    flags: int
    info: int
    size_bytes: int
    data: memoryview


class Elf:
    """A 64-bit little-endian ELF file in memory."""

    def __init__(self, data: bytes | memoryview, name: str) -> None:
        self._data = memoryview(data)
        self._name = name
        self._check_header()
        with self._sensible():
            self._file = ELFFile(io.BufferedReader(_Window(self._data)))
            self._check_tables()

    @cached_property
    def machine(self) -> int:
        return int.from_bytes(self._data[18:20], "little")

    @cached_property
    def flags(self) -> int:
        return int.from_bytes(self._data[48:52], "little")

    @cached_property
    def abi_version(self) -> int:
        return self._data[8]

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        with self._sensible():
            sections = tuple(self._section(number, part) for number, part in enumerate(self._parts))
        if sum(len(section.data) for section in sections) > len(self._data):
            raise self._broken("its sections overlap")
        return sections

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """What a loader puts into memory."""
        with self._sensible():
            parts = [part for part in self._file.iter_segments() if part["p_type"] == "PT_LOAD"]
            if any(part["p_offset"] + part["p_filesz"] > len(self._data) for part in parts):
                raise self._broken("its segments lie beyond its end")
            return tuple(self._segment(part) for part in parts)

    @cached_property
    def relocations(self) -> tuple[Relocation, ...]:
        """What a loader changes in the segments."""
        with self._sensible():
            tables = [part for part in self._parts if part["sh_type"] == "SHT_RELA" and part["sh_flags"] & 2]
            return tuple(
                Relocation(
                    entry["r_offset"],
                    entry["r_info_type"],
                    self._symbol_name(table, entry),
                    entry["r_addend"],
                )
                for table in tables
                for entry in table.iter_relocations()
            )

    def notes(self, owner: str, kind: int) -> tuple[bytes, ...]:
        """The content of the notes of one owner and kind, from the sections or, if those are stripped, the segments."""
        if any(section.kind == "SHT_NOTE" for section in self.sections):
            parts = [part for part in self._parts if part["sh_type"] == "SHT_NOTE"]
        else:
            parts = self._note_segments()
        with self._sensible():
            return tuple(
                bytes(note["n_descdata"])
                for part in parts
                for note in part.iter_notes()
                if note["n_name"] == owner and note["n_type"] == kind
            )

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """The symbols of the full table, or of the dynamic one if that is stripped, in the order of their numbers."""
        numbers = {section.kind: section.index for section in self.sections}
        number = next((numbers[kind] for kind in _SYMBOL_TABLES if kind in numbers), None)
        if number is None:
            return ()
        with self._sensible():
            table = self._parts[number]
            if table["sh_entsize"] != _SYMBOL_BYTES:
                raise self._broken("its symbols have an unknown size")
            self._check_names(self.sections[table["sh_link"]].data, table.num_symbols())
            return tuple(_symbol(entry) for entry in table.iter_symbols())

    @cached_property
    def _parts(self) -> list[Any]:
        return list(self._file.iter_sections())

    def _note_segments(self) -> list[Any]:
        with self._sensible():
            parts = [part for part in self._file.iter_segments() if part["p_type"] == "PT_NOTE"]
            if sum(part["p_filesz"] for part in parts) > len(self._data):
                raise self._broken("its notes lie beyond its end")
        return parts

    def _segment(self, part: Any) -> Segment:
        return Segment(
            address=part["p_vaddr"],
            offset=part["p_offset"],
            size_bytes=part["p_memsz"],
            is_writable=bool(part["p_flags"] & 2),
            data=self._data[part["p_offset"] : part["p_offset"] + part["p_filesz"]],
        )

    def _symbol_name(self, table: Any, entry: Any) -> str:
        number = entry["r_info_sym"]
        return str(self._parts[table["sh_link"]].get_symbol(number).name) if number else ""

    def _section(self, number: int, part: Any) -> Section:
        offset, size, stored = part["sh_offset"], part["sh_size"], part["sh_type"] != "SHT_NOBITS"
        if stored and part["sh_type"] != "SHT_NULL" and offset + size > len(self._data):
            raise self._broken(f"section {number} lies beyond its end")
        return Section(
            index=number,
            name=part.name,
            kind=str(part["sh_type"]),
            flags=part["sh_flags"],
            info=part["sh_info"],
            size_bytes=size,
            data=self._data[offset : offset + size] if stored else self._data[:0],
        )

    def _check_header(self) -> None:
        if len(self._data) < _HEADER_BYTES:
            raise self._broken("it ends within the ELF header")
        if bytes(self._data[4:6]) != b"\x02\x01":
            raise self._broken("it is not 64-bit little-endian, as GPU code is")

    def _check_tables(self) -> None:
        header, count = self._file.header, self._file.num_sections()
        entry, offset = header["e_shentsize"], header["e_shoff"]
        if count and (entry != _SECTION_BYTES or offset + count * entry > len(self._data)):
            raise self._broken(f"its {count:,} section headers lie beyond its end")
        segments = self._file.num_segments() * header["e_phentsize"]
        if segments and header["e_phoff"] + segments > len(self._data):
            raise self._broken("its program headers lie beyond its end")
        if count:
            names = self._file.get_section(self._file.get_shstrndx())
            offset, size = names["sh_offset"], names["sh_size"]
            self._check_names(self._data[offset : offset + size], count)

    def _check_names(self, table: memoryview, count: int) -> None:
        """Refuses names without an end: reading them again and again could take any time."""
        longest = max(map(len, bytes(table).split(b"\0")))
        if longest * count > _MOST_NAME_BYTES:
            raise self._broken("its names do not end")

    def _broken(self, why: str) -> InputError:
        return InputError(f"cannot read {self._name}", f"the ELF file is damaged: {why}")

    @contextmanager
    def _sensible(self) -> Iterator[None]:
        try:
            yield
        except _NONSENSE as error:
            raise self._broken(
                str(error).splitlines()[0][:120] if str(error) else type(error).__name__
            ) from error


def _symbol(entry: Any) -> Symbol:
    where = entry["st_shndx"]
    return Symbol(
        name=entry.name,
        kind=str(entry["st_info"]["type"]),
        section=where if isinstance(where, int) else None,
        address=entry["st_value"],
        size_bytes=entry["st_size"],
    )


class _Window(io.RawIOBase):
    """A stream over memory, without a copy: host libraries with GPU code can be gigabytes large."""

    def __init__(self, data: memoryview) -> None:
        super().__init__()
        self._data = data
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        chunk = self._data[self._position : self._position + len(buffer)]
        buffer[: len(chunk)] = chunk
        self._position += len(chunk)
        return len(chunk)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: len(self._data)}[whence]
        self._position = max(0, start + offset)
        return self._position
