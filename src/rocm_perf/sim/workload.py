"""Workload files: what host threads do, in TOML. Reading one checks everything that can be checked before it runs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import tomli

from rocm_perf.errors import InputError
from rocm_perf.files import read_text
from rocm_perf.sim import positions
from rocm_perf.sim.checks import faults
from rocm_perf.sim.steps import DEFAULT_STREAM, DTYPES, LEVELS, Kernel, Size, Step, Thread, Workload

__all__ = ["Kernel", "Size", "Step", "Thread", "Workload", "parse_workload", "read_workload"]

# Larger ones are slips, and do not fit into the columns of a recording.
_LARGEST_NUMBER = 1e18
_LARGEST_COUNT = (1 << 31) - 1  # of a grid, of registers, of repetitions

_WORKLOAD_KEYS = {"name", "seed", "noise", "command", "streams", "kernel", "graph", "thread"}
_COUNTS = {"vgprs": 32, "agprs": 0, "sgprs": 32, "lds_bytes": 0, "scratch_bytes": 0}
_KERNEL_KEYS = {
    "flops",
    "bytes",
    "matrix",
    "duration_us",
    "grid",
    "workgroup",
    "symbol",
    "lds_conflicts",
    *_COUNTS,
}
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
_NEEDED = {"copy": "bytes", "cpu": "us", "alloc": "bytes", "free": "bytes"}
_IN_GRAPHS = ("launch", "copy")
_COPIES = ("H2D", "D2H", "D2D")


def read_workload(path: Path) -> Workload:
    """The workload in a file; an error names the line."""
    return parse_workload(read_text(path), str(path))


def parse_workload(text: str, name: str = "workload") -> Workload:
    """The workload in a text; `name` is what errors call it."""
    try:
        document = tomli.loads(text)
    except ValueError as error:  # a number of thousands of digits is not even a TOMLDecodeError
        where = str(error).replace("at end of document", f"at line {text.count(chr(10)) + 1}, the end")
        raise InputError(f"{name} is not valid TOML", where) from error
    except RecursionError as error:
        raise InputError(f"{name} cannot be read", "its steps are nested too deeply") from error
    return _Reader(text, name).workload(document)


class _Reader:
    """Checks a document and names the line of an error. A `path` leads to a value in the document."""

    def __init__(self, text: str, name: str) -> None:
        self._lines = positions.positions(text)
        self._name = name
        self._kernels: dict[str, Kernel] = {}
        self._graphs: dict[str, tuple[Step, ...]] = {}
        self._streams: set[str] | None = None

    def workload(self, document: dict[str, Any]) -> Workload:
        self._only((), document, _WORKLOAD_KEYS, "a workload")
        if "streams" in document:
            self._streams = {DEFAULT_STREAM, *self._names(("streams",), document["streams"])}
        for key, entry in self._table(("kernel",), document.get("kernel", {})).items():
            self._kernels[key] = self._kernel(("kernel", key), key, entry)
        for key, entry in self._table(("graph",), document.get("graph", {})).items():
            self._only(("graph", key), entry, {"steps"}, f"graph {key!r}")
            self._graphs[key] = self._steps(
                ("graph", key, "steps"), entry.get("steps"), f"graph {key!r}", True
            )
        threads = document.get("thread")
        if not isinstance(threads, list) or not threads:
            self._fail(("thread",), "there is no [[thread]]")
        read = Workload(
            name=self._text(("name",), document.get("name", self._name)),
            kernels=self._kernels,
            graphs=self._graphs,
            threads=tuple(
                self._thread(("thread", number), entry, number) for number, entry in enumerate(threads)
            ),
            seed=self._count(("seed",), document.get("seed", 0), most=_LARGEST_NUMBER),
            noise=self._number(("noise",), document.get("noise", 0.0), most=1),
            command=self._text(("command",), document.get("command", "")),
        )
        return self._checked(read)

    def _checked(self, workload: Workload) -> Workload:
        for fault in faults(workload):
            raise InputError(f"{self._name}, line {fault.line}", fault.what)
        return workload

    def _thread(self, path: positions.Path, entry: Any, number: int) -> Thread:
        self._only(path, entry, {"name", "rank", "steps"}, "a thread")
        name = self._text((*path, "name"), entry.get("name", f"thread {number}"))
        rank = self._count((*path, "rank"), entry.get("rank", 0))
        return Thread(name, rank, self._steps((*path, "steps"), entry.get("steps"), f"thread {name!r}"))

    def _kernel(self, path: positions.Path, key: str, entry: Any) -> Kernel:
        where = f"kernel {key!r}"
        self._only(path, entry, _KERNEL_KEYS, where)
        flops = self._amounts((*path, "flops"), entry.get("flops", {}), DTYPES)
        moved = self._amounts((*path, "bytes"), entry.get("bytes", {}), LEVELS)
        duration = entry.get("duration_us")
        if duration is None and not flops and not moved:
            self._fail(path, f"{where} has neither duration_us nor flops nor bytes")
        if duration is not None and not self._number((*path, "duration_us"), duration) > 0:
            self._fail((*path, "duration_us"), f"{where} takes no time")
        counts = {name: self._count((*path, name), entry.get(name, usual)) for name, usual in _COUNTS.items()}
        return Kernel(
            name=self._text((*path, "symbol"), entry.get("symbol", key)),
            flops=flops,
            bytes=moved,
            matrix=self._flag((*path, "matrix"), entry.get("matrix", False)),
            duration_us=duration,
            grid=self._size((*path, "grid"), entry.get("grid", [1024])),
            workgroup=self._size((*path, "workgroup"), entry.get("workgroup", [256])),
            lds_conflicts=self._number((*path, "lds_conflicts"), entry.get("lds_conflicts", 0.0)),
            **counts,
        )

    def _steps(
        self, path: positions.Path, entries: Any, where: str, in_graph: bool = False
    ) -> tuple[Step, ...]:
        if not isinstance(entries, list) or not entries:
            self._fail(path, f"{where} has no steps")
        return tuple(
            self._step((*path, place), entry, where, in_graph) for place, entry in enumerate(entries)
        )

    def _step(self, path: positions.Path, entry: Any, where: str, in_graph: bool) -> Step:
        verbs = [verb for verb in _VERBS if isinstance(entry, dict) and verb in entry]
        if len(verbs) != 1:
            self._fail(path, f"a step of {where} must have exactly one of {', '.join(_VERBS)}")
        verb = verbs[0]
        self._only(path, entry, _VERBS[verb] | {verb}, f"the step {verb!r}")
        if in_graph and verb not in _IN_GRAPHS:
            self._fail(path, f"a graph can hold launches and copies, not {verb!r}")
        if verb == "repeat":
            times = self._count((*path, verb), entry[verb])
            if not times:
                self._fail((*path, verb), "repeat must be at least 1")
            return Step(
                verb,
                times=times,
                steps=self._steps((*path, "steps"), entry.get("steps"), where),
                line=self._line(path),
            )
        return self._simple(path, verb, entry)

    def _simple(self, path: positions.Path, verb: str, entry: dict[str, Any]) -> Step:
        if verb in _NEEDED and _NEEDED[verb] not in entry:
            self._fail(path, f"the step {verb!r} needs {_NEEDED[verb]!r}")
        return Step(
            verb,
            self._what((*path, verb), verb, entry[verb]),
            stream=self._stream((*path, "stream"), entry.get("stream", DEFAULT_STREAM)),
            size_bytes=self._count((*path, "bytes"), entry.get("bytes", 0), most=_LARGEST_NUMBER),
            duration_us=self._number((*path, "us"), entry.get("us", 0.0)),
            pinned=self._flag((*path, "pinned"), entry.get("pinned", True)),
            blocking=self._flag((*path, "blocking"), entry.get("blocking", False)),
            line=self._line(path),
        )

    def _what(self, path: positions.Path, verb: str, value: Any) -> str:
        if verb == "pop" and value is True:  # `{pop = true}`: a pop needs no name
            return ""
        what = self._text(path, value)
        if verb == "launch" and what not in self._kernels:
            self._fail(path, f"there is no kernel {what!r}; known are {', '.join(self._kernels)}")
        if verb == "graph" and what not in self._graphs:
            self._fail(path, f"there is no graph {what!r}; known are {', '.join(self._graphs)}")
        if verb == "copy" and what not in _COPIES:
            self._fail(path, f"a copy must be one of {', '.join(_COPIES)}, not {what!r}")
        return what

    def _stream(self, path: positions.Path, value: Any) -> str:
        name = self._text(path, value)
        if self._streams is not None and name not in self._streams:
            self._fail(path, f"there is no stream {name!r}; known are {', '.join(sorted(self._streams))}")
        return name

    # Values

    def _amounts(self, path: positions.Path, amounts: Any, allowed: tuple[str, ...]) -> dict[str, float]:
        self._only(path, amounts, set(allowed), str(path[-1]))
        return {name: self._number((*path, name), amount) for name, amount in amounts.items()}

    def _size(self, path: positions.Path, value: Any) -> Size:
        if not isinstance(value, list) or not 1 <= len(value) <= 3:
            self._fail(path, f"{path[-1]} must be a list of one to three numbers")
        padded = [*(self._count((*path, axis), number) for axis, number in enumerate(value)), 1, 1]
        if not all(padded):
            self._fail(path, f"{path[-1]} contains a zero")
        return (padded[0], padded[1], padded[2])

    def _number(self, path: positions.Path, value: Any, most: float = _LARGEST_NUMBER) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            self._fail(path, f"{path[-1]} must be a number, not {value!r}")
        if isinstance(value, float) and not math.isfinite(value):
            self._fail(path, f"{path[-1]} must be a number, not {value!r}")
        if value > most:
            self._fail(path, f"{path[-1]} is beyond what is simulated: at most {most:g}")
        if value < 0:
            self._fail(path, f"{path[-1]} is negative ({max(value, -_LARGEST_NUMBER)})")
        return value

    def _count(self, path: positions.Path, value: Any, most: float = _LARGEST_COUNT) -> int:
        number = self._number(path, value, most)
        if number != int(number):
            self._fail(path, f"{path[-1]} must be a whole number, not {value!r}")
        return int(number)

    def _flag(self, path: positions.Path, value: Any) -> bool:
        if not isinstance(value, bool):
            self._fail(path, f"{path[-1]} must be true or false, not {value!r}")
        return value

    def _text(self, path: positions.Path, value: Any) -> str:
        if not isinstance(value, str):
            self._fail(path, f"{path[-1]} must be text in quotes, not {value!r}")
        return value

    def _names(self, path: positions.Path, value: Any) -> list[str]:
        if not isinstance(value, list):
            self._fail(path, f"{path[-1]} must be a list of names")
        return [self._text((*path, number), name) for number, name in enumerate(value)]

    def _table(self, path: positions.Path, table: Any) -> Mapping[str, Any]:
        if not isinstance(table, dict):
            self._fail(path, f"[{path[-1]}.NAME] tables are expected")
        return table

    def _only(self, path: positions.Path, entry: Any, allowed: set[str], where: str) -> None:
        if not isinstance(entry, dict):
            self._fail(path, f"{where} must be a table, not {entry!r}")
        for key in entry:
            if key not in allowed:
                self._fail((*path, key), f"{where} has no {key!r}; known are {', '.join(sorted(allowed))}")

    def _line(self, path: positions.Path) -> int:
        """The line of a value; if it is not written, that of what contains it."""
        while path and path not in self._lines:
            path = path[:-1]
        return self._lines.get(path, 1)

    def _fail(self, path: positions.Path, what: str) -> NoReturn:
        raise InputError(f"{self._name}, line {self._line(path)}", what)
