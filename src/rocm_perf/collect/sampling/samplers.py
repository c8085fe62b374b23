"""Reads power, clocks, temperature, load and memory of the GPUs beside a run, in a process of its own.

Whatever goes wrong with it becomes a notice: the program that is being measured never fails because of its sampler.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeVar

import msgspec

from rocm_perf.arch import catalog
from rocm_perf.backends.machine import FoundGpu, Machine
from rocm_perf.collect.request.request import Sampling
from rocm_perf.collect.sampling import visible
from rocm_perf.collect.sampling.thinned_copy import draft_of
from rocm_perf.errors import RocmPerfError
from rocm_perf.model.sample_file import COMMENT, FILE_NAME, TITLE
from rocm_perf.units import format_count, format_ns, format_share

POWER_FILE = "gpu_info_power_profiler_output.csv"
VRAM_FILE = "gpu_info_vram_profiler_output.csv"

_READY_S = 5.0  # to load a library and take the first reading; the program starts anyway after that
_STOP_S = 0.7  # from the end of its input to its end
_KILLED_S = 0.2
_Line = TypeVar("_Line")


class Account(msgspec.Struct, frozen=True):
    """What the sampling itself cost: the last line of its file."""

    readings: int
    missed: int
    failed: int
    read_mean_ns: int
    read_longest_ns: int
    cpu_s: float
    boot_ns: int


class Beginning(msgspec.Struct, frozen=True):
    """What the first line of the file says that matters here."""

    source: str
    interval_s: float
    boot_ns: int
    gpus: list[dict[str, object]]
    notices: list[str] = []


@dataclass
class Sampler:
    """The sampler of one run. `notices` and `summary` are there once it has stopped."""

    path: Path
    summary: str = ""
    notices: tuple[str, ...] = ()
    process: subprocess.Popen[bytes] | None = None

    @property
    def has_ended(self) -> bool:
        """Whether it reads nothing more: there is nothing to read, or it could not go on."""
        return self.process is None or self.process.poll() is not None


@contextmanager
def sampling(sampling: Sampling, folder: Path, machine: Machine) -> Iterator[Sampler | None]:
    """Sample into `samples.csv` of the folder while the block runs; None where nothing is to be sampled.

    At the end the readings also stand there as madengine's tools write them.
    """
    if not sampling.metrics:
        yield None
        return
    with recording(sampling, folder / FILE_NAME, machine) as sampler:
        yield sampler
    sampler.notices += _known_shapes(sampling, sampler.path)


@contextmanager
def recording(sampling: Sampling, path: Path, machine: Machine) -> Iterator[Sampler]:
    """Sample into a file while the block runs."""
    sampler = Sampler(path)
    with tempfile.TemporaryFile() as log:
        sampler.process = _start(sampling, path, machine, log)
        try:
            yield sampler
        finally:
            ended = _stop(sampler.process)
            draft_of(path).unlink(missing_ok=True)  # of a sampler that was killed
            log.seek(0)
            said = log.read().decode("utf-8", "replace").strip()
            sampler.summary, sampler.notices = _summarised(path, ended, said)


def _start(
    sampling: Sampling, path: Path, machine: Machine, log: IO[bytes]
) -> subprocess.Popen[bytes] | None:
    """The process, after its first reading. It has its own session, so that Ctrl-C is not for it, and its own folder,
    so that nothing of the user's is imported; it finds modules where this process finds them."""
    paths = os.pathsep.join(os.path.abspath(entry) for entry in sys.path if entry)
    try:
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "rocm_perf.collect.sampling.sampler_process",
                _settings(sampling, path, machine),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            cwd=path.parent,
            env={**os.environ, "PYTHONPATH": paths},
            start_new_session=True,
        )
    except OSError as error:
        log.write(str(error).encode())
        return None
    assert process.stdout is not None
    select.select([process.stdout], [], [], _READY_S)
    return process


def _settings(sampling: Sampling, path: Path, machine: Machine) -> str:
    gpus = [gpu for gpu in machine.gpus if gpu.vendor == machine.vendor]
    numbers = visible.ordinals(gpus, machine.environment)
    return json.dumps(
        {
            "output": path.name,  # in its working folder
            "interval_s": sampling.interval_s,
            "metrics": sampling.metrics,
            "vendor": machine.vendor or "",
            "rocm_paths": machine.rocm_paths,
            "host": machine.host,
            "gpus": [
                {
                    "index": gpu.index,
                    "pci": gpu.pci,
                    "uuid": gpu.uuid,
                    "gfx": gpu.gfx,
                    "name": gpu.name,
                    "node": gpu.node,
                    "ordinal": numbers.get(gpu.index),
                    "shares_power": _shares_power(gpu),
                }
                for gpu in gpus
            ],
        }
    )


