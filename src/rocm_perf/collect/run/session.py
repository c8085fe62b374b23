"""`profile` from the request to the record: the plans in their order, until one has recorded something; the samplers
beside them; what could not be done, and the exit code."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from msgspec.structs import replace

from rocm_perf.backends.launch_cost import LaunchCost
from rocm_perf.backends.machine import Machine
from rocm_perf.backends.profilers import PROFILERS
from rocm_perf.collect.libraries import traces
from rocm_perf.collect.plan.plan import plans as planned
from rocm_perf.collect.plan.planned import Plan
from rocm_perf.collect.request.request import Request
from rocm_perf.collect.run import attempt as attempts
from rocm_perf.collect.run import layout, overhead
from rocm_perf.collect.run.attempt import Setting
from rocm_perf.collect.run.inputs import Input
from rocm_perf.collect.run.layout import Place
from rocm_perf.collect.run.scratch import move, scratch_folder
from rocm_perf.collect.run.signals import ending_waits
from rocm_perf.collect.run.verdict import Attempt
from rocm_perf.collect.sampling.samplers import sampling
from rocm_perf.errors import OutputError, RocmPerfError
from rocm_perf.model.collection import CollectionRecord, PassRecord
from rocm_perf.model.trace import Trace
from rocm_perf.version import __version__

Say = Callable[[str], None]
Planner = Callable[[Request, Machine, Path], Sequence[Plan]]

SET_ASIDE = (
    ".given_up"  # what a plan left that was given up for another; hidden, so that nothing reads it as a run
)
EXIT_INTERRUPTED = 130


@dataclass(frozen=True)
class Recorded:
    """The outcome of recording."""

    record: CollectionRecord
    folder: Path
    exit_code: int
    say: Say

    @cached_property
    def trace(self) -> Trace | None:
        """What was recorded, read when it is first asked for; None, and a word why, if it cannot be read."""
        from rocm_perf.ingest.load import load

        try:
            return load(self.folder, as_one=True)
        except RocmPerfError as error:
            self.say(f"what was recorded cannot be read: {error}")
            return None


def record(request: Request, machine: Machine, say: Say, *, plans: Planner = planned) -> Recorded:
    """Run the application as often as it takes to record what was asked for, or what is possible of it."""
    place = layout.place_for(request.output, request.run_id, machine.host, os.environ | request.environment)
    for folder in place.folders:
        working = scratch_folder(request.scratch, place, folder)
        ways = plans(request, machine, working)
        if layout.claim(place, folder, replace=request.force_overwrite):
            session = _Session(
                request=request,
                machine=machine,
                say=say,
                plans=plans,
                place=place,
                folder=working,
                ways=list(ways),
            )
            return _moved(session.run(folder), folder)
    raise OutputError(f"cannot write to {place.run}", "every folder for this process is taken")


@dataclass
class _Session:
    """One process of rocm-perf that records."""

    request: Request
    machine: Machine
    say: Say
    plans: Planner
    place: Place
    folder: Path
    ways: list[Plan]
    tried: list[Attempt] = field(default_factory=list)
    unsaved: OutputError | None = None

    def run(self, home: Path) -> Recorded:
        """Carry out the plans. A first record is in `home` too, where the recording goes in the end."""
        base = self._first_record()
        if home != self.folder:
            where = f"recorded in {self.folder} on {self.place.host}, and moved from there at its end"
            layout.write_record(home, replace(base, notices=(where,)))
        layout.write_record(self.folder, base)
        first = self.ways[0]
        source = Input(several=len(first.runs) + self.request.overhead_runs > 1)
        setting = Setting(
            request=self.request,
            machine=self.machine,
            folder=self.folder,
            input=source,
            say=self.say,
            save=lambda attempt: self._save(self._described(base, attempt)),
            first_environment=self._library_environment(),
        )
        interrupted = False
        notices: list[str] = []
        with sampling(self.request.sampling, self.folder, self.machine) as sampler:
            try:
                self._try_all(setting)
            except KeyboardInterrupt:  # between two runs
                interrupted = True
            finally:
                source.close()
        if sampler is not None:
            notices += [*sampler.notices, sampler.summary]
        with ending_waits():
            return self._finished(base, notices, interrupted=interrupted)

    def _finished(self, base: CollectionRecord, notices: list[str], *, interrupted: bool) -> Recorded:
        """Write the record of everything that was done."""
        chosen = self._chosen()
        notices += self._library_trace(chosen)
        done = self._described(base, chosen, tuple(note for note in notices if note))
        last = self.tried[-1].state if self.tried else "done"
        done = replace(done, state="interrupted" if interrupted else last)
        code = EXIT_INTERRUPTED if interrupted else self._exit_code(chosen, done)
        self._save(replace(done, exit_code=code))
        if self.unsaved is not None:
            self.say(f"the record of this run is lost: {self.unsaved}")
            code = code or self.unsaved.exit_code
        done = replace(done, exit_code=code)
        if self.request.keep_exit_code:
            code = EXIT_INTERRUPTED if interrupted else self._application_code
        return Recorded(record=done, folder=self.folder, exit_code=code, say=self.say)

    def _try_all(self, setting: Setting) -> None:
        """One plan after the other, until one is good or the application must not run again."""
        waiting = list(self.ways)
        while waiting:
            plan = waiting.pop(0)
            if self.tried:
                if not self._may_repeat(setting, plan):
                    break
                self._set_aside(self.tried[-1])
                self._forget_library_logs()
            attempt = attempts.prepared(plan, setting)
            self.tried.append(attempt)
            attempts.proceed(attempt, setting)
            if attempt.verdict == "good" or attempt.must_stop:
                return
            waiting = self._left(attempt, waiting)
        best = self._chosen()
        if best.verdict == "partly":
            attempts.proceed(best, setting)

    def _left(self, attempt: Attempt, waiting: list[Plan]) -> list[Plan]:
        """The plans that are worth a try after one that fell short."""
        if attempt.recorded:
            return [plan for plan in waiting if plan.profiled]
        if "all" in attempt.gave_up:
            return [plan for plan in waiting if not plan.profiled]
        if attempt.plan.runs[0].purpose in attempt.gave_up:
            trace = replace(self.request.wish, pc_sampling=None, att=False)
            asked = replace(self.request, counters=(), counter_passes=(), wish=trace)
            return list(self.plans(asked, self.machine, self.folder))
        return waiting

    def _may_repeat(self, setting: Setting, plan: Plan) -> bool:
        """Announce another run of the application, unless its input is used up."""
        reason = self.tried[-1].reason
        ran = bool(self.tried[-1].passes)
        if ran and self.place.ranks > 1:
            self.say(f"{reason}. Not run again: it is one of {self.place.ranks} ranks, which run together.")
            return False
        if ran and not setting.input.can_repeat:
            self.say(f"{reason}. Not run again: its input came through a pipe and is used up.")
            return False
        how = f"with {plan.profiler}" if plan.profiled else "without a profiler, for its wall time"
        self.say(f"{reason}. Running the application {'again ' if ran else ''}{how}.")
        return True

    def _set_aside(self, attempt: Attempt) -> None:
        """Move the passes of a plan away, to make room for those of another."""
        home = f"{SET_ASIDE}/{self.tried.index(attempt) + 1}-{attempt.plan.profiler}"
        for number, done in enumerate(attempt.passes):
            if done.folder and not done.folder.startswith(SET_ASIDE):
                self._move(done.folder, f"{home}/{done.folder}")
                attempt.passes[number] = replace(done, folder=f"{home}/{done.folder}")

    def _bring_back(self, attempt: Attempt) -> None:
        for number, done in enumerate(attempt.passes):
            if done.folder.startswith(SET_ASIDE):
                name = done.folder.rsplit("/", 1)[-1]
                self._move(done.folder, name)
                attempt.passes[number] = replace(done, folder=name)

    def _move(self, old: str, new: str) -> None:
        target = self.folder / new
        target.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            (self.folder / old).rename(target)

    def _chosen(self) -> Attempt:
        """The attempt that recorded most; the last one if none recorded anything."""
        best = (
            max(self.tried, key=lambda each: len(each.recorded)) if self.tried else Attempt(self.ways[0], [])
        )
        if not best.recorded:
            return self.tried[-1] if self.tried else best
        for other in self.tried:
            if other is not best:
                self._set_aside(other)
        self._bring_back(best)
        return best

    def _first_record(self) -> CollectionRecord:
        request, machine = self.request, self.machine
        facts = {
            "rocm": machine.rocm,
            "cuda": machine.cuda,
            "driver": machine.driver,
            "gpus": ", ".join(dict.fromkeys(gpu.name or gpu.gfx for gpu in machine.gpus)),
            "gfx": ", ".join(dict.fromkeys(gpu.gfx for gpu in machine.gpus)),
        }
        return CollectionRecord(
            producer=f"rocm-perf {__version__}",
            run_id=self.place.run_id,
            host=self.place.host,
            pid=self.place.pid,
            rank=self.place.rank,
            command=request.command,
            folder=os.getcwd(),
            started_at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            preset=request.preset,
            profiler=self.ways[0].profiler,
            profiled=self.ways[0].profiled,
            why=self.ways[0].why,
            asked=_asked(request),
            window=request.wish.window,
            machine={name: value for name, value in facts.items() if value},
        )

    def _described(
        self, base: CollectionRecord, attempt: Attempt, notices: tuple[str, ...] = ()
    ) -> CollectionRecord:
        """The record as it stands now, with this attempt as the one that counts."""
        others = [each for each in self.tried if each is not attempt]
        passes = [_superseded(done) for each in others for done in each.passes] + attempt.passes
        fallen = [_named(each.reason, each.plan.profiler) for each in others]
        short = [attempt.reason] if attempt.reason and attempt.verdict != "application" else []
        lost = [*short, *attempt.could_not, *_undone(attempt), *fallen]
        planned = list(attempt.plan.could_not)
        # Where no profiler worked, why not is worth more than that one is needed.
        reasons = [*planned, *lost] if attempt.plan.profiled else [*lost, *planned]
        cost = _launch_cost(attempt.plan.profiler, self.machine)
        return replace(
            base,
            profiler=attempt.plan.profiler,
            profiled=attempt.plan.profiled,
            why=attempt.plan.why,
            could_not=tuple(dict.fromkeys(reasons)),
            notices=tuple(dict.fromkeys([*attempt.plan.notices, *attempt.notices, *notices])),
            passes=tuple(replace(done, number=number) for number, done in enumerate(passes, 1)),
            overhead=overhead.measured(attempt.passes),
            launch_cost_ns=cost.added_ns if cost else None,
            graph_kernel_cost_ns=cost.graph_added_ns if cost else None,
        )

    def _exit_code(self, chosen: Attempt, done: CollectionRecord) -> int:
        """The application's own code; else 6 for a full disk, 5 if nothing was captured, 4 for less than was asked."""
        if self._application_code:
            return self._application_code
        if (chosen.verdict, chosen.state) == ("stopped", "failed"):
            return OutputError.exit_code  # the disk is full
        earlier = [each for each in self.tried if each is not chosen]
        if not chosen.plan.profiled and earlier and all(each.verdict == "empty" for each in earlier):
            return 5
        if chosen.plan.profiled and not chosen.recorded:
            return 4 if chosen.verdict == "machine" else 5
        return 4 if done.could_not else 0

    @property
    def _application_code(self) -> int:
        """The exit code with which the application failed or was stopped; 0 if it did not."""
        return next((each.application_code for each in self.tried if each.application_code), 0)

    def _save(self, current: CollectionRecord) -> None:
        """Write the record. A full disk must not end the application; it is reported at the end."""
        try:
            layout.write_record(self.folder, current)
            self.unsaved = None
        except OutputError as error:
            self.unsaved = error

    def _library_environment(self) -> dict[str, str]:
        if not self.request.library_trace:
            return {}
        return traces.environment(self.folder, {**os.environ, **self.request.environment})

    def _forget_library_logs(self) -> None:
        """Remove the logs so far: the next plan runs the application from its beginning."""
        for file in (self.folder / traces.LOGS).glob("*"):
            file.unlink()

    def _library_trace(self, chosen: Attempt) -> list[str]:
        if not self.request.library_trace:
            return []
        gathered = traces.gather(self.folder, chosen.stderr_tail)
        return [gathered.summary, *gathered.notices]


