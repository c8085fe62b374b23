"""The lengths of the sequences of a serving step, as sums that the frameworks write into the step's range.

vLLM: `execute_40_context_1(sq8sk8sqsq64sqsk64)_generation_32(sq32sk900sqsq32sqsk900)`; SGLang with detailed
annotations: `... g_sq=32 g_sk=900 g_sqsq=32 g_sqsk=900`. Of q queries and k tokens of context of each sequence these
are the sums of q, k, q * q and q * k (vllm/v1/worker/gpu_worker.py, sglang/srt/model_executor/step_span_utils.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

MARK = "sqsk"  # what the name of such a range contains

_VLLM = re.compile(r"_(?:context|generation)_\d+\(sq(\d+)sk(\d+)sqsq(\d+)sqsk(\d+)\)")
_SGLANG = re.compile(r"\b([cg])_(sq|sk|sqsq|sqsk)=(\d+)")
_SUMS = ("sq", "sk", "sqsq", "sqsk")


@dataclass(frozen=True)
class StepLengths:
    """The sums over the sequences of one step."""

    queries: int
    context: int
    squared_queries: int
    queries_times_context: int

    @property
    def pairs(self) -> int:
        """The pairs of a query and a key it may see: the last of q queries sees all k, the first k - q + 1."""
        return self.queries_times_context - (self.squared_queries - self.queries) // 2


@lru_cache(maxsize=4096)
def step_lengths(name: str | None) -> StepLengths | None:
    """The sums that the name of a range states, context and generation together; None where it states none."""
    if name is None or MARK not in name:
        return None
    groups = [tuple(map(int, sums)) for sums in _VLLM.findall(name)] or _of_sglang(name)
    if not groups:
        return None
    return StepLengths(*(sum(group[place] for group in groups) for place in range(len(_SUMS))))


def _of_sglang(name: str) -> list[tuple[int, ...]]:
    """The sums of either group that has all four."""
    stated = {(group, which): int(value) for group, which, value in _SGLANG.findall(name)}
    groups = [[stated.get((group, which)) for which in _SUMS] for group in "cg"]
    return [tuple(value for value in group if value is not None) for group in groups if None not in group]
