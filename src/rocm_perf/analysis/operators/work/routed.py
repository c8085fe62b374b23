"""What is recorded of a mixture of experts beside the arguments of its operator: how many experts a token goes to, and
what the operator launched. It goes with a call as one text: `4 _matmul_ogs_...=1748 _matmul_ogs_...=912`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from rocm_perf.model.torch_call import Argument

MARK = (
    r"^_matmul_ogs_|^_finalize_matmul"  # what the names of kernels match that say how large the experts are
)
CHOOSERS = ("TopK", "SortTokens")

WEIGHTS = "the weights of the experts are not among its arguments"
CHOSEN = "which experts were chosen is not recorded: at most, with the weights of every expert that could be"


@dataclass(frozen=True)
class Routed:
    """The experts that a token goes to, and the kernels of the call with their workgroups."""

    top_k: int | None
    launches: tuple[tuple[str, int | None], ...]


@lru_cache(maxsize=4096)
def routed(text: str | None) -> Routed | None:
    """What the text says; None of no text."""
    if not text:
        return None
    first, *words = text.split(" ")
    launches = (word.rpartition("=") for word in words)
    return Routed(_integer(first), tuple((kernel, _integer(count)) for kernel, _, count in launches))


def experts_of_a_token(name: str, known: Sequence[Argument] | None) -> int | None:
    """How many they are, as the operators that choose and sort them are called: TopK(logits, top_k, ...) and
    SortTokens([tokens, top_k], ...)."""
    if name not in CHOOSERS or not known:
        return None
    if name == "TopK":
        return _integer(known[1].text) if len(known) > 1 else None
    return known[0].shape[-1] if known[0].kind == "tensor" and known[0].shape else None


def _integer(text: str) -> int | None:
    return int(text) if text.isdecimal() else None
