"""Why attention takes its time, from its sizes, the implementation that its kernel's name tells, and its grid."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from rocm_perf.analysis.limits.losses import LEAST_LOSS, SHORTEST_NS, Launch, Loss, Rates, Times
from rocm_perf.analysis.limits.tiles import AttentionTile
from rocm_perf.units import format_bytes, format_count, format_ns, format_share

_SHORT = 256  # queries: one or two steps over the keys
_FAR = 20.0  # times the reference, up to which a short sequence explains the time
_HALF_EMPTY = 2.0  # then it is the number of workgroups, and not what each has to do
_LARGE_HEAD = 256
_ROWS = 128  # queries of a workgroup, where nothing tells
_BEST_KNOWN = 2.0  # times as fast as AOTriton are the fastest kernels known on the same chip
_BACKWARD = re.compile(r"bwd|backward", re.IGNORECASE)
_BY_TRITON = ("AOTriton", "Triton")


def attention_losses(launch: Launch, tile: AttentionTile | None, rates: Rates, times: Times) -> list[Loss]:
    """Return what makes attention of known sizes take longer than its work needs."""
    if launch.sizes is None or len(launch.sizes) != 6 or not launch.ns:
        return cache_losses(launch, tile, rates)
    known = tile or AttentionTile("")
    few = list(_few_blocks(launch, known, rates))
    losses = [*few, *_padded_heads(launch, known), *_large_heads(launch, known, rates)]
    if not any((loss.times or 1.0) >= _HALF_EMPTY for loss in few):
        losses += _short(launch, times)
    return [*losses, *_slow_implementation(launch, known, rates, times)]


def reference(launch: Launch, tile: AttentionTile | None, rates: Rates, times: Times) -> Times:
    """Return the times of a launch with what its own implementation reaches at best as the reference, where it is
    known: that another one is faster is a loss of its own."""
    best = rates.attention.get(tile.maker) if tile else None
    if not best or not launch.flops or launch.dtype not in ("bf16", "f16"):
        return times
    return replace(times, reference=max(times.reference, launch.flops / best))


def _sizes(launch: Launch) -> tuple[int, int, int, int, int]:
    batch, heads, queries, keys, depth, _ = launch.sizes or (1, 1, 1, 1, 1, 1)
    return batch, heads, queries, keys, depth


def _text(launch: Launch) -> str:
    batch, heads, queries, keys, depth = _sizes(launch)
    return f"{batch} x {heads} heads of {depth}, {queries:,} queries and {keys:,} keys"


def _few_blocks(launch: Launch, tile: AttentionTile, rates: Rates) -> Iterator[Loss]:
    batch, heads, queries, keys, _ = _sizes(launch)
    rows = tile.rows or _rows(launch) or _ROWS
    along = keys if _BACKWARD.search(launch.kernel) and "dk_dv" in launch.kernel else queries
    blocks = batch * heads * -(-along // rows)
    working = min(blocks, launch.workgroups) if launch.workgroups else blocks
    if not working or rates.units / working < LEAST_LOSS:
        return
    known = launch.workgroups is not None or tile.rows is not None
    yield Loss(
        id="few-attention-blocks",
        times=rates.units / working,
        certainty="proven" if known and working <= 0.5 * rates.fewest else "likely",
        title=f"{format_count(working, 'workgroup')} for {rates.units} compute units: "
        f"{format_share(1 - working / rates.units)} of the GPU is idle",
        evidence=(
            f"{_text(launch)}: a workgroup takes {rows if known else f'about {rows}'} queries of one head",
            "it takes as long as one workgroup takes, however many there are",
        ),
    )


def _rows(launch: Launch) -> int | None:
    """Return the queries of a workgroup, by a grid that covers queries, heads and sequences."""
    batch, heads, queries, _, _ = _sizes(launch)
    if not launch.workgroups or launch.workgroups % (batch * heads):
        return None
    blocks = launch.workgroups // (batch * heads)
    rows = 1 << max(0, (-(-queries // blocks) - 1)).bit_length()
    return rows if 16 <= rows <= 512 and -(-queries // rows) == blocks else None


def _padded_heads(launch: Launch, tile: AttentionTile) -> Iterator[Loss]:
    depth = _sizes(launch)[4]
    padded = 1 << (depth - 1).bit_length()
    if tile.maker not in _BY_TRITON or not tile.pads or padded / depth < LEAST_LOSS:
        return
    yield Loss(
        id="head-padding",
        times=padded / depth,
        certainty="likely",
        title=f"heads of {depth} are computed as {padded}: {format_share(1 - depth / padded)} of the arithmetic is "
        "padding",
        evidence=(
            f"{_text(launch)}: {launch.tflops:,.0f} TFLOP/s of useful work",
            f"the ranges of {tile.maker}'s kernels are powers of two, unless this one has a variant for {depth}",
        ),
    )


def _large_heads(launch: Launch, tile: AttentionTile, rates: Rates) -> Iterator[Loss]:
    depth = _sizes(launch)[4]
    if depth < _LARGE_HEAD:
        return
    best = rates.attention.get(tile.maker)
    beside = f", where {tile.maker} reaches {best / 1000:,.0f} with heads of 128" if best else ""
    yield Loss(
        id="large-head",
        certainty="likely",
        title=f"heads of {depth}: the tiles of keys and values do not fit beside each other "
        f"({launch.tflops:,.0f} TFLOP/s{beside})",
        evidence=(_text(launch),),
    )


def _short(launch: Launch, times: Times) -> Iterator[Loss]:
    _, _, queries, keys, _ = _sizes(launch)
    if queries > _SHORT or queries <= 1 or launch.ns > _FAR * max(times.reference, SHORTEST_NS):
        return
    yield Loss(
        id="short-sequence",
        certainty="likely",
        title=f"{queries} queries and {keys} keys: a workgroup has {format_count(-(-keys // 128), 'step')} over the "
        "keys, and waits for each",
        evidence=(
            f"{_text(launch)}: its bytes and its arithmetic take {format_ns(times.floor)} at the peaks, and it takes "
            f"{format_ns(launch.ns)}",
            "attention with fewer than 512 queries reaches 5 to 15 % of the peaks",
        ),
    )


def _slow_implementation(launch: Launch, tile: AttentionTile, rates: Rates, times: Times) -> Iterator[Loss]:
    peak = rates.peaks.get(launch.ceiling or "")
    queries = _sizes(launch)[2]
    if (
        tile.maker not in _BY_TRITON
        or rates.gpu.gfx != "gfx942"
        or not peak
        or not launch.flops
        or queries <= _SHORT
    ):
        return
    reached = launch.flops / peak / launch.ns
    best = rates.best.get(launch.ceiling or "", peak)
    slower = min(_BEST_KNOWN, launch.ns * best / launch.flops)
    if reached > 0.35 or slower < LEAST_LOSS:
        return
    yield Loss(
        id="slow-attention-implementation",
        certainty="hint",
        title=f"{launch.tflops:,.0f} TFLOP/s, {format_share(launch.flops / best / launch.ns)} of what products reach: "
        "other implementations are up to twice as fast on this chip",
        evidence=(
            f"{_text(launch)}: {launch.flops / 1e12:.3g} TFLOP",
            f"{tile.maker} is the portable implementation; Composable Kernel and aiter have kernels made for this chip",
        ),
        share=1 - 1 / slower,
        saves=min(1 - 1 / slower, times.most_saved),
    )


def cache_losses(launch: Launch, tile: AttentionTile | None, rates: Rates) -> list[Loss]:
    """Return that reading the cache of keys and values sets the pace of decoding."""
    if tile is None or not tile.paged or not launch.moved or not launch.ns:
        return []
    reached = launch.moved / rates.bandwidth / launch.ns
    if reached < 0.35:
        return []
    return [
        Loss(
            id="kv-cache",
            certainty="likely",
            title=f"reading {format_bytes(launch.moved)} of keys and values sets the pace: {launch.tbytes:.3g} TB/s, "
            f"{format_share(min(1.0, reached))} of the memory's peak",
            evidence=("one query looks at every key that is kept, and uses each once",),
            share=min(1.0, launch.moved / rates.best_bandwidth / launch.ns),
            saves=max(0.0, 1 - reached),
        )
    ]
