"""The judge on torch tensors: layouts, types that numpy lacks, and cheats that need torch. On a CPU."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import rocm_perf
from rocm_perf.bench.ab_processes import AbRequest, ab_processes
from rocm_perf.bench.ab_result import AbResult
from rocm_perf.bench.judge.arrays import live, plain
from rocm_perf.bench.judge.comparison import Comparer
from rocm_perf.bench.judge.trial import TrialPlan
from rocm_perf.bench.judge.values import Array, UnsupportedValueError

torch = pytest.importorskip("torch")

CODE = """
import torch

def inputs(seed):
    torch.manual_seed(seed)
    for size in (32, 48):
        yield torch.randn(size, size), torch.randn(size, size).t()

def base(a, b): return a @ b
def same(a, b): return torch.mm(a, b)
def half(a, b): return (a.bfloat16() @ b.bfloat16()).float()
def transposed(a, b): return (b.t() @ a.t()).t()
class Lazy(torch.Tensor): pass
def lazy(a, b): return (a @ b).as_subclass(Lazy)
def in_place(a, b): return a.add_(1) @ b
"""


@pytest.mark.parametrize(
    "tensor",
    [
        torch.arange(24.0).reshape(4, 6),
        torch.arange(24.0).reshape(4, 6).t(),
        torch.arange(24.0).reshape(4, 6)[:, ::2],
        torch.arange(4.0).expand(3, 4),
        torch.zeros(0, 3),
        torch.tensor(2.5),
        torch.tensor([True, False]),
        torch.arange(5, dtype=torch.int64),
        torch.randn(7).bfloat16(),
        torch.randn(7).to(torch.float8_e4m3fn),
        torch.randn(7, dtype=torch.complex64),
        torch.randn(3, requires_grad=True),
    ],
    ids=lambda tensor: f"{tensor.dtype}-{list(tensor.shape)}-{tensor.stride()}",
)
def test_a_tensor_is_rebuilt_as_it_was(tensor: Any) -> None:
    value = plain(tensor)
    assert isinstance(value, Array)
    rebuilt = live(value)
    assert rebuilt.dtype == tensor.dtype
    assert rebuilt.stride() == tensor.stride()
    assert plain(rebuilt) == value
    assert live(value, rebuilt) is rebuilt


def test_tensors_that_are_no_plain_data_are_refused() -> None:
    with pytest.raises(UnsupportedValueError, match=r"layout torch\.sparse_coo"):
        plain(torch.eye(3).to_sparse())


def test_a_tensor_differs_from_an_array() -> None:
    numpy = pytest.importorskip("numpy")
    (problem, *_) = (
        Comparer().compare(plain(numpy.ones(3)), plain(torch.ones(3, dtype=torch.float64))).problems
    )
    assert problem == "result has the library torch, expected numpy"


def judged(folder: Path, name: str) -> AbResult:
    script = folder / "functions.py"
    script.write_text(CODE)
    return ab_processes(
        AbRequest(
            base=f"{script}:base",
            new=f"{script}:{name}",
            inputs=(f"{script}:inputs",),
            plan=TrialPlan(rounds=1, laps=2, lap_ms=1e-3),
            processes=1,
            timeout_s=120,
        )
    )


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("same", None),
        ("half", "elements are wrong"),
        ("transposed", "has the strides"),
        ("lazy", "Lazy is neither an array"),
        ("in_place", "argument 0 is not as it was"),
    ],
)
def test_torch_functions_are_judged_from_outside(tmp_path: Path, name: str, problem: str | None) -> None:
    result = judged(tmp_path, name)
    assert result.correct == (problem is None)
    assert problem is None or problem in " ".join(result.problems)


def test_the_judge_does_not_import_torch(tmp_path: Path) -> None:
    import subprocess

    (tmp_path / "functions.py").write_text(CODE)
    code = (
        "import sys\n"
        "from rocm_perf.cli.main import main\n"
        f"main(['ab', *[{str(tmp_path / 'functions.py')!r} + ':' + name for name in ('base', 'same')], '--inputs',"
        f" {str(tmp_path / 'functions.py')!r} + ':inputs', '--processes', '1', '--laps', '1'])\n"
        "assert 'torch' not in sys.modules and 'functions' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_ab_test_takes_tensors_and_modules() -> None:
    torch.manual_seed(0)
    model = torch.nn.Linear(16, 16)

    def same(x: Any) -> Any:
        return torch.nn.functional.linear(x, model.weight, model.bias)

    with torch.no_grad():
        result = rocm_perf.ab_test(model, same, (torch.randn(4, 16),), laps=10, lap_ms=0.01, quiet=True)
    assert result.correct
    assert result.scope == "this process alone"
