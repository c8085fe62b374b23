"""Worked examples: every family of operators with small sizes, and the FLOPs and bytes worked out by hand."""

from __future__ import annotations

import pytest

from tests.unit.analysis.operators.work.calls import BF, I1, I4, U1, Given, tensor, work_of
from tests.unit.analysis.operators.work.examples_attention import ATTENTION, LAST, MOE, ROTARY
from tests.unit.analysis.operators.work.examples_memory import ACTIVATIONS, MOVEMENT, NORMS, REDUCTIONS
from tests.unit.analysis.operators.work.examples_products import CONVOLUTIONS, PRODUCTS, QUANTISED
from tests.unit.analysis.operators.work.examples_sequences import FOURIER, RECURRENT, TRANSFORMER_ENGINE

FLOAT = "void multi_tensor_apply_kernel<TensorListMetadata<2>, BinaryOpScalarFunctor<float, 2, 1, 1>>"
CAT = "void CatArrayBatchedCopy<OpaqueType<2u>, unsigned int, 2, 64, 64>"

x = tensor(4, 8)  # 32 elements of 2 bytes: 64 B
EXAMPLES = [
    *PRODUCTS,
    *QUANTISED,
    *CONVOLUTIONS,
    *ATTENTION,
    *ROTARY,
    *MOE,
    *NORMS,
    *ACTIVATIONS,
    *MOVEMENT,
    *REDUCTIONS,
    *RECURRENT,
    *FOURIER,
    *TRANSFORMER_ENGINE,
]
IDS = [f"{place} {row[0]}" for place, row in enumerate(EXAMPLES)]


@pytest.mark.parametrize(("name", "given", "flops", "moved"), EXAMPLES, ids=IDS)
def test_worked_example(name: str, given: list[Given], flops: int, moved: int) -> None:
    work = work_of(name, *given)
    assert (work.flops.value, work.bytes.value) == (flops, moved)
    assert work.flops.formula != work.bytes.formula


LISTS: list[tuple[str, list[Given], str, int, int]] = [
    # two tensors of [4, 8] in half precision, read and written
    ("aten::cat", [[[4, 8], [4, 8]], "0"], CAT, 0, 256),
    # 1 * 48 elements; read, and written in place
    ("aten::_foreach_add_", [[[4, 8], [16]], "1"], FLOAT, 48, 2 * 4 * 48),
    # 2 * 48 elements; three lists read, the first written
    (
        "aten::_foreach_addcmul_",
        [[[4, 8], [16]], [[4, 8], [16]], [[4, 8], [16]], "0.1"],
        FLOAT,
        96,
        4 * 4 * 48,
    ),
    # 13 + 1 (decay); parameters and both means twice, gradients once, two counts of steps of 4 B
    (
        "aten::_fused_adamw_",
        [*[[[4, 8], [16]]] * 4, None, [[], []], "0.001", "0.9", "0.999", "0.01", "1e-08", "False", "False"],
        FLOAT,
        14 * 48,
        7 * 4 * 48 + 8,
    ),
    # a step, and momentum: 4 each; parameter and momentum twice, gradients once
    (
        "aten::_fused_sgd_",
        [*[[[4, 8]]] * 3, "0.", "0.9", "0.001", "0.", "False", "False", "False", None, None],
        FLOAT,
        4 * 32,
        5 * 4 * 32,
    ),
]


@pytest.mark.parametrize(("name", "given", "kernel", "flops", "moved"), LISTS)
def test_lists_have_the_type_that_the_kernel_names(
    name: str, given: list[Given], kernel: str, flops: int, moved: int
) -> None:
    work = work_of(name, *given, kernel=kernel)
    assert (work.flops.value, work.bytes.value) == (flops, moved)
    silent = work_of(name, *given)
    assert silent.flops.value == flops
    assert "the element type of the tensors in a list is not recorded" in str(silent.bytes.unavailable)


def test_an_expanded_tensor_is_read_once() -> None:
    """[4, 8] expanded from [4, 1]: 4 elements in memory, 32 results."""
    work = work_of("aten::mul", x, x, strides="[[1, 0], [8, 1]]")
    assert work.bytes.value == 2 * (4 + 32 + 32)


STEPS = (
    "execute_11_context_1(sq9sk9sqsq81sqsk81)_generation_2(sq2sk30sqsq2sqsk30)",
    "step[MIXED bs=3 c_sq=9 c_sk=9 c_sqsq=81 c_sqsk=81 g_sq=2 g_sk=30 g_sqsq=2 g_sqsk=30]",
)


def test_attention_over_a_cache_by_the_lengths_of_its_step() -> None:
    """A prompt of 9 tokens sees 9 * 10 / 2 = 45 pairs, two decoded tokens 30: 75 pairs of 4 heads of 8. 39 tokens are
    read, keys and values of 2 heads of 8 in two bytes; queries and results are [11, 4, 8]."""
    given: list[Given] = [tensor(11, 4, 8), tensor(11, 2, 8), tensor(11, 2, 8), tensor(11, 4, 8)]
    ragged: list[Given] = [
        tensor(11, 4, 8),
        tensor(99, dtype=U1),
        tensor(11, 4, 8),
        *[tensor(50, 1, 2, 8)] * 2,
    ]
    flat: list[Given] = [
        tensor(11, 4, 8),
        *[tensor(99, 2, 8)] * 2,
        *[tensor(4, dtype=I4)] * 3,
    ]  # pages of one token
    flops, moved = 4 * 4 * 8 * 75, 2 * 39 * 2 * 8 * 2 + 2 * (2 * 11 * 4 * 8)
    for step in STEPS:
        for name, arguments in (
            ("vllm::unified_attention_with_output", given),
            ("sglang_profiler::attention_paged_attention_ragged_100", ragged),
            ("aiter::mha_batch_prefill", flat),
        ):
            work = work_of(name, *arguments, step=step)
            assert (work.flops.value, work.bytes.value) == (flops, moved)
            assert "sliding window" in str(work.flops.doubt)


