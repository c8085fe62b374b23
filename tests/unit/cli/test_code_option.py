"""`analyze --code FILE` as a user meets it."""

from __future__ import annotations

from pathlib import Path

import pytest

import rocm_perf
from rocm_perf.cli.main import main
from rocm_perf.model import bundle
from tests.compile_amd import Compiler
from tests.unit.analysis.traces import trace


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Compiler.of_this_run(tmp_path_factory).compile("code_limits", "gfx90a").path


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A recording of one kernel, as a bundle."""
    launch = {"kernel": "double_steps", "agent_id": 0, "workgroup_x": 256, "grid_x": 1 << 20}
    rows = [
        {
            **launch,
            "dispatch_id": number,
            "start_ns": 1_000_000 * number,
            "end_ns": 1_000_000 * number + 900_000,
        }
        for number in range(4)
    ]
    agents = [{"agent_id": 0, "kind": "GPU", "gfx": "gfx90a", "name": "AMD Instinct MI250X"}]
    bundle.write(trace(dispatches=rows, agents=agents), tmp_path / "run")
    return tmp_path / "run"


def test_an_answer_with_code(recording: Path, code: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", str(recording), "--code", str(code)]) == 0
    assert "accidental f64" in capsys.readouterr().out
    assert rocm_perf.analyze(recording, code=[code]).hotspots == rocm_perf.analyze(recording).hotspots


def test_a_file_of_another_program(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("text")
    assert main(["analyze", str(recording), "--code", str(other)]) == 6
    said = capsys.readouterr().err
    assert "notes.txt has no code of this recording" in said
    assert "Give the program that was recorded" in said


@pytest.mark.parametrize("options", [["--window", "0s..1s"], ["--cluster", "local"]])
def test_where_code_is_refused(
    options: list[str], recording: Path, code: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["analyze", str(recording), "--code", str(code), *options]) == 2
    assert "--code" in capsys.readouterr().err
