"""Reads and analyses runs in a process of its own: the server keeps answering, and a recording that takes all memory
ends this process alone.

It gets an Order on stdin, writes what it makes to the order's folder, and prints one JSON object per line: how far it
is, why it failed, or which runs the files turned out to hold.
"""

from __future__ import annotations

import ctypes
import json
import os
import pickle
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from rocm_perf.errors import InputError, NotSupportedError, RocmPerfError
from rocm_perf.ingest.io.source import MAY_OPEN, PROGRESS
from rocm_perf.ingest.load import Loaded, load_together
from rocm_perf.ingest.size import survey_paths
from rocm_perf.memory import usable_bytes
from rocm_perf.serve.folders import Run, is_inside
from rocm_perf.serve.made import write_comparison, write_report, write_trace
from rocm_perf.serve.wish import Order
from rocm_perf.units import format_bytes

_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_REFRESH_S = 0.2


def main() -> int:
    """Fulfil the order on stdin; ends with the process that asked."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    order: Order = pickle.loads(sys.stdin.buffer.read())  # from the server itself, never from a browser
    if os.getppid() != order.asked_by:  # it died before prctl could take note
        return 1
    PROGRESS.set(_Meter().show)
    MAY_OPEN.set(lambda path: any(is_inside(path, top) for top in order.tops))
    try:
        _fulfil(order)
    except RocmPerfError as error:
        return _failed(str(error))
    except MemoryError:
        return _failed("it does not fit into memory. Analyse a part: rocm-perf analyze --window A..B")
    except OSError as error:
        return _failed(f"cannot read or write {error.filename or 'a file'}: {error.strerror or error}")
    except BaseException as error:  # noqa: BLE001  a Polars panic is not an Exception
        return _failed(f"internal error ({type(error).__name__}: {error}). Please report it.")
    return 0


def _fulfil(order: Order) -> None:
    wish = order.wish
    paths = [path for run in wish.runs for path in run.paths]
    _require_inside(paths, order.tops)
    _require_memory(paths)
    if wish.kind == "comparison":
        base, new = ([one for run in side for one in _load(run)] for side in (wish.base, wish.new))
        _tell(doing="comparing")
        write_comparison(base, new, order)
        return
    (run,) = wish.base
    loaded = _load(run)
    if len(loaded) > 1:
        _tell(parts=[one.label for one in loaded])
        return
    _tell(doing="analysing" if wish.kind == "report" else "writing the trace")
    (write_report if wish.kind == "report" else write_trace)(loaded[0], order)


def _load(run: Run) -> list[Loaded]:
    """The runs in its files, or the one of them that is meant."""
    loaded = load_together(run.paths)
    readable = [one for one in loaded if one.trace is not None]
    if not readable:
        raise next(one.error for one in loaded if one.error)
    return readable if run.part is None else [readable[run.part]]


def _require_inside(paths: Sequence[Path], tops: Sequence[Path]) -> None:
    """Raise if a file has become a link to somewhere else since it was listed."""
    for path in paths:
        for file in [path, *(path.iterdir() if path.is_dir() else ())]:
            if not any(is_inside(file, top) for top in tops):
                raise InputError(f"{file} is not read", "it leads out of the folders that may be read")


def _require_memory(paths: list[Path]) -> None:
    limit = usable_bytes()
    if limit is None:
        return
    needed = survey_paths(paths, limit).peak_bytes()
    if needed > limit:
        raise NotSupportedError(
            "it does not fit into memory",
            f"it takes about {format_bytes(needed)} to analyse, and {format_bytes(limit)} may be used",
            f"Analyse it in parts: rocm-perf analyze {paths[0]} --in-parts",
        )


class _Meter:
    """Tells how far a file is read, a few times a second."""

    def __init__(self) -> None:
        self._told = 0.0

    def show(self, name: str, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._told >= _REFRESH_S:
            self._told = now
            _tell(doing=f"reading {Path(name).name}", share=min(done / total, 1) if total else None)


def _failed(error: str) -> int:
    _tell(error=error)
    return 1


def _tell(**said: object) -> None:
    sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
