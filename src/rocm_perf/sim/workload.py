"""Workload files: what host threads do, in TOML. Reading one checks everything that can be checked before it runs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from rocm_perf.errors import InputError

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib  # type: ignore[no-redef]

Size = tuple[int, int, int]

DTYPES = ("f64", "f32", "f16", "bf16", "f8", "i8")
LEVELS = ("hbm", "l2", "lds")


@dataclass(frozen=True)
class Kernel:
    """A kernel: how much it computes and moves, or how long it takes."""

    name: str
    flops: Mapping[str, float] = field(default_factory=dict)
    bytes: Mapping[str, float] = field(default_factory=dict)
    matrix: bool = False
    duration_us: float | None = None
    grid: Size = (1024, 1, 1)
    workgroup: Size = (256, 1, 1)
    vgprs: int = 32
    agprs: int = 0
    sgprs: int = 32
    lds_bytes: int = 0
    scratch_bytes: int = 0

    @property
    def workgroups(self) -> int:
        count = 1
        for total, size in zip(self.grid, self.workgroup, strict=True):
            count *= -(-total // size)
        return count


@dataclass(frozen=True)
class Step:
    """One thing that a host thread does."""

    verb: str
    what: str = ""
    stream: str = "default"
    size_bytes: int = 0
    duration_us: float = 0.0
    times: int = 1
    pinned: bool = True
    blocking: bool = False
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Thread:
    """One host thread of one process."""

    name: str
    rank: int
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Workload:
    """A whole workload."""

    name: str
    kernels: Mapping[str, Kernel]
    graphs: Mapping[str, tuple[Step, ...]]
    threads: tuple[Thread, ...]
    seed: int = 0
    noise: float = 0.0
    command: str = ""

    @property
    def ranks(self) -> tuple[int, ...]:
        return tuple(sorted({thread.rank for thread in self.threads}))


def read_workload(path: Path) -> Workload:
    """The workload of a file; every fault is reported with its line."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the workload {path}", str(error)) from error
    return parse_workload(text, str(path))


