"""Parts of a run, from the request to the record: windows that never open, rings and their snapshots."""

from __future__ import annotations

import errno
import os
import re
import sys
import threading
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from rocm_perf.backends.base import Command, Wish
from rocm_perf.backends.machine import Machine
from rocm_perf.collect.plan.planned import Plan, PlannedRun
from rocm_perf.collect.request.request import Request
from rocm_perf.collect.run import snapshots
from rocm_perf.collect.run.layout import read_record, write_record
from rocm_perf.collect.run.outcome import look
from rocm_perf.collect.run.session import Recorded, record
from rocm_perf.collect.run.snapshots import SNAPSHOT_SIGNAL, Snapshots
from rocm_perf.collect.run.unopened import unopened
from rocm_perf.ingest.load import load
from rocm_perf.model.collection import CollectionRecord, PassRecord
from rocm_perf.model.window import PROFILER_CALLS, Window
from tests.unit.backends.test_cupti import TRACE, Stage, built, play_window, stage
from tests.unit.collect.run.test_session import KERNEL
from tests.unit.collect.sessions import Sessions, sessions

__all__ = ["built", "sessions", "stage"]

pytestmark = pytest.mark.launches

# A tracer with a ring of three small segments, which turns twice each time that it is told to (.turn), and says when it
# has (.turned); it ends when it is told to. A ring that turned all the time could drop each segment before it is kept.
RING = """
import os, sys, time
folder, number = sys.argv[1], 0
def path(name): return os.path.join(folder, name)
while not os.path.exists(path(".enough")):
    if number == 0 or os.path.exists(path(".turn")):
        for number in range(number + 1, number + 7):
            with open(path(f"rank-7.{number:06}.rptrace"), "w") as file:
                file.write(f"segment {number}")
            if number > 3:
                os.remove(path(f"rank-7.{number - 3:06}.rptrace"))
        if os.path.exists(path(".turn")):
            os.remove(path(".turn"))
        open(path(".turned"), "w").close()
    time.sleep(0.02)
"""

RECORD = CollectionRecord(
    run_id="r", host="h", pid=1, command=("app",), folder="/", started_at="2026-01-01T00:00:00Z", profiler="cupti",
    window=Window(last_s=2),
)  # fmt: skip


def ring_plan(request: Request, _: Machine, folder: Path) -> tuple[Plan, ...]:
    """A plan whose only run writes a ring, and a kernel at its end."""
    own = folder / "pass_1"
    script = f"{KERNEL}; {sys.executable} -c '{RING}' FOLDER".replace("FOLDER", str(own))
    run = PlannedRun(
        number=1,
        purpose="trace",
        profiler="tracer",
        folder="pass_1",
        command=Command(argv=("sh", "-c", script)),
    )
    assert request.wish.window.last_s
    return (Plan(profiler="tracer", why="a test", runs=(run,)),)


def ring(tmp_path: Path, said: list[str], snapshots_wanted: int = 1) -> Recorded:
    """A session with a ring, of which snapshots are asked for whenever it has turned; the tracer ends after that."""

    def turned() -> Path:
        while not (found := list((tmp_path / "runs").glob("*/*/*/pass_1/.turned"))):
            time.sleep(0.02)
        return found[0]

    def ask() -> None:
        for number in range(1, snapshots_wanted + 1):
            sign = turned()
            sign.unlink()
            os.kill(os.getpid(), SNAPSHOT_SIGNAL)
            while len(said) <= number:
                time.sleep(0.02)
            sign.with_name(".enough" if number == snapshots_wanted else ".turn").touch()

    asking = threading.Thread(target=ask)
    asking.start()
    request = Request(
        command=("true",),
        output=str(tmp_path / "runs"),
        wish=Wish(domains=("kernel",), window=Window(last_s=2)),
    )
    recorded = record(request, Machine(host="h"), said.append, plans=ring_plan)
    asking.join()
    return recorded


def test_a_signal_keeps_what_the_ring_holds_and_the_program_goes_on(tmp_path: Path) -> None:
    said: list[str] = []
    recorded = ring(tmp_path, said, 2)
    assert recorded.exit_code == 0
    assert said[0] == f"kill -USR1 {os.getpid()} keeps the last 2 s; the program goes on"
    first, second = recorded.folder / "snapshot-1", recorded.folder / "snapshot-2"
    assert [line.rpartition(" ")[2] for line in said[1:]] == [str(first), str(second)]
    assert "rocm-perf analyze" in said[1]
    for snapshot, numbers in ((first, (4, 5, 6)), (second, (10, 11, 12))):
        segments = sorted((snapshot / "pass_1").glob("*.rptrace"))
        assert [file.name for file in segments] == [f"rank-7.{number:06}.rptrace" for number in numbers]
        assert [file.read_text() for file in segments] == [f"segment {number}" for number in numbers]
        about = read_record(snapshot)
        assert about is not None
        assert (about.state, about.passes[0].folder, about.window) == ("done", "pass_1", Window(last_s=2))
        assert "the program went on" in about.notices[-1]


def test_a_run_is_read_without_its_snapshots(tmp_path: Path) -> None:
    recorded = ring(tmp_path, [])
    kept = recorded.folder / "snapshot-1" / "pass_1" / "2_kernel_trace.csv"
    kept.write_text((recorded.folder / "pass_1" / "1_kernel_trace.csv").read_text())
    assert load(recorded.folder.parent.parent).rows("dispatches") == 1
    assert load(recorded.folder / "snapshot-1").rows("dispatches") == 1


