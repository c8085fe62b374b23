"""The case of one kernel: one cause from all the evidence, and what its remedy is worth at most."""

from __future__ import annotations

import msgspec

from rocm_perf.analysis.basis.names import short_name
from rocm_perf.analysis.time.kernel_family import RUNTIME
from rocm_perf.analysis.verdict.kernels.headroom import Headroom
from rocm_perf.analysis.verdict.kernels.instruments import Instrument
from rocm_perf.analysis.verdict.kernels.kinds import Guess, KernelKind, guess, kind_of
from rocm_perf.analysis.verdict.kernels.subjects import Subject
from rocm_perf.analysis.verdict.kernels.words import (
    CLOSER,
    KINDS,
    ONE_COUNTER,
    SUPPORT,
    WAVES_FIT,
    WAVES_UNKNOWN,
)
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Kind, is_next_to_nothing
from rocm_perf.model.instances import names_apart
from rocm_perf.model.results.bottleneck import Label, Rival
from rocm_perf.model.results.limits import Cause

LIMITS = 0.35  # of a roof: a kernel further away is limited by something else
_PLAIN = 0.5
_NOTHING = 0.02  # of its time: a unit that is full of useful work leaves no more
_MORE_FIT = 1.5  # times as many waves as run: then it is not what each of them needs that keeps them few
# Tables that hold something measured inside of kernels.
_MEASURED = ("counters", "metrics", "pc_samples", "instructions")
_OF_THE_LAUNCH: tuple[Label, ...] = ("launch/latency", "occupancy")


