"""The arithmetic of attention, whoever records it: two products forward, five backward, over the pairs that are seen.

The forward pass multiplies Q by K and the weights by V; the backward pass of FlashAttention (Dao et al. 2022)
multiplies Q by K again, and then for the gradients of V, of the weights, of Q and of K. Softmax and scaling are not
counted.
"""

from __future__ import annotations

import msgspec

EVERYTHING = -1  # a window without a bound


class Sizes(msgspec.Struct, frozen=True):
    """The sizes of one attention: `batch` sequences of `rows` queries that look at `columns` keys."""

    batch: int
    heads: int
    rows: int
    columns: int
    depth: int  # of a query and a key
    value_depth: int


def seen_pairs(
    rows: int, columns: int, *, left: int = EVERYTHING, right: int = EVERYTHING, last: bool = True
) -> int:
    """The pairs of a query and a key inside a window around the diagonal; causal is `right=0`.

    `last`: the last query meets the last key, as in flash-attn 2.1 and later and in everything with a cache; otherwise
    the first meets the first, as in torch.
    """
    shift = columns - rows if last else 0
    end = rows * columns if right < 0 else _ramp(rows, shift + right + 1, columns)
    begin = 0 if left < 0 else _ramp(rows, shift - left, columns)
    return end - begin


def _ramp(count: int, start: int, top: int) -> int:
    """The sum of `start`, `start + 1`, ... of that many terms, each kept between 0 and `top`."""

    def below(end: int) -> int:
        inside = min(max(end, 0), top + 1)
        return inside * (inside - 1) // 2 + max(0, end - top - 1) * top

    return below(start + count) - below(start)


def products(sizes: Sizes, pairs: int, backward: bool) -> tuple[int, str]:
    """The FLOPs of the products of one head over the pairs, for all heads and sequences, and how they come about."""
    shared = 3 * sizes.depth + 2 * sizes.value_depth if backward else sizes.depth + sizes.value_depth
    text = f"2 * {sizes.batch} * {sizes.heads} heads * {pairs} pairs * {shared}"
    return 2 * sizes.batch * sizes.heads * pairs * shared, text
