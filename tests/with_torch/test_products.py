"""What runs inside the user's Python for `ceilings` and `suite`, with a real torch (CPU): `make test-torch`."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from rocm_perf.bench.json_lines import run_lines
from rocm_perf.bench.suite.request import variant_files

if importlib.util.find_spec("torch") is None:
    pytest.skip("torch is not in this environment: make test-torch", allow_module_level=True)

ROOT = Path(__file__).parents[2]
HEAD = "import torch\nNAME, DTYPES = 'mine', ('f32', 'f16', 'i8')\n"
WRONG = {
    "returns its first result again": "c = []\ndef multiply(a, b):\n    c.append(a @ b)\n    return c[0]",
    "lowers the precision": "def multiply(a, b): return (a.bfloat16() @ b.bfloat16()).to(a.dtype)",
    "writes nothing": "def multiply(a, b): return torch.zeros(a.shape[0], b.shape[1])",
    "spoils one value": "def multiply(a, b):\n    c = a @ b\n    c[3, 5] = 0\n    return c",
    "has a NaN": "def multiply(a, b):\n    c = a @ b\n    c[3, 5] = float('nan')\n    return c",
}


def run(module: str, *arguments: str, before: str = "pass") -> list[dict[str, Any]]:
    code = (
        f"import sys, tests.with_torch.dressed_up; import {module} as inside; {before}; "
        "sys.exit(inside.main(sys.argv[1:]))"
    )
    lines: list[dict[str, Any]] = []
    path = os.pathsep.join((str(ROOT), str(ROOT / "src")))
    command = [sys.executable, "-W", "ignore", "-c", code, *arguments]
    assert run_lines(command, lines.append, limit_s=300, variables={"PYTHONPATH": path}) == ""
    return lines


def suite(*files: Path, dtypes: tuple[str, ...] = ("f32",)) -> list[dict[str, Any]]:
    request = {"device": 0, "files": list(map(str, files)), "dtypes": dtypes, "shapes": [[64, 96, 128]]}
    lines = run("rocm_perf.bench.suite.inside", json.dumps(request))
    return [line for line in lines if "variant" in line]


def variant(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "mine.py"
    file.write_text(HEAD + text)
    return file


def test_torchs_own_products_are_right_in_every_type() -> None:
    (file,) = (file for file in variant_files() if file.stem == "torch_matmul")
    cases = suite(file, dtypes=("f64", "f32", "f16", "bf16", "i8"))
    assert [(case["dtype"], case["correct"]) for case in cases] == [
        ("f64", True), ("f32", True), ("f16", True), ("bf16", True), ("i8", True),
    ]  # fmt: skip
    assert all(time > 0 for case in cases for time in case["times_ms"])


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG)
def test_a_result_that_is_not_the_product_is_wrong(text: str, tmp_path: Path) -> None:
    (case,) = suite(variant(tmp_path, text))
    assert case["correct"] is False


def test_sums_in_f16_are_wrong_though_the_result_is_f16(tmp_path: Path) -> None:
    text = (
        "def multiply(a, b):\n"
        "    c = torch.zeros(a.shape[0], b.shape[1], dtype=torch.float16)\n"
        "    for k in range(a.shape[1]): c += a[:, k:k+1] * b[k:k+1, :]\n"
        "    return c"
    )
    (case,) = suite(variant(tmp_path, text), dtypes=("f16",))
    assert case["correct"] is False


def test_what_a_file_lacks_or_raises_is_its_reason(tmp_path: Path) -> None:
    (no_name,) = suite(variant(tmp_path, "del NAME"))
    assert no_name["reason"] == "ValueError: mine.py has no NAME"
    (broken,) = suite(variant(tmp_path, "def multiply(a, b): raise RuntimeError('no such tile')"))
    assert (broken["variant"], broken["reason"]) == ("mine", "RuntimeError: no such tile")
    (wide,) = suite(variant(tmp_path, "MULTIPLE_OF = (64, 64, 64)\ndef multiply(a, b): return a @ b"))
    assert wide["reason"] == "it takes multiples of 64 x 64 x 64"
    (shape,) = suite(variant(tmp_path, "def multiply(a, b): return a"))
    assert shape["reason"] == "ValueError: its result is (64, 128), not (64, 96)"


def test_what_a_variant_prints_does_not_disturb_the_results(tmp_path: Path) -> None:
    (case,) = suite(variant(tmp_path, "print('{\"variant\": 1}')\ndef multiply(a, b): return a @ b"))
    assert case["correct"] is True


def test_ceilings_that_torch_measures() -> None:
    small = "inside._SIDES = (64, 128); inside._COPY_BYTES = 1 << 16"
    gpu, *lines = run("rocm_perf.bench.ceilings.inside", "0", "all", before=small)
    assert gpu["gpu"]["gfx"] == "sm_90"
    names = {line.get("name") for line in lines}
    assert {"memory copy", "host to device, pinned", "device to host, pageable"} <= names
    products = {line["product"]: line for line in lines if "product" in line}
    assert products["bf16"]["amount"] in (2.0 * 64**3, 2.0 * 128**3)
    alone = run("rocm_perf.bench.ceilings.inside", "0", "matrix", before=small)
    assert all("product" in line or "gpu" in line for line in alone)
