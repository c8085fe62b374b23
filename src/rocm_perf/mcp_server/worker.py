"""The server's side of the process that answers: started when it is first needed, ended when an answer takes too long,
and started again for the next question."""

from __future__ import annotations

import os
import select
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from rocm_perf.errors import NotSupportedError, RocmPerfError
from rocm_perf.mcp_server.answers import Question
from rocm_perf.mcp_server.worker_process import Beginning
from rocm_perf.own_process import own_module
from rocm_perf.text import compact_json

_STARTING_S = 20.0  # in which Python imports what it needs, on a busy machine


class Worker:
    """Answers questions one after another."""

    def __init__(self, roots: Sequence[Path], timeout_s: float) -> None:
        self._roots = tuple(str(root) for root in roots)
        self._timeout_s = timeout_s
        self._process: subprocess.Popen[bytes] | None = None
        self._turn = threading.Lock()

    def ask(self, question: Question) -> dict[str, Any]:
        """The answer; raises a RocmPerfError with the reason where there is none, or not in time."""
        with self._turn:
            process, allowed_s = self._running()
            assert process.stdin is not None
            try:
                process.stdin.write(compact_json(question) + b"\n")
                process.stdin.flush()
                line = _line(process, time.monotonic() + allowed_s)
            except OSError:
                line = None
            if line is None:
                self.close()
        return self._decoded(line)

    def close(self) -> None:
        """End the process, if it runs."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _running(self) -> tuple[subprocess.Popen[bytes], float]:
        """The process, and how long it may take for the next answer."""
        if self._process is not None and self._process.poll() is None:
            return self._process, self._timeout_s
        command = own_module("rocm_perf.mcp_server.worker_process")
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert process.stdin is not None
        beginning = Beginning(os.getpid(), self._roots, self._timeout_s)
        process.stdin.write(compact_json(beginning) + b"\n")
        self._process = process
        return process, self._timeout_s + _STARTING_S

    def _decoded(self, line: bytes | None) -> dict[str, Any]:
        if not line:
            ended = (
                "the recording took all memory"
                if line == b""
                else f"it took longer than {self._timeout_s:g} s"
            )
            raise NotSupportedError(
                "there is no answer", ended, "Ask for less, or start rocm-perf mcp with a longer --timeout."
            )
        said = msgspec.json.decode(line, type=dict[str, Any])
        if "error" in said:
            raise RocmPerfError(said["error"])
        answer: dict[str, Any] = said["answer"]
        return answer


def _line(process: subprocess.Popen[bytes], until: float) -> bytes | None:
    """The next line of the process; empty if it ended, None if it said nothing by then."""
    assert process.stdout is not None
    descriptor, line = process.stdout.fileno(), b""
    while not line.endswith(b"\n"):
        ready, _, _ = select.select([descriptor], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            return None
        piece = os.read(descriptor, 1 << 16)
        if not piece:
            return b""
        line += piece
    return line
