"""Answers questions in a process of its own, one JSON object per line: the server can end one that takes too long, and
a recording that takes all memory ends this process alone. It opens nothing outside of the roots."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from pathlib import Path
from typing import Any

import msgspec

from rocm_perf.errors import RocmPerfError
from rocm_perf.ingest.io.source import MAY_OPEN
from rocm_perf.mcp_server.answers import Question, answer
from rocm_perf.mcp_server.bounded import short_text
from rocm_perf.mcp_server.roots import is_allowed
from rocm_perf.text import compact_json

_PR_SET_PDEATHSIG = 1  # linux/prctl.h


class Beginning(msgspec.Struct, frozen=True):
    """The first line: what holds for all questions."""

    asked_by: int
    roots: tuple[str, ...]
    timeout_s: float


def main() -> int:
    """Answer until stdin ends; ends with the process that asks."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    asked, answers = sys.stdin.buffer, sys.stdout.buffer
    beginning = msgspec.json.decode(asked.readline(), type=Beginning)
    if os.getppid() != beginning.asked_by:  # it died before prctl could take note
        return 1
    sys.stdout = sys.stderr  # whatever prints does not reach the answers
    roots = [Path(root) for root in beginning.roots]
    MAY_OPEN.set(lambda path: is_allowed(path, roots))
    for line in asked:
        question = msgspec.json.decode(line, type=Question)
        answers.write(compact_json(_answered(question, roots, beginning.timeout_s)) + b"\n")
        answers.flush()
    return 0


def _answered(question: Question, roots: list[Path], timeout_s: float) -> dict[str, Any]:
    try:
        return {"answer": answer(question, roots, timeout_s)}
    except RocmPerfError as error:
        return {"error": short_text(str(error))}
    except MemoryError:
        return {"error": "it does not fit into memory"}
    except OSError as error:
        return {"error": short_text(f"cannot read {error.filename or 'a file'}: {error.strerror or error}")}
    except Exception as error:  # noqa: BLE001  the server lives on
        return {"error": short_text(f"internal error ({type(error).__name__}: {error}). Please report it.")}


if __name__ == "__main__":
    sys.exit(main())
