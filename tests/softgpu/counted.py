"""Snapshots of compiled kernels, and what is counted while they are executed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from rocm_perf.analysis.emulated.build import counting
from rocm_perf.arch.codeobject import reader
from rocm_perf.arch.codeobject.disassembly import NoDisassemblerError, find_disassembler
from rocm_perf.errors import ToolAbsentError
from rocm_perf.model.results.count import Accesses, Counting, TallyName
from rocm_perf.replay.counted import observe
from rocm_perf.replay.replayer import ready
from rocm_perf.replay.snapshot import Snapshot
from rocm_perf.softgpu.build import emulator
from tests.amd_snapshots import KNOWN_WORK, Launched, write_snapshot
from tests.compile_amd import KERNELS, Compiler

UNFUSED = "-ffp-contract=off"


_SOURCES = ("planted", "mfma", "wmma", "limits")


@dataclass(frozen=True)
class Shop:
    """Makes snapshots in a folder."""

    compiler: Compiler
    folder: Path

    @classmethod
    def of_this_run(cls, factory: pytest.TempPathFactory, folder: Path) -> Shop:
        try:
            find_disassembler()
            emulator()
        except (NoDisassemblerError, ToolAbsentError) as error:
            pytest.skip(str(error))
        return cls(Compiler.of_this_run(factory), folder)

    def code(self, kernel: str, gfx: str, *flags: str) -> Path:
        if kernel in KNOWN_WORK:
            return self.compiler.compile("known_work", gfx, *flags, UNFUSED).path
        source = _source(kernel)
        return self.compiler.compile(source, gfx, *flags).path

    def symbol(self, kernel: str, gfx: str) -> str:
        """The mangled name of a kernel."""
        kernels = reader.read(self.code(kernel, gfx))[0].kernels
        return next(one.name for one in kernels if kernel in one.name)

    def snapshot(self, launched: Launched, gfx: str, *flags: str) -> Snapshot:
        return write_snapshot(self.folder, launched, self.code(launched.kernel, gfx, *flags), gfx)

    def count(self, launched: Launched, gfx: str, *flags: str, most: int | None = None) -> Counting:
        with ready(self.snapshot(launched, gfx, *flags), emulate=True) as replayer:
            return counting(observe(replayer, None, most))


def _source(kernel: str) -> str:
    """The file of tests/kernels that defines a kernel, whatever its mangled name is."""
    texts = {name: (KERNELS / f"{name}.hip").read_text() for name in _SOURCES}
    return next(name for name, text in texts.items() if any(f" {word}(" in text for word in _plain(kernel)))


def _plain(kernel: str) -> tuple[str, ...]:
    mangled = re.match(r"_Z(\d+)(?P<rest>\w+)", kernel)
    return (kernel,) if mangled is None else (mangled["rest"][: int(mangled[1])],)


def access(result: Counting, space: str, what: str) -> Accesses:
    return next(one for one in result.totals.accesses if (one.space, one.what) == (space, what))


def ids(result: Counting) -> list[str]:
    return [finding.id for finding in result.findings]


def tally(result: Counting, name: TallyName) -> float:
    return next((one.amount for one in result.tallies if one.name == name), 0.0)
