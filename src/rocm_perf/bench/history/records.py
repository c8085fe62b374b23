"""What the history keeps: a result with its self-test, and the numbers of one phase of an optimisation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rocm_perf.bench.samples import Result
from rocm_perf.bench.self_test import SelfTest


@dataclass(frozen=True, kw_only=True)
class SavedRun:
    """One result; with self-tests if it was measured for them."""

    result: Result
    self_tests: tuple[SelfTest, ...] = ()

    @property
    def is_sound(self) -> bool:
        """Whether every process measured to its end."""
        return bool(self.result.times_ms) and not any(one.fault for one in self.result.processes)

    @property
    def conditions(self) -> Conditions:
        """What must be equal for a comparison to mean something."""
        result = self.result
        return Conditions(
            target=result.target,
            machine=str(result.machine.get("uuid") or result.machine.get("host", "")),
            gpu=str(result.machine.get("gpu", "")),
            clock=result.processes[0].clock if result.processes else "",
            settings=tuple(sorted((name, str(value)) for name, value in result.settings.items())),
        )


@dataclass(frozen=True)
class Conditions:
    """What is measured, where and how. The machine is known by its GPU's uuid, because containers change their host
    name; by that name if there is none. Versions are not part of it: an update that costs time is a regression."""

    target: str
    machine: str
    gpu: str
    clock: str
    settings: tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class Phase:
    """What a profile showed at one stage of an optimisation. A number that is None was not recorded."""

    name: str
    date: str  # ISO 8601, UTC
    source: str
    commit: str = ""
    numbers: Mapping[str, float | None] = field(default_factory=dict)


def run_from(data: Mapping[str, Any]) -> SavedRun:
    """The run that plain data holds. Raises InputError, KeyError, TypeError or ValueError for anything else."""
    tests = tuple(SelfTest(**one) for one in data.get("self_tests", ()))
    return SavedRun(result=Result.from_json(data), self_tests=tests)


def phase_from(data: Mapping[str, Any]) -> Phase:
    """The phase that plain data holds."""
    numbers = {str(name): None if value is None else float(value) for name, value in data["numbers"].items()}
    texts = {name: str(data[name]) for name in ("name", "date", "source", "commit")}
    return Phase(numbers=numbers, **texts)
