"""The judge's end of a process with judged code: starts it, asks it, times the answer, and ends it."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from types import TracebackType
from typing import Any

from rocm_perf.bench.judge.lap import JudgedError, Lap, Outcome, boot_ns
from rocm_perf.bench.judge.values import Value
from rocm_perf.bench.judge.wire import WireError, receive, send
from rocm_perf.bench.judge.workbench import Terms
from rocm_perf.bench.target import child_environment
from rocm_perf.user_program import signal_name

_MODULE = "rocm_perf.bench.judge.runner_process"
_CPU_OF_PROCESS = 2  # CPUCLOCK_SCHED of the kernel's posix-timers.h; the id of the process is above it
_LONGEST_REASON = 500  # characters of what judged code says
_GRACE_S = 10.0  # for a tracer that writes what it has when its process ends


class RunnerProcess:
    """A fresh process that imports what it is told to."""

    def __init__(
        self, label: str, *, timeout_s: float = 60.0, environment: Mapping[str, str] | None = None
    ) -> None:
        self.label = label
        self._timeout_s = timeout_s
        self._connection, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", _MODULE, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=2,
                env={**child_environment(), **(environment or {})},
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )

    def __enter__(self) -> RunnerProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(at_once=kind is not None)

    def ask(self, request: str, *values: Value, **fields: Any) -> tuple[dict[str, Any], list[Value]]:
        """The answer to a request. JudgedError where it is a complaint, is not an answer, or does not come."""
        try:
            self._connection.settimeout(self._timeout_s)
            send(self._connection, {"request": request, **fields}, *values)
            header, results = receive(self._connection, deadline=time.monotonic() + self._timeout_s)
        except TimeoutError:
            self.close(at_once=True)
            raise JudgedError(self.label, f"it did not answer within {self._timeout_s:g} s") from None
        except (EOFError, ConnectionError):
            raise JudgedError(self.label, self._ending()) from None
        except WireError as error:
            raise JudgedError(self.label, f"its answer is not one: {error}") from error
        if "error" in header:
            raise JudgedError(self.label, " ".join(str(header["error"]).split())[:_LONGEST_REASON])
        return header, results

    def cpu_ns(self) -> int:
        """The CPU time that all threads of the process have used, by the kernel's account."""
        return time.clock_gettime_ns((~self._process.pid << 3) | _CPU_OF_PROCESS)

    def close(self, *, at_once: bool = False) -> None:
        """Let the process end by itself, which lets a tracer write; then end what is left of its group."""
        self._connection.close()
        if not at_once:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_GRACE_S)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _ending(self) -> str:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        status = self._process.returncode
        if status is None:
            return "it closed its connection to the judge"
        if status < 0:
            return f"its process was killed by {signal_name(-status)}"
        return f"its process exited with code {status}"


class RemoteSide:
    """One of the two functions that are compared, in a process of its own."""

    def __init__(self, process: RunnerProcess, name: str, target: str, terms: Terms) -> None:
        self._process = process
        self._name = name
        process.ask("load", name=name, target=target, terms=asdict(terms))

    def put(self, slot: int, arguments: Value) -> None:
        """Lay arguments ready in a slot."""
        self._process.ask("put", arguments, name=self._name, slot=slot)

    def run(self, slots: Sequence[int]) -> Lap:
        """Call the function once per slot, between two readings of the judge's clock."""
        return self._lap("run", slots)

    def handover(self, slots: Sequence[int]) -> Lap:
        """What a run costs without the calls: the checksums of the same results, once more."""
        return self._lap("checksums", slots)

    def read(self, slot: int) -> Outcome:
        """The result in a slot, and the arguments as the call left them."""
        _, values = self._process.ask("read", name=self._name, slot=slot)
        if len(values) != 2:
            raise JudgedError(
                self._process.label, "its answer is not one: a result and arguments belong there"
            )
        return Outcome(*values)

    def cpu_ns(self) -> int:
        """The CPU time that the process of this function has used."""
        return self._process.cpu_ns()

    def _lap(self, request: str, slots: Sequence[int]) -> Lap:
        nonce = secrets.randbits(32)
        started_ns = boot_ns()
        answer, _ = self._process.ask(request, name=self._name, slots=list(slots), nonce=nonce)
        ended_ns = boot_ns()
        checksums, own_ns = answer.get("checksums"), answer.get("own_ns", 0)
        if not isinstance(checksums, list) or len(checksums) != len(slots) or type(own_ns) is not int:
            raise JudgedError(self._process.label, "its answer is not one: a checksum per call belongs there")
        return Lap(
            started_ns=started_ns,
            ended_ns=ended_ns,
            calls=len(slots),
            own_ns=own_ns,
            nonce=nonce,
            checksums=tuple(checksums),
        )


class InputProcess:
    """The process that makes the inputs: it imports what makes them, and nothing that is judged."""

    def __init__(self, process: RunnerProcess, target: str) -> None:
        self._process = process
        process.ask("load inputs", target=target)

    def make(self, seed: int) -> list[Value]:
        """Fresh arguments, one entry per case."""
        return self._process.ask("make inputs", seed=seed)[1]
