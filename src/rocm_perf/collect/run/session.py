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
from rocm_perf.collect.plan.deeper import account, announcement
from rocm_perf.collect.plan.plan import plans as planned
from rocm_perf.collect.plan.planned import Plan
from rocm_perf.collect.request.request import Request
from rocm_perf.collect.run import attempt as attempts
from rocm_perf.collect.run import depth, layout
from rocm_perf.collect.run.attempt import Setting
from rocm_perf.collect.run.inputs import Input
from rocm_perf.collect.run.layout import Place, RunFolder
from rocm_perf.collect.run.scratch import move, scratch_folder
from rocm_perf.collect.run.signals import ending_waits
from rocm_perf.collect.run.verdict import Attempt
from rocm_perf.collect.sampling.samplers import sampling
from rocm_perf.errors import OutputError, RocmPerfError
from rocm_perf.model.collection import UNPROFILED, CollectionRecord, DeepRecord, PassRecord, measured_overhead
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
        from rocm_perf.collect.run.device_code import with_own_code
        from rocm_perf.ingest.load import load

        try:
            return with_own_code(load(self.folder, as_one=True), self.folder, self.record)
        except RocmPerfError as error:
            self.say(f"what was recorded cannot be read: {error}")
            return None


def record(request: Request, machine: Machine, say: Say, *, plans: Planner = planned) -> Recorded:
    """Run the application as often as it takes to record what was asked for, or what is possible of it."""
    place = layout.place_for(request.output, request.run_id, machine.host, os.environ | request.environment)
    if (request.only_pass or 0) > 1:
        place = dataclasses.replace(place, chosen=False)  # what earlier launches recorded stays
    for folder in place.folders:
        working = scratch_folder(request.scratch, place, folder)
        ways = plans(request, machine, working)
        of_job = plans(request.of_job, machine, working) if request.of_job else ways
        if layout.claim(place, folder, replace=request.force_overwrite):
            with layout.held_open(folder) as home, layout.held_open(working) as used:
                session = _Session(
                    request=request,
                    machine=machine,
                    say=say,
                    plans=plans,
                    place=place,
                    folder=used,
                    ways=list(ways),
                    launches=len(attempts.runs_of(of_job[0], request.of_job or request)),
                )
                return _moved(session.run(home), home)
    raise OutputError(f"cannot write to {place.run}", "every folder for this process is taken")