@pytest.mark.parametrize("sums", ["9", "9_81"])
def test_attention_over_a_cache_of_prompts_whose_step_states_the_tokens_alone(sums: str) -> None:
    """9 * 10 / 2 pairs of 4 heads of 8, of one prompt; what the cache held before is not stated."""
    given: list[Given] = [tensor(9, 4, 8), tensor(9, 2, 8), tensor(9, 2, 8), tensor(9, 4, 8)]
    name = "vllm::unified_attention_with_output"
    work = work_of(name, *given, step=f"execute_context_1({sums})_generation_0(0)")
    assert (work.flops.value, work.bytes.value) == (4 * 4 * 8 * 45, 2 * 9 * 2 * 8 * 2 + 2 * 2 * 9 * 4 * 8)
    assert "at least: tokens that the cache held before" in str(work.flops.doubt)
    for step in (f"execute_context_1({sums})_generation_2(2)", "execute_context_2(9)_generation_0(0)"):
        assert not work_of(name, *given, step=step).flops.known


def test_the_cache_of_latent_attention_is_not_taken_for_keys() -> None:
    work = work_of(
        "aiter::mla_decode_fwd", tensor(11, 4, 8), tensor(99, 1, 8), tensor(11, 4, 8), step=STEPS[0]
    )
    assert "the layout of its cache is not known" in str(work.flops.unavailable)


def test_a_public_report_of_a_decode_step_says_the_same_bytes() -> None:
    """SGLang's decode of 32 sequences with 32,785 tokens of context on an MI300X: 2 * 32785 * 8 * 128 * 2 B of the
    cache and 2 * 32 * 32 * 128 * 2 B of queries and results, as TraceLens reports; page tables do not count."""
    states, cache = tensor(32, 32, 128), tensor(835874, 1, 8, 128)
    tables: list[Given] = [tensor(33, dtype=I4), tensor(20971520, dtype=I4), tensor(4096, dtype=I4)]
    step = "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk32785sqsq32sqsk32785)"
    given: list[Given] = [states, tensor(10905190400, dtype=U1), states, cache, cache, *tables]
    work = work_of("sglang_profiler::attention_paged_attention_ragged_100", *given, step=step)
    assert (work.flops.value, work.bytes.value) == (4 * 32 * 128 * 32785, 134_811_648)


@pytest.mark.parametrize(
    ("name", "given", "reason"),
    [
        ("vllm::unified_attention_with_output", [tensor(4, 4, 8), tensor(4, 2, 8), tensor(4, 2, 8)], "context lengths"),
        (
            "_rocm_C::paged_attention",
            [tensor(4, 4, 8), *[tensor(4, 4, 9)] * 3, tensor(4, 4, 8), tensor(9, 2, 1, 16, 8), tensor(9, 2, 8, 16),
             "2", "1.0", tensor(4, 9, dtype=I4), tensor(4, dtype=I4), None, "16", "100"],
            "at most 5.12e+04 FLOPs, if all were 100 tokens",
        ),
        ("vllm::moe_forward", [x, tensor(4, 16), None, None], "the weights of the experts are not among its arguments"),
        (
            "flash_attn::_flash_attn_varlen_forward",
            [tensor(12, 4, 8), *[tensor(12, 2, 8)] * 2, *[tensor(4, dtype=I4)] * 2, "6", "6", *LAST],
            "the lengths of its 3 sequences are values of a tensor",
        ),
        ("record_param_comms", [[[8]]], "the topic communication"),
        ("symm_mem::multimem_all_reduce_", [tensor(8), None, None], "the topic communication"),
        ("aten::linalg_norm", [x, "2", None, "False", None], "it is the norm of matrices"),
    ],
)  # fmt: skip
def test_what_is_not_recorded_is_named(name: str, given: list[Given], reason: str) -> None:
    work = work_of(name, *given)
    assert work.flops.value is None
    assert reason in str(work.flops.unavailable)


def test_packed_sequences_of_unknown_lengths_still_have_bytes() -> None:
    given: list[Given] = [
        tensor(12, 4, 8),
        tensor(12, 2, 8),
        tensor(12, 2, 8),
        *[tensor(4, dtype=I4)] * 2,
        "6",
        "6",
        *LAST,
    ]
    assert work_of("flash_attn::_flash_attn_varlen_forward", *given).bytes.value == 2304 + 32


def test_packed_sequences_take_the_lengths_of_their_step() -> None:
    """45 + 30 pairs of 4 heads of 8 for the 11 queries of the step."""
    given: list[Given] = [
        tensor(11, 4, 8),
        *[tensor(39, 2, 8)] * 2,
        *[tensor(4, dtype=I4)] * 2,
        "9",
        "20",
        *LAST,
    ]
    work = work_of("flash_attn::_flash_attn_varlen_forward", *given, step=STEPS[0])
    assert work.flops.value == 4 * 4 * 8 * 75


def test_int8_products_multiply_in_int8() -> None:
    work = work_of("aten::_int_mm", tensor(4, 8, dtype=I1), tensor(8, 6, dtype=I1))
    assert work.dtype == "int8"
    assert work_of("aten::mm", x, tensor(8, 6)).dtype == BF.removeprefix("c10::").lower()


def test_fp8_products_of_transformer_engine_multiply_in_fp8() -> None:
    name, given, *_ = TRANSFORMER_ENGINE[0]
    assert work_of(name, *given).dtype == "float8_e4m3fn"
