"""The machine code of the kernels that matter, looked for in files: bounded in time, size and number. Nothing of the
files is executed, and what was left out is said."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from rocm_perf.arch.codeobject import disassembly, nvdisasm
from rocm_perf.arch.codeobject.disassembly import Instruction
from rocm_perf.arch.codeobject.elf import Elf
from rocm_perf.arch.codeobject.mix import UNDECODED
from rocm_perf.arch.codeobject.model import CodeObject, Kernel
from rocm_perf.arch.codeobject.reader import walk
from rocm_perf.arch.codeobject.targets import fit
from rocm_perf.arch.codeobject.work import counted
from rocm_perf.errors import InputError, RocmPerfError
from rocm_perf.model.device_code import DeviceCode, KernelCode
from rocm_perf.units import format_count

_MOST_KEPT_BYTES = 1 << 30  # of images that have a kernel which is looked for
_MOST_CODE_BYTES = 4 << 20  # of one kernel; larger ones are listed without their instructions
_AT_ONCE = 32  # kernels that the disassembler is asked for; what takes too long costs no others
_MOST_NOTICES = 20
_MOST_UNDECODED = 0.01  # of the instructions


class CodeSource(NamedTuple):
    """A file, or a part of one: its offset and size."""

    path: Path
    span: tuple[int, int] | None = None


class Wanted(msgspec.Struct, frozen=True):
    """Which kernels are looked for: `matches` judges a symbol; `words` are parts of their names, one of which the file
    must contain (none: whatever it contains); `archs` are the GPUs they ran on (none: any)."""

    matches: Callable[[str], bool]
    words: tuple[str, ...] = ()
    archs: tuple[str, ...] = ()

    def runs(self, arch: str) -> bool:
        """Whether one of the GPUs runs code for this architecture."""
        return not self.archs or any(fit(arch, gpu) for gpu in self.archs)

    def fit(self, arch: str) -> int:
        """How well code for this architecture fits the GPUs: higher is better."""
        return max((fit(arch, gpu) for gpu in self.archs), default=1)


class _Found(NamedTuple):
    """One kernel in one image."""

    kernel: Kernel
    code_object: CodeObject
    image: memoryview
    path: Path
    changed: float


class _Survey:
    """What was found so far, and how long may still be looked."""

    def __init__(self, wanted: Wanted, limit_s: float, demangle: Callable[[str], str]) -> None:
        self.wanted = wanted
        self.demangle = demangle
        self.deadline = time.monotonic() + limit_s
        self.found: dict[tuple[str, str], list[_Found]] = {}
        self.notices: list[str] = []
        self.kept_bytes = 0
        words = "|".join(re.escape(word) for word in wanted.words)
        self.pattern = re.compile(words.encode()) if words else None

    @property
    def left_s(self) -> float:
        return self.deadline - time.monotonic()

    def look_into(self, source: CodeSource) -> None:
        """Find kernels in a file. One that cannot be read is said, and changes nothing."""
        changed = source.path.stat().st_mtime
        name = source.path.name
        for item, image in walk(
            source.path, self.wanted.runs, lambda data: self._may_hold(data, name), source.span
        ):
            self._take(item, image, source.path, changed)

    def _may_hold(self, image: memoryview, name: str) -> bool:
        """Whether an image contains the name of a kernel that is looked for; raises if there is no time to look."""
        if self.left_s <= 0:
            raise InputError(f"{name} was not read to its end", "the time for reading code is used up")
        return self.pattern is None or self.pattern.search(image) is not None

    def _take(self, item: CodeObject, image: memoryview, path: Path, changed: float) -> None:
        kernels = [kernel for kernel in item.kernels if self.wanted.matches(kernel.name)]
        if not kernels or not self.wanted.runs(item.arch):
            return
        self.kept_bytes += len(image)
        if self.kept_bytes > _MOST_KEPT_BYTES:
            raise InputError(
                f"{path.name} was not read to its end", "it holds too much code for these kernels"
            )
        for kernel in kernels:
            known = self.found.setdefault((kernel.name, item.arch), [])
            known.append(_Found(kernel, item, image, path, changed))

    def chosen(self) -> list[tuple[_Found, int]]:
        """The code of each kernel that fits the GPUs best and is newest; and how many different ones there are."""
        best: dict[str, int] = {}
        for symbol, arch in self.found:
            best[symbol] = max(best.get(symbol, 0), self.wanted.fit(arch))
        chosen = []
        for (symbol, arch), known in self.found.items():
            if not self.wanted.archs or self.wanted.fit(arch) == best[symbol]:
                newest = max(known, key=lambda one: one.changed)
                chosen.append((newest, len({bytes(one.image) for one in known}) if len(known) > 1 else 1))
        return chosen


def survey(
    sources: Iterable[CodeSource], wanted: Wanted, *, limit_s: float, demangle: Callable[[str], str]
) -> DeviceCode:
    """Read the code of the wanted kernels in these files, for so long at most."""
    state = _Survey(wanted, limit_s, demangle)
    unread = 0
    for source in sources:
        if state.left_s <= 0:
            unread += 1
            continue
        try:
            state.look_into(source)
        except (RocmPerfError, OSError) as error:
            name, said = source.path.name, _said(error)
            state.notices.append(said if name in said else f"{name}: {said}")
    if unread:
        state.notices.append(
            f"{format_count(unread, 'file')} with code left out: the {limit_s:g} s for reading code are used up"
        )
    kernels = _with_instructions(state)
    return DeviceCode(kernels=tuple(kernels), notices=tuple(dict.fromkeys(state.notices))[:_MOST_NOTICES])


def _said(error: RocmPerfError | OSError) -> str:
    """What happened and why, without what to do next: nobody has to do anything."""
    if isinstance(error, RocmPerfError):
        return f"{error.what}: {error.why}" if error.why else error.what
    return error.strerror or str(error)


def _with_instructions(state: _Survey) -> list[KernelCode]:
    """The chosen kernels, disassembled image by image as long as there is time."""
    by_image: dict[int, list[tuple[_Found, int]]] = {}
    for found, variants in state.chosen():
        by_image.setdefault(id(found.image), []).append((found, variants))
    kernels = []
    for of_image in by_image.values():
        for start in range(0, len(of_image), _AT_ONCE):
            members = of_image[start : start + _AT_ONCE]
            listings, why = _listings([found for found, _ in members], state.left_s)
            for found, variants in members:
                base = _described(found, variants, state.demangle)
                kernels.append(_read_one(base, found, listings.get(found.kernel.name, ()), why))
    return kernels


def _read_one(base: KernelCode, found: _Found, body: Sequence[Instruction], why: str) -> KernelCode:
    if not body:
        return replace(base, unread=why or "the disassembler did not find its code")
    undecoded = sum(entry.text.startswith(UNDECODED) for entry in body)
    if undecoded > _MOST_UNDECODED * len(body):
        arch = found.code_object.arch
        return replace(
            base, unread=f"the disassembler is too old for {arch}: {undecoded:,} instructions unknown to it"
        )
    is_amd = found.code_object.kind == "AMD code object"
    mix, largest = counted(body, is_amd=is_amd, scratch_bytes=found.kernel.scratch_bytes)
    return replace(base, mix=mix, largest_loop_bytes=largest)


def _listings(members: Sequence[_Found], left_s: float) -> tuple[dict[str, tuple[Instruction, ...]], str]:
    """The instructions of some kernels of one image, or why there are none."""
    fitting = [one.kernel.name for one in members if (one.kernel.code_bytes or 0) <= _MOST_CODE_BYTES]
    if not fitting:
        return {}, f"its code is larger than {_MOST_CODE_BYTES >> 20} MiB"
    if left_s <= 0:
        return {}, "the time for reading code was used up"
    first = members[0]
    try:
        if first.code_object.kind == "AMD code object":
            tool = disassembly.find_disassembler(os.environ.get(disassembly.VARIABLE))
            return disassembly.disassemble(bytes(first.image), fitting, tool, timeout_s=left_s), ""
        tool = nvdisasm.find_nvdisasm(os.environ.get(nvdisasm.VARIABLE))
        symbols = Elf(first.image, first.path.name).symbols
        numbers = {symbol.name: number for number, symbol in enumerate(symbols) if symbol.name in fitting}
        return nvdisasm.disassemble(bytes(first.image), numbers, tool, timeout_s=left_s), ""
    except RocmPerfError as error:
        return {}, str(error)


def _described(found: _Found, variants: int, demangle: Callable[[str], str]) -> KernelCode:
    kernel = found.kernel
    return KernelCode(
        symbol=kernel.name,
        name=demangle(kernel.name),
        arch=found.code_object.arch,
        file=str(found.path),
        vgprs=kernel.vgprs,
        agprs=kernel.agprs,
        sgprs=kernel.sgprs,
        vgpr_spills=kernel.vgpr_spills,
        sgpr_spills=kernel.sgpr_spills,
        scratch_bytes=kernel.scratch_bytes,
        lds_bytes=kernel.lds_bytes,
        code_bytes=kernel.code_bytes,
        wave_size=kernel.wave_size,
        variants=variants,
    )
