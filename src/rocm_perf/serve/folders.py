"""The runs in the given files and folders as they are now, and whether they are still being written.

Pages know a run by an id that means nothing outside this process: no path ever comes from a browser.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rocm_perf.errors import RocmPerfError
from rocm_perf.ingest.listing import Glance, ListedRun, glance, runs_at

REST_S = 2.0  # what has not changed for so long is taken to be complete

_FileState = tuple[str, int, int, int]  # path, size, time of the last change, inode


@dataclass(frozen=True)
class Run:
    """A run that can be shown."""

    id: str
    name: str
    paths: tuple[Path, ...]
    tool: str
    changed_s: float  # when a file of it was last written, in seconds since 1970
    version: str  # changes whenever one of its files does
    part: int | None = None  # where the files turned out to hold several runs: which of them
    error: str = ""
    growing: bool = False  # still being written


@dataclass
class _Seen:
    """A version of a run, and since when it is known."""

    version: str
    since_s: float
    rests: bool


@dataclass
class Folders:
    """Looks at the given paths, and remembers what it saw."""

    paths: Sequence[Path]
    clock: Callable[[], float] = time.time
    _runs: dict[str, Run] = field(default_factory=dict)
    _seen: dict[str, _Seen] = field(default_factory=dict)
    _glances: dict[_FileState, Glance] = field(default_factory=dict)
    _parts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _has_looked: bool = False
    _key: bytes = field(default_factory=lambda: secrets.token_bytes(16))

    def look(self) -> None:
        """See what has appeared, changed or gone."""
        with self._lock:
            remembered, self._glances = self._glances, {}
            listed = {run.id: run for root in self.paths for run in self._below(root, remembered)}
            self._seen = {each: seen for each, seen in self._seen.items() if each in listed}
            self._runs = listed
            self._has_looked = True

    @property
    def runs(self) -> list[Run]:
        """All of them, the last written first."""
        whole = sorted(self._runs.values(), key=lambda run: (-run.changed_s, run.name))
        return [part for run in whole for part in self._divided(run)]

    def run(self, name: str) -> Run | None:
        """The run with an id; that of files which hold several still leads to them."""
        return self._runs.get(name) or next((run for run in self.runs if run.id == name), None)

    def divide(self, run: Run, labels: Sequence[str]) -> None:
        """Note that the files of a run hold several, by these names."""
        self._parts[run.version] = tuple(labels)

    def _divided(self, run: Run) -> list[Run]:
        return [
            replace(run, id=f"{run.id}-{part}", name=f"{run.name} ({label})", part=part)
            for part, label in enumerate(self._parts.get(run.version, ()))
        ] or [run]

    def _below(self, root: Path, remembered: dict[_FileState, Glance]) -> list[Run]:
        top = root.resolve()

        def look(file: Path) -> Glance:
            state = _state(file)
            if state is None:
                return glance(file)
            self._glances[state] = remembered.get(state) or glance(file)
            return self._glances[state]

        try:
            listed = runs_at(top, lambda file: is_inside(file, top), look)
        except RocmPerfError as error:
            listed = [ListedRun(top.name, (top,), "", error)]
        several = len(self.paths) > 1 and top.is_dir()
        return [self._run(each, f"{top.name}/{each.name}" if several else each.name) for each in listed]

    def _run(self, listed: ListedRun, name: str) -> Run:
        states = [state for path in listed.paths for state in _states(path)]
        version = self._digest(*states)
        identity = self._digest(*map(str, listed.paths))
        changed_s = max((state[2] for state in states), default=0) / 1e9
        return Run(
            id=identity,
            name=name,
            paths=listed.paths,
            tool=listed.tool,
            changed_s=changed_s,
            version=version,
            error=str(listed.error or ""),
            growing=listed.under_way or not self._rests(identity, version, changed_s),
        )

    def _rests(self, identity: str, version: str, changed_s: float) -> bool:
        """Whether nothing has changed for a while: by the files' own times at the first look, later by when we saw
        them, for a copy can bring old times along, and another machine can have set them."""
        now = self.clock()
        seen = self._seen.get(identity)
        if seen is None or seen.version != version:
            seen = _Seen(version, now, rests=not self._has_looked and now - changed_s >= REST_S)
            self._seen[identity] = seen
        seen.rests = seen.rests or now - seen.since_s >= REST_S
        return seen.rests

    def _digest(self, *parts: object) -> str:
        text = repr(parts).encode("utf-8", "surrogatepass")
        return hashlib.blake2b(text, key=self._key, digest_size=8).hexdigest()


def is_inside(file: Path, top: Path) -> bool:
    """Whether a file lies below the folder, wherever links lead."""
    try:
        return file.resolve(strict=True).is_relative_to(top)
    except (OSError, RuntimeError):  # a broken link, or a circle of them
        return False


def _states(path: Path) -> list[_FileState]:
    logs = [path.with_name(f"{path.name}{ending}") for ending in ("-wal", "-journal")]  # of a database
    files = sorted(path.iterdir()) if path.is_dir() else [path, *logs]
    return [state for file in files if (state := _state(file))]


def _state(file: Path) -> _FileState | None:
    try:
        status = os.stat(file)
    except OSError:
        return None
    return str(file), status.st_size, status.st_mtime_ns, status.st_ino