@pytest.mark.native
def test_a_snapshot_of_the_real_tracer_is_analysed_by_itself(stage: Stage) -> None:
    assert play_window(stage, "ring", last_s=2).returncode == 0
    home, said = stage.folder.parent, list[str]()
    running = PassRecord(
        number=1, profiler="cupti", purpose="trace", argv=(), folder="out", outcome="recorded"
    )
    write_record(home, RECORD)
    Snapshots(home, running, 2, said.append).take()
    whole, kept = load(stage.folder), load(home / "snapshot-1")
    assert whole.rows("dispatches") == kept.rows("dispatches") > 0
    assert kept.run.collection is not None
    assert kept.run.collection.window == Window(last_s=2)
    assert load(home).rows("dispatches") == whole.rows("dispatches")  # not twice


@pytest.mark.native
@pytest.mark.parametrize("window", [Window(range="nowhere"), Window(delay_s=60)])
def test_a_window_of_the_real_tracer_that_never_opened(stage: Stage, window: Window) -> None:
    assert stage.play("windows", replace(TRACE, window=window)).returncode == 0
    run = PlannedRun(number=1, purpose="trace", profiler="cupti", folder="out", command=Command(argv=()))
    seen = look(stage.folder, run)
    assert seen.outcome == "empty"
    said = unopened(window, seen, 10**9)
    assert said.startswith("nothing was recorded")
    assert not window.range or "the range never opened" in said


def snapshot_of(tmp_path: Path, said: list[str]) -> Snapshots:
    running = PassRecord(
        number=1, profiler="cupti", purpose="trace", argv=(), folder="pass_1", outcome="recorded"
    )
    (tmp_path / "pass_1" / "host").mkdir(parents=True)
    return Snapshots(tmp_path, running, 30, said.append)


def test_rings_of_several_processes(tmp_path: Path) -> None:
    said: list[str] = []
    taken = snapshot_of(tmp_path, said)
    for name in ("rank0-1.000009", "rank0-1.000010", "rank1-2.000001", "rank1-2"):
        (tmp_path / "pass_1" / "host" / f"{name}.rptrace").write_text(name)
    taken.take()
    kept = {file.name: file for file in (tmp_path / "snapshot-1").rglob("*.rptrace")}
    assert sorted(kept) == ["rank0-1.000009.rptrace", "rank0-1.000010.rptrace", "rank1-2.000001.rptrace"]
    linked = {name for name, file in kept.items() if file.stat().st_nlink == 2}
    assert linked == {"rank0-1.000009.rptrace"}  # the newest of each is still being written, and is copied


def test_an_empty_ring_leaves_no_folder(tmp_path: Path) -> None:
    said: list[str] = []
    snapshot_of(tmp_path, said).take()
    assert said == ["there is nothing to keep yet: the ring is empty"]
    assert not (tmp_path / "snapshot-1").exists()


def test_a_full_disk_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    taken = snapshot_of(tmp_path, said)
    (tmp_path / "pass_1" / "host" / "rank-1.000001.rptrace").write_text("x")

    def full(_source: Path, target: Path) -> None:
        target.write_text("")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("rocm_perf.collect.run.snapshots.shutil.copyfile", full)
    taken.take()
    assert said == ["the snapshot cannot be kept: No space left on device; the program goes on"]
    assert not (tmp_path / "snapshot-1").exists()


def test_a_segment_that_goes_away_meanwhile_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    taken = snapshot_of(tmp_path, said)
    old, new = (tmp_path / "pass_1" / "host" / f"rank-1.{number:06}.rptrace" for number in (1, 2))
    new.write_text("new")
    monkeypatch.setattr(snapshots, "_segments", lambda _folder: iter([(old, False), (new, True)]))
    taken.take()
    assert [file.name for file in (tmp_path / "snapshot-1").rglob("*.rptrace")] == [new.name]


@pytest.mark.parametrize(
    ("window", "said"),
    [
        (
            Window(delay_s=60, duration_s=5),
            r"because the window opens 60 s after the start, and the program ran \d",
        ),
        (Window(delay_s=0.0001, duration_s=1e-9), "no work of the GPU was seen then"),
    ],
)
def test_a_window_that_never_opens(sessions: Sessions, window: Window, said: str) -> None:
    """The program is not run again: it would do the same under another profiler."""
    wish = Wish(domains=("kernel", "hip"), window=window)
    recorded = sessions("true", wish=wish)
    assert recorded.exit_code == 5
    assert len(recorded.record.passes) == 1
    assert recorded.record.window == window
    (reason,) = recorded.record.could_not
    assert re.search(said, reason)


def test_a_window_that_opens(sessions: Sessions) -> None:
    wish = Wish(domains=("kernel", "hip"), window=Window(delay_s=0, duration_s=60))
    recorded = sessions("true", wish=wish)
    assert (recorded.exit_code, recorded.record.could_not) == (0, ())
    assert recorded.trace is not None
    assert recorded.trace.rows("dispatches") == 6
    assert recorded.trace.run.collection is not None
    assert recorded.trace.run.collection.window == Window(delay_s=0, duration_s=60)


def test_a_profiler_without_this_window_is_passed_over(sessions: Sessions) -> None:
    wish = Wish(domains=("kernel", "hip"), window=Window(range=PROFILER_CALLS))
    recorded = sessions("true", rocm="6.4", wish=wish)
    assert recorded.record.profiler == "rocprof"
    assert recorded.exit_code == 0
