"""Pairs of real recordings, read by hand first: what the comparison has to say of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from rocm_perf.ingest.load import load
from rocm_perf.model.results.alignment import Alignment
from rocm_perf.model.results.comparison import Comparison
from tests.recordings import recording
from tests.unit.analysis.compare.models.test_build import aligned, parts
from tests.unit.analysis.compare.programs import Op, program
from tests.unit.analysis.compare.sides import compared

H200 = Path(__file__).parents[4] / "data" / "h200"
SHARED = Path(__file__).parents[6] / "shared"
TORCH = SHARED / "data" / "torch_trace"


def of_files(base: Path, new: Path) -> Comparison:
    for path in (base, new):
        if not path.exists():
            pytest.skip(f"{path.name} is not here")
    return compared(recording(base), recording(new), whole=False)


def places(alignment: Alignment) -> Counter[str]:
    """How many places of the step each fate has."""
    fates: Counter[str] = Counter()
    for row in alignment.work:
        fates[row.fate] += row.places
    return fates


def test_one_model_on_two_gpus_calls_the_same_operators() -> None:
    """61 operators launch work on both GPUs: matrix products and attention by other kernels, a copy by another way."""
    model = "gaunernst_bert-small-uncased__1016001.json.gz"
    alignment = aligned(of_files(*(TORCH / f"AMD-AGI_TraceLens__{gpu}_{model}" for gpu in ("h100", "mi300"))))
    assert places(alignment) == {"other kernels": 31, "same": 30}
    attention = alignment.work[0]
    assert (attention.base_kernels, attention.new_kernels) == (("flash_fwd_kernel",), ("attn_fwd",))
    assert (attention.places, attention.difference_ns) == (4, 76_248)
    assert alignment.modules[0].name.endswith("BertLayer/BertAttention/BertSdpaSelfAttention")


def test_what_was_launched_before_the_recording_is_apart() -> None:
    """Of this model, the tail of the step before runs first. On the MI300X, attention also fills its output, once in
    each of 24 layers."""
    model = "Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz"
    alignment = aligned(of_files(*(TORCH / f"AMD-AGI_TraceLens__{gpu}_{model}" for gpu in ("h100", "mi300"))))
    (came,) = (row for row in alignment.work if row.fate == "came")
    assert (came.new_operators, came.places) == (("aten::fill_",), 24)
    assert set(places(alignment)) == {"same", "other kernels", "came"}
    assert parts(alignment)["carried"] == (13_741, 13_318)


def test_the_replay_of_a_graph_does_the_same_work_as_eager_calls() -> None:
    alignment = aligned(of_files(H200 / "eager_sync.json.gz", H200 / "graph.json.gz"))
    assert places(alignment) == {"same": 200}
    assert {share.name for share in alignment.operators} == {
        "aten::_cudnn_attention_forward",
        "aten::add",
        "aten::addmm",
        "aten::gelu",
        "aten::native_layer_norm",
    }


def test_waiting_in_every_step_changes_no_work() -> None:
    alignment = aligned(
        of_files(H200 / "whatif" / "decode_free.json.gz", H200 / "whatif" / "decode_sync.json.gz")
    )
    assert set(places(alignment)) == {"same"}
    assert abs(alignment.difference_ns) < 0.02 * alignment.base_ns


def _eager_block() -> list[Op]:
    """What torch_compile_triton was before it was compiled: a transformer's block, with the shapes of its products."""
    norm = [
        Op(f"aten::{name}", 90, module="Block_0/Norm_0")
        for name in ("pow", "mean", "add", "rsqrt", "mul", "mul")
    ]
    square, wide, narrow = (
        Op(
            "aten::mm",
            us,
            module="Block_0/Linear_0",
            kernel="Cijk_Ailk_Bljk_BBS_BH_MT128x128x64",
            shapes=shapes,
        )
        for us, shapes in (
            (550, "[[32768, 2048], [2048, 2048]]"),
            (1_900, "[[32768, 2048], [2048, 8192]]"),
            (2_000, "[[32768, 8192], [8192, 2048]]"),
        )
    )
    attention = Op(
        "aten::_flash_attention_forward", 3_600, inside="aten::_scaled_dot_product_flash_attention"
    )
    residual = Op("aten::add", 140, module="Block_0")
    act = [Op("aten::silu", 400, module="Block_0/Act_0"), Op("aten::mul", 500, module="Block_0")]
    return [*norm, *[square] * 3, attention, square, residual, *norm, wide, wide, *act, narrow, residual]


def test_a_compiled_block_against_what_it_was_made_from() -> None:
    compiled = TORCH / "AMD-AGI_TraceLens__torch_compile_triton.json.gz"
    if not compiled.exists():
        pytest.skip(f"{compiled.name} is not here")
    alignment = aligned(compared(program(*_eager_block()), recording(compiled)))
    fused = {row.new_operators[0]: len(row.base_operators) for row in alignment.work if row.fate == "fused"}
    assert fused == {
        "triton_red_fused_add_mean_mul_pow_rsqrt": 5,
        "triton_red_fused__unsafe_view_add_mean_mul_pow_rsqrt": 5,
        "triton_poi_fused__unsafe_view_mul_silu": 2,
    }
    products = [row for row in alignment.work if row.base_operators == ("aten::mm",)]
    assert sum(row.places for row in products) == 7
    assert set(places(alignment)) == {"fused", "other kernels"}


def test_a_replay_with_and_without_the_trace_of_its_capture_is_the_same_work(tmp_path: Path) -> None:
    execution = TORCH / "AMD-AGI_TraceLens__sglang_Qwen3-8B_decode.json.gz"
    capture = SHARED / "frameworks" / "AMD-AGI_TraceLens__sglang_Qwen3-8B_decode_capture_bs32_rank0.json.gz"
    if not (execution.exists() and capture.exists()):
        pytest.skip("the recordings are not here")
    for path in (execution, capture):
        (tmp_path / path.name).symlink_to(path)
    alignment = aligned(compared(recording(execution), load(tmp_path)))
    assert set(places(alignment)) == {"same"}
    assert alignment.difference_ns == 0
    assert (alignment.operators[0].name, alignment.modules[0].name.partition("/")[0]) == (
        "aten::mm",
        "Qwen3Model",
    )
