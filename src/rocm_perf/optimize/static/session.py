"""`rocm-perf optimize --static`: candidates compiled for a chip that need not be here, and ranked by their code."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from rocm_perf.analysis.basis.names import demangle
from rocm_perf.backends.machine import Machine
from rocm_perf.model.results.optimize import Attempt, Optimization, Verdict
from rocm_perf.optimize.builds.compilers import Compiler, find_compilers, vendor_of
from rocm_perf.optimize.builds.device_code import device_recipe
from rocm_perf.optimize.builds.workshop import Workshop
from rocm_perf.optimize.candidate import Candidate, Refused
from rocm_perf.optimize.captured_launch import launch_of
from rocm_perf.optimize.choice import Prospect
from rocm_perf.optimize.loop.ledger import refused_attempt
from rocm_perf.optimize.loop.trial import Trial, Version, passes
from rocm_perf.optimize.profiling import Say, given_document, prospect_or_none
from rocm_perf.optimize.proof.states import States
from rocm_perf.optimize.proposing import Proposing, proposers_of
from rocm_perf.optimize.request import Request
from rocm_perf.optimize.static.emulated import emulated_states
from rocm_perf.optimize.static.laboratory import StaticLaboratory
from rocm_perf.optimize.static.rank import View, placed
from rocm_perf.optimize.subject import Subject
from rocm_perf.optimize.transforms.setting import CapturedLaunch, Setting
from rocm_perf.units import format_count


def ranked(request: Request, subject: Subject, machine: Machine, say: Say) -> Optimization:
    """The candidates for a chip, the most promising first. Nothing is measured, and nothing is accepted."""
    compiler = find_compilers(machine, subject.arch).for_vendor(vendor_of(subject.arch))
    with tempfile.TemporaryDirectory(prefix="rocm-perf-optimize-") as tools:
        recipe = device_recipe(subject.path, compiler, subject.arch, folder=Path(tools), like=subject.recipe)
        with Workshop(recipe, limit_s=request.timeout_s, jobs=os.cpu_count() or 1) as workshop:
            say(f"compiling {subject.path.name} as it is for {subject.arch}, by {compiler}")
            prospect = _prospect(request, subject, say)
            tolerances = request.checked.tolerances
            with emulated_states(request.snapshots, tolerances, request.timeout_s) as states:
                laboratory = _opened(request, subject, workshop, prospect, states)
                ranking = _Ranking(
                    request=request,
                    subject=subject,
                    compiler=compiler,
                    laboratory=laboratory,
                    prospect=prospect,
                )
                return ranking.run(say)


def _prospect(request: Request, subject: Subject, say: Say) -> Prospect | None:
    """What a recording says that the user gave; none is made here."""
    path = request.profile
    if path is None:
        return None
    names = [kernel.base for kernel in subject.source.kernels]
    return prospect_or_none(lambda: given_document(path), names, request.kernel, say)


def _opened(
    request: Request,
    subject: Subject,
    workshop: Workshop,
    prospect: Prospect | None,
    states: States | None,
) -> StaticLaboratory:
    source = subject.source
    wanted = request.kernel or (states.kernel if states else prospect.kernel if prospect else None)
    kernel = source.kernel(wanted) if wanted else source.kernels[0]
    original = workshop.build_original()
    return StaticLaboratory(
        source=source,
        kernel=kernel,
        arch=subject.arch,
        workshop=workshop,
        original=original,
        symbol=states.kernel if states else original.code.symbols(subject.arch, kernel.qualified)[0],
        allow_fast_math=request.allow_fast_math,
        states=states,
    )


@dataclass
class _Ranking:
    """The candidates for one kernel, on their way to their places."""

    request: Request
    subject: Subject
    compiler: Compiler
    laboratory: StaticLaboratory
    prospect: Prospect | None
    _passed: list[tuple[Trial, View]] = field(default_factory=list)
    _stopped: list[Attempt] = field(default_factory=list)

    def run(self, say: Say) -> Optimization:
        """From the proposals to the ranking."""
        prospect, outcomes = self.prospect, self._outcomes()
        trials = self._trials(outcomes)
        say(f"compiling {format_count(len(trials), 'candidate')}")
        left = self._examine(trials)
        original = self.laboratory.view(self.laboratory.original)
        places = list(self._places(original))
        refused = [refused_attempt(one, 0, 0) for one in outcomes if isinstance(one, Refused)]
        return Optimization(
            source=self.subject.path.name,
            kernel=self.laboratory.kernel.qualified,
            arch=self.subject.arch,
            compiler=str(self.compiler),
            cause=f"{prospect.cause}: {prospect.because}" if prospect else "not known without a recording",
            conclusion="static only",
            reason=_reason(len(trials), places),
            attempts=tuple(_numbered((*(one for one, _ in places), *self._stopped, *refused))),
            static=original.facts,
            notes=tuple(self._notes(left, original)),
        )

    @property
    def _start(self) -> Version:
        return Version(self.subject.source.text, product=self.laboratory.original)

    def _outcomes(self) -> Sequence[Candidate | Refused]:
        laboratory = self.laboratory
        compiled = laboratory.original.code.image(self.subject.arch, laboratory.symbol).kernel(
            laboratory.symbol
        )
        assert compiled is not None  # its symbol comes from this code
        proposing = Proposing(
            file=self.subject.path.name,
            kernel=laboratory.kernel.qualified,
            setting=Setting(
                cause=self.prospect.cause if self.prospect else "unknown",
                arch=self.subject.arch,
                wave=compiled.wave_size,
                allow_fast_math=self.request.allow_fast_math,
                launches=self._launches(),
                flags=self.subject.recipe.compiling.argv[1:],
            ),
            compiler=str(self.compiler),
            prospect=self.prospect,
            resources=laboratory.view(laboratory.original).needs,
            proposers=proposers_of(self.request),
            only_proposed=self.request.only_proposed,
        )
        return proposing(self._start, ())

    def _launches(self) -> tuple[CapturedLaunch, ...]:
        """Launches as captured, where there are snapshots; else as the text has them."""
        laboratory = self.laboratory
        if laboratory.states is not None:
            kernel = laboratory.kernel
            return tuple(launch_of(state.replayer, kernel) for state in laboratory.states)
        return (CapturedLaunch(block=laboratory.block),) if laboratory.block else ()

    def _trials(self, outcomes: Iterable[Candidate | Refused]) -> list[Trial]:
        """Each change once, as many as may be tried."""
        trials = (Trial.of(one, self._start) for one in outcomes if isinstance(one, Candidate))
        return list({trial.key: trial for trial in trials}.values())[: self.request.attempts]

    def _examine(self, trials: Sequence[Trial]) -> int:
        """Compile the candidates, as many at once as there are cores; how many were left when the time was up."""
        deadline = time.monotonic() + self.request.seconds
        at_once = os.cpu_count() or 1
        for position in range(0, len(trials), at_once):
            if time.monotonic() > deadline:
                return len(trials) - position
            some = trials[position : position + at_once]
            self.laboratory.workshop.build_all([(trial.text, trial.flags) for trial in some])
            for trial in some:
                self._judge(trial)
        return 0

    def _judge(self, trial: Trial) -> None:
        started = time.monotonic()
        is_passed = passes(self.laboratory.passages(trial), trial)
        trial.seconds = time.monotonic() - started
        if not is_passed:
            last = trial.passages[-1]
            self._stopped.append(self._attempt(trial, "rejected", f"{last.gate}: {last.words}"))
        elif trial.candidate.geometry is None and self.laboratory.is_same_code(trial.product):
            self._stopped.append(self._attempt(trial, "no gain", "the compiler makes the same code of it"))
        else:
            self._passed.append((trial, self.laboratory.view(trial.product, trial.candidate.geometry)))

    def _places(self, original: View) -> Iterator[tuple[Attempt, bool]]:
        """The candidates that passed, in their order, and whether each is ranked before the original."""
        views = {id(trial): view for trial, view in self._passed}
        for place in placed(original, self._passed):
            against = "before the original" if place.is_promising else "not before the original"
            reason = f"{against}: {', '.join(place.reasons) or 'nothing that counts differs'}"
            attempt = self._attempt(place.key, "not measured", reason)
            yield replace(attempt, static=views[id(place.key)].facts), place.is_promising

    def _attempt(self, trial: Trial, verdict: Verdict, reason: str) -> Attempt:
        return trial.attempt(0, 0, verdict=verdict, reason=reason, name=self.subject.path.name)

    def _notes(self, left: int, original: View) -> Iterator[str]:
        laboratory = self.laboratory
        yield "nothing was timed: the order says what to try first on a GPU, not what is faster"
        if laboratory.states is not None:
            states = format_count(len(laboratory.states), "captured dispatch", "captured dispatches")
            yield f"results were proven by emulation, on {states}"
        if self.compiler.note:
            yield f"compiled {self.compiler.note}"
        if laboratory.block is None:
            yield "the source does not say how large its blocks are: occupancy is that of the largest block allowed"
        if original.facts is None:
            yield "no disassembler here reads this code: ranked by what the code object records"
        kernels = self.subject.source.kernels
        if len(kernels) > 1 and not self.request.kernel and not self.prospect:
            others = ", ".join(kernel.qualified for kernel in kernels[1:4])
            yield f"the first of {len(kernels)} kernels; --kernel chooses another: {others}"
        instances = laboratory.original.code.symbols(self.subject.arch, laboratory.kernel.qualified)
        if len(instances) > 1:
            yield f"of {len(instances)} instances of the template, {demangle(laboratory.symbol)} is looked at"
        if left:
            yield f"{format_count(left, 'candidate')} not compiled: the budget of {self.request.seconds:g} s is spent"


def _reason(tried: int, places: Sequence[tuple[Attempt, bool]]) -> str:
    promising = sum(is_promising for _, is_promising in places)
    return (
        f"Past the gates that need no GPU: {len(places)} of {format_count(tried, 'candidate')}; "
        f"ranked before the original by their code: {promising}. Nothing is accepted."
    )


def _numbered(attempts: Iterable[Attempt]) -> Iterator[Attempt]:
    return (replace(attempt, number=number) for number, attempt in enumerate(attempts, start=1))
