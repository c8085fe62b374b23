"""Worked examples of attention, rotary embeddings and mixtures of experts: FLOPs and bytes with their arithmetic."""

from __future__ import annotations

from tests.unit.analysis.operators.work.calls import F4, I4, I8, U1, Given, tensor

Example = tuple[str, list[Given], int, int]

x = tensor(4, 8)  # 32 elements of 2 bytes: 64 B

# 2 sequences, 4 heads of 8, 6 tokens; 2 heads of keys and values
Q, KV = tensor(2, 4, 6, 8), tensor(2, 2, 6, 8)
LAST: list[Given] = ["0.", "1.0", "True", "-1", "-1"]
ATTENTION: list[Example] = [
    # a Triton kernel, in either order of axes: 4 * 2 * 4 * 36 pairs * 8; the result is one of its tensors
    ("sage_fwd_1", [Q, KV, KV, "-1", Q], 9216, 2304),
    ("_my_attn_fwd_0", [tensor(2, 6, 4, 8)] * 4, 9216, 4 * 768),
    # 4 * 2 * 4 * 36 pairs * 8; q and out 768 B each, k and v 384 B each
    ("aten::scaled_dot_product_attention", [Q, KV, KV, None, "0.", "False", None, "True"], 9216, 2304),
    # causal: 6 * 7 / 2 = 21 pairs
    ("aten::_scaled_dot_product_flash_attention", [Q, KV, KV, "0.", "True", "False", None], 5376, 2304),
    # the same with the scales of 8-bit types before the flag that says so
    (
        "aten::_scaled_dot_product_flash_attention",
        [Q, KV, KV, None, None, None, "0.", "True", "False", None],
        5376,
        2304,
    ),
    (
        "aten::_scaled_dot_product_efficient_attention",
        [Q, KV, KV, None, "False", "0.", "True", None],
        5376,
        2304,
    ),
    # five products backward: 5 / 2 * 5376; reads grad, q, out (768 each), k, v (384 each), lse (2 * 4 * 6 * 4 = 192)
    (
        "aten::_scaled_dot_product_flash_attention_backward",
        [Q, Q, KV, KV, Q, tensor(2, 4, 6, dtype=F4), None, None, "6", "6", "0.", "True", None, None, None],
        13440,
        3 * 768 + 2 * 384 + 192 + 768 + 2 * 384,
    ),
    # tokens before heads; 2 new queries that see 6 keys each but the last: 5 + 6 = 11 pairs; 4 * 1 * 4 * 11 * 8
    (
        "flash_attn::_flash_attn_forward",
        [tensor(1, 2, 4, 8), tensor(1, 6, 4, 8), tensor(1, 6, 4, 8), *LAST, "0.", None, "False"],
        1408,
        2 * (64 + 192 + 192 + 64),
    ),
    # a window of two to the left: rows see 1, 2, 3, 3, 3, 3 keys: 15 pairs; 4 * 2 * 4 * 15 * 8
    (
        "aiter::mha_fwd",
        [tensor(2, 6, 4, 8), tensor(2, 6, 4, 8), tensor(2, 6, 4, 8), "0.", "1.0", "True", "2", "-1"],
        3840,
        4 * 768,
    ),
    # the same into a given result: written once, and not counted again
    (
        "aiter::mha_fwd",
        [
            *[tensor(2, 6, 4, 8)] * 3,
            "0.",
            "1.0",
            "True",
            "2",
            "-1",
            "True",
            "False",
            tensor(2, 6, 4, 8),
            None,
            None,
            None,
        ],
        3840,
        4 * 768,
    ),
    # packed sequences that are all as long as the longest: 2 of 6 tokens, causal 21 pairs each; 3 offsets of 4 B twice
    (
        "flash_attn::_flash_attn_varlen_forward",
        [
            tensor(12, 4, 8),
            tensor(12, 2, 8),
            tensor(12, 2, 8),
            tensor(3, dtype=I4),
            tensor(3, dtype=I4),
            "6",
            "6",
            *LAST,
        ],
        5376,
        2304 + 24,
    ),
    # backward into given gradients
    (
        "flash_attn::_flash_attn_backward",
        [*[tensor(2, 6, 4, 8)] * 5, tensor(2, 4, 6, dtype=F4), *[tensor(2, 6, 4, 8)] * 3, *LAST],
        13440,
        8 * 768 + 192,
    ),
]

