"""What inductor records with the kernels it generated."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from rocm_perf.ingest.kineto.compiled import parameters
from rocm_perf.ingest.load import load

SOURCE = """
import triton
@triton.jit
def triton_poi_fused_mul_silu_2(in_out_ptr0, in_ptr0, xnumel, XBLOCK : tl.constexpr):
    xnumel = 32
"""


def recorded(folder: Path, **more: object) -> str | None:
    """The scalar arguments of a generated kernel, as they are kept."""
    args = {
        "External id": 1,
        "Input Dims": [[4, 8], [32], []],
        "Input type": ["c10::BFloat16", "c10::BFloat16", "Scalar"],
        "Concrete Inputs": ["", "", "32"],
        **more,
    }
    event = {"ph": "X", "cat": "cpu_op", "name": "triton_poi_fused_mul_silu_2", "pid": 1, "tid": 1}
    path = folder / "trace.json"
    path.write_text(
        json.dumps({"schemaVersion": 1, "traceEvents": [{**event, "ts": 1, "dur": 5, "args": args}]})
    )
    ops = load(path).table("ops").filter(pl.col("category") == "operator")
    inputs: str | None = ops["inputs"][0]
    return inputs


def test_parameters_stand_where_tensors_have_no_scalar(tmp_path: Path) -> None:
    file = tmp_path / "cabc.py"
    file.write_text(SOURCE)
    inputs = recorded(tmp_path, kernel_file=str(file), kernel_hash="cabc")
    assert inputs == '["in_out_ptr0", "in_ptr0", "32"]'


def test_without_the_source_the_arguments_are_as_recorded(tmp_path: Path) -> None:
    inputs = recorded(tmp_path, kernel_file="/nowhere/cabc.py", kernel_hash="cabc", kernel_num_gb=0.25)
    assert inputs == '["", "", "32", "kernel_num_gb=0.25"]'
    assert json.loads(str(recorded(tmp_path))) == ["", "", "32"]


@pytest.mark.parametrize("name", ["cabc.txt", "other.py"])
def test_only_a_file_named_after_its_hash_is_read(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_text(SOURCE)
    assert parameters(str(file), "cabc") == ()


def test_a_file_that_is_no_kernel_says_nothing(tmp_path: Path) -> None:
    file = tmp_path / "cabc.py"
    file.write_bytes(b"\xff\xfe" + b"x" * 100)
    assert parameters(str(file), "cabc") == ()
    assert parameters(str(tmp_path / "\0.py"), "\0") == ()
