"""Any file with GPU code in it: code objects and cubins, bundles and fat binaries, programs and libraries."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import msgspec

from rocm_perf.arch.codeobject import bundles, fatbin
from rocm_perf.arch.codeobject.cubin import read_cubin
from rocm_perf.arch.codeobject.elf import EM_AMDGPU, EM_CUDA, MAGIC, Elf
from rocm_perf.arch.codeobject.hsaco import read_hsaco
from rocm_perf.arch.codeobject.model import CodeObject
from rocm_perf.errors import InputError

_READERS = {EM_AMDGPU: read_hsaco, EM_CUDA: read_cubin}
_READ_WHOLE_BYTES = 256 << 20  # only libraries of many kernels for many chips are larger
_ITSELF = "the file itself"


class _Image(msgspec.Struct, frozen=True):
    """The bytes of one code object, or the reason why there are none to read."""

    place: str
    data: memoryview
    size_bytes: int
    unread: CodeObject | None = None


def read(path: Path) -> tuple[CodeObject, ...]:
    """Every code object in the file, in order."""
    with _contents(path) as data:
        return tuple(_code_object(index, image) for index, image in enumerate(_images(data, path.name)))


def walk(
    path: Path,
    runs: Callable[[str], bool],
    may_hold: Callable[[memoryview], bool] = lambda _: True,
    span: tuple[int, int] | None = None,
) -> Iterator[tuple[CodeObject, memoryview]]:
    """Each code object of a file, or of a part of it (offset and size), with its image; one at a time, so that a reader
    can stop. Images that cannot hold what is looked for are passed over, and those in a CUDA fat binary for an
    architecture that does not run are not unpacked."""
    with _contents(path) as data:
        part = data if span is None else data[span[0] : span[0] + span[1]]
        for index, image in enumerate(_images(part, path.name, runs)):
            if image.unread is None and may_hold(image.data):
                yield _code_object(index, image), image.data


def image_of(path: Path, index: int) -> bytes:
    """The ELF image of one of the code objects that `read` returns."""
    with _contents(path) as data:
        for number, image in enumerate(_images(data, path.name)):
            if number == index:
                return bytes(image.data)
    raise InputError(f"{path} has no code object {index}")


@contextmanager
def _contents(path: Path) -> Iterator[memoryview]:
    try:
        with path.open("rb") as file:
            data = _bytes_of(file)
    except OSError as error:
        raise InputError(f"cannot read {path}", error.strerror or str(error)) from error
    if not len(data):
        raise InputError(f"{path} is empty", next_step="Give a .hsaco, .co, .cubin, program or library.")
    # Not closed explicitly: a traceback may keep views of it, and it is freed with the last of them.
    yield memoryview(data)


def _bytes_of(file: BinaryIO) -> bytes | mmap.mmap:
    """All of a file. Only a large one is mapped: if a compiler cuts it meanwhile, the mapping ends this process."""
    if os.fstat(file.fileno()).st_size <= _READ_WHOLE_BYTES:
        return file.read(_READ_WHOLE_BYTES)
    return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _images(
    data: memoryview, name: str, is_wanted: Callable[[str], bool] = lambda _: True
) -> Iterator[_Image]:
    if bytes(data[:4]) == MAGIC:
        yield from _of_elf(data, name, is_wanted)
    elif bytes(data[: len(bundles.MAGIC)]) == bundles.MAGIC or bytes(data[:4]) == bundles.COMPRESSED_MAGIC:
        yield from _of_bundles(data, "the file", is_wanted)
    elif bytes(data[:4]) == fatbin.MAGIC:
        yield from _of_fatbin(data, "the file", is_wanted)
    else:
        raise InputError(
            f"{name} does not contain GPU code in a known format",
            "it is not an ELF file, offload bundle or fat binary",
            "Give a .hsaco, .co, .cubin, program or library.",
        )


def _of_elf(data: memoryview, name: str, is_wanted: Callable[[str], bool]) -> Iterator[_Image]:
    elf = Elf(data, name)
    if elf.machine in _READERS:
        yield _Image(_ITSELF, data, len(data))
        return
    has_code = False
    for section in elf.sections:
        if section.name == ".hip_fatbin" and len(section.data):
            has_code = True
            yield from _of_bundles(section.data, section.name, is_wanted)
        elif section.name in (".nv_fatbin", "__nv_relfatbin") and len(section.data):
            has_code = True
            yield from _of_fatbin(section.data, section.name, is_wanted)
    if not has_code:
        raise InputError(
            f"{name} does not contain GPU code",
            "it has neither a .hip_fatbin nor a .nv_fatbin section",
            "A library that loads its kernels from files has them beside it (*.hsaco, *.co).",
        )


def _of_bundles(data: memoryview, name: str, is_wanted: Callable[[str], bool]) -> Iterator[_Image]:
    for entry in bundles.entries(data, name):
        # hipv4-amdgcn-amd-amdhsa--gfx942:xnack-; what names no architecture that we know is looked into
        arch = entry.place.rpartition("--")[2].partition(":")[0]
        if not arch.startswith("gfx") or is_wanted(arch):
            yield _Image(entry.place, entry.data, len(entry.data))


def _of_fatbin(data: memoryview, name: str, is_wanted: Callable[[str], bool]) -> Iterator[_Image]:
    for entry in fatbin.entries(data, name, is_wanted):
        stub = None
        if entry.unread:
            stub = CodeObject(
                index=0,
                place=entry.place,
                kind="NVIDIA PTX" if entry.is_ptx else "NVIDIA cubin",
                arch=entry.arch,
                size_bytes=entry.size_bytes,
                unread=entry.unread,
            )
        yield _Image(place=entry.place, data=entry.data, size_bytes=entry.size_bytes, unread=stub)


def _code_object(index: int, image: _Image) -> CodeObject:
    import msgspec

    if image.unread is not None:
        return msgspec.structs.replace(image.unread, index=index)
    if bytes(image.data[:4]) != MAGIC:
        return _unknown(index, image, "it is not an ELF file (device libraries are kept as LLVM bitcode)")
    elf = Elf(image.data, image.place)
    reader = _READERS.get(elf.machine)
    if reader is None:
        return _unknown(index, image, f"it is code for ELF machine {elf.machine}")
    return reader(elf, index, image.place, image.size_bytes)


def _unknown(index: int, image: _Image, why: str) -> CodeObject:
    return CodeObject(
        index=index, place=image.place, kind="unknown", arch="?", size_bytes=image.size_bytes, unread=why
    )
