"""`analyze` of what does not fit into memory: the refusal, the part that fits, and all of it in parts."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from bench.make_rocpd import make as make_rocpd

from rocm_perf.cli import recording_size
from rocm_perf.cli.main import main
from tests.unit.ingest import recordings as make

ROWS = 20_000
MEMORY = "160MB"  # 10 MB beside the program itself: so many dispatches and calls take 33 MB


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("large recording") / "results.db"
    make_rocpd(file, ROWS, ROWS)
    return file


@pytest.mark.whole
def test_what_does_not_fit_is_refused_with_the_command_that_does(
    database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["analyze", str(database), "--memory", MEMORY]) == 4
    error = capsys.readouterr().err
    assert "does not fit into memory: about 20,000 dispatches and 20,000 API calls" in error
    assert "take about 183 MB to analyse, and 160 MB may be used" in error
    commands = re.findall(r"rocm-perf (analyze .*?)(?:;|$)", error)
    assert len(commands) == 2
    for command, rows in zip(commands, (5_000, ROWS), strict=True):
        assert main([*shlex.split(command), "--json"]) == 0
        (document,) = json.loads(capsys.readouterr().out)["runs"]
        assert document["tables"]["dispatches"] == pytest.approx(rows, rel=0.15)


def test_a_window_that_does_not_fit_is_refused_too(
    database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["analyze", str(database), "--memory", MEMORY, "--window", "0..90ms"]) == 4
    assert "the window 0s..0.09s of" in capsys.readouterr().err


def test_a_part_says_on_the_screen_that_it_is_one(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", str(database), "--window", "10ms..20ms"]) == 0
    assert "what starts in the window 0.01s..0.02s" in capsys.readouterr().out


@pytest.mark.whole
def test_parts_say_on_the_screen_what_they_are(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", str(database), "--memory", MEMORY, "--in-parts"]) == 0
    assert "analysed in 4 parts and added up" in capsys.readouterr().out


def test_a_folder_of_csv_files_in_parts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make.kernel_trace(tmp_path / "7_kernel_trace.csv", count=20_000)
    make.agent_info(tmp_path / "7_agent_info.csv")
    assert main(["analyze", str(tmp_path), "--memory", "160MB", "--in-parts"]) == 0
    assert "20,000 dispatches of 1 kernel" in capsys.readouterr().out


def test_what_cannot_be_read_in_part(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events = [{"ph": "X", "cat": "cpu_op", "name": f"op{n}", "ts": n, "dur": 1} for n in range(100_000)]
    file = tmp_path / "trace.json"
    file.write_text(json.dumps({"traceEvents": events}))  # a Chrome trace
    for options in ((), ("--in-parts",), ("--window", "0..10us")):
        assert main(["analyze", str(file), "--memory", "151MB", *options]) == 4
        assert "a part of it cannot be read by itself" in capsys.readouterr().err


@pytest.mark.parametrize("memory", ["100MB", "150.001MB"])
def test_too_little_memory_for_anything(
    database: Path, capsys: pytest.CaptureFixture[str], memory: str
) -> None:
    assert main(["analyze", str(database), "--memory", memory, "--in-parts"]) == 4
    assert "no part of it is small enough" in capsys.readouterr().err


def test_a_small_recording_is_always_tried(
    database: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording_size, "usable_bytes", lambda: 1)
    assert main(["analyze", str(database)]) == 0
    assert "20,000 dispatches" in capsys.readouterr().out


@pytest.mark.parametrize("verb", [["whatif", "--hoist-syncs"], ["compare", "{}"]])
def test_other_verbs_refuse_what_does_not_fit(
    database: Path, verb: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording_size, "_limit_bytes", lambda: 160_000_000)
    options = [option.format(database) for option in verb[1:]]
    assert main([verb[0], str(database), *options]) == 4
    told = capsys.readouterr().err
    assert "does not fit into memory" in told
    assert "160 MB may be used" in told


def test_what_fits_is_analysed_at_once_with_in_parts(
    database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["analyze", str(database), "--in-parts"]) == 0
    assert "added up" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "options",
    [
        ("--window", "0..1", "--in-parts"),
        ("--window", "0..1", "--each"),
        ("second.db", "--window", "0..1"),
        ("--window", "1..0"),
        ("--window", "5"),
        ("--memory", "0"),
        ("--memory", "much"),
    ],
)
def test_what_makes_no_sense_together(database: Path, options: tuple[str, ...]) -> None:
    try:
        code = main(["analyze", str(database), *options])
    except SystemExit as exit:
        code = int(exit.code or 0)
    assert code == 2
