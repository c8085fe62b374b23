"""Recorded replays with the recordings of their captures: SGLang and vLLM on an MI300X."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from rocm_perf.analysis.layers.build import layers, layers_by_repetition
from rocm_perf.analysis.modules.build import modules
from rocm_perf.analysis.operators.build import operators
from rocm_perf.analysis.program.graphs import graphs
from rocm_perf.analysis.roofline.build import roofline
from rocm_perf.errors import InputError
from rocm_perf.ingest.load import load
from rocm_perf.model.results.layers import EqualModules
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
    recorded = [place for place in operators(adopted).modules if place.name.startswith("Qwen3DecoderLayer_")]
    assert [place.calls for place in recorded] == [1] * 36


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


def test_layers_by_repetition_are_the_recorded_modules(find: Find) -> None:
    execution, capture = map(find, SGLANG)
    adopted = load(execution, captures=[capture])
    (recorded,) = (line for line in modules(adopted).lines if line.name == "Qwen3DecoderLayer")
    assert recorded.spread is not None
    for trace in (adopted, load(execution)):  # modules are known of the first alone
        (work,) = layers_by_repetition(trace).rows
        (stack,) = work.stacks
        assert (stack.layers, stack.kernels, len(stack.kinds)) == (36, 15, 1)
        assert stack.median_ns == pytest.approx(recorded.spread.median_ns, rel=0.01)
        assert f"Qwen3DecoderLayer_{stack.longest}" == recorded.spread.longest
    assert layers(adopted).modules == (EqualModules(name="Qwen3DecoderLayer", modules=36, alike=35),)
    assert layers_by_repetition(adopted).rows[0].stacks[0].modules == "Qwen3DecoderLayer"


def test_vllm_records_no_modules_of_layers_and_has_them_by_repetition(find: Find) -> None:
    execution, capture = map(find, VLLM)
    result = layers(load(execution, captures=[capture]))
    (work,) = result.rows
    (stack,) = work.stacks
    assert (result.known_by, work.name, stack.layers, stack.modules) == ("repetition", "mixed step", 24, None)
    assert [kind.lacks for kind in stack.kinds] == [(), ("triton_poi_fused__to_copy_1",)]
    assert sum(row.share for row in stack.order if row.operator == "vllm::moe_forward") > 0.7


def test_layers_that_attend_in_turns_are_of_two_kinds_without_a_capture(find: Find) -> None:
    (work,) = layers(load(find("data/torch_trace/AMD-AGI_TraceLens__vllm_decode_hipgraph.json.gz"))).rows
    (stack,) = work.stacks
    assert (stack.layers, [len(kind.numbers) for kind in stack.kinds]) == (24, [12, 11, 1])
    assert stack.share > 0.95


def test_without_torch_the_kernels_show_the_layers(find: Find) -> None:
    (work,) = layers(load(find("data/rocpd/JoursBleu_llama.cpp__32432_results.db.gz"))).rows
    (stack,) = work.stacks
    assert (work.name, work.steps, work.alike) == ("step", 9, 9)
    assert (stack.layers, stack.kernels) == (32, 19)
    assert [len(kind.numbers) for kind in stack.kinds] == [
        30,
        1,
        1,
    ]  # the last picks the rows that are sampled
    assert max(work.outside, key=lambda row: row.total_ns).short_name == "mul_mat_vec_q"  # the head
