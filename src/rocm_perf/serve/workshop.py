"""What pages ask for is made here, once: a few worker processes at a time, results kept until the server ends."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal

import msgspec

from rocm_perf.model.machine_ceilings import MachineCeilings
from rocm_perf.own_process import own_module
from rocm_perf.serve import LONGEST_JOB_S
from rocm_perf.serve.folders import Run
from rocm_perf.serve.summary import Summary
from rocm_perf.serve.wish import SUMMARY, Order, Wish
from rocm_perf.units import NS_PER_S, format_ns

State = Literal["waiting", "working", "done", "failed"]

WORKERS = 2  # analyses at a time: each may need much memory
KEPT = 200  # results
_COMMAND = own_module("rocm_perf.serve.worker_process")


@dataclass
class Job:
    """One wish on its way to being fulfilled."""

    wish: Wish
    folder: Path
    state: State = "waiting"
    doing: str = "waiting for another analysis to end"
    share: float | None = None  # of what it does now
    error: str = ""
    parts: tuple[str, ...] = ()  # the runs that the files turned out to hold, where it was not one

    @property
    def is_over(self) -> bool:
        return self.state in ("done", "failed")

    def summary(self) -> Summary | None:
        """What the list says of the run; None unless its report was made."""
        try:
            return msgspec.json.decode((self.folder / SUMMARY).read_bytes(), type=Summary)
        except (OSError, msgspec.MsgspecError):
            return None


@dataclass
class Workshop:
    """Makes what is wished for, and keeps it."""

    folder: Path
    tops: Sequence[Path]
    machines: tuple[MachineCeilings, ...] = ()
    on_parts: Callable[[Run, Sequence[str]], None] = lambda _run, _labels: None
    limit_s: float = LONGEST_JOB_S
    command: Sequence[str] = _COMMAND
    _jobs: dict[str, Job] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _workers: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(WORKERS, "rocm-perf-serve")
    )
    _processes: set[subprocess.Popen[bytes]] = field(default_factory=set)
    _closed: bool = False

    def ask(self, wish: Wish) -> Job:
        """The job for a wish, begun if it is new."""
        with self._lock:
            job = self._jobs.pop(wish.id, None)
            if job is None:
                job = Job(wish, self.folder / wish.id)
                self._workers.submit(self._fulfil, job)
            self._jobs[wish.id] = job  # the last asked for comes last
            self._forget_oldest()
            return job

    def known(self, wish: Wish) -> Job | None:
        """The job for a wish, if anyone has asked for it."""
        return self._jobs.get(wish.id)

    def job(self, name: str) -> Job | None:
        """The job with an id."""
        return self._jobs.get(name)

    def close(self) -> None:
        """End all work."""
        with self._lock:
            self._closed = True
            for process in self._processes:
                _kill(process)
        self._workers.shutdown(wait=True, cancel_futures=True)

    def _forget_oldest(self) -> None:
        for name in [name for name, job in self._jobs.items() if job.is_over][
            : max(len(self._jobs) - KEPT, 0)
        ]:
            shutil.rmtree(self._jobs.pop(name).folder, ignore_errors=True)

    def _fulfil(self, job: Job) -> None:
        job.state, job.doing = "working", "starting"
        try:
            job.folder.mkdir()
            self._run_worker(job)
        except OSError as error:
            job.error = f"cannot start the analysis: {error.strerror or error}"
        job.state = "failed" if job.error else "done"

    def _run_worker(self, job: Job) -> None:
        order = Order(job.wish, tuple(self.tops), job.folder, self.machines, os.getpid())
        with self._lock:
            if self._closed:
                return
            process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # it and those that help it read are ended together
            )
            self._processes.add(process)
        clock = _Deadline(self.limit_s, process)
        clock.start()
        with process:
            assert process.stdin is not None
            assert process.stdout is not None
            _send(process.stdin, pickle.dumps(order))
            for line in process.stdout:
                self._note(job, line)
        clock.cancel()
        with self._lock:
            self._processes.discard(process)
        if process.returncode and not job.error:
            job.error = _too_long(self.limit_s) if clock.has_struck else _why_it_ended(process.returncode)

    def _note(self, job: Job, line: bytes) -> None:
        said: dict[str, Any] = json.loads(line)
        job.doing, job.share = said.get("doing", job.doing), said.get("share")
        job.error = said.get("error", job.error)
        if "parts" in said:
            job.parts = tuple(said["parts"])
            self.on_parts(job.wish.base[0], job.parts)


class _Deadline(threading.Timer):
    """Ends a worker that takes too long."""

    def __init__(self, limit_s: float, process: subprocess.Popen[bytes]) -> None:
        super().__init__(limit_s, self._strike)
        self.daemon = True
        self.has_struck = False
        self._process = process

    def _strike(self) -> None:
        self.has_struck = True
        _kill(self._process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a worker and the processes that help it."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _send(stdin: IO[bytes], order: bytes) -> None:
    try:
        with stdin:
            stdin.write(order)
    except BrokenPipeError:
        pass  # it has ended already; its exit code says why


def _too_long(limit_s: float) -> str:
    return (
        f"the analysis was ended after {format_ns(limit_s * NS_PER_S)}, so that others have their turn. "
        "Run it alone, where nothing limits it: rocm-perf report; or allow more: rocm-perf serve --job-limit"
    )


def _why_it_ended(code: int) -> str:
    if code == -signal.SIGKILL:
        return "the analysis was killed, probably for lack of memory. Analyse a part: rocm-perf analyze --window A..B"
    how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
    return f"the analysis ended {how}. Try it alone to see why: rocm-perf analyze"
