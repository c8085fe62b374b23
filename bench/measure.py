"""Runs commands in child processes, interleaved, and reports their wall time and peak memory. Each benchmark chooses
its commands.
"""

from __future__ import annotations

import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Case:
    """One command to measure. `rounds` caps how often it runs, for the slow ones."""

    name: str
    command: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    rounds: int | None = None


_ROOT = Path(__file__).resolve().parents[1]
# As pip leaves an installed package: modules are compiled once, not in every process.
_COMPILED = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(_ROOT / "bench" / "data" / "compiled")}


def analyze(name: str, recording: Path, *options: str) -> Case:
    """`rocm-perf analyze --json`, every analysis, of this checkout."""
    return ours(name, "analyze", str(recording), "--json", *options)


def report(name: str, recording: Path, page: Path) -> Case:
    """`rocm-perf report`, of this checkout."""
    return ours(name, "report", str(recording), "-o", str(page), "--force")


def ours(name: str, *arguments: str) -> Case:
    """A command of this checkout."""
    command = [sys.executable, "-m", "rocm_perf.cli.main", *arguments]
    return Case(name, command, env={"PYTHONPATH": str(_ROOT / "src"), **_COMPILED})


@dataclass(frozen=True)
class Sample:
    """One run. If processor time is well below the wall time of a busy command, the machine was crowded.
    `error` is what the command wrote to stderr, kept only when it failed."""

    wall_s: float
    cpu_s: float
    peak_rss_bytes: int
    exit_code: int
    error: str = ""


@dataclass(frozen=True)
class Result:
    """All runs of one case, in the order they ran."""

    name: str
    samples: tuple[Sample, ...]

    @property
    def failed(self) -> bool:
        """Whether a run failed, or there was none."""
        return not self.samples or any(sample.exit_code for sample in self.samples)

    @property
    def median_s(self) -> float:
        """The median wall time."""
        return statistics.median(sample.wall_s for sample in self.samples)

    @property
    def cpu_s(self) -> float:
        """The median processor time."""
        return statistics.median(sample.cpu_s for sample in self.samples)

    @property
    def spread_s(self) -> tuple[float, float]:
        """The fastest and the slowest run."""
        walls = [sample.wall_s for sample in self.samples]
        return min(walls), max(walls)

    @property
    def peak_rss_bytes(self) -> int:
        """The largest peak of any run."""
        return max(sample.peak_rss_bytes for sample in self.samples)


def run(case: Case) -> Sample:
    """Run a command once, to its end.

    A child starts with its parent's memory, which Linux includes in its peak: the calling benchmark has to
    stay smaller than what it measures. If a command has children of its own, the largest process counts.
    """
    with tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        child = subprocess.Popen(
            list(case.command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env={**os.environ, **case.env},
        )
        status, usage = _wait(child)
        wall_s = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        error = errors.read().decode(errors="replace") if child.returncode else ""
    peak_rss_bytes = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return Sample(
        wall_s=wall_s,
        cpu_s=usage.ru_utime + usage.ru_stime,
        peak_rss_bytes=peak_rss_bytes,
        exit_code=child.returncode,
        error=error,
    )


def _wait(child: subprocess.Popen[bytes]) -> tuple[int, resource.struct_rusage]:
    try:
        _, status, usage = os.wait4(child.pid, 0)
    except BaseException:
        child.kill()
        raise
    return status, usage


def interleaved(cases: Sequence[Case], rounds: int) -> list[Result]:
    """Run every case once per round, so a drift of the machine affects all of them equally. A case that
    failed is not run again."""
    samples: dict[str, list[Sample]] = {case.name: [] for case in cases}
    for number in range(rounds):
        for case in cases:
            before = samples[case.name]
            if number < (rounds if case.rounds is None else case.rounds) and not (
                before and before[-1].exit_code
            ):
                before.append(run(case))
                _progress(case, number, before[-1])
    return [Result(name, tuple(runs)) for name, runs in samples.items()]


def _progress(case: Case, number: int, sample: Sample) -> None:
    outcome = f"failed with exit code {sample.exit_code}" if sample.exit_code else f"{sample.wall_s:.2f} s"
    print(f"round {number + 1}: {case.name}: {outcome}", file=sys.stderr, flush=True)


def markdown(results: Sequence[Result], reference: str) -> str:
    """A table of the results, each compared with the medians of the reference case."""
    base = next((result for result in results if result.name == reference and not result.failed), None)
    lines = [
        f"| | runs | median wall | spread | CPU | peak memory | wall / {reference} | CPU / {reference} |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    return "\n".join(lines + [_row(result, base) for result in results])


def _row(result: Result, base: Result | None) -> str:
    if result.failed:
        last = result.samples[-1].error.strip().splitlines()[-1:] if result.samples else []
        why = "".join(last).replace("|", "\\|") or "no message"
        return f"| {result.name} | {len(result.samples)} | failed: {why} | | | | | |"
    low, high = result.spread_s
    cells = (
        f"{result.median_s:.2f} s",
        f"{low:.2f} to {high:.2f} s",
        f"{result.cpu_s:.2f} s",
        f"{result.peak_rss_bytes / 1e9:.2f} GB",
        f"{result.median_s / base.median_s:.2f}" if base else "",
        f"{result.cpu_s / base.cpu_s:.2f}" if base else "",
    )
    return f"| {result.name} | {len(result.samples)} | " + " | ".join(cells) + " |"


def machine() -> dict[str, str | int]:
    """The machine that the numbers were measured on."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count() or 0,
        "memory_bytes": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "system": platform.platform(),
        "python": platform.python_version(),
    }


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.machine())


def as_json(results: Sequence[Result]) -> dict[str, object]:
    """The raw samples, for `--json`."""
    return {result.name: [asdict(sample) for sample in result.samples] for result in results}
