"""Snapshots of compiled kernels, and what is counted while they are executed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from rocm_perf.analysis.emulated.build import counting
from rocm_perf.arch.codeobject import reader
from rocm_perf.arch.codeobject.disassembly import NoDisassemblerError, find_disassembler
from rocm_perf.errors import ToolAbsentError
from rocm_perf.model.results.count import Accesses, Counting
from rocm_perf.replay.counted import observe
from rocm_perf.replay.replayer import ready
from rocm_perf.replay.snapshot import Snapshot
from rocm_perf.softgpu.build import emulator
from tests.amd_snapshots import KNOWN_WORK, Launched, write_snapshot
from tests.compile_amd import Compiler

UNFUSED = "-ffp-contract=off"


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
        source = next((unit for unit in ("mfma", "wmma") if unit in kernel), "planted")
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


def access(result: Counting, space: str, what: str) -> Accesses:
    return next(one for one in result.totals.accesses if (one.space, one.what) == (space, what))


def ids(result: Counting) -> list[str]:
    return [finding.id for finding in result.findings]
