"""Comparisons of recorded outputs of the real tools: nothing differs from itself, two formats of one run agree, and the
parts of the wall sum to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_perf.analysis.operators.build import operators
from rocm_perf.analysis.time.busy import wall_ns
from tests.golden.test_specimens import GOLDEN
from tests.recordings import recording, sampled
from tests.unit.analysis.compare.sides import compared

TIMED = [name for name, row in GOLDEN.items() if "dispatches=" in row["rows"] or "copies=" in row["rows"]]
TORCH = "torch_trace/AMD-AGI_TraceLens__"


@pytest.mark.parametrize("name", sampled(TIMED))
@pytest.mark.whole
def test_nothing_differs_from_itself(specimens: Path, name: str) -> None:
    trace = recording(specimens / name)
    comparison = compared(trace, trace)
    assert not any(change.total.difference for change in comparison.kernels)
    assert {change.match for change in comparison.kernels} <= {"name"}
    assert not any(change.gpu.difference or change.host.difference for change in comparison.operators)
    assert {change.match for change in comparison.operators} <= {"name"}
    for gpu in comparison.gpus:
        assert not any(part.difference_ns for part in gpu.parts)
        assert sum(part.base_ns for part in gpu.parts) == gpu.base_ns
        assert all(part.base_ns >= 0 for part in gpu.parts)
    assert (comparison.waterfall is None) == (comparison.base.runs[0].gpus == 0)
    if comparison.waterfall:
        assert comparison.waterfall.base_ns == wall_ns(trace)


@pytest.mark.parametrize(
    ("one", "other", "rounding_ns"),
    [
        (
            "rocprof_v1/JoursBleu_llama.cpp__results.csv.gz",
            "rocprof_v1/JoursBleu_llama.cpp__results.json.gz",
            0,
        ),
        ("rocprof_v1/hpcgarage_spatter__results.csv", "rocprof_v1/hpcgarage_spatter__results.json.gz", 0),
        ("rpd/ROCm_rocmProfileData__matmul_result.rpd", "rpd/ROCm_rocmProfileData__matmul_result.json", 1000),
    ],
)
def test_two_formats_of_one_run_agree(specimens: Path, one: str, other: str, rounding_ns: int) -> None:
    comparison = compared(recording(specimens / one), recording(specimens / other))
    assert {change.match for change in comparison.kernels} == {"name"}
    events = comparison.base.runs[0].dispatches + 200  # with the calls and copies around them
    assert comparison.waterfall
    summed: dict[str, int] = {}
    for (
        part
    ) in comparison.waterfall.parts:  # the causes of idle time need ids, which the JSON of RPD does not carry
        name = "idle" if part.title.startswith("GPU idle") else part.id
        summed[name] = summed.get(name, 0) + part.difference_ns
    assert {name: lost for name, lost in summed.items() if abs(lost) > rounding_ns * events} == {}


@pytest.mark.parametrize("run", ["Qwen_Qwen1.5-0.5B-Chat__1016005", "gaunernst_bert-small-uncased__1016001"])
def test_one_model_on_two_vendors(specimens: Path, run: str) -> None:
    base, new = (recording(specimens / f"{TORCH}{gpu}_{run}.json.gz") for gpu in ("mi300", "h100"))
    comparison = compared(base, new)
    matches = {change.match for change in comparison.kernels}
    assert {"short name", "family and position"} <= matches
    products = [c for c in comparison.kernels if c.match == "family and position" and c.family == "gemm"]
    assert products  # Tensile's kernel in place of cuBLAS's
    assert comparison.waterfall
    assert (
        sum(part.difference_ns for part in comparison.waterfall.parts) == comparison.waterfall.difference_ns
    )


@pytest.mark.parametrize("run", ["Qwen_Qwen1.5-0.5B-Chat__1016005", "gaunernst_bert-small-uncased__1016001"])
def test_operators_of_one_model_on_two_vendors(specimens: Path, run: str) -> None:
    base, new = (recording(specimens / f"{TORCH}{gpu}_{run}.json.gz") for gpu in ("mi300", "h100"))
    changes = compared(base, new).operators
    assert sum(change.gpu.base or 0 for change in changes) == operators(base).owned_ns > 0
    assert sum(change.gpu.new or 0 for change in changes) == operators(new).owned_ns > 0
    (product,) = (change for change in changes if change.operator == "aten::addmm")
    assert product.match == "name"
    assert product.calls.base == product.calls.new > 0
    assert "appeared" not in {change.match for change in changes}


def test_a_recording_of_kernels_alone_has_no_operators_to_compare(specimens: Path) -> None:
    kernels = recording(specimens / "rocprof_v1/hpcgarage_spatter__results.csv")
    torch = recording(specimens / f"{TORCH}mi300_gaunernst_bert-small-uncased__1016001.json.gz")
    comparison = compared(torch, kernels)
    assert comparison.operators == ()
    assert "no framework operator was recorded in new" in (comparison.operators_unavailable or "")
