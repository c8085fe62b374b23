"""How a plan went: what its runs recorded, and whose a failure is, the application's, the profiler's or the
machine's."""

from __future__ import annotations

import signal
from dataclasses import dataclass, field
from typing import Literal

from rocm_perf.collect.plan.planned import Plan, PlannedRun
from rocm_perf.collect.run import messages
from rocm_perf.collect.run.launch import Ended, exit_code
from rocm_perf.collect.run.messages import Message
from rocm_perf.collect.run.outcome import Seen
from rocm_perf.model.collection import UNPROFILED, PassRecord, State
from rocm_perf.user_program import failure

# good: recorded what was asked. partly: not all that must be there. empty: nothing. profiler, machine: who is to blame
# for a failure. application: it failed by itself. stopped: by the user, a timeout or a full disk. unopened: nothing was
# recorded, because of the window that was asked for.
Verdict = Literal["good", "partly", "empty", "profiler", "machine", "application", "stopped", "unopened"]

_CRASHES = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)


@dataclass
class Attempt:
    """A plan, and how it went so far."""

    plan: Plan
    pending: list[PlannedRun | None]  # None: a run without a profiler
    continued: bool = False  # earlier launches have done the plan's first runs
    verdict: Verdict = "good"
    reason: str = ""  # why it is not good
    state: State = "done"
    application_code: int = 0  # the exit code, where the application failed or was stopped
    recorded: frozenset[str] = frozenset()  # domains with rows, in any of its runs
    passes: list[PassRecord] = field(default_factory=list)
    could_not: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    gave_up: set[str] = field(default_factory=set)  # purposes that the machine cannot do
    stderr_tail: str = ""  # of its first run

    @property
    def profiled(self) -> list[PassRecord]:
        return [done for done in self.passes if done.purpose != UNPROFILED]

    @property
    def must_stop(self) -> bool:
        """Whether the application must not run again, whatever is left to do."""
        return self.verdict in ("application", "stopped", "unopened")


@dataclass(frozen=True)
class Ran:
    """A run that has ended, and what is known of the application's own end."""

    run: PlannedRun
    ended: Ended
    own_status: int | None  # None: as the tool ended

    @property
    def status(self) -> int:
        """The application's own status, as far as that can be known."""
        return self.ended.status if self.own_status is None else self.own_status


def judge(attempt: Attempt, ran: Ran, seen: Seen, unopened: str = "") -> str:
    """Enter a run into the attempt, and return why it recorded nothing, or not everything. `unopened` is what a window
    has to do with it."""
    attempt.notices += [message.sentence for message in messages.known_in(ran.ended.stderr_tail, "note")]
    attempt.recorded |= seen.recorded
    if stopped(attempt, ran.ended):
        return attempt.reason
    blamed = _blamed(ran, seen)
    if blamed is not None:
        return _failed(attempt, ran, blamed)
    if ran.status:
        return application_failed(attempt, ran.status, ran.ended.stderr_tail)
    if unopened:
        return _fell_short(attempt, ran.run, "unopened", unopened)
    if not seen.missing and seen.outcome not in ("empty", "failed"):
        return seen.explanation
    verdict: Verdict = "partly" if seen.recorded else "empty" if seen.outcome == "empty" else "profiler"
    return _fell_short(attempt, ran.run, verdict, seen.explanation)


def stopped(attempt: Attempt, ended: Ended) -> bool:
    """Whether the user or a timeout stopped the run; enters it into the attempt."""
    if not (ended.interrupted or ended.timed_out):
        return False
    attempt.verdict = "stopped"
    attempt.state = "timed out" if ended.timed_out else "interrupted"
    how = "stopped by the timeout" if ended.timed_out else "interrupted"
    attempt.reason = f"the application was {how}"
    attempt.application_code = exit_code(ended.status)
    return True


def application_failed(attempt: Attempt, status: int, printed: str = "") -> str:
    """Enter that the application failed by itself, and is not run again; returns the reason."""
    attempt.verdict, attempt.state = "application", "failed"
    attempt.application_code = exit_code(status)
    known = messages.known_in(printed, "application")
    attempt.reason = f"the application {failure(status)}" + (f": {known[0].sentence}" if known else "")
    return attempt.reason


def _blamed(ran: Ran, seen: Seen) -> Message | str | None:
    """What shows that the profiler or the machine failed, not the application; None if nothing does."""
    if not ran.run.profiled or seen.recorded:
        return None
    known = messages.known_in(ran.ended.stderr_tail, "machine", "profiler", "application")
    if known:
        return known[0] if known[0].whose != "application" else None
    name, status = ran.run.profiler, ran.ended.status
    if ran.own_status == 0 and status:
        return f"{name} failed with {exit_code(status)}, although the application did not"
    crash = -status if status < 0 else status - 128
    if ran.own_status is None and crash in _CRASHES:
        return f"it ended with {signal.Signals(crash).name} below {name}, which recorded nothing"
    return None


def _failed(attempt: Attempt, ran: Ran, blamed: Message | str) -> str:
    if isinstance(blamed, str):
        last = messages.last_words(ran.ended.stderr_tail)
        return _fell_short(attempt, ran.run, "profiler", f"{blamed} ({last})" if last else blamed)
    if blamed.stops == "everything":
        attempt.verdict, attempt.state, attempt.reason = "stopped", "failed", blamed.sentence
        return blamed.sentence
    attempt.gave_up |= {blamed.stops} - {""}
    return _fell_short(
        attempt, ran.run, "machine" if blamed.whose == "machine" else "profiler", blamed.sentence
    )


def _fell_short(attempt: Attempt, run: PlannedRun, verdict: Verdict, reason: str) -> str:
    """Enter what a run lacks: after one that recorded something it is missed alone, the first decides on the plan."""
    if attempt.continued or any(done.outcome in ("recorded", "partly") for done in attempt.profiled):
        which = "" if verdict == "machine" else f" {', '.join(run.counters)}"
        attempt.could_not.append(f"{run.purpose}{which.rstrip()}: {reason}")
    else:
        attempt.verdict, attempt.reason = verdict, reason
    return reason