@dataclass
class _Session:
    """One process of rocm-perf that records."""

    request: Request
    machine: Machine
    say: Say
    plans: Planner
    place: Place
    folder: RunFolder
    ways: list[Plan]
    launches: int  # that it takes where each run of the application is one of all ranks
    tried: list[Attempt] = field(default_factory=list)
    unsaved: OutputError | None = None
    with_hsa: list[Plan] = field(default_factory=list)  # at most one
    deep: DeepRecord | None = None  # what was recorded after the trace

    def run(self, home: RunFolder) -> Recorded:
        """Carry out the plans. A first record is in `home` too, where the recording goes in the end."""
        base = self._first_record()
        if home.path != self.folder.path:
            where = f"recorded in {self.folder.path} on {self.place.host}, and moved from there at its end"
            home.write_record(replace(base, notices=(where,)))
        self.folder.write_record(base)
        first = self.ways[0]
        several = not self._only_pass and (
            len(first.runs) + self.request.overhead_runs > 1 or self.request.deep == "asked"
        )
        source = Input(several=several)
        setting = Setting(
            request=self.request,
            machine=self.machine,
            folder=self.folder,
            input=source,
            say=self.say,
            only_pass=self._only_pass,
            save=lambda attempt: self._save(self._described(base, attempt)),
            first_environment=self._library_environment(),
        )
        interrupted = False
        notices: list[str] = []
        with sampling(self.request.sampling, self.folder.below, self.machine) as sampler:
            try:
                self._try_all(setting)
                self._go_deeper(setting, base)
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
        if moved := self.folder.notice:
            self.say(moved)
            notices.append(moved)
        done = self._described(base, chosen, tuple(note for note in notices if note))
        last = self.tried[-1].state if self.tried else "done"
        done = replace(done, state="interrupted" if interrupted else last)
        code = EXIT_INTERRUPTED if interrupted else self._exit_code(chosen, done)
        self._save(replace(done, exit_code=code))
        if self.unsaved is not None:
            self.say(f"the record of this run is lost: {self.unsaved}")
            code = code or self.unsaved.exit_code
        done = replace(done, exit_code=code)
        self._end_launch(chosen, interrupted=interrupted)
        if self.request.keep_exit_code:
            code = EXIT_INTERRUPTED if interrupted else self._application_code
        return Recorded(record=done, folder=self.folder.current, exit_code=code, say=self.say)

    @property
    def _only_pass(self) -> int:
        """The run that this process does; 0: all. Ranks that run together cannot be run again one by one."""
        if self.request.only_pass is not None:
            return self.request.only_pass
        return 1 if self.place.ranks > 1 and self.launches > 1 else 0

    def _end_launch(self, chosen: Attempt, *, interrupted: bool) -> None:
        """Say what is left to other launches of the ranks: to the launcher, or to the user who is it."""
        number = self._only_pass
        if not number:
            return
        later = attempts.runs_of(chosen.plan, self.request)[number:]
        worth_it = any(run is None or run.purpose not in chosen.gave_up for run in later)
        goes_on = worth_it and not interrupted and chosen.verdict in ("good", "partly")
        if self.request.only_pass is not None and layout.RUN_ID_VARIABLE in os.environ:
            try:
                layout.note_pass(self.place, number, self.launches, goes_on=goes_on)
            except OutputError as error:
                self.say(f"the launcher does not hear of further runs: {error}")
        elif goes_on and not self.place.rank:
            self.say(f"run {number} of {self.launches} is done; {self._next_launch(number)}")

    def _next_launch(self, number: int) -> str:
        """Return how the user goes on after one of several launches."""
        return (
            f"launch it again with --pass {number + 1} --run-id {self.place.run_id} "
            "(rocm-perf launch does so by itself)"
        )

    def _other_launches(self, attempt: Attempt) -> list[str]:
        """Return what was asked for and needs further launches, which nobody has announced with --pass."""
        if not self._only_pass or self.request.only_pass is not None:
            return []
        later = attempts.runs_of(attempt.plan, self.request)[1:]
        purposes = dict.fromkeys(UNPROFILED if run is None else run.purpose for run in later)
        why = f"one of {self.place.ranks} ranks, which run together, is not run again by itself"
        return [f"{purpose}: {why}; {self._next_launch(1)}" for purpose in purposes]

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
            if plan in self.with_hsa and "hsa" in attempt.recorded:
                break  # the program calls HSA directly: no other profiler would see HIP calls
            waiting = self._left(attempt, waiting)
        best = self._chosen()
        if best.verdict == "partly":
            attempts.proceed(best, setting)

    def _go_deeper(self, setting: Setting, base: CollectionRecord) -> None:
        """Record counters of the kernels that matter after a trace, if the user asked for that or it is short."""
        if self.request.deep == "no" or self._only_pass or not self.tried:
            return
        attempt = self.tried[-1]
        more = depth.behind(attempt, setting)
        if more.plan is None or more.record is None:
            depth.stay(attempt, setting, more.refusal)
            return
        self.say(announcement(more.record))
        follow_up = depth.follow_up(attempt, more.plan)

        def save(done: Attempt) -> None:
            self.deep = depth.measured(more, attempt, done)
            both = depth.joined(attempt, done, is_asked=self.request.deep == "asked")
            self._save(self._described(base, both, of=attempt))

        is_shown = self.request.deep == "asked"
        attempts.proceed(follow_up, dataclasses.replace(setting, is_shown=is_shown, save=save))
        self.tried[-1] = depth.joined(attempt, follow_up, is_asked=is_shown)
        if self.deep is not None:
            self.say(account(self.deep))

    def _left(self, attempt: Attempt, waiting: list[Plan]) -> list[Plan]:
        """The plans that are worth a try after one that fell short."""
        if attempt.recorded:
            return [*self._and_hsa(attempt), *(plan for plan in waiting if plan.profiled)]
        if "all" in attempt.gave_up:
            return [plan for plan in waiting if not plan.profiled]
        if attempt.plan.runs[0].purpose in attempt.gave_up:
            trace = replace(self.request.wish, pc_sampling=None, att=False)
            asked = replace(self.request, counters=(), counter_passes=(), wish=trace)
            return list(self.plans(asked, self.machine, self.folder.path))
        return waiting

    def _and_hsa(self, attempt: Attempt) -> list[Plan]:
        """Return the attempt's plan with HSA calls as well, where HIP calls came back empty: the program may use HSA
        directly, as Julia's AMDGPU does."""
        run, profiler = attempt.plan.runs[0], PROFILERS.get(attempt.plan.profiler)
        lacks_hip = attempt.recorded & {"kernel", "hip", "hsa"} == {"kernel"} and "hip" in run.domains
        if self.with_hsa or not lacks_hip or profiler is None or profiler.vendor != "AMD":
            return []
        wish = replace(self.request.wish, domains=(*run.domains, "hsa"))
        if "hsa" not in profiler.domains or profiler.doubt(wish, self.machine):
            return []
        ways = self.plans(replace(self.request, wish=wish), self.machine, self.folder.path)
        self.with_hsa = [plan for plan in ways if plan.profiler == profiler.name][:1]
        return list(self.with_hsa)

    def _may_repeat(self, setting: Setting, plan: Plan) -> bool:
        """Announce another run of the application, unless its input is used up."""
        reason = self.tried[-1].reason
        ran = bool(self.tried[-1].passes)
        if ran and self.place.ranks > 1:
            self.say(f"{reason}. Not run again: it is one of {self.place.ranks} ranks, which run together.")
            return False
        if ran and self._only_pass:
            self.say(f"{reason}. Not run again: each of its runs is a launch of its own.")
            return False
        if ran and not setting.input.can_repeat:
            self.say(f"{reason}. Not run again: its input came through a pipe and is used up.")
            return False
        how = f"with {plan.profiler}" if plan.profiled else "without a profiler, for its wall time"
        if plan in self.with_hsa:
            how += ", and recording the calls of HSA below it"
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
        target = self.folder.make(str(Path(new).parent)) / Path(new).name
        with suppress(FileNotFoundError):
            (self.folder.below / old).rename(target)

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
            "vendor": machine.vendor or "",
            "hidden_gpus": ", ".join(machine.hidden_gpus),
            "torch": machine.torch.version if machine.torch else "",
            "torch_platform": _torch_platform(machine),
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
        self,
        base: CollectionRecord,
        attempt: Attempt,
        notices: tuple[str, ...] = (),
        of: Attempt | None = None,
    ) -> CollectionRecord:
        """The record as it stands now, with this attempt as the one that counts; `of`: the one that it goes on with."""
        others = [each for each in self.tried if each is not (of or attempt)]
        passes = [_superseded(done) for each in others for done in each.passes] + attempt.passes
        fallen = [_fallen(each) for each in others]
        short = [_of_purpose(attempt)] if attempt.reason and attempt.verdict != "application" else []
        lost = [*short, *attempt.could_not, *_undone(attempt), *self._other_launches(attempt), *fallen]
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
            overhead=measured_overhead(attempt.passes),
            deep=self.deep,
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
        due = not chosen.continued and (chosen.profiled or not chosen.passes)
        if chosen.plan.profiled and not chosen.recorded and due:
            return 4 if chosen.verdict == "machine" else 5
        return 4 if done.could_not else 0

    @property
    def _application_code(self) -> int:
        """The exit code with which the application failed or was stopped; 0 if it did not."""
        return next((each.application_code for each in self.tried if each.application_code), 0)

    def _save(self, current: CollectionRecord) -> None:
        """Write the record. A full disk must not end the application; it is reported at the end."""
        try:
            self.folder.write_record(current)
            self.unsaved = None
        except OutputError as error:
            self.unsaved = error

    @property
    def _logs_libraries(self) -> bool:
        """Whether libraries log their calls: in the first run with a profiler, whose times are shown."""
        runs = attempts.runs_of(self.ways[0], self.request)
        first = next((number for number, run in enumerate(runs, 1) if run is not None), 1)
        return self.request.library_trace and self._only_pass in (0, first)

    def _library_environment(self) -> dict[str, str]:
        if not self._logs_libraries:
            return {}
        return traces.environment(self.folder.path, {**os.environ, **self.request.environment})

    def _forget_library_logs(self) -> None:
        """Remove the logs so far: the next plan runs the application from its beginning."""
        for file in (self.folder.below / traces.LOGS).glob("*"):
            file.unlink()

    def _library_trace(self, chosen: Attempt) -> list[str]:
        if not self._logs_libraries:
            return []
        gathered = traces.gather(self.folder.below, chosen.stderr_tail)
        return [gathered.summary, *gathered.notices]


