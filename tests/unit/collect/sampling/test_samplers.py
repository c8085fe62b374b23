"""The sampler as a process beside a run: started, stopped, killed, starved; the program never notices."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import polars as pl
import pytest

from rocm_perf.analysis.program.energy import energy
from rocm_perf.backends.machine import FoundGpu, Machine
from rocm_perf.collect.request.request import Sampling
from rocm_perf.collect.sampling import samplers
from rocm_perf.ingest.load import load
from tests.unit.backends import fake_sensors

H200 = tuple(
    FoundGpu(index=index, vendor="NVIDIA", gfx="sm_90", name="NVIDIA Fake", pci=f"0000:{6 + index:02x}:00.0")
    for index in (0, 1)
)
BOTH = Sampling(metrics=("power", "memory"), interval_s=0.05)


@pytest.fixture
def nvidia(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine whose NVML is the fake one."""
    library = fake_sensors.nvml_library(tmp_path / "driver")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(library.parent))
    return Machine(host="box", gpus=H200)


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine takes its time to start and to end a sampler."""
    monkeypatch.setattr(samplers, "_READY_S", 120.0)
    monkeypatch.setattr(samplers, "_STOP_S", 120.0)


def on_time(sampler: samplers.Sampler) -> list[str]:
    """Its notices but for the one of a machine so busy that a first reading took longer than the interval."""
    return [notice for notice in sampler.notices if " cannot be read every " not in notice]


def rows_in(folder: Path) -> int:
    """How many readings stand in the folder's file."""
    text = (folder / "samples.csv").read_text()
    return sum(line[:1].isdigit() for line in text.splitlines())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    return tmp_path / "run"


def test_a_run_is_sampled_and_read_back(folder: Path, nvidia: Machine) -> None:
    before = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    with samplers.sampling(BOTH, folder, nvidia) as sampler:
        time.sleep(0.5)
        assert _within(120, lambda: rows_in(folder) >= 2 * 5)  # of two GPUs
    assert sampler is not None
    assert on_time(sampler) == []
    assert "2 GPUs through nvml" in sampler.summary
    trace = load(folder)
    samples = trace.table("samples")
    assert set(samples["metric"]) >= {"power_w", "clock_mhz", "energy_j", "vram_used_bytes", "vram_percent"}
    power = samples.filter(pl.col("metric") == "power_w", pl.col("agent_id") == 0)
    assert power["value"].unique().to_list() == [650.25]
    assert before <= power["time_ns"].min() <= power["time_ns"].max() < before + 60 * 10**9  # type: ignore[operator]
    assert power.height >= 5
    assert trace.table("nodes").select("host", "clock").row(0) == ("box", "boot")
    result = energy(trace)
    assert [gpu.agent_id for gpu in result.gpus] == [0, 1]
    used, window = result.gpus[0].energy.value, result.gpus[0].window_ns
    assert used == pytest.approx(650.25 * window / 1e9)
    assert window > 0.4e9


def test_the_readings_also_stand_in_madengines_shape_and_are_not_counted_twice(
    folder: Path, nvidia: Machine
) -> None:
    with samplers.sampling(BOTH, folder, nvidia):
        time.sleep(0.2)
    lines = (folder / samplers.POWER_FILE).read_text().splitlines()
    assert lines[0] == "time,Power(Watt) GPU0,Power(Watt) GPU1"
    assert lines[1].startswith("20")  # a date, not a day of 1970
    assert (folder / samplers.VRAM_FILE).read_text().startswith("time,vram(%) GPU0,vram(%) GPU1")
    trace = load(folder)
    rows = [line for line in (folder / "samples.csv").read_text().splitlines() if line[:1].isdigit()]
    assert trace.table("samples").filter(pl.col("metric") == "power_w").height == len(rows)
    assert load(folder / samplers.POWER_FILE).rows("samples")  # by itself it is read


def test_only_what_was_asked_for_is_written(folder: Path, nvidia: Machine) -> None:
    with samplers.sampling(Sampling(metrics=("memory",), interval_s=0.05), folder, nvidia):
        time.sleep(0.1)
    assert set(load(folder).table("samples")["metric"]) == {"vram_used_bytes", "vram_percent"}
    assert sorted(path.name for path in folder.iterdir()) == [samplers.VRAM_FILE, "samples.csv"]


