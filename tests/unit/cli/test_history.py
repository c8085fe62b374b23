"""`rocm-perf history`, `rocm-perf gate` and `bench --save`: what they print, write and exit with."""

from __future__ import annotations

import json
import random
from pathlib import Path
from xml.etree import ElementTree

import pytest

from rocm_perf.bench.history.store import History
from rocm_perf.bench.results import read_result
from rocm_perf.cli.main import main
from tests.unit.bench.history.runs import drawn, level, shown

TARGET = "model.py:step"
WORKLOADS = Path(__file__).parents[3] / "examples" / "workloads"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def keep_a_step() -> None:
    source = random.Random(2)
    for shift in (0.0,) * 12 + (0.1,) * 8:
        History().add_run(drawn(source, day=0.003, shift=shift))


def keep(*medians_ms: float) -> None:
    for median in medians_ms:
        History().add_run(level(median, test=shown(0.02)))


def test_bench_save_keeps_results_that_history_shows(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(3):
        assert main(["bench", "--processes", "3", "--save", "--", "true"]) == 0
    capsys.readouterr()
    assert main(["history"]) == 0
    assert "3 runs" in capsys.readouterr().out
    assert main(["history", "true"]) == 0
    out = capsys.readouterr().out
    assert out.count("3 processes") == 3
    assert "┤" in out
    (run, *_) = History().runs("true", 9)
    assert run.result.machine["rocm_perf"]
    assert run.result.settings["cold"] is False


def test_a_self_test_is_kept_for_the_gate() -> None:
    assert main(["bench", "--self-test", "--processes", "6", "--save", "--", "true"]) == 0
    (run,) = History().runs("true", 9)
    assert [test.processes_a_side for test in run.self_tests] == [3]


def test_a_result_is_not_lost_when_the_history_is_damaged(capsys: pytest.CaptureFixture[str]) -> None:
    Path(".rocm-perf").mkdir()
    Path(".rocm-perf/history.sqlite").write_text("nonsense" * 100)
    assert main(["bench", "--processes", "2", "--save", "--", "true"]) == 6
    (line,) = capsys.readouterr().err.splitlines()
    path = line.rpartition(" ")[2]
    assert len(read_result(Path(path)).times_ms) == 2
    Path(".rocm-perf/history.sqlite").unlink()
    assert main(["history", "add", path]) == 0
    assert len(History().runs("true", 9)) == 1


def test_history_names_the_step(capsys: pytest.CaptureFixture[str]) -> None:
    keep_a_step()
    assert main(["history", TARGET]) == 0
    out = capsys.readouterr().out
    assert "step: +11.0 % (95 %: +10.4 % to +11.5 %)" in out
    assert "┊" in out
    assert main(["history"]) == 0
    assert "20 runs, step +11.0 %" in capsys.readouterr().out


def test_history_as_json_and_as_a_picture(capsys: pytest.CaptureFixture[str]) -> None:
    keep_a_step()
    assert main(["history", TARGET, "--json", "-o", "trend.svg"]) == 0
    document = json.loads(capsys.readouterr().out)
    (series,) = document["series"]
    assert (len(series["runs"]), series["steps"][0]["place"]) == (20, 12)
    assert series["conditions"]["gpu"] == "AMD Instinct MI300X"
    assert len(list(ElementTree.parse("trend.svg").iter("{http://www.w3.org/2000/svg}circle"))) == 20
    assert main(["history", TARGET, "-o", "trend.svg"]) == 2  # it exists
    assert main(["history", TARGET, "-o", "trend.png"]) == 2


def test_history_of_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history"]) == 0
    assert "holds no runs" in capsys.readouterr().out
    assert main(["history", "other"]) == 5
    assert "rocm-perf bench --save other" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["add"],
        ["add", "run"],
        ["add", "a", "b", "--phase", "x"],
        ["t", "--phase", "x"],
        ["--accuracy", "nan"],
    ],
)
def test_history_that_makes_no_sense(words: list[str]) -> None:
    try:
        code = main(["history", *words])
    except SystemExit as ended:
        code = int(ended.code or 0)
    assert code == 2


def test_gate_exits_with_one_for_a_regression(capsys: pytest.CaptureFixture[str]) -> None:
    keep(10.0, 10.01, 9.99, 10.0)
    assert main(["gate"]) == 0
    assert "no difference shown" in capsys.readouterr().out
    keep(10.6)
    assert main(["gate"]) == 1
    out = capsys.readouterr().out
    assert "model.py:step: worse" in out
    assert "judged from 2.0 % on (the self-test)" in out
    assert main(["gate", "--at-least", "10%"]) == 0


def test_gate_is_closed_where_it_cannot_judge(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gate"]) == 5
    keep(10.0)
    assert main(["gate"]) == 5
    assert main(["gate", "unknown"]) == 5
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "holds no runs" in captured.err
    assert "it is the only one" in captured.err
    assert "unknown has no run" in captured.err


def test_a_regression_counts_more_than_what_cannot_be_judged(capsys: pytest.CaptureFixture[str]) -> None:
    keep(10.0, 10.01, 9.99, 11.0)
    History().add_run(level(5.0, target="new.py:step"))
    assert main(["gate", "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert [one["verdict"] for one in document["judgements"]] == ["worse"]
    assert len(document["problems"]) == 1


@pytest.mark.whole
def test_phases_of_an_optimisation(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("sync_in_loop", "sync_hoisted"):
        workload = str(WORKLOADS / f"{name}.toml")
        assert main(["profile", "--device", "sim:MI300X", "-o", name, "--", workload]) == 0
    capsys.readouterr()
    assert main(["history", "add", "sync_in_loop", "--phase", "baseline", "--accuracy", "0.91"]) == 0
    assert main(["history", "add", "sync_hoisted", "--phase", "hoisted"]) == 0
    out = capsys.readouterr().out
    assert "baseline" in out
    rows = {line.split("  ")[0]: line.split() for line in out.splitlines()}
    assert rows["last / first"][3:5] == [
        "0.41x",
        "1.00x",
    ]  # latency, as the simulator has it: 2.90 of 7.03 ms; kernels
    assert rows[""][:2] == ["better", "better"]
    assert rows["trend"][1] == "█▁"
    assert main(["history", "--json"]) == 0
    phases = json.loads(capsys.readouterr().out)["phases"]
    assert [phase["numbers"]["accuracy"] for phase in phases] == [0.91, None]
    assert phases[0]["numbers"]["kernels"] == 6
