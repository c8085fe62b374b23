"""Running a suite, with a program that stands in for the Python with torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rocm_perf.bench.suite.request import SuiteRequest
from rocm_perf.bench.suite.run import run_suite
from rocm_perf.errors import ToolAbsentError
from rocm_perf.model.machine_ceilings import MachineCeilings, MeasuredGpu
from rocm_perf.model.results.suite import ProductSuite
from rocm_perf.render.screen.suite import suite_picture
from tests.unit.bench.ceilings.measured import measured, rate
from tests.unit.bench.programs import GPU_LINE, machine, program, runs

FILES = (Path("first.py"), Path("second.py"), Path("third.py"))
H200 = MeasuredGpu(name="NVIDIA H200", gfx="sm_90", uuid="1111-22", compute_units=132)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def case(
    variant: str, dtype: str = "bf16", shape: tuple[int, int, int] = (1000, 1000, 1000)
) -> dict[str, Any]:
    return {"variant": variant, "dtype": dtype, "shape": shape}


def done(variant: str, ms: float = 0.004, *, correct: bool = True, **more: Any) -> dict[str, Any]:
    errors = {"error": 0.001, "largest_error": 0.002, "tolerance": 0.008, "correct": correct}
    return {**case(variant, **more), "times_ms": [ms, ms, 2 * ms], **errors}


def run(
    path: Path, *lines: dict[str, Any], after: str = "", ceilings: tuple[MachineCeilings, ...] = ()
) -> ProductSuite:
    python = program(path / "python", (GPU_LINE, *lines), after=after)
    request = SuiteRequest(files=FILES, shapes=((1000, 1000, 1000),), dtypes=("bf16",))
    return run_suite(machine(python=python), request, ceilings)


def test_rates_and_how_near_they_are_to_both_peaks(tmp_path: Path) -> None:
    """2e9 FLOP in 4 us are 500 TFLOP/s of 989.4, and of 800."""
    ceilings = measured(rate("bf16 matrix", 800.0, unit="TFLOP/s"), gpu=H200, host="this machine")
    suite = run(tmp_path, {"file": "first.py"}, done("matmul"), ceilings=(ceilings,))
    (one,) = suite.cases
    assert one.tflops == pytest.approx(500)
    assert one.percent_of_data_sheet == pytest.approx(100 * 500 / 989.4)
    assert one.percent_of_measured == pytest.approx(62.5)
    (peak,) = suite.peaks
    assert (peak.rate, peak.measured_on) == ("bf16 matrix", "this machine on 2026-11-16")
    assert suite.torch == "2.11.0"


def test_peaks_of_another_model_are_not_used(tmp_path: Path) -> None:
    ceilings = measured(rate("bf16 matrix", 800.0, unit="TFLOP/s"))
    (one,) = run(tmp_path, {"file": "first.py"}, done("matmul"), ceilings=(ceilings,)).cases
    assert one.percent_of_measured is None


def test_the_request_reaches_the_process(tmp_path: Path) -> None:
    run(tmp_path)
    (arguments,) = runs(tmp_path / "python")
    asked = json.loads(arguments[-1])
    assert asked["files"] == list(map(str, FILES))
    assert asked["shapes"] == [[1000, 1000, 1000]]


def test_a_variant_that_takes_its_process_down_does_not_take_the_others(tmp_path: Path) -> None:
    crash = (
        "asked = json.loads(sys.argv[-1])\n"
        "def say(line): print(json.dumps(line), flush=True)\n"
        "for file in asked['files']:\n"
        "    say({'file': file})\n"
        f"    one = {case('?')!r} | {{'variant': file}}\n"
        "    say({'begins': one})\n"
        "    if file == 'second.py': os.abort()\n"
        f"    say({done('?')!r} | {{'variant': file}})\n"
    )
    suite = run(tmp_path, after=crash)
    assert [one.variant for one in suite.cases] == ["first.py", "third.py"]
    (left,) = suite.left_out
    assert (left.variant, left.dtype, left.shape) == ("second.py", "bf16", "1000x1000x1000")
    assert left.reason == "its process ended: it was ended by SIGABRT"
    assert len(runs(tmp_path / "python")) == 2


def test_what_a_variant_cannot_do_is_left_out_with_its_reason(tmp_path: Path) -> None:
    no_triton = {"variant": "triton_matmul", "reason": "ModuleNotFoundError: No module named 'triton'"}
    suite = run(tmp_path, {"file": "first.py"}, no_triton, done("matmul"))
    assert [(left.variant, left.reason) for left in suite.left_out] == [tuple(no_triton.values())]


def test_a_wrong_result_is_kept_and_named(tmp_path: Path) -> None:
    suite = run(tmp_path, {"file": "first.py"}, done("good"), done("bad", correct=False))
    assert [one.variant for one in suite.wrong] == ["bad"]
    assert ">wrong</text>" in suite_picture(suite)


def test_no_gpu_no_torch_or_a_torch_that_fails_are_said_in_one_line(tmp_path: Path) -> None:
    request = SuiteRequest(files=FILES, shapes=((8, 8, 8),))
    for here, why in (
        (machine(gpus=(), python="python"), "there is no GPU to run the suite on"),
        (machine(), "the suite needs torch: no python on PATH has it"),
        (machine(python="python", cuda=""), "the suite needs a torch for NVIDIA"),
    ):
        with pytest.raises(ToolAbsentError, match=why):
            run_suite(here, request)
    python = program(tmp_path / "python", (), after="sys.exit('no CUDA-capable device')")
    with pytest.raises(ToolAbsentError, match="torch failed: no CUDA-capable device"):
        run_suite(machine(python=python), request)


def test_the_results_are_json_that_can_be_read_again(tmp_path: Path) -> None:
    suite = run(tmp_path, {"file": "first.py"}, done("matmul"))
    assert msgspec.json.decode(msgspec.json.encode(suite), type=ProductSuite) == suite