def _moved(recorded: Recorded, home: Path) -> Recorded:
    """The recording, where it is to lie; left in the scratch folder, with a word why, if it cannot be moved."""
    if recorded.folder == home:
        return recorded
    try:
        with ending_waits():
            move(recorded.folder, home)
    except OutputError as error:
        recorded.say(str(error))
        return dataclasses.replace(recorded, exit_code=recorded.exit_code or error.exit_code)
    return dataclasses.replace(recorded, folder=home)


def _launch_cost(name: str, machine: Machine) -> LaunchCost | None:
    profiler = PROFILERS.get(name)
    return profiler.launch_cost(machine) if profiler else None


def _asked(request: Request) -> tuple[str, ...]:
    """What was asked for, as RunInfo has it: domains, and what else a run was for."""
    wish = request.wish
    more = {
        "counters": bool(request.counters or request.counter_passes),
        "pc sampling": wish.pc_sampling is not None,
        "thread trace": wish.att,
    }
    return (*wish.domains, *(name for name, asked in more.items() if asked))


def _named(reason: str, profiler: str) -> str:
    return reason if profiler in reason else f"{profiler}: {reason}"


def _superseded(done: PassRecord) -> PassRecord:
    """The record of a run whose plan was given up: it is not part of the recording."""
    if done.purpose == overhead.UNPROFILED or done.outcome not in ("recorded", "partly"):
        return done
    return replace(done, outcome="failed", explanation=done.explanation or "another profiler recorded more")


def _undone(attempt: Attempt) -> list[str]:
    """Runs that were planned and not started, because the application must not run again."""
    left = dict.fromkeys(run.purpose for run in attempt.pending if run is not None)
    return [f"{purpose}: not started, because {attempt.reason}" for purpose in left if attempt.must_stop]