ROTARY: list[Example] = [
    # 4 tokens, queries of 2 heads of 8, keys of 1: 96 elements rotated, 3 each; both twice, a row of 8 of the table for
    # each token, positions of 8 B: 2 * 192 + 4 * 16 + 32
    (
        "_C::rotary_embedding",
        [tensor(4, dtype=I8), tensor(4, 16), tensor(4, 8), "8", tensor(99, 8), "True"],
        288,
        480,
    ),
    # half of each head is rotated: 48 elements; 2 * 96 + 4 * 8 + 32
    (
        "_C::rotary_embedding",
        [tensor(4, dtype=I8), tensor(4, 16), tensor(4, 8), "8", tensor(99, 4), "True"],
        144,
        256,
    ),
    # 4 keys and values of 2 * 8: read 128 + 128, written as often, slots of 8 B; the scales are 4 B each
    (
        "_C_cache_ops::reshape_and_cache_flash",
        [
            tensor(4, 2, 8),
            tensor(4, 2, 8),
            tensor(99, 16, 2, 8),
            tensor(99, 16, 2, 8),
            tensor(4, dtype=I8),
            "auto",
            tensor(dtype=F4),
            tensor(dtype=F4),
        ],
        0,
        552,
    ),
    # a cache of one byte: written 64 + 64
    (
        "_C_cache_ops::reshape_and_cache_flash",
        [
            tensor(4, 2, 8),
            tensor(4, 2, 8),
            tensor(99, 16, 2, 8, dtype=U1),
            tensor(99, 16, 2, 8, dtype=U1),
            tensor(4, dtype=I8),
            "fp8",
            tensor(dtype=F4),
            tensor(dtype=F4),
        ],
        0,
        424,
    ),
    (
        "sglang::store_cache",
        [tensor(4, 16), tensor(4, 16), tensor(99, 16), tensor(99, 16), tensor(4, dtype=I8), "32", "0"],
        0,
        544,
    ),
]

MOE: list[Example] = [
    # 4 tokens of width 8 to 2 of 16 experts, up and gate [16, 12, 8], down [16, 8, 6]: 2 * 4 * 2 * 8 * (12 + 6);
    # 8 experts may be chosen: 8 * (192 + 96); hidden 64 read, 64 written, weights and ids of 8 * 4 B each
    (
        "vllm::outplace_fused_experts",
        [x, tensor(16, 12, 8), tensor(16, 8, 6), tensor(4, 2, dtype=F4), tensor(4, 2, dtype=I4)],
        2304,
        8 * 288 + 128 + 64,
    ),
    # two values in a byte: [16, 12, 4] and [16, 8, 3]
    (
        "aiter::fused_moe_",
        [
            x,
            tensor(16, 12, 4, dtype=U1),
            tensor(16, 8, 3, dtype=U1),
            tensor(4, 2, dtype=F4),
            tensor(4, 2, dtype=I4),
        ],
        2304,
        8 * (48 + 24) + 128 + 64,
    ),
    # the first product alone, into [4, 2, 12]: 2 * 8 * 12 * 8; 64 + 8 * 192 + 192
    (
        "aiter::ck_moe_stage1",
        [
            x,
            tensor(16, 12, 8),
            tensor(16, 8, 6),
            tensor(99, dtype=I4),
            tensor(9, dtype=I4),
            tensor(2, dtype=I4),
            tensor(4, 2, 12),
            "2",
        ],
        1536,
        64 + 8 * 192 + 192,
    ),
    # softmax over 16 scores of 4 tokens: 5 * 64; reads 256, writes 2 * 8 * 4 and 8 * 4 B
    (
        "_moe_C::topk_softmax",
        [
            tensor(4, 2, dtype=F4),
            tensor(4, 2, dtype=I4),
            tensor(4, 2, dtype=I4),
            tensor(4, 16, dtype=F4),
            "True",
        ],
        320,
        352,
    ),
    # [4, 2, 8] -> [4, 8]
    ("_moe_C::moe_sum", [tensor(4, 2, 8), x], 64, 192),
]
