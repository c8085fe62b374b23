"""A dispatch to be executed, and the emulator's PLAN of it as lines of words. Pure: nothing here reads or runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rocm_perf.errors import UsageError
from rocm_perf.softgpu.code import LoadedCode

Three = tuple[int, int, int]


@dataclass(frozen=True)
class Region:
    """Memory that the kernel sees."""

    base: int
    size_bytes: int
    file: Path | None = None  # None: zeros
    offset: int = 0  # in the file
    is_writable: bool = True


@dataclass(frozen=True)
class Dump:
    """Memory that is kept after the execution; it lies within one region."""

    base: int
    size_bytes: int
    file: Path


@dataclass(frozen=True, kw_only=True)
class Dispatch:
    """One launch of a kernel; sizes in work-items, as in a dispatch packet."""

    descriptor: int  # address
    kernarg: int  # address
    grid: Three
    workgroup: Three
    lds_bytes: int = 0  # of a workgroup, static and dynamic
    scratch_bytes: int = 0  # of a work-item
    packet: int = 0  # address, for kernels that read their packet


@dataclass(frozen=True, kw_only=True)
class Options:
    """How to execute it."""

    threads: int = 2
    timeout_s: float = 60.0
    counting: bool = False
    workgroups: tuple[range, ...] = ()  # by their linear number; none: all


@dataclass(frozen=True, kw_only=True)
class Emulation:
    """A dispatch with all that it needs."""

    code: LoadedCode
    dispatch: Dispatch
    regions: tuple[Region, ...]  # beside the code's own memory
    dumps: tuple[Dump, ...] = ()
    options: Options = Options()


def plan_text(emulation: Emulation, listing: Path, code_memory: Path) -> str:
    """The PLAN, with files that hold the code's disassembly and its memory."""
    code, options = emulation.code, emulation.options
    regions = (*emulation.regions, Region(code.base, code.size_bytes, code_memory))
    lines = [
        "version 1",
        f"isa {code.arch}",
        f"listing {code.base} {listing}",
        *map(_region_line, regions),
        *(f"dump {dump.base:#x} {dump.size_bytes} {dump.file}" for dump in emulation.dumps),
        *_dispatch_lines(emulation.dispatch),
        *(f"workgroups {some.start} {len(some)} {some.step}" for some in options.workgroups),
        f"threads {options.threads}",
        f"timeout_ms {max(1, round(options.timeout_s * 1000))}",
        f"counts {options.counting:d}",
    ]
    return "".join(f"{_one_line(line)}\n" for line in lines)


def _region_line(region: Region) -> str:
    place = f"{region.base:#x} {region.size_bytes} {region.offset}"
    return f"region {place} {region.is_writable:d} {region.file or '-'}"


def _dispatch_lines(dispatch: Dispatch) -> Iterator[str]:
    yield f"descriptor {dispatch.descriptor:#x}"
    yield f"kernarg {dispatch.kernarg:#x}"
    yield f"packet {dispatch.packet:#x}"
    yield "grid {} {} {}".format(*dispatch.grid)
    yield "workgroup {} {} {}".format(*dispatch.workgroup)
    yield f"group_segment {dispatch.lds_bytes}"
    yield f"private_segment {dispatch.scratch_bytes}"


def _one_line(text: str) -> str:
    if "\n" not in text:
        return text
    why = f"the emulator's plan cannot hold {text!r}"
    raise UsageError("a path has a line break in it", why, "Move or rename the file or folder.")
