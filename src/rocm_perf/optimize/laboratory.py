"""The laboratory with a real compiler and a real GPU: each stage asks its guards, in the order of the gates."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from rocm_perf.arch.codeobject.report import Launch
from rocm_perf.bench.ceilings.store import chosen
from rocm_perf.model.results.optimize import Resources, Speedup
from rocm_perf.optimize.builds.gates import LaunchedKernel, built, needs_of, precise, rebuilt
from rocm_perf.optimize.builds.workshop import Build, Workshop
from rocm_perf.optimize.gates import Passage
from rocm_perf.optimize.guards.interface import interface_passage
from rocm_perf.optimize.guards.looks import looks
from rocm_perf.optimize.guards.resources import resources_passage
from rocm_perf.optimize.loop.trial import Trial, Version
from rocm_perf.optimize.measure.decide import gain_passage, program_passage
from rocm_perf.optimize.measure.program_ab import ProgramAb, program_ab
from rocm_perf.optimize.measure.race import race
from rocm_perf.optimize.measure.replay_ab import replay_ab
from rocm_perf.optimize.proof.captured import prove_captured
from rocm_perf.optimize.proof.floor import prove_floor
from rocm_perf.optimize.proof.fresh import prove_fresh
from rocm_perf.optimize.proof.inputs import FreshInputs
from rocm_perf.optimize.proof.outputs import OutputReference, prove_outputs, reference_outputs
from rocm_perf.optimize.proof.program import Program
from rocm_perf.optimize.proof.roof import roof_of
from rocm_perf.optimize.proof.states import State, States, Variant
from rocm_perf.optimize.proof.traffic import MustMove, traffic
from rocm_perf.optimize.request import Checked
from rocm_perf.optimize.source.model import Kernel
from rocm_perf.optimize.subject import Subject


@dataclass
class GpuLaboratory:
    """Builds, proves and measures candidates for one kernel. What the original shows is found out once, when it is
    first needed."""

    subject: Subject
    kernel: Kernel
    workshop: Workshop
    original: Build
    states: States
    program: Program  # the original's
    checked: Checked
    least_gain: float
    allow_fast_math: bool = False
    notes: tuple[str, ...] = ()  # what the user should know of the captured states
    _random: random.Random = field(default_factory=random.SystemRandom)  # nobody knows the inputs beforehand

    @property
    def start(self) -> Version:
        """The source as it is."""
        return Version(self.subject.source.text, product=self.original)

    def looked_at(self, trial: Trial) -> Iterator[Passage]:
        """By the text alone, against the version it changes."""
        return looks(
            trial.candidate,
            trial.base.text,
            trial.text,
            self.kernel.qualified,
            allow_fast_math=self.allow_fast_math,
        )

    def prepare(self, trials: Sequence[Trial]) -> None:
        """Build them, as many at once as there are cores."""
        self.workshop.build_all((trial.text, trial.flags) for trial in trials)

    def built(self, trial: Trial) -> Iterator[Passage]:
        """By the code object, against the original's."""
        build, passage = built(self.workshop, trial.text, trial.flags)
        trial.product = build
        yield passage
        if build is None:
            return
        subject = self._launched(trial.version)
        yield interface_passage(self.original.code.images, build.code.images, subject.after.workgroup_size)
        trial.before, trial.after = self.needs(trial.base), self.needs(trial.version)
        yield resources_passage(trial.before, trial.after)
        if not self.allow_fast_math:
            yield precise(self.workshop, self.original, build, subject)

    def raced(self, trials: Sequence[Trial], launches: int) -> Sequence[Speedup]:
        """A first look, against the version that they change."""
        variants = [self.variant(trial.version) for trial in trials]
        return race(self._largest, variants, self.variant(trials[0].base), launches)

    def proven(self, trial: Trial) -> Iterator[Passage]:
        """By a second build and by its results."""
        variant = self.variant(trial.version)
        yield rebuilt(self.workshop, trial.product)
        yield prove_captured(self.states, variant)
        yield prove_fresh(self._inputs, variant, self._seed(), with_sizes=trial.candidate.is_foreign)

    def timed(self, trial: Trial) -> Iterator[Passage]:
        """By its times in replay, in fresh processes."""
        base = self.variant(trial.base)
        measured = replay_ab(self._inputs, self.variant(trial.version), base, seed=self._seed())
        trial.replay = measured.speedup
        yield measured.timed
        roof = roof_of(self._largest.snapshot.dispatch.device, chosen())
        yield prove_floor(self._traffic, measured.states_ns, roof)
        yield gain_passage(measured.speedup, self.least_gain, measured.noise, measured.by_contents)

    def confirmed(self, trial: Trial) -> Iterator[Passage]:
        """By the program as a whole."""
        new = self.program_of(trial.version)
        yield prove_outputs(self._outputs, new)
        measured = program_ab(self.program_of(trial.base), new)
        trial.program = measured.wall
        yield program_passage(measured.wall, measured.kernels)

    def gain_of(self, version: Version) -> Speedup:
        """A version against the original, in replay."""
        return replay_ab(self._inputs, self.variant(version), seed=self._seed()).speedup

    def program_gain_of(self, version: Version) -> ProgramAb:
        """A version against the original, as users run it."""
        return program_ab(self.program, self.program_of(version))

    def variant(self, version: Version) -> Variant:
        """A version as replays launch it."""
        return Variant(version.product.product, version.geometry)

    def program_of(self, version: Version) -> Program:
        """A version as users run it."""
        return replace(self.program, argv=self.subject.command_of(version.product.product))

    def needs(self, version: Version) -> Resources:
        """What the kernel of a version needs."""
        return needs_of(version.product, self.states.kernel, self.subject.arch, self._launch(version))

    @cached_property
    def _largest(self) -> State:
        """The state on which a launch does the most."""
        return max(self.states, key=lambda state: math.prod(state.snapshot.dispatch.grid))

    @cached_property
    def _inputs(self) -> FreshInputs:
        return FreshInputs(self.states, [parameter.type for parameter in self.kernel.parameters])

    @cached_property
    def _traffic(self) -> tuple[MustMove, ...]:
        moved = traffic(self._inputs, self._seed())
        said = (self.checked.flops if state is self._largest else 0.0 for state in self.states)
        return tuple(replace(one, flops=flops) for one, flops in zip(moved, said, strict=True))

    @cached_property
    def _outputs(self) -> OutputReference:
        return reference_outputs(self.program, self.checked.files, self.checked.tolerances)

    def _seed(self) -> int:
        return self._random.getrandbits(63)

    def _launched(self, version: Version) -> LaunchedKernel:
        return LaunchedKernel(
            symbol=self.states.kernel,
            arch=self.subject.arch,
            before=self._launch(self.start),
            after=self._launch(version),
        )

    def _launch(self, version: Version) -> Launch:
        """The largest block that is launched."""
        dispatches = [state.snapshot.dispatch for state in self.states]
        blocks = (
            [one.workgroup for one in dispatches] if version.geometry is None else [version.geometry.block]
        )
        return Launch(max(map(math.prod, blocks)), max(one.dynamic_lds_bytes for one in dispatches))
