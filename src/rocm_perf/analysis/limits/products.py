"""Why a matrix product takes its time, from its sizes, the tile in its kernel's name and the recorded grid."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal

import msgspec
from msgspec.structs import replace

from rocm_perf.analysis.limits.losses import LEAST_LOSS, Launch, Loss, Rates, Times
from rocm_perf.analysis.limits.tiles import Tile
from rocm_perf.analysis.time.matrix_units import matrix_by_name
from rocm_perf.model.machine_ceilings import MATRIX, VECTOR
from rocm_perf.units import format_bytes, format_count, format_ns, format_share

FULL = 0.8  # of the compute units have work: a GPU with more is full
_MOST_SPLITS = 64
_MANY_PARTS = 8
_SWIZZLES = (2, 4, 8)  # tiles to which CUTLASS rounds one side of its grid up
_SWIZZLE = 1.35  # times the tiles at most, unless there are few of them
_STEPS = 8  # of the sum that a part keeps at least
_LARGE_TILE = 24_576  # elements of a tile that leaves no room on a compute unit for a second one
_FEW_ROUNDS = 5
_BRIEF_NS, _FAR = 10_000, 0.35
_SHORT_LOOP = 4  # steps of a sum, behind which loads cannot hide
_STREAMING = 0.35  # of the memory's peak
_SKINNY, _DEEP = (
    32,
    256,
)  # rows of a tile, and terms of its step, that libraries choose for products of few rows
_MANY = 1000
_LINE_BYTES = {"AMD": 128, "NVIDIA": 16}  # to which a row has to begin for loads at full width
_BYTES = {"f64": 8, "f32": 4, "xf32": 4, "f16": 2, "bf16": 2, "f8": 1, "i8": 1, "f4": 0.5}

Grid = Literal["by tiles", "split", "persistent", "padded", "other"]
_LIKELIEST: tuple[Grid, ...] = ("by tiles", "split", "padded", "persistent", "other")


class Fit(msgspec.Struct, frozen=True):
    """How a product lies on a GPU. `workgroups` are those with a tile of their own or a part of one."""

    tile: Tile
    tiles: int
    workgroups: int
    split: int
    grid: Grid
    fill: float  # times longer because compute units have no workgroup
    wave: float  # because the last round is not full
    edge: float  # because tiles stand out over the result

    @property
    def times(self) -> float:
        """Return how many times longer all of them make it."""
        return self.fill * self.wave * self.edge

    @property
    def doubt(self) -> tuple[int, float]:
        """Return how unlikely it is that the tile lies like this: the grid decides, and then the padding."""
        return _LIKELIEST.index(self.grid), self.edge


def fit(tile: Tile, sizes: tuple[int, ...], recorded: int | None, units: int) -> Fit:
    """Return how a product of batch, M, N, K lies on so many compute units; `recorded`: the workgroups of its grid."""
    if tile.either:
        ways = (replace(tile, columns_first=first, either=False) for first in (False, True))
        return min((fit(way, sizes, recorded, units) for way in ways), key=lambda way: way.doubt)
    batch, rows, columns, _ = sizes
    tiles = tile.count(rows, columns, batch)
    groups, split, grid = _grid(tile, sizes, recorded, units)
    working = tiles * split if grid == "padded" else groups
    rounds = max(working, tiles if grid == "persistent" else 0) / units
    fill = max(1.0, units / working)
    whole = math.ceil(rounds) / rounds if rounds >= 1 and not tile.stream and grid != "other" else 1.0
    return Fit(tile, tiles, working, split, grid, fill, whole, tile.padded(rows, columns, batch))


def _grid(tile: Tile, sizes: tuple[int, ...], recorded: int | None, units: int) -> tuple[int, int, Grid]:
    """Return the workgroups, the parts of the sum, and what kind of grid it is."""
    batch, rows, columns, _ = sizes
    tiles = tile.count(rows, columns, batch)
    if recorded is None:
        split = tile.split or 1
        return tiles * split, split, "split" if split > 1 else "by tiles"
    if recorded == tiles:
        return recorded, 1, "by tiles"
    if recorded < tiles or (recorded % units == 0 and recorded % tiles):
        return recorded, 1, "persistent"
    split, rest = divmod(recorded, tiles)
    if not rest and 2 <= split <= _MOST_SPLITS:
        return recorded, split, "split"
    high, wide = tile.sides
    along = (-(-rows // high), -(-columns // wide))
    for whole in sorted(_rounded_up(along, batch)):
        split, rest = divmod(recorded, whole)
        if not rest and (split == 1 or (split <= _MOST_SPLITS and whole <= _SWIZZLE * tiles)):
            return recorded, split, "padded"
    return recorded, 1, "other"


def _rounded_up(along: tuple[int, int], batch: int) -> set[int]:
    """Return the workgroups of grids with one side rounded up to the width of a swizzle, or to that of a cluster."""
    high, wide = along
    few = high * wide < _SWIZZLES[-1] * 2
    return {
        batch * size
        for step in _SWIZZLES
        for size in (-(-high // step) * step * wide, high * -(-wide // step) * step)
        if few or size <= _SWIZZLE * high * wide
    }


def product_losses(launch: Launch, tile: Tile | None, rates: Rates, times: Times) -> list[Loss]:
    """Return what makes a product of known sizes take longer than its work needs, and the limit that it reaches."""
    if launch.sizes is None or len(launch.sizes) != 4 or not launch.ns:
        return []
    losses = [*_units(launch, rates), *_memory(launch, tile, rates, times)]
    streams = any(loss.id in ("streams-weights", "thin-product") for loss in losses)
    if tile is not None and tile.maker != "ggml":
        placed = fit(tile, launch.sizes, launch.workgroups, rates.units)
        losses += _of_grid(launch, placed, rates, times, streams)
    if launch.ns < _BRIEF_NS and times.floor / launch.ns < _FAR and not streams:
        return [_small(launch, times)]
    return losses if streams else [*losses, *_alignment(launch, tile, rates)]


def _size(launch: Launch) -> str:
    batch, rows, columns, terms = launch.sizes or (1, 0, 0, 0)
    many = f"{batch:,} products of " if batch > 1 else ""
    return f"{many}{rows} x {columns} x {terms} (rows, columns, terms of each sum)"


def _of_grid(launch: Launch, placed: Fit, rates: Rates, times: Times, streams: bool) -> Iterator[Loss]:
    if placed.fill >= LEAST_LOSS:
        yield _few_tiles(launch, placed, rates, times)
        wave = 1.0
    else:
        wave = of_arithmetic(placed.wave, launch, rates)
    if wave >= LEAST_LOSS and placed.workgroups <= _FEW_ROUNDS * rates.units:
        yield replace(_last_wave(launch, placed, rates), times=wave)
    yield from _over_split(launch, placed)
    batch = (launch.sizes or (1,))[0]
    edge = of_arithmetic(placed.edge, launch, rates)
    if edge >= LEAST_LOSS and not streams:
        yield replace(_padding(launch, placed, many=batch > _MANY and edge >= 2), times=edge)


def _over_split(launch: Launch, placed: Fit) -> Iterator[Loss]:
    """Yield that a sum is split into parts of less than a step each: adding them up then costs more than they do."""
    terms = (launch.sizes or (1, 0, 0, 0))[3]
    parts = (launch.workgroups or 0) // placed.tiles
    if parts < _MANY_PARTS or terms >= parts * (placed.tile.k or 8):
        return
    yield Loss(
        id="over-split",
        certainty="likely",
        title=f"its sums of {terms} terms are split in {parts} parts: adding them up takes longer than computing them",
        evidence=(
            f"{launch.workgroups:,} workgroups for {format_count(placed.tiles, 'tile')}",
            _size(launch),
        ),
    )


def of_arithmetic(times: float, launch: Launch, rates: Rates) -> float:
    """Return how many times longer a launch gets by so many times the arithmetic: memory hides some of it."""
    best = rates.best.get(launch.ceiling or "")
    if not best or not launch.flops or not launch.moved:
        return times
    memory, arithmetic = launch.moved / rates.best_bandwidth, launch.flops / best
    return max(arithmetic * times, memory) / max(arithmetic, memory)


def _few_tiles(launch: Launch, placed: Fit, rates: Rates, times: Times) -> Loss:
    batch, rows, columns, terms = launch.sizes or (1, 0, 0, 0)
    groups, units = placed.workgroups, rates.units
    high, wide = placed.tile.sides
    of_batch = f"{batch:,} times " if batch > 1 else ""
    parts = f", each with its sum of {terms} in {placed.split} parts" if placed.split > 1 else ""
    lines = [
        f"{of_batch}{rows} x {columns} results in tiles of {high} x {wide} are "
        f"{format_count(placed.tiles, 'tile')}{parts}"
    ]
    peak = rates.peaks.get(launch.ceiling or "")
    if peak and launch.flops:
        each = launch.flops / launch.ns / groups
        share = each / (peak / units)
        lines.append(
            f"each busy compute unit does {each / 1000:.3g} TFLOP/s, {format_share(min(share, 1.0))} of its peak"
        )
    lines.append(_by_splitting(launch, placed, rates, times))
    if not rates.is_product:
        lines.append(
            f"the recording names the chip, not the product, whose smallest has {rates.fewest} compute units"
        )
    return Loss(
        id="few-tiles",
        times=placed.fill,
        certainty="proven" if groups <= 0.5 * rates.fewest or rates.is_product else "likely",
        title=f"{format_count(groups, 'workgroup')} for {units} compute units: {format_share(1 - groups / units)} of "
        "the GPU is idle",
        evidence=tuple(line for line in lines if line),
    )


def _by_splitting(launch: Launch, placed: Fit, rates: Rates, times: Times) -> str:
    """Return what more parts of the sum would give, by their number, the memory and the adding up of parts."""
    batch, rows, columns, terms = launch.sizes or (1, 0, 0, 0)
    parts = min(rates.units // placed.tiles, terms // (_STEPS * (placed.tile.k or 32)))
    at_most = f"at most {launch.ns / times.floor:.3g}x, by the peaks" if times.floor else ""
    if parts <= placed.split:
        return f"its sum cannot be split into more parts without a second round; {at_most}" if at_most else ""
    best = rates.best.get(launch.ceiling or "")
    if not best or not launch.flops:
        return at_most
    adding = 2 * 4 * parts * batch * rows * columns / rates.best_bandwidth
    busy = min(1.0, placed.tiles * parts / rates.units)
    took = max(launch.flops / best / busy, times.floor) + adding
    if took > launch.ns / LEAST_LOSS:
        return at_most
    return f"with its sum in {parts} parts it would take about {format_ns(took)}; {at_most}"


def _last_wave(launch: Launch, placed: Fit, rates: Rates) -> Loss:
    rounds = max(placed.workgroups, placed.tiles) / rates.units
    full = math.ceil(rounds)
    last = rounds - (full - 1)
    lines = [_covered(launch, placed)]
    smaller = _a_little_smaller(launch, placed, rates)
    if smaller:
        lines.append(smaller)
    large = placed.tile.elements >= _LARGE_TILE
    if not large:
        lines.append(
            "if two of these workgroups fit a compute unit at a time, the rounds are fewer and the loss differs"
        )
    return Loss(
        id="last-wave",
        times=placed.wave,
        certainty="proven" if large and rates.is_product else "likely",
        title=f"{placed.workgroups:,} workgroups are {rounds:.2f} rounds of {rates.units} compute units: the last "
        f"round is {format_share(last)} full",
        evidence=tuple(lines),
    )


def _covered(launch: Launch, placed: Fit) -> str:
    batch, rows, columns, _ = launch.sizes or (1, 0, 0, 0)
    high, wide = placed.tile.sides
    times = f"{batch:,} times " if batch > 1 else ""
    return f"{times}{rows} x {columns} results in tiles of {high} x {wide} are {placed.tiles:,} tiles"


def _a_little_smaller(launch: Launch, placed: Fit, rates: Rates) -> str:
    """Return what a few rows or columns less would save: 4096 instead of 4097."""
    batch, rows, columns, _ = launch.sizes or (1, 0, 0, 0)
    high, wide = placed.tile.sides
    fewer = [
        size - size % step if size % step <= size // 50 and size >= step else size
        for size, step in ((rows, high), (columns, wide))
    ]
    powers = [1 << (size.bit_length() - 1) for size in (rows, columns)]
    near = [
        power if size - power <= size // 50 else less
        for size, power, less in zip((rows, columns), powers, fewer, strict=True)
    ]
    if near == [rows, columns]:
        return ""
    tiles = placed.tile.count(near[0], near[1], batch) * placed.split
    before, after = math.ceil(placed.workgroups / rates.units), math.ceil(tiles / rates.units)
    if after >= before:
        return ""
    return (
        f"{near[0]} x {near[1]} results would take {tiles:,} workgroups: {after} rounds instead of {before}"
    )


def _padding(launch: Launch, placed: Fit, *, many: bool) -> Loss:
    batch, rows, columns, _ = launch.sizes or (1, 0, 0, 0)
    high, wide = placed.tile.sides
    wasted = format_share(1 - 1 / placed.edge)
    if many:
        title = f"{batch:,} products of {rows} x {columns} in tiles of {high} x {wide}: {wasted} is padding"
    else:
        title = (
            f"{wasted} of its arithmetic is padding: {rows} x {columns} results in tiles of {high} x {wide}"
        )
    return Loss(
        id="many-tiny-products" if many else "tile-padding",
        times=placed.edge,
        title=title,
        evidence=(
            f"its {placed.tiles:,} tiles compute {placed.edge:.3g} times as many elements as the result has",
        ),
    )


def _memory(launch: Launch, tile: Tile | None, rates: Rates, times: Times) -> Iterator[Loss]:
    """Yield that the memory sets the pace of a product, by its FLOPs for each byte."""
    intensity, best = launch.intensity, rates.best.get(launch.ceiling or "")
    if intensity is None or not best or not launch.moved:
        return
    ridge = best / rates.best_bandwidth
    batch, rows, columns, terms = launch.sizes or (1, 0, 0, 0)
    if intensity >= ridge / 2 or launch.moved / rates.best_bandwidth < times.reference * 0.5:
        return
    least = min(rows, columns)
    reached = launch.moved / rates.bandwidth / launch.ns
    if terms < _SHORT_LOOP * (tile.k or 32 if tile else 32) and max(rows, columns) > 16 * terms:
        yield _thin(launch, tile, rates, times, ridge)
        return
    if reached < _STREAMING or (least > ridge / 2 and batch == 1):
        return
    what = "weights" if batch == 1 else "operands"
    size = launch.moved if batch > 1 else _BYTES.get(launch.dtype, 2) * terms * max(rows, columns)
    yield Loss(
        id="streams-weights",
        certainty="proven" if reached >= 0.6 else "likely",
        title=f"its {format_bytes(size)} of {what} set the pace: {format_count(least, 'row')} "
        f"{'uses' if least == 1 else 'use'} them at {launch.tbytes:.3g} TB/s, {format_share(min(1.0, reached))} of the "
        "memory's peak",
        evidence=(
            f"{_size(launch)} are {intensity:.3g} FLOPs for each byte; up to {ridge:,.0f} memory is slower than "
            "arithmetic",
            f"at the peak of the memory it would take {format_ns(launch.moved / rates.bandwidth)} instead of "
            f"{format_ns(launch.ns)}",
        ),
        share=min(1.0, launch.moved / rates.best_bandwidth / launch.ns),
        saves=max(0.0, 1 - reached),
    )


def _thin(launch: Launch, tile: Tile | None, rates: Rates, times: Times, ridge: float) -> Loss:
    terms = (launch.sizes or (1, 0, 0, 0))[3]
    steps = -(-terms // (tile.k or 32 if tile else 32))
    moved = launch.moved or 0.0
    least = times.reference
    return Loss(
        id="thin-product",
        certainty="proven" if moved / rates.best_bandwidth > 0.6 * launch.ns else "likely",
        title=f"a stream of {format_bytes(moved)} done as a product: {launch.intensity or 0:.3g} FLOPs for each byte, "
        f"{launch.tbytes:.3g} TB/s",
        evidence=(
            f"{_size(launch)}; up to {ridge:,.0f} FLOPs for each byte memory is slower than arithmetic",
            f"each sum takes {format_count(steps, 'step')}: there is no loop behind which loads could hide",
            f"it could take {format_ns(least)}, what the stream or the shortest dispatch takes, at most "
            f"{launch.ns / least:.2g}x by itself",
        ),
        share=1.0,
        saves=max(0.0, 1 - least / launch.ns),
    )


def _small(launch: Launch, times: Times) -> Loss:
    return Loss(
        id="small-product",
        certainty="likely",
        title=f"{format_ns(launch.ns)} for {(launch.flops or 0) / 1e9:.3g} GFLOP: too little work to come near a peak",
        evidence=(
            f"{_size(launch)} take {format_ns(times.floor)} at the peaks",
            f"the shortest useful dispatch takes about {format_ns(launch.shortest_ns)}",
        ),
        share=max(0.0, 1 - times.floor / launch.ns),
        saves=max(0.0, 1 - launch.shortest_ns / launch.ns),
    )


def _units(launch: Launch, rates: Rates) -> Iterator[Loss]:
    """Yield that a product runs in a type or on a unit that is slower than another of the GPU."""
    vector = rates.peaks.get(launch.dtype + VECTOR)
    busy = launch.flops / vector / launch.ns if launch.flops and vector else None
    if launch.dtype == "f64":
        peak = rates.peaks.get("f64" + MATRIX) or vector
        yield double_precision(
            launch, launch.flops / peak / launch.ns if launch.flops and peak else None, rates
        )
    elif launch.dtype and matrix_by_name(launch.kernel) is False and busy is not None:
        loss = off_matrix_units(launch.dtype, rates, busy)
        if loss is not None:
            yield loss


def double_precision(launch: Launch, busy: float | None, rates: Rates | None) -> Loss:
    """Return that a product is computed in float64."""
    peaks = rates.peaks if rates else {}
    single = max(
        (peaks.get(name, 0.0) for name in ("f32" + MATRIX, "f32" + VECTOR, "xf32" + MATRIX)), default=0.0
    )
    double = peaks.get("f64" + MATRIX) or peaks.get("f64" + VECTOR)
    ratio = single / double if single and double else None
    reached = f", at {format_share(min(busy, 1.0))} of what it does in float64" if busy is not None else ""
    lines = (
        [
            f"the GPU does up to {ratio:.3g} times as many operations in float32, or in what it multiplies float32 in"
        ]
        if ratio
        else ["the name or the type of its operands says so"]
    )
    return Loss(
        id="f64-product",
        title=f"it multiplies in float64{reached}",
        evidence=(*lines, *((_size(launch),) if launch.sizes and len(launch.sizes) == 4 else ())),
        share=1.0 if busy is None else min(1.0, busy / 0.9),
        saves=1 - 1 / ratio if ratio and ratio > 1 else 0.0 if ratio else None,
    )


def off_matrix_units(dtype: str, rates: Rates | None, busy: float | None) -> Loss | None:
    """Return that a product runs on the vector units; None where the GPU has no faster ones for it."""
    narrow = "bf16" if dtype == "f32" else dtype
    ratio, faster = None, ""
    if rates is not None:
        vector = rates.peaks.get(dtype + VECTOR)
        others = {
            name: rates.peaks[name + MATRIX]
            for name in ("xf32", narrow, dtype)
            if name + MATRIX in rates.peaks
        }
        if not vector or not others:
            return None
        faster = max(others, key=lambda name: others[name])
        ratio = others[faster] / vector
        if ratio < LEAST_LOSS:
            return None
    full = f"; it fills {format_share(min(busy, 1.0))} of the vector units" if busy is not None else ""
    lines = ["its name has no matrix instruction"]
    if ratio:
        lines.append(f"the matrix units of the GPU do {ratio:.3g} times as many operations in {faster}")
    return Loss(
        id="f32-off-matrix-units" if dtype == "f32" else "half-off-matrix-units",
        certainty="proven" if busy is not None else "likely",
        title=f"its {dtype} products do not run on the matrix units{full}",
        evidence=tuple(lines),
        share=1.0 if busy is None else min(1.0, busy / 0.85),
        saves=1 - 1 / ratio if ratio else None,
    )


def _alignment(launch: Launch, tile: Tile | None, rates: Rates) -> Iterator[Loss]:
    """Yield that rows do not begin where loads want them to; what it costs is not known from the shape."""
    line = _LINE_BYTES.get(rates.gpu.vendor, 16)
    rows = [
        _row(argument.shape, argument.strides) * (argument.element_bytes or 0)
        for argument in launch.arguments
        if argument.kind == "tensor" and len(argument.shape) >= 2
    ]
    if launch.sizes:
        rows.append(int(launch.sizes[2] * _BYTES.get(launch.dtype, 2)))  # of the result
    odd = [f"{size:,} B" for size in rows if size > line and size % line]
    narrow = (
        tile is not None and tile.alignment is not None and tile.alignment * _BYTES.get(launch.dtype, 2) < 16
    )
    if not odd or (rates.gpu.vendor == "NVIDIA" and not narrow):
        return
    loads = (
        f", and the kernel loads {format_count(tile.alignment or 1, 'element')} at a time"
        if tile and narrow
        else ""
    )
    yield Loss(
        id="misaligned-rows",
        certainty="likely" if narrow else "hint",
        title=f"rows of {odd[0]} begin at any place of a {line}-byte line{loads}",
        evidence=(
            "what that costs does not follow from the shape: compare it with a size that is a multiple",
        ),
    )


def _row(shape: tuple[int, ...], strides: tuple[tuple[int, ...], ...]) -> int:
    """Return the elements from one row of a matrix to the next, whichever of its axes is dense."""
    if strides and len(strides[0]) == len(shape):
        return max(strides[0][-2:])
    return shape[-1]


class Sibling(msgspec.Struct, frozen=True):
    """The best product of the same library and type in a recording: its rate, and how near it comes to the model."""

    size: str
    tflops: float
    model: float


def efficiency(launch: Launch, tile: Tile, rates: Rates) -> float | None:
    """Return how near a product bound by arithmetic comes to what its tiles allow; None where memory binds it."""
    best = rates.best.get(launch.ceiling or "")
    if launch.sizes is None or len(launch.sizes) != 4 or not best or not launch.flops or not launch.ns:
        return None
    placed = fit(tile, launch.sizes, launch.workgroups, rates.units)
    arithmetic = launch.flops / best
    if (launch.moved or 0.0) / rates.best_bandwidth > arithmetic:
        return None
    return arithmetic * placed.times / launch.ns


def modelled_ns(launch: Launch, tile: Tile, rates: Rates) -> float:
    """Return the least time of a product by its tiles, its work and the rates that the best kernels reach."""
    placed = fit(tile, launch.sizes or (1, 1, 1, 1), launch.workgroups, rates.units)
    flops = (launch.flops or 0.0) / rates.best[launch.ceiling or ""]
    return max(flops * placed.times, (launch.moved or 0.0) / rates.best_bandwidth)


def slower_than(launch: Launch, model: float, best: Sibling) -> Loss | None:
    """Return that the same library does better with another shape of the recording."""
    if model > FULL * best.model or launch.tflops > FULL * best.tflops:
        return None
    return Loss(
        id="slower-than-sibling",
        times=best.model / model,
        title=f"{launch.tflops:,.0f} TFLOP/s, where the same library reaches {best.tflops:,.0f} in this recording",
        evidence=(
            f"{_size(launch)} here, {best.size.partition(' (')[0]} there",
            "tiles, padding and rounds are taken into account: what remains is the choice of the kernel",
        ),
    )


def size_of(launch: Launch) -> str:
    """Return the size of a product in words."""
    return _size(launch)


def by_name(launch: Launch, tile: Tile | None, rates: Rates | None) -> list[Loss]:
    """Return what the name and the grid of a product tell where its operator was not recorded."""
    losses: list[Loss] = []
    dtype = tile.dtype if tile else None
    if dtype == "f64":
        losses.append(double_precision(launch, None, rates))
    elif dtype in ("f32", "f16", "bf16") and matrix_by_name(launch.kernel) is False:
        loss = off_matrix_units(dtype, rates, None)
        losses += [loss] if loss else []
    if tile is None or tile.maker == "ggml":
        return losses
    if rates is not None and launch.workgroups and not tile.stream:
        losses += _few_by_grid(launch.workgroups, tile, rates)
    high, wide = tile.sides
    skinny = high <= _SKINNY and (wide >= 4 * high or (tile.k or 0) >= _DEEP)
    if skinny and launch.ns >= _BRIEF_NS and tile.maker in ("Tensile", "nvjet", "xmma", "CUTLASS"):
        losses.append(
            Loss(
                id="streams-weights",
                certainty="hint",
                title=f"its tiles are {high} rows high, as for products of so few rows that reading the weights sets "
                "the pace",
                evidence=(
                    f"{high} rows use each weight {high} times; below about 100 memory is slower than arithmetic",
                    "the sizes of the product were not recorded",
                ),
                share=0.5,
                saves=None,
            )
        )
    return losses


def _few_by_grid(groups: int, tile: Tile, rates: Rates) -> list[Loss]:
    idle = 1 - groups / rates.units
    if rates.units / groups < LEAST_LOSS:
        return []
    return [
        Loss(
            id="few-tiles",
            certainty="proven" if groups <= 0.5 * rates.fewest else "likely",
            title=f"{format_count(groups, 'workgroup')} for {rates.units} compute units: {format_share(idle)} of the "
            "GPU is idle",
            evidence=(
                f"its tiles have {tile.m} x {tile.n} elements",
                "the sizes of the product were not recorded",
            ),
            share=idle,
            saves=idle,
        )
    ]