def parse_workload(text: str, name: str = "workload") -> Workload:
    """The same, from text."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{name} is not valid TOML", str(error)) from error
    return _Reader(text, name).workload(document)


_WORKLOAD_KEYS = {"name", "seed", "noise", "command", "kernel", "graph", "thread"}
_KERNEL_KEYS = {"flops", "bytes", "matrix", "duration_us", "grid", "workgroup", "vgprs", "agprs", "sgprs", "lds_bytes", "scratch_bytes", "symbol"}
_VERBS: dict[str, set[str]] = {
    "launch": {"stream"},
    "copy": {"stream", "bytes", "pinned", "blocking"},
    "record": {"stream"},
    "wait": {"stream"},
    "sync": {"stream"},
    "graph": {"stream"},
    "collective": {"stream", "bytes"},
    "push": set(),
    "pop": set(),
    "cpu": {"us"},
    "alloc": {"bytes"},
    "free": {"bytes"},
    "repeat": {"steps"},
}
_COPIES = ("H2D", "D2H", "D2D")
_SYNCS = ("stream", "device", "event")


class _Reader:
    """Checks a document and says where it is wrong."""

    def __init__(self, text: str, name: str) -> None:
        self._lines = text.splitlines()
        self._name = name
        self._kernels: dict[str, Kernel] = {}
        self._graphs: dict[str, tuple[Step, ...]] = {}
        self._recorded: set[str] = set()
        self._waited: dict[str, Any] = {}

    def workload(self, document: dict[str, Any]) -> Workload:
        self._only(document, _WORKLOAD_KEYS, "the workload")
        for key, entry in self._table(document, "kernel").items():
            self._kernels[key] = self._kernel(key, entry)
        for key, entry in self._table(document, "graph").items():
            self._graphs[key] = self._steps(entry.get("steps"), f"graph {key}", in_graph=True)
        threads = document.get("thread")
        if not isinstance(threads, list) or not threads:
            self._fail("there is no [[thread]]", "thread")
        read = tuple(self._thread(number, entry) for number, entry in enumerate(threads))
        for event in self._waited:
            if event not in self._recorded:
                self._fail(f"event {event!r} is waited for, and never recorded", event)
        return Workload(
            name=str(document.get("name", self._name)),
            kernels=self._kernels,
            graphs=self._graphs,
            threads=read,
            seed=int(self._number(document, "seed", 0)),
            noise=self._number(document, "noise", 0.0),
            command=str(document.get("command", "")),
        )

    def _thread(self, number: int, entry: dict[str, Any]) -> Thread:
        self._only(entry, {"name", "rank", "steps"}, "a thread")
        name = str(entry.get("name", f"thread {number}"))
        rank = int(self._number(entry, "rank", 0))
        return Thread(name, rank, self._steps(entry.get("steps"), f"thread {name!r}"))

    def _kernel(self, key: str, entry: dict[str, Any]) -> Kernel:
        self._only(entry, _KERNEL_KEYS, f"kernel {key}")
        flops = self._amounts(entry, "flops", DTYPES, key)
        moved = self._amounts(entry, "bytes", LEVELS, key)
        duration = entry.get("duration_us")
        if duration is None and not flops and not moved:
            self._fail(f"kernel {key} has neither duration_us nor flops nor bytes", key)
        if duration is not None and not self._number(entry, "duration_us", 0) > 0:
            self._fail(f"kernel {key} takes no time", "duration_us")
        counts = {name: int(self._number(entry, name, default)) for name, default in (("vgprs", 32), ("agprs", 0), ("sgprs", 32), ("lds_bytes", 0), ("scratch_bytes", 0))}
        return Kernel(
            name=str(entry.get("symbol", key)),
            flops=flops,
            bytes=moved,
            matrix=bool(entry.get("matrix", False)),
            duration_us=None if duration is None else float(duration),
            grid=self._size(entry, "grid", (1024, 1, 1), key),
            workgroup=self._size(entry, "workgroup", (256, 1, 1), key),
            **counts,
        )

    def _steps(self, entries: Any, where: str, in_graph: bool = False) -> tuple[Step, ...]:
        if not isinstance(entries, list) or not entries:
            self._fail(f"{where} has no steps", where.split()[-1].strip("'"))
        return tuple(self._step(entry, where, in_graph) for entry in entries)

    def _step(self, entry: Any, where: str, in_graph: bool) -> Step:
        verbs = [verb for verb in _VERBS if isinstance(entry, dict) and verb in entry]
        if len(verbs) != 1:
            self._fail(f"a step of {where} must name one of {', '.join(_VERBS)}", self._token(entry))
        verb = verbs[0]
        self._only(entry, _VERBS[verb] | {verb}, f"the step {verb!r} of {where}")
        if in_graph and verb not in ("launch", "copy"):
            self._fail(f"a graph holds launches and copies, not {verb!r}", self._token(entry))
        if verb == "repeat":
            times = self._number(entry, "repeat", 1)
            return Step("repeat", times=int(times), steps=self._steps(entry.get("steps"), where))
        return self._simple(verb, entry)

    def _simple(self, verb: str, entry: dict[str, Any]) -> Step:
        what = str(entry[verb])
        known = {"launch": self._kernels, "graph": self._graphs}.get(verb)
        if known is not None and what not in known:
            self._fail(f"there is no {'kernel' if verb == 'launch' else 'graph'} {what!r}", what)
        if verb == "copy" and what not in _COPIES:
            self._fail(f"a copy is one of {', '.join(_COPIES)}, not {what!r}", what)
        if verb == "sync" and what not in _SYNCS and what not in self._recorded:
            self._fail(f"sync takes 'stream', 'device' or a recorded event, not {what!r}", what)
        if verb == "record":
            self._recorded.add(what)
        if verb == "wait":
            self._waited[what] = entry
        return Step(
            verb,
            what,
            stream=str(entry.get("stream", "default")),
            size_bytes=int(self._number(entry, "bytes", 0)),
            duration_us=self._number(entry, "us", 0.0),
            pinned=bool(entry.get("pinned", True)),
            blocking=bool(entry.get("blocking", False)),
        )

    def _amounts(self, entry: dict[str, Any], key: str, allowed: tuple[str, ...], owner: str) -> dict[str, float]:
        amounts = entry.get(key, {})
        if not isinstance(amounts, dict) or set(amounts) - set(allowed):
            self._fail(f"{key} of kernel {owner} is a table of {', '.join(allowed)}", key)
        return {name: self._number(amounts, name, 0.0) for name in amounts}

    def _size(self, entry: dict[str, Any], key: str, default: Size, owner: str) -> Size:
        value = entry.get(key, list(default))
        if not isinstance(value, list) or not 1 <= len(value) <= 3 or not all(isinstance(n, int) and n > 0 for n in value):
            self._fail(f"{key} of kernel {owner} is a list of one to three positive numbers", key)
        padded = [*value, 1, 1][:3]
        return (padded[0], padded[1], padded[2])

    def _number(self, entry: dict[str, Any], key: str, default: float) -> float:
        value = entry.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            self._fail(f"{key} is a number, not {value!r}", key)
        if value < 0:
            self._fail(f"{key} is negative ({value})", str(value))
        return value

    def _table(self, document: dict[str, Any], key: str) -> dict[str, dict[str, Any]]:
        table = document.get(key, {})
        if not isinstance(table, dict) or not all(isinstance(entry, dict) for entry in table.values()):
            self._fail(f"[{key}.NAME] tables are expected", key)
        return table

    def _only(self, entry: Any, allowed: set[str], where: str) -> None:
        if not isinstance(entry, dict):
            self._fail(f"{where} is not a table", self._token(entry))
        for key in entry:
            if key not in allowed:
                self._fail(f"{where} has no {key!r}; known are {', '.join(sorted(allowed))}", key)

    def _token(self, entry: Any) -> str:
        if isinstance(entry, dict) and entry:
            return str(next(iter(entry.values()))) if not isinstance(next(iter(entry.values())), list | dict) else str(next(iter(entry)))
        return str(entry)

    def _fail(self, what: str, token: str) -> NoReturn:
        line = next((number for number, text in enumerate(self._lines, 1) if re.search(rf"(?<!\w){re.escape(token)}(?!\w)", text.split("#")[0])), None)
        where = f"{self._name}, line {line}" if line else self._name
        raise InputError(where, what)
