"""A laboratory whose answers are known: what a candidate does is written in its name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rocm_perf.errors import RocmPerfError
from rocm_perf.model.results.optimize import Speedup
from rocm_perf.optimize.candidate import Candidate, Edit
from rocm_perf.optimize.gates import Gate, Passage
from rocm_perf.optimize.loop.trial import Trial, Version

SOURCE = b"__global__ void k() {}\n"


def candidate(name: str, *, at: int = 0) -> Candidate:
    """A change that writes its name into the source."""
    return Candidate(name=name, by="test", edits=(Edit(at, at, f"/* {name} */\n".encode()),))


def speedup(value: float, *, width: float = 0.005) -> Speedup:
    return Speedup(
        base_ns=1000, new_ns=1000 / value, value=value, interval=(value - width, value + width), how="toy"
    )


@dataclass
class ToyLaboratory:
    """Speeds of candidates by name, and the gates at which some fail."""

    speeds: dict[str, float] = field(default_factory=dict)
    fails_at: dict[str, Gate] = field(default_factory=dict)
    crashes: frozenset[str] = frozenset()
    asked: list[str] = field(default_factory=list)  # what was done, in order

    def looked_at(self, trial: Trial) -> Iterator[Passage]:
        yield from self._gates(trial, "text", "safety")

    def prepare(self, trials: Sequence[Trial]) -> None:
        self.asked += [f"prepare {trial.candidate.name}" for trial in trials]

    def built(self, trial: Trial) -> Iterator[Passage]:
        yield from self._gates(trial, "build", "interface", "resources")
        trial.product = trial.candidate.name

    def raced(self, trials: Sequence[Trial], launches: int) -> list[Speedup]:
        names = [trial.candidate.name for trial in trials]
        self.asked += [f"race {name} {launches}" for name in names]
        if self.crashes & set(names):
            raise RocmPerfError("the kernel failed")
        return [speedup(self.speeds.get(name, 1.0)) for name in names]

    def proven(self, trial: Trial) -> Iterator[Passage]:
        self.asked.append(f"prove {trial.candidate.name}")
        yield from self._gates(trial, "rebuild", "captured", "fresh")

    def timed(self, trial: Trial) -> Iterator[Passage]:
        yield from self._gates(trial, "timed", "floor", "gain")

    def confirmed(self, trial: Trial) -> Iterator[Passage]:
        yield from self._gates(trial, "outputs", "program")

    def _gates(self, trial: Trial, *gates: Gate) -> Iterator[Passage]:
        for gate in gates:
            passed = self.fails_at.get(trial.candidate.name) != gate
            yield Passage(gate, passed, "as it should be" if passed else "planted")


def start() -> Version:
    return Version(SOURCE)
