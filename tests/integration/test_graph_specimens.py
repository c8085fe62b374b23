"""Recorded replays with the recordings of their captures: SGLang and vLLM on an MI300X."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from rocm_perf.analysis.operators.build import operators
from rocm_perf.analysis.program.graphs import graphs
from rocm_perf.analysis.roofline.build import roofline
from rocm_perf.errors import InputError
from rocm_perf.ingest.load import load
from rocm_perf.model.trace import Trace

SGLANG = (
    "data/torch_trace/AMD-AGI_TraceLens__sglang_Qwen3-8B_decode.json.gz",
    "frameworks/AMD-AGI_TraceLens__sglang_Qwen3-8B_decode_capture_bs32_rank0.json.gz",
)
VLLM = (
    "frameworks/AMD-AGI_TraceLens__vllm_piecewise_execution.json.gz",
    "frameworks/AMD-AGI_TraceLens__vllm_piecewise_capture_rank0.json.gz",
)
Find = Callable[[str], Path]


@pytest.fixture
def find(specimens: Path) -> Find:
    def path_of(name: str) -> Path:
        path = specimens.parent / name
        if not path.is_file():
            pytest.skip(f"{name} is not on this machine")
        return path

    return path_of


def owned(name: str, trace: Trace) -> float:
    result = operators(trace)
    share = result.owned_ns / result.total_ns
    print(f"{name}: operators own {share:.1%} of {result.total_ns / 1e6:.2f} ms on the GPU")
    return share


def test_sglang_decode_is_owned_with_its_capture_alone(find: Find) -> None:
    execution, capture = map(find, SGLANG)
    assert owned("SGLang decode without its capture", load(execution)) < 0.05
    adopted = load(execution, captures=[capture])
    assert owned("SGLang decode with its capture", adopted) > 0.95
    (graph,) = graphs(adopted).rows
    assert (graph.kernels, graph.captured) == (544, ("capture_32_DECODE",))
    layers = [place for place in operators(adopted).modules if place.name.startswith("Qwen3DecoderLayer_")]
    assert [place.calls for place in layers] == [1] * 36


def test_vllm_piecewise_is_owned_piece_by_piece(find: Find) -> None:
    execution, capture = map(find, VLLM)
    assert owned("vLLM piecewise without its capture", load(execution)) < 0.10
    adopted = load(execution, captures=[capture])
    assert owned("vLLM piecewise with its capture", adopted) > 0.95
    assert [(row.kernels, row.launches) for row in graphs(adopted).rows] == [(15, 23), (12, 1), (4, 1)]
    used = adopted.table("captured_launches")["captured_graph"].to_list()
    replayed = adopted.table("dispatches").drop_nulls("captured_launch").sort("start_ns")["captured_launch"]
    order = [used[launch - 1] for launch in replayed]
    assert order == sorted(order)  # layer after layer
    assert list(dict.fromkeys(order)) == list(range(1, 26))


def test_vllms_experts_are_as_wide_as_the_buffer_between_their_products(find: Find) -> None:
    """The capture records how the buffer was allocated; the FLOPs come from names, grids and the number of experts."""
    execution, capture = map(find, VLLM)
    buffers = re.findall(r'"\[1, 32768, (\d+)\]"', gzip.decompress(capture.read_bytes()).decode())
    (width,) = {int(inner) for inner in buffers}
    points = roofline(load(execution, captures=[capture])).kernels
    up, down = (
        next(
            point.flops.value
            for point in points
            if "matmul_ogs" in point.kernel and gated == ("swiglu" in point.kernel)
        )
        for gated in (True, False)
    )
    assert (up, down) == (2 * 32768 * 3072 * 2 * width, 2 * 32768 * 3072 * width)


def test_rocprofv3_links_the_launch_of_a_graph_with_its_kernels(find: Find, tmp_path: Path) -> None:
    for kind in ("hip_api", "kernel"):
        csv = find(f"data/rocprofv3_csv/jimw567_rocprof-unified-viewer__decode_{kind}_trace.csv")
        (tmp_path / f"run_{kind}_trace.csv").symlink_to(csv)
    (graph,) = graphs(load(tmp_path)).rows
    assert (graph.call, graph.launches, graph.kernels) == ("hipGraphLaunch", 1, 24)


@pytest.mark.parametrize(("execution", "capture"), [(SGLANG[0], VLLM[1]), (VLLM[0], SGLANG[1])])
def test_the_capture_of_the_other_is_refused(find: Find, execution: str, capture: str) -> None:
    with pytest.raises(InputError, match=r"batch size \d+ was captured and \d+ is replayed"):
        load(find(execution), captures=[find(capture)])
