"""What is recorded of a mixture of experts beside the arguments of its operator: how many experts a token goes to, and
what the operator launched. It goes with a call as one text, a line each:

    4
    1748x1x1 _matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu
    912x1x1 _matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import msgspec

from rocm_perf.model.torch_call import Argument

Grid = tuple[int, int, int]  # in workgroups

# What the names of kernels match that say how large the experts are, or whose work follows from that.
MARK = r"^_matmul_ogs_|^_finalize_matmul|^bmm_|moe::dev::finalize|quantize_with_block_size"
_LAUNCH = re.compile(r"\n(?=(?:\?|\d+x\d+x\d+) )")  # where one begins: a name may have line breaks too
CHOOSERS = ("TopK", "SortTokens")
MOST_CHOSEN = 256  # experts of a token, more than any model has
UNKNOWN = "?"

WEIGHTS = "the weights of the experts are not among its arguments"
CHOSEN = "which experts were chosen is not recorded: at most, with the weights of every expert that could be"


class Launch(msgspec.Struct, frozen=True):
    """A kernel, and its grid in workgroups where that is recorded."""

    kernel: str
    grid: Grid | None


class Routed(msgspec.Struct, frozen=True):
    """The experts that a token goes to where that is recorded, and the launches of a call."""

    top_k: int | None
    launches: tuple[Launch, ...]


@lru_cache(maxsize=4096)
def routed(text: str | None) -> Routed | None:
    """What the text says; None of no text."""
    if not text:
        return None
    first, *launches = _LAUNCH.split(text)
    return Routed(_count(first), tuple(map(_launch, launches)))


def _launch(text: str) -> Launch:
    sizes, _, kernel = text.partition(" ")
    if sizes == UNKNOWN:
        return Launch(kernel, None)
    x, y, z = map(int, sizes.split("x"))
    return Launch(kernel, (x, y, z))


def experts_of_a_token(name: str, known: Sequence[Argument] | None) -> int | None:
    """How many they are, as the operators that choose and sort them are called: TopK(logits, top_k, ...) and
    SortTokens([tokens, top_k], ...)."""
    if name not in CHOOSERS or not known:
        return None
    if name == "TopK":
        return _count(known[1].text) if len(known) > 1 else None
    return _possible(known[0].shape[-1]) if known[0].kind == "tensor" and known[0].shape else None


def _count(text: str) -> int | None:
    return _possible(int(text)) if text.isdecimal() and len(text) <= len(str(MOST_CHOSEN)) else None


def _possible(experts: int) -> int | None:
    return experts if 0 < experts <= MOST_CHOSEN else None