def _shares_power(gpu: FoundGpu) -> bool:
    """Whether it is one of several GPUs in a package with a single power sensor, as far as its name tells."""
    known = catalog.gpus_named(gpu.name) or catalog.gpus_of(gpu.gfx.partition(":")[0])
    return any((one.gpus_per_power_sensor or 1) > 1 for one in known)


def _stop(process: subprocess.Popen[bytes] | None) -> int | None:
    """Stop the sampler and return its exit code; None where it had to be killed, or never ran."""
    if process is None:
        return None
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    try:
        return process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        _give_up(process)
        return None
    finally:
        process.stdout.close()


def _give_up(process: subprocess.Popen[bytes]) -> None:
    """Kill it without waiting: a call that hangs in the driver outlasts even a kill."""
    try:
        process.wait(_KILLED_S)
    except subprocess.TimeoutExpired:
        process.returncode = -signal.SIGKILL


def _summarised(path: Path, exit_code: int | None, printed: str) -> tuple[str, tuple[str, ...]]:
    """One sentence about what was sampled and what that cost, and notices of what went wrong."""
    begins, ends = _ends_of(path)
    if begins is None:
        why = printed.splitlines()[-1] if printed else "the sampler did not start"
        return "", (f"nothing was sampled: {why}",)
    notices = tuple(begins.notices)
    if ends is None:
        unanswered = "it did not answer and was stopped" if exit_code is None else ""
        why = printed.splitlines()[-1] if printed else unanswered
        return "", (*notices, f"the sampler ended early{': ' if why else ''}{why}")
    if ends.failed:
        notices += (f"{format_count(ends.failed, 'reading')} of {begins.source} failed",)
    share = ends.cpu_s / max(1e-9, (ends.boot_ns - begins.boot_ns) / 1e9)
    missed = f", {ends.missed:,} missed" if ends.missed else ""
    return (
        f"sampled {format_count(len(begins.gpus), 'GPU')} through {begins.source}: "
        f"{format_count(ends.readings + 1, 'reading')} every {format_ns(begins.interval_s * 1e9)}{missed}; a reading "
        f"takes {format_ns(ends.read_mean_ns)}, the sampler {format_share(share)} of a core"
    ), notices


def _ends_of(path: Path) -> tuple[Beginning | None, Account | None]:
    """The first and the last line that the last sampler of this file wrote."""
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError:
        return None, None
    starts = [number for number, line in enumerate(lines) if line == TITLE]
    if not starts:
        return None, None
    begins = _decoded(lines[starts[-1] + 1 : starts[-1] + 2], Beginning)
    return begins, _decoded(lines[starts[-1] + 2 :][-1:], Account)


def _decoded(lines: list[str], kind: type[_Line]) -> _Line | None:
    try:
        return msgspec.json.decode(lines[0].removeprefix(COMMENT), type=kind) if lines else None
    except msgspec.DecodeError:
        return None


def _known_shapes(sampling: Sampling, path: Path) -> tuple[str, ...]:
    """The files that madengine's gpu_info profilers would have left; what could not be written."""
    from rocm_perf.ingest.io.source import Source
    from rocm_perf.ingest.own.sample_file import read
    from rocm_perf.model.trace import Trace
    from rocm_perf.render.formats import samples_csv

    writers = {"power": (samples_csv.write_power, POWER_FILE), "memory": (samples_csv.write_vram, VRAM_FILE)}
    notices: list[str] = []
    try:
        part = read(Source(path))
    except RocmPerfError:
        return ()  # nothing was sampled, and that has been said
    epoch_ns = part.sensing.epoch_ns if part.sensing else 0
    trace = Trace(part.tables)
    for metric in sampling.metrics:
        write, name = writers[metric]
        try:
            write(trace, path.parent / name, epoch_ns=epoch_ns, overwrite=True)
        except RocmPerfError as error:
            notices.append(f"{name} was not written: {error}")
    return tuple(notices)
