"""The work of the operators in every recorded torch trace: what holds time has FLOPs or bytes, or says what is missing.
`python scripts/operator_work.py TRACE...` prints the same as a table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scripts.operator_work import LEAST, covered

from rocm_perf.analysis.operators.work import operator_work
from tests.recordings import recording

TRACES = (
    *(f"torch_trace/AMD-AGI_TraceLens__{name}.json.gz" for name in (
        "h100_Qwen_Qwen1.5-0.5B-Chat__1016005", "h100_gaunernst_bert-small-uncased__1016001",
        "mi300_Qwen_Qwen1.5-0.5B-Chat__1016005", "mi300_gaunernst_bert-small-uncased__1016001",
        "mi300_resnet_act_checkpoint", "torch_compile_triton", "vllm_decode_hipgraph",
    )),
    "torch_trace/facebookresearch_HolisticTraceAnalysis__mi250_minitoy_train_ROCm6_2_kineto.json.gz",
)  # fmt: skip
FRAMEWORKS = (
    "AMD-AGI_TraceLens__vllm_piecewise_capture_rank0.json.gz",
    "AMD-AGI_TraceLens__vllm_piecewise_execution.json.gz",
)
# What a formula that is missing, or that does not know the arguments, says of itself.
UNFINISHED = ("no formula for", "do not fit its formula")


def check(path: Path) -> None:
    rows, _ = covered(recording(path))
    without = [row for row in rows if row.share >= LEAST and not row.has_point]
    assert rows
    assert [row for row in without if any(text in row.reason for text in UNFINISHED)] == []


@pytest.mark.parametrize("name", TRACES)
def test_every_kernel_that_holds_time_has_work_or_a_reason(specimens: Path, name: str) -> None:
    check(specimens / name)


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_so_has_every_kernel_of_the_frameworks(specimens: Path, name: str) -> None:
    path = specimens.parent / "frameworks" / name
    if not path.exists():
        pytest.skip(f"{name} is not here")
    check(path)


BF = "c10::BFloat16"


@pytest.mark.parametrize(
    ("name", "shapes", "scalars", "gflops", "mebibytes"),
    [
        ("aten::mm", [[8944, 1024], [1024, 2816]], [], 51.581550592, 71.0078125),
        ("aten::mm", [[8944, 2816], [2816, 1024]], [], 51.581550592, 71.0078125),
        ("aten::addmm", [[1024], [8944, 1024], [1024, 1024]], ["1", "1"], None, 36.939453125),
        ("aten::_scaled_dot_product_flash_attention", [[16, 16, 559, 64]] * 3, ["0.", "True", "False", "0.125"],
         None, 69.875),
        ("aten::_scaled_dot_product_flash_attention", [[16, 16, 559, 64]] * 3, ["0.", "False", "False", "0.125"],
         4 * 16 * 16 * 559 * 559 * 64 / 1e9, 69.875),
    ],
)  # fmt: skip
def test_public_reports_of_the_specimens_say_the_same(
    name: str, shapes: list[list[int]], scalars: list[str], gflops: float | None, mebibytes: float
) -> None:
    """The numbers of TraceLens' reports (tests/traces/compare_test_e2e), where its convention is ours; it adds the bias
    of addmm and halves causal attention without the diagonal (docs/operators.md)."""
    dims = json.dumps([*shapes, *([[]] * len(scalars))])
    types = json.dumps([BF] * len(shapes) + ["Scalar"] * len(scalars))
    work = operator_work(name, dims, types, json.dumps([""] * len(shapes) + scalars))
    assert work.bytes.value == mebibytes * 2**20
    if gflops is not None:
        assert work.flops.value == pytest.approx(gflops * 1e9, rel=1e-12)
