"""The gates that need no GPU, and what the code of a candidate shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod

from rocm_perf.arch.codeobject.disassembly import Instruction
from rocm_perf.arch.codeobject.report import Launch
from rocm_perf.errors import RocmPerfError
from rocm_perf.model.results.optimize import Geometry
from rocm_perf.optimize.builds.compilers import vendor_of
from rocm_perf.optimize.builds.gates import LaunchedKernel, built, examined, needs_of, rebuilt
from rocm_perf.optimize.builds.workshop import Build, Workshop
from rocm_perf.optimize.gates import Passage
from rocm_perf.optimize.guards.instructions import instructions_of
from rocm_perf.optimize.guards.looks import looks
from rocm_perf.optimize.loop.trial import Trial
from rocm_perf.optimize.proof.states import States, Variant
from rocm_perf.optimize.source.launches import launches_of
from rocm_perf.optimize.source.model import Kernel
from rocm_perf.optimize.source.parse import Source
from rocm_perf.optimize.static.emulated import emulated_passages
from rocm_perf.optimize.static.rank import View
from rocm_perf.optimize.static.view import facts_of

Block = tuple[int, int, int]


@dataclass
class StaticLaboratory:
    """Compiles candidates for one kernel and one chip, and looks at what came of them."""

    source: Source
    kernel: Kernel
    arch: str
    workshop: Workshop
    original: Build
    symbol: str
    allow_fast_math: bool = False
    states: States | None = None  # on which results are proven by emulation; None: they are not

    def passages(self, trial: Trial) -> Iterator[Passage]:
        """How a trial fares at the gates that need no GPU."""
        yield from looks(
            trial.candidate,
            trial.base.text,
            trial.text,
            self.kernel.qualified,
            allow_fast_math=self.allow_fast_math,
        )
        build, passage = built(self.workshop, trial.text, trial.flags)
        trial.product = build
        yield passage
        if build is None:
            return
        yield rebuilt(self.workshop, build)
        launched = LaunchedKernel(
            symbol=self.symbol,
            arch=self.arch,
            before=self.launch(None),
            after=self.launch(trial.candidate.geometry),
        )
        examination = examined(self.workshop, self.original, build, launched)
        trial.before, trial.after = examination.before, examination.after
        yield from (
            one for one in examination.passages if one.gate != "precision" or not self.allow_fast_math
        )
        if self.states is not None and not self.is_same_code(build):
            variant = Variant(build.product, trial.candidate.geometry)
            types = [parameter.type for parameter in self.kernel.parameters]
            yield from emulated_passages(self.states, variant, types)

    def view(self, build: Build, geometry: Geometry | None = None) -> View:
        """What a build needs, and what its code shows where it can be read here."""
        needs = needs_of(build, self.symbol, self.arch, self.launch(geometry))
        instructions = self._instructions(build)
        return View(needs, facts_of(instructions, needs, self.arch) if instructions else None)

    def is_same_code(self, build: Build) -> bool:
        """Whether the compiler made of a candidate what it made of the original."""
        before, after = (one.code.image(self.arch, self.symbol) for one in (self.original, build))
        return before.data == after.data

    def launch(self, geometry: Geometry | None) -> Launch:
        """How large a block is, as far as the text says; else as large as the code allows."""
        block = geometry.block if geometry else self.block
        return Launch(prod(block) if block else None)

    @cached_property
    def block(self) -> Block | None:
        """The largest block with which the source launches the kernel; None where the text does not say."""
        sizes = [each.block_size for each in launches_of(self.source, self.kernel)]
        known = [tuple(size) for size in sizes if size and None not in size]
        if not known or len(known) < len(sizes):
            return None
        x, y, z = (*max(known, key=lambda size: prod(each or 1 for each in size)), 1, 1)[:3]
        return x or 1, y or 1, z or 1

    def _instructions(self, build: Build) -> tuple[Instruction, ...]:
        if vendor_of(self.arch) != "AMD":
            return ()
        try:
            return instructions_of(build.code.image(self.arch, self.symbol), self.symbol)
        except RocmPerfError:  # no disassembler: what the code object records is all there is
            return ()
