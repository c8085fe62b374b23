"""Fuzzes one target in a process of its own, because what it finds may hang, use up the memory, or end it."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import re
import resource
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from ctypes import c_ulong
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from rocm_perf.ingest.part import Adapter
from tests.fuzz.mutate import MAX_BYTES, mutate
from tests.fuzz.oracle import place, trouble

LIMIT_S = 5  # for one input
_ADDRESS_SPACE = 16 << 30  # so that a runaway ends here and not with the machine
_MINIMISE_S = 5


@dataclass(frozen=True)
class Target:
    """What is fuzzed: one adapter, or (None) whichever claims the input."""

    name: str
    adapter: Adapter | None
    seeds: list[bytes]


@dataclass(frozen=True)
class Budget:
    seconds: float
    seed: int
    memory_mb: int


def fuzz(target: Target, budget: Budget, crashes: Path, atheris: Any | None) -> int:
    """Fuzzes for as long as the budget says, however often the process ends; returns how many inputs ran."""
    runs = multiprocessing.get_context("fork").Value(c_ulong, 0)
    end = time.monotonic() + budget.seconds
    seed = budget.seed
    while (left := end - time.monotonic()) > 0.2:
        with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
            work = _Work(target, Budget(left, seed, budget.memory_mb), Path(name), crashes, runs)
            child = multiprocessing.get_context("fork").Process(target=work.run, args=(atheris,))
            child.start()
            child.join()
            if child.exitcode:
                work.bury(child.exitcode)
        seed += 1
    return int(runs.value)


@dataclass(frozen=True)
class _Work:
    target: Target
    budget: Budget
    folder: Path
    crashes: Path
    runs: Any

    @property
    def input(self) -> Path:
        return self.folder / "input"

    @property
    def log(self) -> Path:
        return self.folder / "log"

    def run(self, atheris: Any | None) -> None:
        with self.log.open("wb") as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
        resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        (_guided if atheris else _random)(self, atheris)

    def one(self, data: bytes) -> None:
        """Read one input, and keep it if it did what none may do."""
        self.runs.value += 1
        before = _peak_mb()
        error = self._judge(data)
        grown = _peak_mb() - before
        if error:
            self._keep(place(error), data, "".join(traceback.format_exception(error)))
        elif grown > self.budget.memory_mb:
            self._keep(f"{grown} MB for {len(data):,} bytes", data, "")

    def bury(self, exit_code: int) -> None:
        """Keep the input that ended the process."""
        log = self.log.read_text(errors="replace")
        what = f"over {LIMIT_S} s" if "Timeout (" in log else f"process ended with {exit_code}"
        self._save(what, self.input.read_bytes() if self.input.exists() else b"", log[-6000:])

    def _judge(self, data: bytes) -> BaseException | None:
        self.input.write_bytes(data)
        faulthandler.dump_traceback_later(LIMIT_S, exit=True)
        try:
            return trouble(self.input, self.target.adapter)
        finally:
            faulthandler.cancel_dump_traceback_later()

    def _keep(self, what: str, data: bytes, details: str) -> None:
        if self._path(what).exists():
            return

        def same(candidate: bytes) -> bool:
            error = self._judge(candidate)
            return error is not None and place(error) == what

        self._save(what, minimised(data, same) if details else data, details)

    def _save(self, what: str, data: bytes, details: str) -> None:
        path = self._path(what)
        if not path.exists():
            path.with_suffix(".txt").write_text(f"{self.target.name}: {what}\n\n{details}")
            path.write_bytes(data)

    def _path(self, what: str) -> Path:
        return self.crashes / (re.sub(r"[^\w.-]+", "_", f"{self.target.name} {what}") + ".input")


def minimised(data: bytes, same: Callable[[bytes], bool]) -> bytes:
    """The input with as much left out as still does the same, lines first and then bytes."""
    end = time.monotonic() + _MINIMISE_S
    for pieces in (data.splitlines(keepends=True), None):
        parts = pieces if pieces else [data[i : i + 1] for i in range(len(data))]
        size = len(parts) // 2
        while size and time.monotonic() < end:
            start = 0
            while start < len(parts) and time.monotonic() < end:
                shorter = parts[:start] + parts[start + size :]
                if same(b"".join(shorter)):
                    parts = shorter
                else:
                    start += size
            size //= 2
        data = b"".join(parts)
    return data


def _guided(work: _Work, atheris: Any) -> None:
    """Coverage decides which inputs are changed further. Ends the process."""
    corpus = work.folder / "corpus"
    corpus.mkdir()
    for number, data in enumerate(work.target.seeds):
        (corpus / str(number)).write_bytes(data)

    def change(data: bytes, max_size: int, seed: int) -> bytes:
        random = Random(seed)
        changed = mutate(data, random) if random.random() < 0.8 else atheris.Mutate(data, max_size)
        return bytes(changed[:max_size])

    seconds = max(1, round(work.budget.seconds))
    options = {"max_total_time": seconds, "seed": work.budget.seed % (1 << 31) or 1, "max_len": MAX_BYTES,
               "timeout": 10 * LIMIT_S, "rss_limit_mb": 0, "verbosity": 0,
               "artifact_prefix": f"{work.folder}/"}  # fmt: skip
    arguments = [sys.argv[0], *(f"-{name}={value}" for name, value in options.items()), str(corpus)]
    atheris.Setup(arguments, work.one, custom_mutator=change, internal_libfuzzer=True)
    atheris.Fuzz()


def _random(work: _Work, _: None) -> None:
    """The seeds as they are, and then random changes of them."""
    end = time.monotonic() + work.budget.seconds
    random = Random(work.budget.seed)
    for data in work.target.seeds:
        work.one(data)
    while time.monotonic() < end:
        work.one(mutate(random.choice(work.target.seeds), random))


def _peak_mb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
