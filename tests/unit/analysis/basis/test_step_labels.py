"""The names of steps, as the frameworks spell them."""

from __future__ import annotations

import polars as pl
import pytest

from rocm_perf.analysis.basis.step_labels import MARKS, step_label

VLLM_DETAILS = (
    "execute_6147_context_2(sq6144sk7144sqsq20971520sqsk23019520)_generation_3(sq3sk6144sqsq3sqsk6144)"
)
SPELLINGS = [
    # vLLM, from January 2026 on; with details from July 2026 on; from November 2025 on
    ("execute_context_2(14721)_generation_0(0)", "prefill", 2, 14721),
    ("execute_context_0(0)_generation_32(128)", "decode", 32, 128),
    ("execute_context_2(6144)_generation_3(3)", "mixed", 5, 6147),
    ("execute_context_0(0)_generation_0(0)", "other", 0, 0),
    (VLLM_DETAILS, "mixed", 5, 6147),
    ("execute_new_2_cached_0", "prefill", 2, None),
    ("execute_new_0_cached_32", "decode", 32, None),
    ("execute_new_2_cached_32", "mixed", 34, None),
    # SGLang, plain and with details
    ("step[EXTEND bs=2 toks=14721]", "prefill", 2, 14721),
    ("step[DECODE bs=64]", "decode", 64, 64),
    ("step[DECODE bs=64 g_sq=128 g_sqsq=256 g_sqsk=262144 g_sk=131072]", "decode", 64, 128),
    ("step[MIXED bs=2]", "mixed", 2, None),
    (
        "step[MIXED bs=5 c=2 g=3 c_sq=6144 c_sk=7144 c_sqsq=1 c_sqsk=1 g_sq=3 g_sk=6144 g_sqsq=3]",
        "mixed",
        5,
        6147,
    ),
    ("step[TARGET_VERIFY bs=4]", "decode", 4, None),
    ("step[DRAFT_EXTEND_V2 bs=4 c_sq=16 c_sqsq=64]", "draft", 4, 16),
    ("step[DRAFT_LOOP raw_bs=3 bs=4 topk=1]", "draft", 3, None),
    ("step[IDLE bs=0]", "other", 0, None),
    # ATOM; of a padded batch the requests count
    ("prefill[bs=2 tok=14721 ctx=[7803, 6918]]", "prefill", 2, 14721),
    ("prefill[bs=6 tok=17408 ctx=[4096, 4096, 4096]...+3]", "prefill", 6, 17408),
    ("decode[bs=117/128 tok=117 d=117]", "decode", 117, 117),
    ("decode[bs=128 tok=384 p=2 d=126 sqsq=132612]", "mixed", 128, 384),
    ("eager_decode[bs=3 tok=3 ctx=[5, 6, 7]]", "decode", 3, 3),
    ("draft[1/3 bs=64]", "draft", 64, None),
    # TensorRT-LLM: PyTorch, with tokens, older, C++
    ("[Executor] _forward_step 17: 2 ctx reqs, 3 gen reqs", "mixed", 5, None),
    ("[Executor] _forward_step 60000: 2 ctx reqs, 500 ctx tokens, 32 gen reqs", "mixed", 34, 532),
    ("_forward_step: 0 ctx reqs, 3 gen reqs", "decode", 3, 3),
    ("executeStep: 1 ctx reqs, 0 gen reqs", "prefill", 1, None),
    # anybody's own
    ("prefill", "prefill", None, None),
    ("decode_step_17", "decode", None, None),  # a number, not a batch
    ("decode[bs=32]", "decode", 32, 32),
    ("prefill bs=2 tokens=512", "prefill", 2, 512),
    ("LLM_PREFILL[BS=4,Reused=0,Computed=512]", "prefill", 4, 512),
    ("BatchDecode num_seqs=8", "decode", 8, 8),
]


@pytest.mark.parametrize(("name", "kind", "requests", "tokens"), SPELLINGS)
def test_every_spelling_says_kind_batch_and_tokens(
    name: str, kind: str, requests: int | None, tokens: int | None
) -> None:
    label = step_label(name)
    assert label is not None
    assert (label.kind, label.requests, label.tokens) == (kind, requests, tokens)
    assert pl.Series([name]).str.contains(MARKS).all()


@pytest.mark.parametrize(
    "name",
    [
        "decoder", "decode_image", "MultiEndedAlloc.alloc_decode", "aten::decode", "prefill_cache_lookup", "step[17]",
        "gpu_model_runner: forward", "execute_diffusion_1_1024x1024", "capture_32_DECODE", "ProfilerStep#3", "", " ",
    ],
)  # fmt: skip
def test_other_names_are_not_steps(name: str) -> None:
    assert step_label(name) is None


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (f"execute_context_{'9' * 40}(1)_generation_0(0)", "prefill"),
        (f"step[DECODE bs={'9' * 40}]", "decode"),
        (f"decode[bs={'9' * 40}]", "decode"),
    ],
)
def test_a_number_that_nobody_counted_is_not_one(name: str, kind: str) -> None:
    label = step_label(name)
    assert label is not None
    assert (label.kind, label.requests) == (kind, None)


def test_a_name_without_end_is_read_at_once() -> None:
    assert step_label("decode" * 100_000) is None
    assert step_label("execute_context_" + "9" * 100_000) is None
