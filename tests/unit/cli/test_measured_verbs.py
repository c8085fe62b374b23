"""`ceilings` and `suite` from the command line, on machines without a GPU and with programs that stand in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rocm_perf.backends import probe
from rocm_perf.backends.machine import Machine
from rocm_perf.cli.main import main
from tests.unit.bench.programs import GPU_LINE, machine, program

pytestmark = pytest.mark.launches

PRODUCT = {"product": "bf16", "unit": "TFLOP/s", "amount": 8e11, "times_ms": [1.0, 1.0]}
CASE = {
    "variant": "torch.matmul", "dtype": "bf16", "shape": [4096, 4096, 4096], "times_ms": [0.2], "error": 0.001,
    "largest_error": 0.002, "tolerance": 0.008,
}  # fmt: skip


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ROCM_PERF_CEILINGS")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)


def on(here: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "probe_machine", lambda: here)


@pytest.mark.parametrize("argv", [["ceilings"], ["suite", "wmma"]])
def test_without_a_gpu_one_line_says_so(
    argv: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    on(machine(gpus=()), monkeypatch)
    assert main(argv) == 3
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "there is no GPU" in said.err


def test_ceilings_are_measured_kept_and_shown_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ceilings", "--show"]) == 6
    assert "nothing was measured yet" in capsys.readouterr().err
    on(machine(python=program(tmp_path / "python", (GPU_LINE, PRODUCT))), monkeypatch)
    assert main(["ceilings"]) == 0
    out, err = capsys.readouterr()
    assert "measured on this machine on" in out
    row = next(line for line in out.splitlines() if line.startswith("bf16 matrix"))
    assert row.split()[2:7] == ["800", "TFLOP/s", "989", "80.9", "%"]
    assert "not measured: launch (nvcc is not installed" in out
    assert "kept in" in err
    assert main(["ceilings", "--show", "--json"]) == 0
    (kept,) = json.loads(capsys.readouterr().out)["ceilings"]
    assert kept["rates"][0]["samples"] == [800.0, 800.0]


@pytest.mark.parametrize(("correct", "code"), [(True, 0), (False, 1)])
def test_the_suite_writes_its_results_and_a_picture(
    correct: bool,
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = (GPU_LINE, {"file": "torch_matmul.py"}, {**CASE, "correct": correct})
    on(machine(python=program(tmp_path / "python", lines)), monkeypatch)
    assert main(["suite", "wmma", "--shapes", "4096", "--dtypes", "bf16"]) == code
    out, err = capsys.readouterr()
    assert ("is wrong" in err) is not correct
    assert "torch.matmul" in out
    picture, results = sorted((tmp_path / "traces").iterdir(), reverse=True)
    assert (picture.suffix, results.suffix) == (".svg", ".json")
    assert results.name.startswith("wmma_profile_20")
    (case,) = json.loads(results.read_text())["cases"]
    assert case["tflops"] == pytest.approx(2 * 4096**3 / 0.2e9)


def test_a_suite_in_which_nothing_ran_is_no_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (GPU_LINE, {"file": "x.py"}, {"variant": "x", "reason": "ValueError: x.py has no NAME"})
    on(machine(python=program(tmp_path / "python", lines)), monkeypatch)
    assert main(["suite", "wmma"]) == 5
    assert "no variant ran: x: ValueError: x.py has no NAME" in capsys.readouterr().err


def test_analyze_takes_a_file_with_ceilings_or_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["analyze", "nowhere", "--ceilings", str(tmp_path / "absent.json")]) == 6
    assert "absent.json" in capsys.readouterr().err
    assert main(["analyze", "nowhere", "--ceilings", "none"]) == 6
    assert "nowhere" in capsys.readouterr().err
