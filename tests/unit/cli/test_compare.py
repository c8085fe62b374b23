"""`rocm-perf compare` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rocm_perf.cli.main import main
from rocm_perf.model import bundle
from rocm_perf.sim.workload import read_workload
from tests.sim.recorded import recorded

WORKLOADS = Path(__file__).parents[3] / "examples" / "workloads"


@pytest.fixture
def pair(tmp_path: Path) -> tuple[str, str]:
    names = ("sync_in_loop", "sync_hoisted")
    for name in names:
        bundle.write(recorded(read_workload(WORKLOADS / f"{name}.toml")), tmp_path / name)
    return str(tmp_path / names[0]), str(tmp_path / names[1])


def test_the_answer_comes_first(pair: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *pair]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "sync_in_loop -> sync_hoisted"
    assert "x faster" in lines[1]
    assert any(line.startswith("- gone: The host waits for the GPU") for line in lines)
    assert len(lines) <= 40


def test_json_is_complete(pair: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "--json", *pair]) == 0
    comparison = json.loads(capsys.readouterr().out)
    assert comparison["schema_version"] == 1
    wall = comparison["wall"]
    assert sum(part["difference_ns"] for part in wall["parts"]) == wall["difference_ns"]
    assert comparison["new"]["wall_ns"] - comparison["base"]["wall_ns"] == wall["difference_ns"]
    assert {finding["fate"] for finding in comparison["findings"]} >= {"went"}


def test_the_same_name_twice_is_told_apart_by_its_folder(
    pair: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", "--json", pair[0], pair[0]]) == 0
    assert json.loads(capsys.readouterr().out)["base"]["label"] == pair[0]


def test_a_missing_recording_is_named(pair: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", pair[0], pair[1] + "x"]) == 6
    assert pair[1] + "x" in capsys.readouterr().err


def test_one_path_is_not_enough(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["compare", "one"])
    assert stop.value.code == 2
    assert "NEW" in capsys.readouterr().err
