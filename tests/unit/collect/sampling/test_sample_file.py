"""The file of readings over hours: bounded, whole after a kill at any moment, and as right as the readings."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest

from rocm_perf.analysis.memory.levels import memory
from rocm_perf.analysis.program.energy import energy
from rocm_perf.backends.sensors import Reading
from rocm_perf.collect.sampling import thinned_copy
from rocm_perf.collect.sampling.sample_file import SampleFile
from rocm_perf.collect.sampling.thinned_copy import draft_of
from rocm_perf.ingest.load import load
from rocm_perf.model.trace import Trace

TICK = 10**8
BOOT = 5_000 * 10**9
METRICS = ("power_w", "energy_j", "vram_used_bytes")
FACTS = {"boot_ns": BOOT, "realtime_ns": 1_760_000_000 * 10**9, "gpus": [{"gpu": 0}, {"gpu": 1}]}
MOST = 80
LARGEST = 2 * MOST * 8 / 7 + 2  # rows of two GPUs, with those that come during a copy


def _moments(ticks: int) -> Iterator[list[Reading]]:
    """Two GPUs whose power and memory jump about, and now and then a peak of a single reading."""
    for tick in range(ticks):
        peak = 500.0 if tick % 97 == 13 else 0.0
        values = {
            "power_w": 100.0 + tick % 31 + peak,
            "energy_j": 10.0 * tick,
            "vram_used_bytes": float(1000 + tick % 53),
        }
        yield [Reading(gpu, BOOT + tick * TICK + gpu, values) for gpu in (0, 1)]


def _file(path: Path, most_rows: int = MOST) -> SampleFile:
    file = SampleFile(path, METRICS, interval_s=TICK / 1e9, most_rows=most_rows)
    file.begin(FACTS)
    return file


def _write(path: Path, ticks: int, most_rows: int = MOST) -> Trace:
    path.parent.mkdir(exist_ok=True)
    with closing(_file(path, most_rows)) as file:
        for moment in _moments(ticks):
            file.add(moment)
        file.end({"readings": ticks})
    return load(path.parent)


def _rows(path: Path) -> int:
    return sum(line[:1].isdigit() for line in path.read_text().splitlines())


def test_the_file_is_bounded_and_says_what_every_reading_said(tmp_path: Path) -> None:
    thinned = _write(tmp_path / "thinned" / "samples.csv", 5_000)
    whole = _write(tmp_path / "whole" / "samples.csv", 5_000, most_rows=10**6)
    assert whole.rows("samples") == 5_000 * 2 * len(METRICS)
    assert _rows(tmp_path / "thinned" / "samples.csv") <= LARGEST
    for gpu, expected in zip(energy(thinned).gpus, energy(whole).gpus, strict=True):
        assert gpu.energy.value == pytest.approx(expected.energy.value, rel=1e-9)
        assert (
            gpu.peak_power_w
            == expected.peak_power_w
            == 630 - 30 + max(tick % 31 for tick in range(13, 5_000, 97))
        )
        assert (
            (gpu.readings, gpu.window_ns) == (expected.readings, expected.window_ns) == (5_000, 4_999 * TICK)
        )
    for use, expected_use in zip(memory(thinned).rows, memory(whole).rows, strict=True):
        assert (use.peak_bytes, use.first_bytes, use.last_bytes) == (
            expected_use.peak_bytes,
            expected_use.first_bytes,
            expected_use.last_bytes,
        )


def test_a_thinned_file_says_so_and_a_short_one_does_not(tmp_path: Path) -> None:
    thinned = _write(tmp_path / "thinned" / "samples.csv", 1_000)
    assert thinned.run.notices == (
        "readings are thinned to 6.40 s: minimum, mean and maximum of each; at least the last 2.00 s are as they "
        "were read",
    )
    assert (
        "older readings are thinned to 6.40 s, of which each is taken as its mean" in energy(thinned).limits
    )
    short = _write(tmp_path / "short" / "samples.csv", MOST)
    assert short.run.notices == ()
    assert len(energy(short).limits) == 1


def test_the_last_readings_stay_as_they_were_read(tmp_path: Path) -> None:
    samples = _write(tmp_path / "samples.csv", 1_003).table("samples")
    last = samples.filter(pl.col("time_ns") >= BOOT + (1_003 - MOST // 4) * TICK)
    assert last["readings"].null_count() == last.height == MOST // 4 * 2 * len(METRICS)
    assert samples["readings"].drop_nulls().len() > 0


@pytest.mark.whole
def test_a_sampler_that_is_killed_at_any_moment_leaves_everything(tmp_path: Path) -> None:
    folder, kept = tmp_path / "run", tmp_path / "kept"
    folder.mkdir()
    drafts = 0
    with closing(_file(folder / "samples.csv")) as file:
        for tick, moment in enumerate(_moments(400)):
            file.add(moment)
            drafts += draft_of(folder / "samples.csv").exists()
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(folder, kept)
            if tick % 7 == 0 and tick:
                assert [gpu.readings for gpu in energy(load(kept)).gpus] == [tick + 1] * 2
    assert drafts > 30  # in the middle of a copy
    assert not draft_of(folder / "samples.csv").exists()


_CHILD = """
import sys
from pathlib import Path
from tests.unit.collect.sampling.test_sample_file import _file, _moments
file = _file(Path(sys.argv[1]))
for tick, moment in enumerate(_moments(10**6)):
    file.add(moment)
    print(tick, flush=True)
"""


@pytest.mark.parametrize("ticks", [90, 97, 130, 1_000])
@pytest.mark.whole
def test_kill_9_leaves_every_reading_that_was_added(tmp_path: Path, ticks: int) -> None:
    path = tmp_path / "run" / "samples.csv"
    path.parent.mkdir()
    child = subprocess.Popen([sys.executable, "-c", _CHILD, str(path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    for _ in range(ticks):
        child.stdout.readline()
    os.kill(child.pid, signal.SIGKILL)
    added = ticks + len(child.stdout.readlines())
    child.wait()
    child.stdout.close()
    trace = load(path.parent)
    assert trace.run.losses == ()
    assert all(added - 1 <= gpu.readings <= added + 1 for gpu in energy(trace).gpus)


def test_a_disk_that_fills_during_the_copy_keeps_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run" / "samples.csv"
    path.parent.mkdir()

    def full(handle: int, lines: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(thinned_copy, "write_lines", full)
    with pytest.raises(OSError, match="No space left"):
        _write(path, 10 * MOST)
    assert os.listdir(path.parent) == ["samples.csv"]
    assert [gpu.readings for gpu in energy(load(path.parent)).gpus] == [MOST + 1] * 2


def test_what_an_earlier_sampler_wrote_stays(tmp_path: Path) -> None:
    path = tmp_path / "run" / "samples.csv"
    _write(path, 30)
    before = path.read_bytes()
    trace = _write(path, 1_000)
    assert path.read_bytes().startswith(before)
    assert path.read_text().count("# rocm-perf samples 1") == 2
    assert trace.run.notices[0].startswith("readings are thinned")


def test_a_link_still_leads_to_the_file(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "run").mkdir()
    link = tmp_path / "run" / "samples.csv"
    link.symlink_to(tmp_path / "disk" / "readings.csv")
    _write(link, 1_000)
    assert link.is_symlink()
    assert _rows(tmp_path / "disk" / "readings.csv") <= LARGEST
