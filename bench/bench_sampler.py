"""What sampling costs: a program of pure arithmetic alone, with rocm-perf's sampler, and with the loops that people use
instead (`nvidia-smi -lms`, repeated `amd-smi`), if they are installed. Interleaved; medians.

python bench/bench_sampler.py [--interval 0.1] [--rounds 5]
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.measure import machine as bench_machine

from rocm_perf.backends.probe import probe_machine
from rocm_perf.collect.request.request import Sampling
from rocm_perf.collect.sampling.samplers import Sampler, sampling

# One process per core: what a sampler uses, it takes from the program.
_WORK = "total = 0\nfor number in range(10_000_000): total += number"
_QUERY = "index,power.draw,clocks.sm,temperature.gpu,utilization.gpu,memory.used"


@dataclass
class Case:
    """A way to sample, and what it cost each time."""

    name: str
    beside: Callable[[], AbstractContextManager[Sampler | None]]
    walls_s: list[float] = field(default_factory=list)
    cpus_s: list[float] = field(default_factory=list)
    summary: str = ""


def work() -> None:
    """Run the program once."""
    cores = range(os.cpu_count() or 1)
    running = [subprocess.Popen([sys.executable, "-c", _WORK]) for _ in cores]
    for process in running:
        process.wait()


def measure(case: Case) -> None:
    """Measure the wall time of the program, and the CPU time of everything else: only ended children count."""
    before = _cpu_s()
    alone = 0.0
    with case.beside() as sampler:
        start, at = time.perf_counter(), _cpu_s()
        work()
        case.walls_s.append(time.perf_counter() - start)
        alone = _cpu_s() - at
    case.cpus_s.append(_cpu_s() - before - alone)
    case.summary = sampler.summary if sampler else ""


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@contextlib.contextmanager
def command(*argv: str) -> Iterator[Sampler | None]:
    """A command that samples on its own until it and everything it started is stopped."""
    process = subprocess.Popen(
        argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        yield None
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()


def cases(interval_s: float, folder: Path) -> list[Case]:
    """The program alone, our sampler, and the tools that are installed."""
    probed = probe_machine()
    ours = Sampling(metrics=("power", "memory"), interval_s=interval_s)
    installed = [
        Case("alone", contextlib.nullcontext),
        Case("rocm-perf", lambda: sampling(ours, Path(tempfile.mkdtemp(dir=folder)), probed)),
    ]
    if shutil.which("nvidia-smi"):
        argv = ("nvidia-smi", f"--query-gpu={_QUERY}", "--format=csv", f"-lms={round(interval_s * 1000)}")
        installed.append(Case("nvidia-smi -lms", lambda: command(*argv)))
    if shutil.which("amd-smi"):
        loop = f"while :; do amd-smi metric --json; sleep {interval_s}; done"
        installed.append(Case("amd-smi in a loop", lambda: command("sh", "-c", loop)))
    return installed


def table(measured: list[Case]) -> str:
    """Medians as Markdown; the slowdown is relative to the program alone."""
    alone = statistics.median(measured[0].walls_s)
    lines = ["| | runs | median wall | slowdown | CPU of the sampler |", "|---|---:|---:|---:|---:|"]
    for case in measured:
        wall, cpu = statistics.median(case.walls_s), statistics.median(case.cpus_s)
        lines.append(
            f"| {case.name} | {len(case.walls_s)} | {wall:.2f} s | {100 * (wall / alone - 1):+.1f} % "
            f"| {100 * cpu / wall:.1f} % of a core |"
        )
    return "\n".join(lines)


def main() -> int:
    """Measure every case in turn, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--interval", type=float, default=0.1)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measured = cases(args.interval, Path(folder))
        for _ in range(args.rounds):
            for case in measured:
                measure(case)
    print(f"{bench_machine()['cpu']}, {bench_machine()['cores']} cores, every {args.interval:g} s\n")
    print(table(measured))
    print("\n" + "\n".join(f"{case.name}: {case.summary}" for case in measured if case.summary))
    return 0


if __name__ == "__main__":
    sys.exit(main())
