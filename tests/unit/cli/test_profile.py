"""`profile`, `report` and `demo` on the simulated GPU."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rocm_perf.cli import profile
from rocm_perf.cli.demo import workload_file
from rocm_perf.cli.main import main
from rocm_perf.collect.run.session import Recorded
from rocm_perf.ingest.load import load
from rocm_perf.model.collection import CollectionRecord

WORKLOAD = str(workload_file("sync_in_loop"))


def test_profile_records_a_bundle_and_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["profile", "--device", "sim:MI300X", "--", WORKLOAD]) == 0
    assert "The host waits for the GPU 6 times a step" in " ".join(capsys.readouterr().out.split())
    assert main(["profile", "--device", "sim:mi300x", "--json", "--", WORKLOAD]) == 0
    assert json.loads(capsys.readouterr().out)["runs"][0]["hotspots"]["dispatches"] == 360
    first, second = load(Path("sync_in_loop-1")), load(Path("sync_in_loop-2"))
    assert first.table("dispatches").equals(second.table("dispatches"))


def test_without_analysis_a_run_is_only_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["profile", "--no-analyze", "--device", "sim:MI300X", "--", WORKLOAD]) == 0
    assert capsys.readouterr().out == ""
    assert load(Path("sync_in_loop-1")).rows("dispatches") == 360
    main(["profile", "--no-analyze", "-d", "runs", "--profiler", "timing", "--", "true"])
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith(f"rocm-perf: recorded in {tmp_path / 'runs'}")
    assert said.endswith("rocm-perf analyze reads it")


def test_profile_refuses_what_it_cannot_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text('[kernel.k]\nduration_us = 1\n[[thread]]\nsteps = [{launch = "q"}]\n')
    for arguments, words in (
        (["--device", "sim:MI9999", "--", WORKLOAD], "Known: sim:MI300X"),
        (["--device", "sim:MI300X", "--", str(broken)], "line 4"),
        (["--device", "sim:MI300X", "--", str(tmp_path / "none.toml")], "cannot read"),
        (["--device", "sim:MI300X", "--", WORKLOAD, "--flag"], "one workload file"),
        (["--device", "soft:MI300X", "--", "./app", "3"], "rocm-perf emulate --device MI300X -- ./app 3"),
    ):
        assert main(["profile", *arguments]) in (2, 6)
        assert words in capsys.readouterr().err


def test_a_simulation_obeys_the_options_of_its_folder_and_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["-d", str(tmp_path), "--run-id", "mine", "--show", "recording"]
    assert main(["profile", "--device", "sim:MI300X", *options, "--", WORKLOAD]) == 0
    assert load(tmp_path / "mine").rows("dispatches") == 360
    said = " ".join(capsys.readouterr().out.split())
    assert "rocm-perf simulated this run" in said
    assert "another tool" not in said


@pytest.mark.parametrize(
    "option",
    [
        *(["--profiler", "rocprofv3"], ["--range", "step"], ["--last", "3"], ["--ranks", "0"], ["--sample"]),
        *(["--timeout", "5"], ["--measure-overhead"], ["--kernel-include-regex", "gemm"], ["--kernel-trace"]),
    ],
)
def test_a_simulation_refuses_what_it_would_ignore(
    option: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["profile", "--device", "sim:MI300X", "-d", str(tmp_path), *option, "--", WORKLOAD]) == 2
    assert f"cannot obey {option[0]}:" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_dry_run_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["profile", "--device", "sim:MI300X", "--dry-run", "--", WORKLOAD]) == 0
    assert "would simulate" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.whole
def test_the_demo_tells_its_story(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "demo"
    for _ in range(2):
        assert main(["demo", "-o", str(folder)]) == 0
    story = " ".join(capsys.readouterr().out.split())
    for words in (
        "The host waits for the GPU 6 times a step, in hipStreamSynchronize",
        "x faster",
        "Side by side",
        "rocm-perf profile -- ./app",
        f"rocm-perf compare {folder / 'sync_in_loop'} {folder / 'sync_hoisted'}",
        (folder / "report.html").as_uri(),
    ):
        assert words in story
    assert (
        load(folder / "sync_in_loop").rows("dispatches")
        == load(folder / "sync_hoisted").rows("dispatches")
        == 360
    )
    assert (folder / "report.md").read_text().startswith("# Before and after")
    assert "The host waits for the GPU 6 times a step" in (folder / "report.html").read_text()


@pytest.mark.parametrize(
    ("place", "whole"), [("runs/mine/h/rank-1", "runs/mine"), ("moved/h/rank-1", "moved/h/rank-1")]
)
def test_a_run_that_was_moved_away_is_its_own_folder_alone(tmp_path: Path, place: str, whole: str) -> None:
    record = CollectionRecord(
        run_id="mine", host="h", pid=1, command=("a",), folder="/", started_at="", profiler="timing"
    )
    recorded = Recorded(record=record, folder=tmp_path / place, exit_code=0, say=print)
    assert profile._run_folder(recorded) == tmp_path / whole
