"""Runs a program that nobody trusts, for its answer: in a folder of its own, with limits of time and size."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO

from rocm_perf import user_program
from rocm_perf.text import clean
from rocm_perf.units import format_bytes

_PIECE_BYTES = 1 << 16
_COMPLAINT_BYTES = 1 << 14
_TELLS_WHERE = ("PWD", "OLDPWD")  # the folder of the user's sources


@dataclass(frozen=True)
class Limits:
    """What a program may take."""

    seconds: float = 300.0
    answer_bytes: int = 4 * 1024 * 1024


class NoAnswerError(Exception):
    """The proposer gave no answer; the text says why."""


def answered(argv: Sequence[str], question: bytes, limits: Limits) -> bytes:
    """What the program prints when it reads the question. Raises NoAnswerError, and leaves nothing behind."""
    with (
        tempfile.TemporaryDirectory(prefix="rocm-perf-proposer-", ignore_cleanup_errors=True) as folder,
        tempfile.TemporaryFile() as asked,
    ):
        asked.write(question)
        asked.seek(0)
        with _started(argv, asked, folder) as process:
            try:
                return _answer(process, limits)
            finally:
                _end(process)


def _started(argv: Sequence[str], asked: IO[bytes], folder: str) -> subprocess.Popen[bytes]:
    variables = {
        name: value for name, value in user_program.environment().items() if name not in _TELLS_WHERE
    }
    try:
        return subprocess.Popen(
            argv,
            stdin=asked,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=variables,
            start_new_session=True,
        )
    except OSError as error:
        raise NoAnswerError(f"{clean(argv[0])} cannot be started: {error.strerror}") from error


def _answer(process: subprocess.Popen[bytes], limits: Limits) -> bytes:
    """What the program prints until it ends."""
    deadline = time.monotonic() + limits.seconds
    answer, complaint = b"", b""
    for is_answer, piece in _pieces(process, deadline):
        if is_answer:
            answer += piece
        else:
            complaint = (complaint + piece)[-_COMPLAINT_BYTES:]
        if len(answer) > limits.answer_bytes:
            raise NoAnswerError(f"it answered with more than {format_bytes(limits.answer_bytes)}")
    try:
        status = process.wait(max(deadline - time.monotonic(), 0.0))
    except subprocess.TimeoutExpired:
        raise NoAnswerError(f"it did not answer within {limits.seconds:g} s") from None
    if status:
        raise NoAnswerError(f"it failed, {_status(status)}{_last_line(complaint)}")
    return answer


def _pieces(process: subprocess.Popen[bytes], deadline: float) -> Iterator[tuple[bool, bytes]]:
    """What comes out of the program, and whether it belongs to its answer, until both ends are closed or time is up."""
    with selectors.DefaultSelector() as selector:
        for stream in (process.stdout, process.stderr):
            assert stream is not None
            selector.register(stream, selectors.EVENT_READ, data=stream is process.stdout)
        while selector.get_map() and (left := deadline - time.monotonic()) > 0:
            for key, _ in selector.select(left):
                piece = os.read(key.fd, _PIECE_BYTES)
                if piece:
                    yield key.data, piece
                else:
                    selector.unregister(key.fileobj)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the program if it still runs, and whatever it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _status(status: int) -> str:
    return f"exit code {status}" if status > 0 else f"killed by signal {-status}"


def _last_line(complaint: bytes) -> str:
    lines = complaint.decode(errors="replace").split("\n")
    last = next((clean(line).strip() for line in reversed(lines) if line.strip()), "")
    return f": {last[:200]}" if last else ""
