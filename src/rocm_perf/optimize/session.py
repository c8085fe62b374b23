"""One `rocm-perf optimize`, from the request to the result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from rocm_perf.analysis.basis.names import demangle
from rocm_perf.backends.machine import Machine
from rocm_perf.backends.probe import probe_machine
from rocm_perf.model.results.optimize import Attempt, Conclusion, Optimization
from rocm_perf.optimize import applying
from rocm_perf.optimize.candidate import unified_diff
from rocm_perf.optimize.captured_launch import launch_of
from rocm_perf.optimize.choice import Prospect
from rocm_perf.optimize.conclusions import accepted, flag_notes, none_accepted, not_worth_it, rounding_notes
from rocm_perf.optimize.laboratory import GpuLaboratory
from rocm_perf.optimize.loop.budget import Budget
from rocm_perf.optimize.loop.ledger import Ledger
from rocm_perf.optimize.loop.search import Found, Search
from rocm_perf.optimize.opening import Bench, opened_bench, opened_laboratory
from rocm_perf.optimize.planned import Plan, plan_of
from rocm_perf.optimize.profiling import Say, given_document, prospect_or_none, recorded_document
from rocm_perf.optimize.proposing import Proposing, proposers_of
from rocm_perf.optimize.request import Request
from rocm_perf.optimize.source.model import Kernel
from rocm_perf.optimize.source.parse import parse
from rocm_perf.optimize.subject import Subject, subject_of
from rocm_perf.optimize.transforms.setting import Setting
from rocm_perf.units import format_count

Heard = Callable[[Attempt], None]


def optimize(request: Request, say: Say, heard: Heard, *, apply: bool = False) -> Optimization:
    """Make a kernel of the source faster, if that can be proven; write it over the source only if asked to."""
    proposers_of(request)  # raises before anything is built
    machine = probe_machine()
    subject = subject_of(request, machine)
    if request.static:
        from rocm_perf.optimize.static.session import ranked

        return ranked(request, subject, machine, say)
    with opened_bench(request, subject, say) as bench:
        return _Session(bench=bench, machine=machine, say=say, heard=heard).run(apply=apply)


def planned(request: Request) -> Plan:
    """What a request would do."""
    return plan_of(request, subject_of(request, probe_machine()))


def roll_back(request: Request) -> list[Path]:
    """Restore what `--apply` wrote over; returns the sources. Raises UsageError where nothing was applied."""
    source = (request.source or request.target).absolute()
    kernels = [request.kernel] if request.kernel else [kernel.base for kernel in parse(source).kernels]
    folders = {request.kept_in(source, kernel) for kernel in kernels}
    applied = [folder for folder in sorted(folders) if applying.is_applied(folder)]
    for folder in applied or sorted(folders)[:1]:
        applying.roll_back(source, folder)
    return [source]


@dataclass
class _Session:
    """Everything that one optimisation shares."""

    bench: Bench
    machine: Machine
    say: Say
    heard: Heard
    notes: list[str] = field(default_factory=list)

    @property
    def request(self) -> Request:
        return self.bench.request

    @property
    def subject(self) -> Subject:
        return self.bench.subject

    def run(self, *, apply: bool) -> Optimization:
        """From the choice of the kernel to the conclusion."""
        prospect = self._prospect()
        kernel = self._kernel(prospect)
        result = self._begun(kernel, prospect)
        least = self.request.least_gain
        if prospect is not None and prospect.best_case < 1 + least:
            return replace(result, conclusion="not worth it", reason=not_worth_it(prospect, least))
        if prospect is not None:
            self.say(f"{kernel.name}: the program {prospect.best_case:.2f} times as fast at the very most")
        symbol = self._symbol(kernel, prospect)
        with opened_laboratory(self.bench, kernel, symbol, self.say) as laboratory:
            self.notes += laboratory.notes
            return self._searched(result, laboratory, prospect, apply=apply)

    def _prospect(self) -> Prospect | None:
        request, names = self.request, [kernel.base for kernel in self.subject.source.kernels]
        argv = self.subject.command_of(self.bench.original.product)
        if request.profile is not None:
            path = request.profile
            return prospect_or_none(lambda: given_document(path), names, request.kernel, self.say)
        self.say("recording the program")
        return prospect_or_none(
            lambda: recorded_document(argv, self.machine, request.timeout_s, self.say),
            names,
            request.kernel,
            self.say,
        )

    def _kernel(self, prospect: Prospect | None) -> Kernel:
        source = self.subject.source
        if self.request.kernel is not None:
            return source.kernel(self.request.kernel)
        return source.kernel(prospect.kernel) if prospect is not None else source.kernels[0]

    def _symbol(self, kernel: Kernel, prospect: Prospect | None) -> str:
        """Which instance of the kernel is captured: the one that was recorded, where it is a template."""
        symbols = self.bench.original.code.symbols(self.subject.arch, kernel.qualified)
        if prospect is not None:
            recorded = demangle(prospect.kernel)
            symbols = tuple(one for one in symbols if demangle(one) == recorded) or symbols
        if len(symbols) > 1:
            self.notes.append(
                f"of {len(symbols)} instances of the template, {demangle(symbols[0])} is measured"
            )
        return symbols[0]

    def _begun(self, kernel: Kernel, prospect: Prospect | None) -> Optimization:
        return Optimization(
            source=self.subject.path.name,
            kernel=kernel.qualified,
            arch=self.subject.arch,
            compiler=self.subject.compiler,
            cause="unknown" if prospect is None else f"{prospect.cause}: {prospect.because}",
            conclusion="nothing helps",
            reason="",
            share=None if prospect is None else prospect.share,
            best_case=None if prospect is None else prospect.best_case,
            best_case_basis="" if prospect is None else prospect.basis,
        )

    def _searched(
        self, result: Optimization, laboratory: GpuLaboratory, prospect: Prospect | None, *, apply: bool
    ) -> Optimization:
        ledger = self._ledger(laboratory.kernel)
        search = Search(
            laboratory=laboratory,
            propose=self._proposing(laboratory, prospect),
            ledger=ledger,
            budget=Budget(self.request.seconds, self.request.attempts),
            least_gain=self.request.least_gain,
        )
        found = search.run(laboratory.start)
        notes = (*self.notes, *rounding_notes(ledger.attempts, self.request.least_gain))
        result = replace(result, attempts=tuple(ledger.attempts), notes=notes)
        return self._concluded(result, laboratory, found, apply=apply)

    def _ledger(self, kernel: Kernel) -> Ledger:
        path = self._folder(kernel) / "ledger.jsonl"
        if self.request.fresh:
            path.unlink(missing_ok=True)
        ledger = Ledger(path, self.subject.path.name, self.heard)
        if ledger.attempts:
            self.say(
                f"{format_count(len(ledger.attempts), 'line')} of {path} are known already (--fresh forgets them)"
            )
        return ledger

    def _folder(self, kernel: Kernel) -> Path:
        return self.request.kept_in(self.subject.path, kernel.base)

    def _proposing(self, laboratory: GpuLaboratory, prospect: Prospect | None) -> Proposing:
        kernel, states = laboratory.kernel, laboratory.states
        compiled = self.bench.original.code.image(self.subject.arch, states.kernel).kernel(states.kernel)
        assert compiled is not None  # it was captured from this code
        setting = Setting(
            cause="unknown" if prospect is None else prospect.cause,
            arch=self.subject.arch,
            wave=compiled.wave_size,
            allow_fast_math=self.request.allow_fast_math,
            launches=tuple(launch_of(state.replayer, kernel) for state in states),
            flags=self.subject.recipe.compiling.argv[1:],
        )
        return Proposing(
            file=self.subject.path.name,
            kernel=kernel.qualified,
            setting=setting,
            compiler=self.subject.compiler,
            prospect=prospect,
            resources=laboratory.needs(laboratory.start),
            proposers=proposers_of(self.request),
            only_proposed=self.request.only_proposed,
        )

    def _concluded(
        self, result: Optimization, laboratory: GpuLaboratory, found: Found, *, apply: bool
    ) -> Optimization:
        """The result with what all accepted changes together are worth."""
        tried = sum(attempt.verdict != "not proposed" for attempt in result.attempts)
        if not found.rounds:
            conclusion: Conclusion = "stopped" if found.stopped else "nothing helps"
            return replace(result, conclusion=conclusion, reason=none_accepted(tried, found.stopped))
        self.say("measuring all accepted changes together")
        original, final = self.subject.source.text, found.version.text
        program = laboratory.program_gain_of(found.version)
        result = replace(
            result,
            conclusion="improved",
            reason=accepted(found, tried, applied=apply),
            gain=laboratory.gain_of(found.version),
            kernels_gain=program.kernels,
            program_gain=program.wall,
            diff=unified_diff(original, final, self.subject.path.name),
            notes=(*result.notes, *flag_notes(found.version.flags)),
        )
        if apply:
            applying.apply(self.subject.path, original, final, self._folder(laboratory.kernel))
        return replace(result, applied=apply)
