"""What `optimize` would do, without building or running anything."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import msgspec

from rocm_perf.optimize.gates import GATES
from rocm_perf.optimize.request import Request
from rocm_perf.optimize.subject import Subject
from rocm_perf.units import format_count


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What would be built, run and tried."""

    schema_version: int = 1
    source: str
    build: tuple[tuple[str, ...], ...]
    origin: str  # where the build commands come from
    run: tuple[str, ...]
    arch: str
    kernels: tuple[str, ...]  # of the source that may be chosen
    left_alone: tuple[str, ...]  # kernels that cannot be understood, with the reason
    ledger: str
    gates: tuple[str, ...] = GATES
    seconds: float
    attempts: int

    def lines(self) -> Iterator[str]:
        """The plan for people."""
        yield f"source: {self.source}, for {self.arch}"
        yield f"build, by {self.origin}:"
        yield from (f"  {shlex.join(words)}" for words in self.build)
        yield f"run: {shlex.join(self.run)}"
        yield f"kernels: {', '.join(self.kernels) or 'none'}"
        yield from (f"left alone: {text}" for text in self.left_alone)
        yield f"gates: {', '.join(self.gates)}"
        yield f"at most {self.seconds:g} s and {format_count(self.attempts, 'candidate')}; ledger {self.ledger}"


def plan_of(request: Request, subject: Subject) -> Plan:
    """The plan of a request."""
    kernels = [request.kernel] if request.kernel else [one.base for one in subject.source.kernels]
    return Plan(
        source=str(subject.path),
        build=tuple(command.argv for command in subject.recipe.commands),
        origin=subject.recipe.origin,
        run=subject.run,
        arch=subject.arch,
        kernels=tuple(one.qualified for one in subject.source.kernels),
        left_alone=tuple(f"{one.name}: {one.reason}" for one in subject.source.unreadable),
        ledger=str(
            request.kept_in(subject.path, kernels[0] if len(kernels) == 1 else "KERNEL") / "ledger.jsonl"
        ),
        seconds=request.seconds,
        attempts=request.attempts,
    )
