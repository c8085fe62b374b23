"""The lengths of the sequences of a serving step, as sums that the frameworks write into the step's range.

vLLM: `execute_40_context_1(sq8sk8sqsq64sqsk64)_generation_32(sq32sk900sqsq32sqsk900)`; SGLang with detailed
annotations: `... g_sq=32 g_sk=900 g_sqsq=32 g_sqsk=900`. Of q queries and k tokens of context of each sequence these
are the sums of q, k, q * q and q * k (vllm/v1/worker/gpu_worker.py, sglang/srt/model_executor/step_span_utils.py).

Without detailed annotations vLLM states the sum of q alone, `execute_context_1(888)_generation_0(0)`, to which an
earlier form added that of q * q, `execute_context_1(888_788544)_...` (sum_ctx_squared_tokens in TraceLens' readers). Of
prompts alone these suffice, but for the tokens that were in the cache before.
"""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

MARK = r"sqsk|execute_context_[1-9]"  # what the name of such a range matches

_VLLM = re.compile(r"_(?:context|generation)_\d+\(sq(\d+)sk(\d+)sqsq(\d+)sqsk(\d+)\)")
_SGLANG = re.compile(r"\b([cg])_(sq|sk|sqsq|sqsk)=(\d+)")
_PROMPTS = re.compile(r"execute_context_(\d+)\((\d+)(?:_(\d+))?\)_generation_0\(0")
_SUMS = ("sq", "sk", "sqsq", "sqsk")


class StepLengths(msgspec.Struct, frozen=True):
    """The sums over the sequences of one step."""

    queries: int
    context: int
    squared_queries: int
    queries_times_context: int
    all_context: bool = True  # whether tokens that were in the cache before the step are stated

    @property
    def pairs(self) -> int:
        """The pairs of a query and a key it may see: the last of q queries sees all k, the first k - q + 1."""
        return self.queries_times_context - (self.squared_queries - self.queries) // 2


@lru_cache(maxsize=4096)
def step_lengths(name: str | None) -> StepLengths | None:
    """The sums that the name of a range states, context and generation together; None where it states none."""
    if name is None:
        return None
    groups = [tuple(map(int, sums)) for sums in _VLLM.findall(name)] or _of_sglang(name)
    if not groups:
        return _of_prompts(name)
    queries, context, squared, times_context = (
        sum(group[place] for group in groups) for place in range(len(_SUMS))
    )
    return StepLengths(queries, context, squared, times_context)


def _of_prompts(name: str) -> StepLengths | None:
    """The sums of a step of prompts alone, of which the cache held nothing before."""
    match = _PROMPTS.search(name)
    if match is None or not int(match[1]):
        return None
    tokens = int(match[2])
    squared = match[3] or (str(tokens**2) if match[1] == "1" else "")
    if not squared:
        return None
    return StepLengths(tokens, tokens, int(squared), int(squared), all_context=False)


def _of_sglang(name: str) -> list[tuple[int, ...]]:
    """The sums of either group that has all four."""
    stated = {(group, which): int(value) for group, which, value in _SGLANG.findall(name)}
    groups = [[stated.get((group, which)) for which in _SUMS] for group in "cg"]
    return [tuple(value for value in group if value is not None) for group in groups if None not in group]
