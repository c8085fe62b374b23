"""`rocm-perf bench`: what it prints, writes and exits with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rocm_perf.bench.results import read_result
from rocm_perf.bench.samples import Result, Samples
from rocm_perf.cli.bench_report import milliseconds, result_lines
from rocm_perf.cli.main import main
from rocm_perf.errors import InputError

pytestmark = pytest.mark.launches

SOURCE = """
calls = 0
def step():
    global calls
    calls += 1
    return calls
def raising():
    if step() == 11 + 57: raise ValueError("bad shape")
def without_gpu(): raise RuntimeError("No HIP GPUs are available")
"""
DEVICE = Samples(
    times_ms=(1.0, 1.1, 1.2) * 5,
    clock="device events",
    first_call_ms=900.0,
    warmup_ms=(3.0, 2.0),
    throttled=(1, 2),
    peak_memory_bytes=1 << 20,
    clocks_mhz=(1980.0, 1500.0),
    facts={
        "stream_synchronize_us": 3.0,
        "device_synchronize_us": 9.5,
        "compiled_graphs": 2,
        "recompiled_in_steady_state": 1,
        "graph_capture_ms": 12.0,
        "longest_kernel": {"name": "gemm", "blocks": 76, "blocks_per_cu": 0.25},
    },
)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "program.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)


def test_a_function(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "program.py:step", "--processes", "2", "--iterations", "20"]) == 0
    out = capsys.readouterr().out
    assert "program.py:step: " in out
    assert "median of 2 processes" in out
    assert "wall clock" in out
    assert "first call" in out


def test_json_has_every_sample_and_a_file_comes_back(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["bench", "program:step", "--processes", "2", "--iterations", "20", "--json", "-o", "result.json"]
    assert main(words) == 0
    document = json.loads(capsys.readouterr().out)
    assert [len(one["times_ms"]) >= 20 for one in document["processes"]] == [True, True]
    assert document["interval_scope"] == "over processes"
    result = read_result(Path("result.json"))
    assert list(result.times_ms[0]) == document["processes"][0]["times_ms"]
    assert main(words) == 2  # the file is there already


def test_a_dry_run_runs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--dry-run", "program.py:raising"]) == 0
    out = capsys.readouterr().out
    assert "5 processes one after the other" in out
    assert "-m rocm_perf.bench.inside.child" in out
    assert main(["bench", "--dry-run", "--", "touch", "a file"]) == 0
    assert "touch 'a file'" in capsys.readouterr().out
    assert not Path("a file").exists()


def test_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--processes", "3", "--", "sh", "-c", "true"]) == 0
    assert "sh -c true: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["program.py:raising"], 5, "sample 57 raised ValueError: bad shape. The 56 samples so far are kept"),
        (["program.py:without_gpu"], 3, "No HIP GPUs are available"),
        (["program.py:absent"], 2, "has no 'absent'"),
        (["program.py:step", "--graph"], 4, "a graph needs torch on a GPU"),
        (["program.py:step", "--clock", "device"], 3, "no device events"),
        (["--", "sh", "-c", "exit 9"], 9, "it ended with 9"),
        (["--", "no-such-program"], 2, "cannot start no-such-program"),
        (["--iterations", "5", "--", "true"], 2, "--processes"),
        ([], 2, "nothing to measure"),
    ],
)
def test_what_goes_wrong_is_one_line(
    words: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "--processes", "1", *words]) == code
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_the_self_test_says_what_could_be_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--self-test", "--processes", "6", "--", "true"]) == 0
    assert "3 processes per side: " in capsys.readouterr().out
    assert main(["bench", "--self-test", "--processes", "6", "--json", "--", "true"]) == 0
    assert json.loads(capsys.readouterr().out)["self_test"][0]["processes_a_side"] == 3
    assert main(["bench", "--self-test", "--processes", "2", "--", "true"]) == 0
    assert "do not suffice" in capsys.readouterr().out


def test_everything_that_was_read_beside_is_shown() -> None:
    text = "\n".join(result_lines(Result(target="t", processes=(DEVICE, DEVICE))))
    for part in (
        "first call 900.0 ms, slowest of 2 warm-up calls 3.000 ms (number 1)",
        "graph capture 12.00 ms, 2 graphs compiled",
        "peak memory 1.00 MiB, GPU clock 1,500 to 1,980 MHz",
        "longest kernel: 76 blocks, 0.25 per compute unit: below one",
        "synchronising costs 3.0 us for the stream, 9.5 us for the device",
        "note: power or heat held the GPU's clock down during 4 samples",
        "note: torch.compile compiled 2 graphs again in the steady state",
    ):
        assert part in text


def test_an_interval_that_says_nothing_is_not_shown() -> None:
    wild = [Samples(times_ms=(time,) * 10, clock="wall clock") for time in (0.2, 5.9)]
    assert "too few and differ too much" in result_lines(Result(target="t", processes=tuple(wild)))[0]
    few = Samples(times_ms=(1.0,), clock="wall clock")
    assert "this process alone, no interval" in result_lines(Result(target="t", processes=(few,)))[0]


@pytest.mark.parametrize(
    ("value", "text"),
    [(1234.5, "1,234 ms"), (22.534, "22.53 ms"), (0.012346, "0.01235 ms"), (1e-6, "0.000001 ms")],
)
def test_times_have_four_digits(value: float, text: str) -> None:
    assert milliseconds(value) == text


def test_a_file_that_is_not_a_result(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("[]")
    with pytest.raises(InputError, match="not a result"):
        read_result(tmp_path / "other.json")
    (tmp_path / "other.json").write_text("{")
    with pytest.raises(InputError, match="not JSON"):
        read_result(tmp_path / "other.json")