class Case(msgspec.Struct, frozen=True):
    """Everything that is known of one kernel that holds much of the time."""

    subject: Subject
    document: Document
    room: Headroom | None
    rival: Rival | None
    rival_label: Label | None  # what holds the faster rival back
    instrument: Instrument | None

    @property
    def cause(self) -> Cause | None:
        """What its table of units shows, with some certainty. Of memory that is well used the roofline says more; of
        a copy, that it may not be needed."""
        cause = self.subject.cause
        if cause is not None and cause.id == "memory-bandwidth" and self.room is not None:
            return None
        if self.subject.moves and self.subject.label == "memory bandwidth":
            return None
        return None if self._is_told_otherwise else cause

    @property
    def hint(self) -> Cause | None:
        """What its table of units hints at, where nothing else says what limits it."""
        return None if self._is_told_otherwise or self.label is not None else self.subject.first_cause

    @property
    def rivals(self) -> tuple[str, str]:
        """The names of the kernel and of its rival, told apart where they are instances of one."""
        if self.rival is None:
            return self.subject.name, ""
        fast = short_name(self.rival.fast)
        if fast != self.subject.name:
            return self.subject.name, fast
        names = names_apart(fast, (self.rival.slow, self.rival.fast))
        return names[self.rival.slow], names[self.rival.fast]

    @property
    def known_kind(self) -> KernelKind | None:
        """What its name tells that it is; of several, what the costliest is, if they do the same for one library."""
        return kind_of(self.subject.spots[0].kernel) if len(self.subject.kinds) == 1 else None

    @property
    def guess(self) -> Guess | None:
        """What kernels of its kind are limited by, where nothing that was recorded says it, or says otherwise."""
        kind = self.known_kind
        told = self._is_told_otherwise or self.label is not None or self.hint is not None or self.near
        if kind is None or told or self.measured:
            return None
        supposed = guess(kind, self.subject.spots[0].kernel, replayed=self.replayed)
        far = self.room is not None and self.room.reached < LIMITS
        return None if supposed is None or (far and supposed.roof) else supposed

    @property
    def measured(self) -> bool:
        """Whether something was measured inside of kernels."""
        return any(map(self.document.tables.get, _MEASURED))

    @property
    def _is_told_otherwise(self) -> bool:
        """Whether a trace of its instructions or a faster rival says more, or it stands for others as well."""
        traced = self.instrument is not None and self.instrument.label is not None
        return traced or self.rival is not None or bool(self.subject.others) or self._launched_by_runtime

    @property
    def because(self) -> str | None:
        """The name of the measurement that points to the cause, where one alone does."""
        if self.cause is not None:
            return None
        if self._launched_by_runtime or self.subject.main is None:
            return "streams"
        return self.subject.main.because if self.subject.label else None

    @property
    def label(self) -> Label | None:
        """The cause. What a thread trace or samples show is nearer to it than what follows from counters."""
        if self.instrument and self.instrument.label:
            return self.instrument.label
        shared = self.rival is not None and self.subject.label == self.rival_label
        if shared:
            return None  # what both rivals have explains no difference
        return "memory bandwidth" if self._launched_by_runtime else self.subject.label

    @property
    def closer(self) -> str:
        """The measurement that says more than the cause's name."""
        if self.cause is not None:
            return ""
        if self.label == "occupancy":
            return self._what_limits_waves()
        if self.because in CLOSER:
            return self.because
        told = SUPPORT[self.label] if self.label else ()
        names = [name for name in told if name in CLOSER and name not in ONE_COUNTER]
        strong = {name: evidence.value for name in names if (evidence := self.subject.evidence(name))}
        most = max(strong, key=lambda name: strong[name], default="")
        return most if strong.get(most, 0.0) >= _PLAIN else ""

    @property
    def uncaptured(self) -> bool:
        """Whether it ran in replays of a graph whose capture, which has its operators and shapes, is not known."""
        has_operators = self.document.tables.get("ops", 0) > 0
        return has_operators and self.document.graphs.adoption is None and self.replayed

    @property
    def replayed(self) -> bool:
        """Whether it ran in replays of a graph."""
        ran = {row.kernel for graph in self.document.graphs.rows for row in graph.order}
        return not ran.isdisjoint(self.subject.kernels)

    @property
    def moves(self) -> bool:
        """Whether it does nothing but move data, and nothing but memory slows it down: it may not be needed at all."""
        return self.subject.moves and self.label in (None, "memory bandwidth")

    @property
    def near(self) -> bool:
        """Whether nothing is left in the kernel itself: it is at its roof, and not for a reason that can be mended."""
        if self.cause is not None:
            return self.cause.saves is not None and self.cause.saves < _NOTHING
        mendable = self.moves or self.label not in (None, "compute", "memory bandwidth")
        return self.room is not None and self.room.near and not mendable

    @property
    def fastest(self) -> bool:
        """Whether no kernel is much faster on its units, which could give more."""
        return self.room is not None and self.room.share is None

    @property
    def gained(self) -> float | None:
        """The share of its time that the cause accounts for, at most."""
        if self.instrument is not None and self.instrument.share is not None:
            return self.instrument.share
        if self.cause is not None:
            return self.cause.saves
        if self.label == "LDS":
            return self._lost_to_conflicts()
        if self.because == "empty_units":
            return self._value("empty_units")
        if self.moves:
            return 1.0  # what is not needed can go
        if self.label == "scratch" or self.room is None:
            return None  # what it moves now does not tell what it has to move
        if self.room.reached < LIMITS and self.room.least:
            return None  # what was not counted may be most of what it does
        return self.room.share

    @property
    def kind(self) -> Kind:
        if self.label:
            return KINDS[self.label]
        if self.room is None or self.room.reached < LIMITS:
            return "kernel"
        return "kernel-compute" if self.room.computes else "kernel-memory"

    @property
    def stake_ns(self) -> int | None:
        """What the remedy saves at most; None where nothing bounds it but the kernel's own time."""
        if self.rival is not None:
            return self.subject.saved_ns(1 - self.rival.fast_ns / self.rival.slow_ns)
        if self.near:
            return 0
        if self.gained is not None:
            return self.subject.saved_ns(self.gained)
        whole = self.subject.saved_ns(1.0)
        return 0 if is_next_to_nothing(whole, self.document.judged_ns) else None

    @property
    def _launched_by_runtime(self) -> bool:
        """Whether the runtime copies or fills buffers with it, and its launch is at fault, which nobody can change."""
        return self.subject.library == RUNTIME and self.subject.label in _OF_THE_LAUNCH

    def _what_limits_waves(self) -> str:
        """Empty where registers, LDS or the workgroup size do: waves are about as many as fit, or were not counted."""
        resident, fit = self._value("occupancy"), self._value("occupancy_limit")
        if resident is None:
            return ""
        if fit is None:
            return WAVES_UNKNOWN
        return WAVES_FIT if fit >= _MORE_FIT * resident else ""

    def _lost_to_conflicts(self) -> float | None:
        busy, conflicts = self._value("lds_busy"), self._value("lds_conflicts")
        return None if busy is None or conflicts is None else busy * conflicts

    def _value(self, name: str) -> float | None:
        evidence = self.subject.evidence(name)
        return evidence.value if evidence else None
