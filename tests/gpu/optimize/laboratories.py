"""A laboratory for one program of the testbed: built, captured, ready for candidates."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rocm_perf.backends.probe import probe_machine
from rocm_perf.optimize.laboratory import GpuLaboratory
from rocm_perf.optimize.opening import opened_bench, opened_laboratory
from rocm_perf.optimize.request import Request
from rocm_perf.optimize.subject import subject_of


@contextmanager
def laboratory_of(source: Path, kernel_name: str) -> Iterator[GpuLaboratory]:
    """What `rocm-perf optimize SOURCE --kernel NAME` sets up before it tries anything."""
    request = Request(target=source, kernel=kernel_name, timeout_s=60.0)
    subject = subject_of(request, probe_machine())
    kernel = subject.source.kernel(kernel_name)
    with opened_bench(request, subject, print) as bench:
        symbol = bench.original.code.symbols(subject.arch, kernel.qualified)[0]
        with opened_laboratory(bench, kernel, symbol, print) as laboratory:
            yield laboratory
