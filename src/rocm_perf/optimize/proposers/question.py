"""What is asked of proposers, and what comes back, before it is JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rocm_perf.model.results.optimize import Attempt
from rocm_perf.optimize.candidate import Candidate, Cause, Refused
from rocm_perf.optimize.proposers.exchange import (
    Allowed,
    EarlierAttempt,
    KernelProfile,
    KernelText,
    ProposalRequest,
)


@dataclass(frozen=True)
class Question:
    """A kernel that should be faster, and all that is known of it."""

    file: str  # name of the source
    source: bytes
    kernel: str
    span: tuple[int, int]  # the bytes of the source that are the kernel's text
    arch: str = ""
    compiler: str = ""
    cause: Cause = "unknown"
    because: str = ""
    profile: KernelProfile = field(default_factory=KernelProfile)
    attempts: Sequence[Attempt] = ()
    allowed: Allowed = field(default_factory=Allowed)

    @property
    def request(self) -> ProposalRequest:
        """What a proposer reads."""
        start, end = self.span
        return ProposalRequest(
            file=self.file,
            source=self.source.decode(errors="replace"),
            kernel=KernelText(
                name=self.kernel,
                line=self.source.count(b"\n", 0, start) + 1,
                text=self.source[start:end].decode(errors="replace"),
            ),
            arch=self.arch,
            compiler=self.compiler,
            cause=self.cause,
            because=self.because,
            profile=self.profile,
            attempts=tuple(_earlier(one) for one in self.attempts),
            allowed=self.allowed,
        )


@dataclass(frozen=True)
class Proposals:
    """The candidates of a proposer, and what could not become one, with the reason."""

    candidates: tuple[Candidate, ...] = ()
    refused: tuple[Refused, ...] = ()

    @classmethod
    def of(cls, outcomes: Sequence[Candidate | Refused]) -> Proposals:
        """Outcomes, sorted by whether they can be tried."""
        return cls(
            tuple(one for one in outcomes if isinstance(one, Candidate)),
            tuple(one for one in outcomes if isinstance(one, Refused)),
        )


Proposer = Callable[[Question], Proposals]


def _earlier(attempt: Attempt) -> EarlierAttempt:
    return EarlierAttempt(
        name=attempt.name,
        by=attempt.by,
        verdict=attempt.verdict,
        reason=attempt.reason,
        patch=attempt.patch,
        speedup=attempt.replay.value if attempt.replay else None,
    )
