"""Reads files for another process that reads recordings too: a byte once it can, then an answer to every task on stdin,
until that ends."""

from __future__ import annotations

import ctypes
import pickle
import signal
import sys

from rocm_perf.errors import RocmPerfError
from rocm_perf.ingest.helpers import Content, Task
from rocm_perf.ingest.reading import read_source

_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def main() -> int:
    """Answer every task. An interrupt is for the process that asks, which ends this one; if that is killed, the kernel
    ends this one, even where a file has led it into something endless."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    tasks, answers = open(0, "rb"), open(1, "wb")  # noqa: SIM115  until the process ends
    sys.stdout = sys.stderr  # whatever prints does not reach the answers
    answers.write(b".")
    answers.flush()
    while tasks.peek(1):
        task: Task = pickle.load(tasks)
        pickle.dump(_answer(task), answers, protocol=pickle.HIGHEST_PROTOCOL)
        answers.flush()
    return 0


def _answer(task: Task) -> Content | RocmPerfError:
    try:
        piece = read_source(task.source, task.span)
    except RocmPerfError as error:
        return error
    return Content(piece.adapter.name, piece.part)


if __name__ == "__main__":
    sys.exit(main())
