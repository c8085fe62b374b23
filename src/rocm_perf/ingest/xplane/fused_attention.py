"""FLOPs of the attention that Transformer Engine computes for JAX, from the sizes that its custom call states."""

from __future__ import annotations

import re
from typing import NamedTuple

from rocm_perf.ingest.xplane.hlo import Instruction
from rocm_perf.model.attention import EVERYTHING, Sizes, products, seen_pairs

_FORWARD, _BACKWARD = "te_fused_attn_forward_ffi", "te_fused_attn_backward_ffi"
_ATTRIBUTE = re.compile(r"(\w+) = (-?\d{1,18}) : i64")
# NVTE_Mask_Type of transformer_engine/fused_attn.h.
_PADDED = (1, 3, 5)
_CAUSAL = (2, 3, 4, 5)
_TO_THE_LAST = (4, 5)  # the last query meets the last key
_UNKNOWN_LENGTHS = "at most: how long its sequences are is not recorded, only how long they may be"


class AttentionWork(NamedTuple):
    """FLOPs, or None and why not; and what makes them a bound."""

    flops: int | None
    formula: str
    doubt: str = ""


def is_fused_attention(instruction: Instruction) -> bool:
    return instruction.target in (_FORWARD, _BACKWARD)


def attention_work(instruction: Instruction) -> AttentionWork:
    """The products of all heads over the pairs that its mask and window leave."""
    config = instruction.message.backend_config.decode("utf-8", "replace")
    stated = {name: int(value) for name, value in _ATTRIBUTE.findall(config)}
    try:
        sizes = Sizes(
            batch=stated["input_batch"],
            heads=stated["attn_heads"],
            rows=stated["q_max_seqlen"],
            columns=stated["kv_max_seqlen"],
            depth=_depth(stated, "qk_head_dim"),
            value_depth=_depth(stated, "v_head_dim"),
        )
        mask = stated["mask_type"]
    except KeyError as missing:
        return AttentionWork(None, f"{instruction.target} does not state its {missing.args[0]}")
    pairs = seen_pairs(
        sizes.rows,
        sizes.columns,
        left=stated.get("window_size_left", EVERYTHING),
        right=0 if mask in _CAUSAL else stated.get("window_size_right", EVERYTHING),
        last=mask in _TO_THE_LAST,
    )
    flops, formula = products(sizes, pairs, instruction.target == _BACKWARD)
    is_packed = stated.get("max_segments_per_seq", 1) > 1
    return AttentionWork(flops, formula, _UNKNOWN_LENGTHS if mask in _PADDED or is_packed else "")


def _depth(stated: dict[str, int], name: str) -> int:
    """Releases before 2.7 have one head dimension for all."""
    return stated[name] if name in stated else stated["head_dim"]
