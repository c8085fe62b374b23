"""Measuring, with programs that stand in for the native one and for torch."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from rocm_perf.bench.ceilings.measure import measure
from rocm_perf.errors import ToolAbsentError
from rocm_perf.model.machine_ceilings import MachineCeilings
from tests.unit.bench.programs import GPU_LINE, H200, machine, program, runs

NATIVE = (
    GPU_LINE,
    {"name": "memory copy", "unit": "TB/s", "amount": 4.0e9, "times_ms": [1.0, 0.8, 2.0]},
    {"name": "f32 vector", "unit": "TFLOP/s", "amount": 6e9, "times_ms": [0.1]},
    {"name": "L2 read", "reason": "the runtime does not say how large the L2 is"},
    {"name": "launch", "unit": "us", "amount": 1, "times_ms": [0.003]},
    {"name": "host to device, pinned", "unit": "GB/s", "amount": 256e6, "times_ms": [5.0]},
)
TORCH = (
    GPU_LINE,
    {"product": "bf16", "unit": "TFLOP/s", "amount": 1.1e12, "times_ms": [1.4, 1.375, 1.38]},
    {"product": "f32", "unit": "TFLOP/s", "amount": 5e9, "times_ms": [0.1]},
    {"product": "f8", "reason": "this torch has no float8_e4m3fn"},
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def compiler(tmp_path: Path, after: str = "") -> str:
    """An nvcc whose program prints what the native one would."""
    built = program(tmp_path / "built", NATIVE, after=after)
    script = f"import shutil; shutil.copy({built!r}, sys.argv[sys.argv.index('-o') + 1])"
    return program(tmp_path / "nvcc", (), after=script)


def python(tmp_path: Path, after: str = "") -> str:
    return program(tmp_path / "python", TORCH, after=after)


def value(ceilings: MachineCeilings, name: str) -> float:
    rate = ceilings.best(name)
    assert rate is not None
    return rate.value


def absent(ceilings: MachineCeilings) -> dict[str, str]:
    return {one.name: one.reason for one in ceilings.not_measured}


def test_both_programs_are_asked_and_the_better_rate_counts(tmp_path: Path) -> None:
    said: list[str] = []
    ceilings = measure(machine(python=python(tmp_path), nvcc=compiler(tmp_path)), 3, said.append)
    assert value(ceilings, "memory copy") == pytest.approx(4.0)  # 4 GB in 1 ms, the median
    assert value(ceilings, "bf16 matrix") == pytest.approx(1.1e12 / 1.38 / 1e9)
    assert value(ceilings, "f32 vector") == pytest.approx(60.0)  # torch's product reaches 50
    assert value(ceilings, "launch") == pytest.approx(3.0)
    assert value(ceilings, "host to device, pinned") == pytest.approx(51.2)
    assert absent(ceilings) == {
        "L2 read": "the runtime does not say how large the L2 is",
        "f8 matrix": "this torch has no float8_e4m3fn",
    }
    assert {rate.how for rate in ceilings.rates} == {"kernels compiled by nvcc 13.0", "torch 2.11.0"}
    assert runs(tmp_path / "python")[0][-2:] == ["3", "matrix"]
    assert "memory copy" in said
    assert "products of bf16" in said


def test_the_compiler_gets_the_chips_that_are_here(tmp_path: Path) -> None:
    measure(machine(python=python(tmp_path), nvcc=compiler(tmp_path)), 0)
    (arguments,) = runs(tmp_path / "nvcc")
    assert "-gencode=arch=compute_90,code=sm_90" in arguments
    assert {Path(word).name for word in arguments if word.endswith(".cpp")} >= {"main.cpp", "memory.cpp"}
    measure(machine(python=python(tmp_path), nvcc=compiler(tmp_path)), 0)
    assert len(runs(tmp_path / "nvcc")) == 1  # it is kept


def test_without_a_compiler_torch_measures_what_it_can(tmp_path: Path) -> None:
    ceilings = measure(machine(python=python(tmp_path)), 0)
    assert runs(tmp_path / "python")[0][-1] == "all"
    assert "nvcc is not installed" in absent(ceilings)["launch"]


def test_without_torch_the_native_program_does(tmp_path: Path) -> None:
    ceilings = measure(machine(nvcc=compiler(tmp_path)), 0)
    assert absent(ceilings)["bf16 matrix"] == "no python on PATH has torch"


def test_what_was_measured_before_a_failure_is_kept(tmp_path: Path) -> None:
    failing = compiler(tmp_path, after="sys.exit('copying failed: out of memory')")
    ceilings = measure(machine(python=python(tmp_path), nvcc=failing), 0)
    assert value(ceilings, "memory copy") == pytest.approx(4.0)
    assert absent(ceilings)["LDS read"] == "the native program failed: copying failed: out of memory"


def test_a_compiler_that_fails_is_no_reason_not_to_measure(tmp_path: Path) -> None:
    broken = program(tmp_path / "nvcc", (), after="sys.exit('error: no such chip')")
    ceilings = measure(machine(python=python(tmp_path), nvcc=broken), 0)
    assert "error: no such chip" in absent(ceilings)["LDS read"]


def test_a_torch_for_another_vendor_is_not_asked(tmp_path: Path) -> None:
    with pytest.raises(
        ToolAbsentError, match=r"cannot be measured: nvcc is not installed.*not built for NVIDIA"
    ):
        measure(machine(python=sys.executable, cuda=""), 0)


def test_no_gpu_and_nothing_to_measure_with_are_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(ToolAbsentError, match="there is no GPU to measure"):
        measure(machine(python=python(tmp_path), gpus=()), 0)
    with pytest.raises(ToolAbsentError, match="no python on PATH has torch") as refusal:
        measure(machine(gpus=(H200,)), 0)
    assert "\n" not in str(refusal.value)