def test_nothing_is_sampled_where_nothing_is_asked_for(folder: Path) -> None:
    with samplers.sampling(Sampling(), folder, Machine(host="box")) as sampler:
        assert sampler is None
    assert list(folder.iterdir()) == []


def test_a_mask_hides_gpus_and_renumbers_the_rest(folder: Path, nvidia: Machine) -> None:
    masked = Machine(host="box", gpus=H200, environment={"CUDA_VISIBLE_DEVICES": "1"})
    with samplers.sampling(BOTH, folder, masked):
        time.sleep(0.1)
    about = json.loads((folder / "samples.csv").read_text().splitlines()[1][1:])
    assert [(gpu["gpu"], gpu["ordinal"]) for gpu in about["gpus"]] == [(1, 0)]


def test_without_any_source_there_is_a_reason_and_no_failure(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/nowhere")
    with samplers.sampling(BOTH, folder, Machine(host="box", gpus=H200)) as sampler:
        pass
    assert sampler is not None
    assert sampler.summary == ""
    assert len(sampler.notices) == 1
    assert sampler.notices[0].startswith("nothing was sampled: ")
    assert list(folder.iterdir()) == []


def test_a_folder_that_is_gone_is_a_notice(tmp_path: Path, nvidia: Machine) -> None:
    with samplers.sampling(BOTH, tmp_path / "absent", nvidia) as sampler:
        pass
    assert sampler is not None
    assert "absent" in sampler.notices[0]


def test_the_block_may_fail(folder: Path, nvidia: Machine) -> None:
    with pytest.raises(RuntimeError, match="the program"), samplers.sampling(BOTH, folder, nvidia):
        raise RuntimeError("the program")
    assert load(folder).rows("samples")


def test_a_source_that_hangs_does_not_hold_up_the_end(
    folder: Path, nvidia: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(samplers, "_READY_S", 0.3)
    monkeypatch.setattr(samplers, "_STOP_S", 0.3)
    monkeypatch.setenv("FAKE_NVML_SLOW_US", "200000000")
    with samplers.sampling(BOTH, folder, nvidia) as sampler:
        leaving = time.monotonic()
    assert time.monotonic() - leaving < 100  # not the 200 s of its reading
    assert sampler is not None
    assert sampler.notices == ("nothing was sampled: the sampler did not start",)


def test_a_full_disk_keeps_what_was_written(folder: Path, nvidia: Machine) -> None:
    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    settings = samplers._settings(
        Sampling(metrics=("power",), interval_s=0.005), folder / "samples.csv", nvidia
    )
    done = _run_limited(settings, folder, limited)
    assert done.returncode == 6
    assert b"cannot write" in done.stderr
    assert load(folder).rows("samples") > 10


def _run_limited(
    settings: str, folder: Path, limited: Callable[[], None]
) -> subprocess.CompletedProcess[bytes]:
    """Run the sampler with its input held open until it ends by itself."""
    reading, writing = os.pipe()
    try:
        return subprocess.run(
            [sys.executable, "-m", "rocm_perf.collect.sampling.sampler_process", settings],
            stdin=reading,
            capture_output=True,
            preexec_fn=limited,
            timeout=60,
            cwd=folder,
            check=False,
        )
    finally:
        os.close(reading)
        os.close(writing)


@pytest.mark.parametrize(
    ("gfx", "name", "shares"),
    [
        ("gfx90a:sramecc+:xnack-", "AMD Instinct MI250X", True),
        ("gfx90a", "AMD Instinct MI250X/MI250", True),
        ("gfx90a", "", True),
        ("gfx90a", "AMD Instinct MI210", False),
        ("gfx942", "AMD Instinct MI300X", False),
    ],
)
def test_the_sampler_is_told_which_gpus_share_a_power_sensor(gfx: str, name: str, shares: bool) -> None:
    machine = Machine(host="node", gpus=(FoundGpu(index=0, vendor="AMD", gfx=gfx, name=name),))
    settings = json.loads(samplers._settings(Sampling(metrics=("power",)), Path("x"), machine))
    assert settings["gpus"][0]["shares_power"] is shares


def test_hours_of_readings_are_thinned_and_that_is_told(
    folder: Path, nvidia: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = samplers._settings

    def small(sampling: Sampling, path: Path, machine: Machine) -> str:
        return json.dumps({**json.loads(settings(sampling, path, machine)), "most_rows": 16})

    monkeypatch.setattr(samplers, "_settings", small)
    with samplers.sampling(Sampling(metrics=("power",), interval_s=0.005), folder, nvidia) as sampler:
        assert _within(120, lambda: "readings are thinned to " in (folder / "samples.csv").read_text())
        time.sleep(0.2)  # readings after the thinning
    assert sampler is not None
    assert sampler.summary
    thinned = [text for text in sampler.notices if text.startswith("readings are thinned to ")]
    assert len(thinned) == 1  # on a loaded machine there is another one: that readings come late
    rows = [line for line in (folder / "samples.csv").read_text().splitlines() if line[:1].isdigit()]
    assert len(rows) < 2 * 20
    trace = load(folder)
    assert thinned[0] in trace.run.notices
    gpu = energy(trace).gpus[0]
    assert gpu.readings > 16  # more than rows may be; a loaded machine reads less often
    assert gpu.energy.value == pytest.approx(650.25 * gpu.window_ns / 1e9)
    assert sorted(path.name for path in folder.iterdir()) == [samplers.POWER_FILE, "samples.csv"]


_PARENT = """
import sys, time
from pathlib import Path
import msgspec
from rocm_perf.backends.machine import Machine
from rocm_perf.collect.request.request import Sampling
from rocm_perf.collect.sampling.samplers import sampling
machine = msgspec.json.decode(sys.argv[2], type=Machine)
with sampling(Sampling(metrics=("power",), interval_s=0.02), Path(sys.argv[1]), machine):
    print("running", flush=True)
    time.sleep(600)
"""


def test_a_parent_that_is_killed_leaves_a_whole_file_and_no_process(folder: Path, nvidia: Machine) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", _PARENT, str(folder), msgspec.json.encode(nvidia).decode()],
        stdout=subprocess.PIPE,
    )
    assert parent.stdout is not None
    assert parent.stdout.readline() == b"running\n"
    assert _within(120, lambda: rows_in(folder) > 10)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert _within(120, lambda: (folder / "samples.csv").read_text().splitlines()[-1].startswith("# {"))
    assert _within(120, lambda: not _samplers_of(folder))
    trace = load(folder)
    assert trace.rows("samples") > 10
    assert trace.run.losses == ()


def test_a_sampler_that_is_killed_loses_at_most_its_last_row(folder: Path, nvidia: Machine) -> None:
    with samplers.sampling(Sampling(metrics=("power",), interval_s=0.02), folder, nvidia) as sampler:
        assert _within(120, lambda: rows_in(folder) > 10)
        for pid in _samplers_of(folder):
            os.kill(pid, signal.SIGKILL)
    assert sampler is not None
    assert on_time(sampler) == ["the sampler ended early"]
    assert load(folder).rows("samples") > 10


def test_the_terminals_signals_are_not_for_the_sampler(folder: Path, nvidia: Machine) -> None:
    with samplers.sampling(BOTH, folder, nvidia):
        sessions = {os.getsid(pid) for pid in _samplers_of(folder)}
    assert len(sessions) == 1
    assert os.getsid(0) not in sessions


def test_a_second_sampler_adds_to_the_file(folder: Path, nvidia: Machine) -> None:
    for _ in range(2):
        with samplers.sampling(BOTH, folder, nvidia) as sampler:
            time.sleep(0.1)
        assert sampler is not None
        assert sampler.summary
    text = (folder / "samples.csv").read_text()
    assert text.count("# rocm-perf samples 1") == 2
    rows = [line for line in text.splitlines() if line[:1].isdigit()]
    assert load(folder).table("samples").filter(pl.col("metric") == "power_w").height == len(rows)


def test_modules_of_the_user_are_not_imported(
    folder: Path, nvidia: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('mine')")
    monkeypatch.chdir(tmp_path)
    with samplers.sampling(BOTH, folder, nvidia) as sampler:
        pass
    assert sampler is not None
    assert on_time(sampler) == []


def test_the_sampler_imports_little() -> None:
    code = "import sys, rocm_perf.collect.sampling.sampler_process; print(sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not any(f"'{name}'" in loaded for name in ("polars", "msgspec", "rich", "numpy"))


def _samplers_of(folder: Path) -> list[int]:
    """Processes that sample into the folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command, works_in = (entry / "cmdline").read_bytes(), (entry / "cwd").readlink()
            except OSError:
                continue
            if b"rocm_perf.collect.sampling.sampler_process" in command and works_in == folder:
                found.append(int(entry.name))
    return found


def _within(seconds: float, holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.02)
    return False