def _moved(recorded: Recorded, home: RunFolder) -> Recorded:
    """The recording, where it is to lie; left in the scratch folder, with a word why, if it cannot be moved."""
    if recorded.folder == home.current:
        return recorded
    try:
        with ending_waits():
            move(recorded.folder, home)
    except OutputError as error:
        recorded.say(str(error))
        return dataclasses.replace(recorded, exit_code=recorded.exit_code or error.exit_code)
    return dataclasses.replace(recorded, folder=home.current)


def _launch_cost(name: str, machine: Machine) -> LaunchCost | None:
    profiler = PROFILERS.get(name)
    return profiler.launch_cost(machine) if profiler else None


def _torch_platform(machine: Machine) -> str:
    """What the machine's torch was built for: ROCm 7.2, CUDA 12.8, or CPU."""
    if machine.torch is None:
        return ""
    if machine.torch.hip:
        return f"ROCm {machine.torch.hip}"
    return f"CUDA {machine.torch.cuda}" if machine.torch.cuda else "CPU"


def _asked(request: Request) -> tuple[str, ...]:
    """What was asked for, as RunInfo has it: domains, and what else a run was for."""
    wish = request.wish
    more = {
        "counters": bool(request.counters or request.counter_passes),
        "pc sampling": wish.pc_sampling is not None,
        "thread trace": wish.att,
    }
    return (*wish.domains, *(name for name, asked in more.items() if asked))


def _fallen(attempt: Attempt) -> str:
    """Return why a plan was given up, with what cannot be recorded here or else with the profiler's name."""
    reason, profiler = _of_purpose(attempt), attempt.plan.profiler
    return reason if attempt.gave_up or profiler in reason else f"{profiler}: {reason}"


def _of_purpose(attempt: Attempt) -> str:
    """Return the reason of an attempt after the purposes that the machine turned out to be unable to serve."""
    unable = ", ".join(sorted(attempt.gave_up - {"all", "everything"}))
    return f"{unable}: {attempt.reason}" if unable else attempt.reason


def _superseded(done: PassRecord) -> PassRecord:
    """The record of a run whose plan was given up: it is not part of the recording."""
    if done.purpose == UNPROFILED or done.outcome not in ("recorded", "partly"):
        return done
    return replace(done, outcome="failed", explanation=done.explanation or "another profiler recorded more")


def _undone(attempt: Attempt) -> list[str]:
    """Runs that were planned and not started, because the application must not run again."""
    left = dict.fromkeys(run.purpose for run in attempt.pending if run is not None)
    return [f"{purpose}: not started, because {attempt.reason}" for purpose in left if attempt.must_stop]
