"""Processes that read large recordings beside this one: decoding holds Python's lock, so threads of one process would
wait for one another.

The reader takes files in their order, helpers those that it will ask for last. What a helper did not bring to an end,
because it was killed, is read here.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rocm_perf.errors import RocmPerfError
from rocm_perf.ingest.io.source import Source, sources_of
from rocm_perf.memory import usable_bytes
from rocm_perf.own_process import own_module

if TYPE_CHECKING:  # helpers start before this process imports what it needs itself
    from rocm_perf.ingest.part import Part
    from rocm_perf.model.time_window import Span

# Of a smaller file there would be little left to read once a process has started.
_LARGE_BYTES, _LARGE_PACKED_BYTES = 16 << 20, 1 << 20
_MOST = 8  # processes that read, this one included
MOST_PER_BYTE = (
    60  # memory that reading a file takes, by its size; a torch trace as gzip takes 28 (bench/README.md)
)
_COMMAND = own_module("rocm_perf.ingest.helper_process")
_NO_BLAS_THREADS = {"OPENBLAS_NUM_THREADS": "1"}


class Task(NamedTuple):
    """A file to read, or what of it starts in a span."""

    source: Source
    span: Span | None


class Content(NamedTuple):
    """What a helper has read of a file, and the name of its format."""

    adapter: str
    part: Part


class Helpers:
    """Up to `most` processes, started when files are expected that are worth it and that fit into `room_bytes` of
    memory together."""

    def __init__(
        self, most: int, room_bytes: float = float("inf"), command: tuple[str, ...] = _COMMAND
    ) -> None:
        self._most = most
        self._room_bytes = room_bytes
        self._command = command
        self._environment = {**os.environ, **_NO_BLAS_THREADS}
        self._waiting: list[Task] = []
        self._claimed: dict[Task, Future[Content | RocmPerfError | None]] = {}
        self._threads: list[threading.Thread] = []
        self._processes: list[subprocess.Popen[bytes]] = []
        self._lock = threading.Lock()
        self._closed = False

    def expect(self, sources: Iterable[Source], span: Span | None = None) -> None:
        """Have helpers begin with these files, the last of them first: others will be asked for before."""
        large = [Task(source, span) for source in sources if _is_large(source)]
        with self._lock:
            known = {*self._waiting, *self._claimed}
            self._waiting += [task for task in large if task not in known and self._takes_room(task.source)]
            wanted = min(self._most, len(self._waiting)) - len(self._threads)
            starting = [threading.Thread(target=self._help, daemon=True) for _ in range(wanted)]
            self._threads += starting
        for thread in starting:
            thread.start()

    def _takes_room(self, source: Source) -> bool:
        """Whether there is room for one more file, which then counts as taken."""
        needed = MOST_PER_BYTE * source.stored_bytes
        if needed > self._room_bytes:
            return False
        self._room_bytes -= needed
        return True

    def read(self, source: Source, span: Span | None) -> Content | None:
        """What a helper has read of a file; None if that is left to the caller. Raises why it cannot be read."""
        task = Task(source, span)
        with self._lock:
            if task in self._waiting:
                self._waiting.remove(task)
            reading = self._claimed.get(task)
        answer = reading.result() if reading else None
        if isinstance(answer, RocmPerfError):
            raise answer
        return answer

    @property
    def waiting(self) -> int:
        """How many of the expected files nobody has begun with."""
        return len(self._waiting)

    def close(self) -> None:
        """End all helpers."""
        with self._lock:
            self._closed = True
            self._waiting.clear()
            for process in self._processes:
                process.kill()
        for thread in self._threads:
            thread.join()

    def _help(self) -> None:
        """Have one process read files as long as some wait; none is claimed before it has started."""
        process = self._started()
        if process is None:
            return
        with suppress(OSError), process:  # it may have ended without reading all
            assert process.stdin is not None
            assert process.stdout is not None
            is_up = bool(process.stdout.read(1))
            while is_up and (task := self._claim()) is not None:
                try:
                    pickle.dump(task, process.stdin)
                    process.stdin.flush()
                    answer = pickle.load(process.stdout)
                except BaseException:  # noqa: BLE001  (what garbled bytes ask for; a Polars panic is not an Exception)
                    answer = None
                self._claimed[task].set_result(answer)
                is_up = answer is not None
            process.kill()

    def _started(self) -> subprocess.Popen[bytes] | None:
        with self._lock:
            if self._closed:
                return None
            try:
                process = subprocess.Popen(
                    self._command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    env=self._environment,
                )
            except OSError:
                return None
            self._processes.append(process)
            return process

    def _claim(self) -> Task | None:
        with self._lock:
            if not self._waiting:
                return None
            task = self._waiting.pop()
            self._claimed[task] = Future()
            return task


HELPERS: ContextVar[Helpers | None] = ContextVar("helpers", default=None)


@contextmanager
def reading_helpers(later: Iterable[Path] = ()) -> Iterator[None]:
    """While active, several large files are read by several processes, at most one for each core. `later` are files
    that will be read after others."""
    if HELPERS.get() is not None:
        yield
        return
    helpers = Helpers(min(len(os.sched_getaffinity(0)), _MOST) - 1, usable_bytes() or 0)
    token = HELPERS.set(helpers)
    try:
        expect_files(later)
        yield
    finally:
        HELPERS.reset(token)
        helpers.close()


def expect_files(paths: Iterable[Path]) -> None:
    """Say which files will be read after others."""
    sources = [source for path in paths if os.path.isfile(path) for source in _sources(path)]
    expect(sources)


def expect(sources: Iterable[Source], span: Span | None = None) -> None:
    """Say which files, or what of them, will be read after others."""
    helpers = HELPERS.get()
    if helpers is not None:
        helpers.expect(sources, span)


def _sources(path: Path) -> list[Source]:
    try:
        return sources_of(path)
    except (OSError, RocmPerfError):
        return []  # reading it will say why


def _is_large(source: Source) -> bool:
    try:
        return source.stored_bytes >= (_LARGE_BYTES if source.is_plain else _LARGE_PACKED_BYTES)
    except RocmPerfError:
        return False
