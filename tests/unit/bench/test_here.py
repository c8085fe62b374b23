"""`rocm_perf.benchmark`, in this process."""

from __future__ import annotations

import subprocess
import sys

import pytest

import rocm_perf
from rocm_perf.bench.here import BenchmarkError


def test_arguments_reach_the_function_and_the_keys_of_guides_come_back() -> None:
    calls: list[tuple[int, str]] = []

    def step(number: int, *, word: str) -> int:
        calls.append((number, word))
        return number

    result = rocm_perf.benchmark(step, 7, kwargs={"word": "go"}, warmup=2, iterations=20, precision=None)
    assert set(calls) == {(7, "go")}
    assert len(calls) == 1 + 2 + 20
    assert {"mean_ms", "median_ms", "std_ms", "min_ms", "max_ms", "interval_ms"} <= set(result)
    assert result["min_ms"] <= result["median_ms"] <= result["max_ms"]
    assert result["clock"] == "wall clock"
    assert result["interval_scope"] == "this process alone"
    assert result["target"].endswith("step")
    assert len(result["processes"][0]["times_ms"]) == 20


def test_the_defaults_are_those_of_guides() -> None:
    calls = []
    result = rocm_perf.benchmark(lambda: calls.append(1), precision=None)
    assert len(result["processes"][0]["warmup_ms"]) == 10
    assert result["samples"] == 100


def test_an_error_carries_the_samples_so_far() -> None:
    calls: list[int] = []

    def step() -> None:
        calls.append(1)
        if len(calls) == 11 + 57:
            raise ValueError("bad shape")

    with pytest.raises(BenchmarkError, match="sample 57 raised ValueError: bad shape") as raised:
        rocm_perf.benchmark(step)
    assert len(raised.value.result["processes"][0]["times_ms"]) == 56
    assert isinstance(raised.value.__cause__, ValueError)


def test_nothing_heavy_is_imported_into_the_user_s_process() -> None:
    code = (
        "import sys, rocm_perf, rocm_perf.bench.inside.child\n"
        "rocm_perf.benchmark(lambda: 1, iterations=10)\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules} - set(sys.stdlib_module_names)))\n"
    )
    ended = subprocess.run(
        [sys.executable, "-S", "-c", code],
        env={"PYTHONPATH": rocm_perf.__path__[0] + "/.."},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout == "['__main__', 'rocm_perf']\n"
