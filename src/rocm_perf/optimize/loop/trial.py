"""A candidate on its way through the gates."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from rocm_perf.model.results.optimize import Attempt, GatePassage, Geometry, Resources, Speedup, Verdict
from rocm_perf.optimize.candidate import Candidate, unified_diff
from rocm_perf.optimize.gates import Gate, Passage

NOTHING_OPEN: frozenset[Gate] = frozenset()


@dataclass(frozen=True)
class Version:
    """The source as it is so far: the original, or with the changes that were accepted."""

    text: bytes
    flags: tuple[str, ...] = ()
    geometry: Geometry | None = None
    product: Any = None  # what the laboratory built of it

    @property
    def digest(self) -> str:
        """What tells versions apart."""
        return hashlib.sha256(b"\0".join((self.text, *(flag.encode() for flag in self.flags)))).hexdigest()[
            :16
        ]


@dataclass
class Trial:
    """One candidate on one version, and all that was found out about it so far."""

    candidate: Candidate
    base: Version
    text: bytes
    product: Any = None
    passages: list[Passage] = field(default_factory=list)
    before: Resources | None = None
    after: Resources | None = None
    replay: Speedup | None = None
    program: Speedup | None = None
    seconds: float = 0.0

    @classmethod
    def of(cls, candidate: Candidate, base: Version) -> Trial:
        return cls(candidate, base, candidate.applied_to(base.text))

    @property
    def flags(self) -> tuple[str, ...]:
        return (*self.base.flags, *self.candidate.flags)

    @property
    def geometry(self) -> Geometry | None:
        """How the new code is launched."""
        return self.candidate.geometry or self.base.geometry

    @property
    def key(self) -> str:
        """The same for the same change of the same version: it need not be tried again."""
        return f"{self.base.digest}-{Version(self.text, self.flags).digest}"

    @property
    def version(self) -> Version:
        """What the source is once the candidate is accepted."""
        return Version(self.text, self.flags, self.geometry, self.product)

    def attempt(self, number: int, round_number: int, verdict: Verdict, reason: str, name: str) -> Attempt:
        """Its line of the ledger."""
        return Attempt(
            number=number,
            round=round_number,
            key=self.key,
            name=self.candidate.name,
            by=self.candidate.by,
            verdict=verdict,
            reason=reason,
            passages=tuple(
                GatePassage(gate=one.gate, passed=one.passed, words=one.words, needed=one.needed)
                for one in self.passages
            ),
            patch=unified_diff(self.base.text, self.text, name),
            flags=self.candidate.flags,
            geometry=self.candidate.geometry,
            before=self.before,
            after=self.after,
            replay=self.replay,
            program=self.program,
            seconds=self.seconds,
        )


class Laboratory(Protocol):
    """What builds, proves and measures trials. Each method yields how the trial fares at its gates, in their order,
    and fills in what it finds out; nobody asks for more once a gate is not passed."""

    def looked_at(self, trial: Trial) -> Iterator[Passage]:
        """By the text alone: text, safety, precision."""
        ...

    def prepare(self, trials: Sequence[Trial]) -> None:
        """Begin what can be done for all of these at once, before each is asked for."""
        ...

    def built(self, trial: Trial) -> Iterator[Passage]:
        """By the code object: build, interface, resources, precision."""
        ...

    def raced(self, trials: Sequence[Trial], launches: int) -> Sequence[Speedup]:
        """A first look at their times, against the version that they all change: some launches of each by turns."""
        ...

    def proven(self, trial: Trial) -> Iterator[Passage]:
        """By a second build and by its results: rebuild, captured, fresh."""
        ...

    def timed(self, trial: Trial) -> Iterator[Passage]:
        """By its times in replay, in fresh processes: timed, floor, gain."""
        ...

    def confirmed(self, trial: Trial) -> Iterator[Passage]:
        """By the program as a whole: outputs, program."""
        ...


def passes(passages: Iterator[Passage], trial: Trial, open_gates: frozenset[Gate] = NOTHING_OPEN) -> bool:
    """Whether the trial gets past all of these gates; what was seen at each is kept. Open gates stop nobody."""
    for passage in passages:
        trial.passages.append(passage)
        if not passage.passed and passage.gate not in open_gates:
            return False
    return True
