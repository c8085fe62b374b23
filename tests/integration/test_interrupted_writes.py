"""Writing that cannot end well: a full device, and death in the middle. What was there before stays as it was."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from rocm_perf.cli.demo import workload_file
from rocm_perf.errors import RocmPerfError
from rocm_perf.ingest.load import load
from rocm_perf.replay.finish import Making, finish
from tests.fake_tools import fake_path
from tests.unit.replay.toys import BLOCK, Toy, write_draft

pytestmark = pytest.mark.launches

PAGE = os.sysconf("SC_PAGE_SIZE")
FULL = ("No space left on device", "database or disk is full")
OLD = b"what was here before"
SUFFIXES = {
    "parquet": ".parquet", "csv": ".csv", "json": ".json", "rocpd": ".db", "rpd": ".rpd", "perfetto": ".pftrace",
    "torch": ".json", "rocprofv3-json": ".json", "rocprof-csv": ".csv", "rocprof-json": ".json",
    "speedscope": ".speedscope.json", "prometheus": ".prom",
}  # fmt: skip
NOT_READ_BACK = ("parquet", "csv", "json", "speedscope", "prometheus")


def start(*argv: str, **variables: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "rocm_perf.cli.main", *argv],
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(*argv: str, **variables: str) -> tuple[int, str]:
    """The exit code and what was said on stderr."""
    process = start(*argv, **variables)
    _, said = process.communicate(timeout=300)
    return process.returncode, said


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of a simulated run, as large as its exports are to be."""
    folder = tmp_path_factory.mktemp("recorded") / "run"
    code, said = ended(
        "profile", "--device", "sim:MI300X", "-o", str(folder), "--", str(workload_file("sync_in_loop"))
    )
    assert code == 0, said
    return folder


@pytest.fixture
def device(tmp_path: Path) -> Iterator[Path]:
    """A small device with a single page left."""
    folder = tmp_path / "device"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={16 * PAGE}", "none", str(folder)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip(f"a small device cannot be mounted here: {mounted.stderr.decode().strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def resize(device: Path, pages: int) -> None:
    subprocess.run(["mount", "-o", f"remount,size={pages * PAGE}", str(device)], check=True)


def fill(device: Path, free_pages: int = 1) -> None:
    """Leave so many pages of the device."""
    room = os.statvfs(device)
    (device / "ballast").write_bytes(bytes((room.f_bavail - free_pages) * PAGE))


@pytest.mark.parametrize("form", SUFFIXES)
def test_export_to_a_full_device_keeps_the_old_file(recording: Path, device: Path, form: str) -> None:
    target = device / f"old{SUFFIXES[form]}"
    target.write_bytes(OLD)
    fill(device)
    before = sorted(device.iterdir())
    code, said = ended("export", str(recording), "--format", form, "-o", str(target), "--force")
    assert (code, said.count("\n")) == (6, 1), said
    assert any(reason in said for reason in FULL)
    assert target.read_bytes() == OLD
    assert sorted(device.iterdir()) == before


@pytest.mark.parametrize(
    "argv",
    [
        ["export", "-o", "new"],
        ["export", "-o", "new", "--format", "rocprofv3-csv"],
        ["analyze", "-o", "new"],
        ["report", "-o", "new.md"],
        ["report", "-o", "new.html"],
    ],
    ids=" ".join,
)
def test_a_full_device_gets_nothing_new(recording: Path, device: Path, argv: list[str]) -> None:
    fill(device)
    verb, option, name, *rest = argv
    code, said = ended(verb, str(recording), option, str(device / name), *rest)
    assert (code, said.count("\n")) == (6, 1), said
    assert any(reason in said for reason in FULL)
    left = [path for path in device.rglob("*") if path.is_file()]
    assert left == [device / "ballast"]


def test_a_simulated_run_on_a_full_device(device: Path) -> None:
    fill(device)
    workload = str(workload_file("sync_in_loop"))
    code, said = ended("profile", "--device", "sim:MI300X", "-o", str(device / "new"), "--", workload)
    assert (code, said.count("\n")) == (6, 1), said
    assert [path.name for path in device.iterdir()] == ["ballast"]


@pytest.mark.parametrize("free_pages", [0, 1, 2, 6])
def test_profile_on_a_full_device_keeps_what_was_recorded(
    tmp_path: Path, device: Path, free_pages: int
) -> None:
    """The application may run or not; an earlier run stays whole, and the exit code says that this one is not."""
    tools = fake_path(tmp_path, ("rocprofv3", "rocminfo"))
    earlier = tmp_path / "earlier"
    assert ended("profile", "-d", str(earlier), "--run-id", "first", "--", "true", **tools)[0] == 0
    files = {path.relative_to(earlier): path.read_bytes() for path in earlier.rglob("*") if path.is_file()}
    resize(device, pages=128)
    subprocess.run(["cp", "-r", f"{earlier}/.", str(device)], check=True)
    fill(device, free_pages)
    code, said = ended("profile", "-d", str(device), "--run-id", "second", "--", "true", **tools)
    assert code == 6, said
    assert "internal error" not in said
    assert {name: (device / name).read_bytes() for name in files} == files
    assert load(device / "first").rows("dispatches")


def test_a_snapshot_on_a_full_device(device: Path) -> None:
    """The draft of a capture lies beside its snapshot, and has just fitted."""
    resize(device, pages=256)
    noise = Random(3).randbytes(2 * BLOCK)
    draft = write_draft(device / ".snap.draft", Toy(before=noise, after=noise[::-1]))
    fill(device, free_pages=0)
    with pytest.raises(RocmPerfError, match="No space left on device") as refused:
        finish(draft, device / "snap", Making(True, True), lambda _: None)
    assert refused.value.exit_code == 6
    assert not (device / "snap").exists()


def halt(process: subprocess.Popen[str]) -> None:
    """Stop a process and wait until it stands still, or has ended: a rename under way is completed before."""
    if process.poll() is None:
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)


@pytest.mark.parametrize("form", [*SUFFIXES, "bundle", "rocprofv3-csv"])
def test_a_killed_export_leaves_no_half_file(recording: Path, tmp_path: Path, form: str) -> None:
    folder = tmp_path / "written"
    folder.mkdir()
    target = folder / f"new{SUFFIXES.get(form, '')}"
    argv = ("export", str(recording), "--format", form, "-o", str(target))
    process = start(*argv)
    while process.poll() is None and not any(folder.iterdir()):
        time.sleep(0.0005)
    halt(process)
    whole = target.exists()
    process.kill()
    process.communicate(timeout=300)
    if not whole:
        assert not target.exists()
        assert all(path.name.startswith(".") for path in folder.iterdir())
    code, said = ended(*argv, *(["--force"] if whole else []))
    assert code == 0, said
    if form not in NOT_READ_BACK:
        assert load(target).rows("dispatches")
