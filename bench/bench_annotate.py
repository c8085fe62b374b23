"""What one range costs: with no profiler listening, with a library that does nothing, and compared with a bare ctypes
call and torch's record_function. Needs a C compiler; torch is measured if it is installed."""

from __future__ import annotations

import ctypes
import importlib.util
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import rocm_perf
from rocm_perf.annotation import libraries, ranges
from rocm_perf.annotation.library import NOTHING

CALLS = 200_000
ROUNDS = 7
_SHARED = rocm_perf.annotate("step")
STUB = """
int roctxRangePushA(const char *name) { return 0; }
int roctxRangePop(void) { return 0; }
void roctxMarkA(const char *name) {}
unsigned long long roctxRangeStartA(const char *name) { return 1; }
void roctxRangeStop(unsigned long long id) {}
"""


def main() -> None:
    """Measure every way to mark a range, and print its cost."""
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "stub.c"), Path(folder, "libroctx64.so")
        source.write_text(STUB)
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", source, "-o", library], check=True)
        loaded = libraries.load(libraries.ROCTX64, str(library))
        assert loaded is not None
        _show("empty loop", _loop(lambda: None))
        ranges._chosen = NOTHING
        _show("annotate, nothing listens", _loop(_annotated))
        _show("  the same object again", _loop(_reused))
        ranges._chosen = loaded
        _show("annotate, roctx", _loop(_annotated))
        _show("  the same object again", _loop(_reused))
        _show("bare ctypes push + pop", _loop(_bare(ctypes.CDLL(str(library)))))
    if importlib.util.find_spec("torch") is not None:
        _show("torch record_function, no profiler", _loop(_recorded()))


def _annotated() -> None:
    with rocm_perf.annotate("step"):
        pass


def _reused() -> None:
    with _SHARED:
        pass


def _bare(library: ctypes.CDLL) -> Callable[[], None]:
    push, pop = library.roctxRangePushA, library.roctxRangePop
    push.argtypes = (ctypes.c_char_p,)

    def both() -> None:
        push(b"step")
        pop()

    return both


def _recorded() -> Callable[[], None]:
    from torch.profiler import record_function

    def recorded() -> None:
        with record_function("step"):
            pass

    return recorded


def _loop(action: Callable[[], None]) -> float:
    """Nanoseconds per call: the median of several rounds."""
    rounds = []
    for _ in range(ROUNDS):
        began = time.perf_counter_ns()
        for _ in range(CALLS):
            action()
        rounds.append((time.perf_counter_ns() - began) / CALLS)
    return statistics.median(rounds)


def _show(what: str, nanoseconds: float) -> None:
    print(f"{what:36} {nanoseconds:8.0f} ns")


if __name__ == "__main__":
    main()
