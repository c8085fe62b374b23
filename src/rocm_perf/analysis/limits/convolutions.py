"""Why a convolution takes its time: it is a product whose sizes follow from channels, pixels and taps, with traits that
one algorithm or another cannot serve."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import prod

import msgspec

from rocm_perf.analysis.limits.losses import LEAST_LOSS, Launch, Loss, Rates, Times
from rocm_perf.analysis.limits.products import fit, of_arithmetic
from rocm_perf.analysis.limits.tiles import Tile
from rocm_perf.analysis.operators.work.call import Call
from rocm_perf.analysis.operators.work.registry import formulas_of
from rocm_perf.analysis.time.matrix_units import matrix_by_name
from rocm_perf.model.machine_ceilings import MATRIX, VECTOR
from rocm_perf.units import format_bytes, format_count, format_ns, format_share

_FEW_CHANNELS = 4
_INSTRUCTION = 16  # channels of a matrix instruction
_FAR = 0.5  # of the reference
_DIRECT = re.compile(r"winograd|naive|direct|Sp3Asm|Asm(?:Conv|1x1)|dgrad_engine|wgrad_engine", re.IGNORECASE)
_WINOGRAD = re.compile(r"winograd|Sp3Asm", re.IGNORECASE)
_WINOGRAD_SAVES = 2.25  # times fewer multiplications, F(2x2, 3x3)
_OF_INPUT = re.compile(r"dgrad|bwd(?!_?wei)|backward_?data", re.IGNORECASE)
_OF_WEIGHT = re.compile(r"wgrad|bwd_?wei|wrw", re.IGNORECASE)


class Convolution(msgspec.Struct, frozen=True):
    """The sizes of one convolution. `channels` and `filters` are those of the whole, `taps` the extents of a filter."""

    images: int
    channels: int
    filters: int
    groups: int
    taps: tuple[int, ...]
    inputs: tuple[int, ...]  # pixels along each axis
    outputs: int  # pixels of one image
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    transposed: bool

    def product(self, kernel: str) -> tuple[int, int, int, int]:
        """Return batch, M, N and K of the product that a kernel makes of it: its name says which gradient it is."""
        rows, pixels = self.images * self.outputs, self.images * prod(self.inputs)
        depth, width = self.channels // self.groups, self.filters // self.groups
        if _OF_WEIGHT.search(kernel):
            return self.groups, width, depth * prod(self.taps), rows
        if self.transposed:
            return self.groups, rows, width, depth * prod(self.taps)
        if _OF_INPUT.search(kernel):
            return self.groups, pixels, depth, width * prod(self.taps)
        return self.groups, rows, width, depth * prod(self.taps)

    @property
    def text(self) -> str:
        """Return the sizes in words."""
        image = " x ".join(str(size) for size in self.inputs)
        taps = " x ".join(str(size) for size in self.taps)
        return f"{self.images} x {self.channels} channels x {image}, {self.filters} filters of {taps}"


def convolution(launch: Launch) -> Convolution | None:
    """Return the sizes of a recorded convolution; None where its arguments do not tell them."""
    for formula in formulas_of(launch.operator):
        call = Call(formula.named(launch.arguments))
        data, weight = call.given("input"), call.given("weight")
        if data is None or weight is None or len(data.shape) != len(weight.shape) or len(weight.shape) < 3:
            continue
        try:
            return _sizes(launch, call, data.shape, weight.shape)
        except (ValueError, IndexError, ZeroDivisionError):
            continue
    return None


def _sizes(launch: Launch, call: Call, data: tuple[int, ...], weight: tuple[int, ...]) -> Convolution:
    axes = len(weight) - 2
    transposed = call.is_true("transposed") or "transpose" in launch.operator
    strides = tuple(call.each("stride", axes)) if call.text("stride") else (1,) * axes
    gaps = tuple(call.each("dilation", axes)) if call.text("dilation") else (1,) * axes
    pads = (
        call.each("padding", axes)
        if call.text("padding")[:1] in "([0123456789" and call.text("padding")
        else [0] * axes
    )
    if transposed:
        groups = call.integer("groups") if call.text("groups") else 1
        filters = weight[1] * groups
        sizes = [
            (size - 1) * step - 2 * pad + gap * (tap - 1) + 1
            for size, step, pad, gap, tap in zip(data[2:], strides, pads, gaps, weight[2:], strict=True)
        ]
    else:
        groups, filters = data[1] // weight[1], weight[0]
        sizes = list(data[2:]) if call.text("padding") == "same" else [
            (size + 2 * pad - gap * (tap - 1) - 1) // step + 1
            for size, step, pad, gap, tap in zip(data[2:], strides, pads, gaps, weight[2:], strict=True)
        ]  # fmt: skip
    return Convolution(
        images=data[0],
        channels=data[1],
        filters=filters,
        groups=max(groups, 1),
        taps=weight[2:],
        inputs=data[2:],
        outputs=prod(sizes),
        strides=strides,
        dilations=gaps,
        transposed=transposed,
    )


def convolution_losses(launch: Launch, tile: Tile | None, rates: Rates, times: Times) -> list[Loss]:
    """Return what makes a convolution take longer than its work needs."""
    sizes = convolution(launch)
    if sizes is None or not launch.ns:
        return []
    if sizes.groups > 1 and sizes.groups == sizes.channels:
        return [_depthwise(launch, sizes, rates, times)]
    return [
        *_units(launch, rates, times),
        *_grid(launch, sizes, tile, rates),
        *_traits(launch, sizes, times),
    ]


def _depthwise(launch: Launch, sizes: Convolution, rates: Rates, times: Times) -> Loss:
    moved = launch.moved or 0.0
    return Loss(
        id="depthwise",
        certainty="proven" if launch.moved and times.loss >= LEAST_LOSS else "likely",
        title=f"a depthwise convolution: no matrix unit can help, and it moves {launch.tbytes:.2g} TB/s, "
        f"{format_share(moved / rates.bandwidth / launch.ns)} of the memory's peak",
        evidence=(
            f"{sizes.text}, one channel for each filter: {launch.intensity or 0:.2g} FLOPs for each byte",
            f"reading and writing {format_bytes(moved)} takes {format_ns(times.reference)}",
        ),
        share=1.0 if times.loss >= LEAST_LOSS else min(1.0, times.reference / launch.ns),
        saves=max(0.0, 1 - times.reference / launch.ns),
    )


def _grid(launch: Launch, sizes: Convolution, tile: Tile | None, rates: Rates) -> Iterator[Loss]:
    """Yield what the tiles and the grid cost. Where the name does not say that the sum is split, workgroups beyond the
    tiles have no part of the result of their own."""
    if tile is None:
        if launch.workgroups and rates.units / launch.workgroups >= LEAST_LOSS:
            yield _few(launch, sizes, rates, launch.workgroups, rates.units / launch.workgroups, ())
        return
    product = sizes.product(launch.kernel)
    placed = fit(tile, product, launch.workgroups, rates.units)
    splits = tile.splits_at_run_time or (tile.split or 1) > 1 or bool(_OF_WEIGHT.search(launch.kernel))
    recorded = launch.workgroups or placed.tiles
    working = recorded if splits else min(recorded, placed.tiles)
    waves = -(-(launch.workgroup or 256) // rates.gpu.wave_size)
    fill = max(rates.units / working, rates.simds / (working * waves), 1.0)
    lines = [
        f"as a product: {product[1]:,} x {product[2]:,} results with sums of {product[3]:,} terms, "
        f"in tiles of {tile.m} x {tile.n}: {format_count(placed.tiles, 'tile')}"
    ]
    if launch.workgroups and working < launch.workgroups:
        lines.append(
            f"{launch.workgroups:,} workgroups were launched, but its name does not say that sums are split among them"
        )
    elif waves < rates.gpu.simds_per_cu and rates.simds / (working * waves) > rates.units / working:
        lines.append(
            f"a workgroup of {launch.workgroup} work-items fills {waves} of the {rates.gpu.simds_per_cu} SIMDs"
        )
    if fill >= LEAST_LOSS:
        yield _few(launch, sizes, rates, working, fill, tuple(lines), sure=working == launch.workgroups)
    elif placed.wave >= LEAST_LOSS and placed.grid != "other":
        yield Loss(
            id="last-wave",
            times=placed.wave,
            certainty="likely",
            title=f"{placed.workgroups:,} workgroups are {placed.workgroups / rates.units:.2f} rounds of {rates.units} "
            "compute units: the last round is not full",
            evidence=tuple(lines),
        )
    edge = of_arithmetic(placed.edge, launch, rates)
    if edge >= LEAST_LOSS:
        yield Loss(
            id="tile-padding",
            times=edge,
            title=f"{format_share(1 - 1 / placed.edge)} of its arithmetic is padding: {product[1]:,} x {product[2]:,} "
            f"results in tiles of {tile.m} x {tile.n}",
            evidence=tuple(lines),
        )


def _few(  # noqa: PLR0913, PLR0917  (what the sentence says)
    launch: Launch,
    sizes: Convolution,
    rates: Rates,
    working: int,
    fill: float,
    lines: Sequence[str],
    sure: bool = True,
) -> Loss:
    most = 1 - working / rates.units
    idle = f"{format_share(most)} of the GPU is idle" if most > 0 else "each is too small for one"
    flops = f"{(launch.flops or 0) / 1e9:,.3g} GFLOP" if launch.flops else "its work"
    return Loss(
        id="few-convolution-tiles",
        times=fill,
        certainty="proven" if sure and rates.is_product else "likely",
        title=f"{format_count(working, 'workgroup')} with work for {rates.units} compute units: {idle}",
        evidence=(*lines, f"{sizes.text}: {flops}, {sizes.images * sizes.outputs:,} output pixels"),
    )


def _units(launch: Launch, rates: Rates, times: Times) -> Iterator[Loss]:
    if matrix_by_name(launch.kernel) is not False or not launch.dtype:
        return
    vector = rates.peaks.get(launch.dtype + VECTOR)
    faster = {
        name: rates.peaks[name + MATRIX]
        for name in ("xf32", "bf16" if launch.dtype == "f32" else launch.dtype)
        if name + MATRIX in rates.peaks
    }
    if not vector or not faster:
        return
    name = max(faster, key=lambda one: faster[one])
    winograd = bool(_WINOGRAD.search(launch.kernel))
    ratio = faster[name] / vector / (_WINOGRAD_SAVES if winograd else 1.0)
    if ratio < LEAST_LOSS:
        return
    yield Loss(
        id="no-matrix-solver",
        times=min(ratio, max(times.loss, 1.0)) if launch.dtype != "f32" else ratio,
        certainty="likely",
        title=f"its solver does not use the matrix units: {launch.tflops:.3g} TFLOP/s in {launch.dtype}",
        evidence=(
            f"the matrix units do {faster[name] / vector:.3g} times as many operations in {name}",
            *(("Winograd saves up to 2.25 times the multiplications of a 3 x 3 filter",) if winograd else ()),
        ),
    )


def _traits(launch: Launch, sizes: Convolution, times: Times) -> Iterator[Loss]:
    """Yield what of the shape costs time without saying how much."""
    reached = format_share(min(1.0, times.reference / launch.ns))
    rate = f"{launch.tflops:.3g} TFLOP/s, {reached} of what such work reaches"
    if sizes.groups == 1 and sizes.channels <= _FEW_CHANNELS and not sizes.transposed:
        yield Loss(
            id="few-channels",
            certainty="likely",
            title=f"{sizes.channels} input channels: pixels cannot be read in 16-byte pieces ({rate})",
            evidence=(sizes.text, f"its sums have {sizes.channels * prod(sizes.taps)} terms"),
        )
    pointwise = prod(sizes.taps) == 1 and prod(sizes.strides) == 1 and not sizes.transposed
    if pointwise and times.reference < _FAR * launch.ns:
        wrong = _DIRECT.search(launch.kernel) is not None
        yield Loss(
            id="pointwise-convolution",
            certainty="proven" if wrong else "likely",
            title=f"a 1 x 1 convolution is a plain product, and runs at {rate}",
            evidence=(
                sizes.text,
                *(("its kernel is made for filters with several taps",) if wrong else ()),
                f"a product of {sizes.images * sizes.outputs:,} x {sizes.filters} x {sizes.channels} could take "
                f"{format_ns(times.reference)}",
            ),
        )
    depth = sizes.channels // sizes.groups
    if sizes.groups > 1 and depth < _INSTRUCTION:
        yield Loss(
            id="narrow-groups",
            certainty="likely",
            title=f"groups of {format_count(depth, 'channel')}: matrix instructions take {_INSTRUCTION} at a time",
            evidence=(sizes.text, f"{sizes.groups} groups, each with a sum of its own"),
        )
    why = _unusual(sizes)
    if why:
        yield Loss(
            id="no-fast-algorithm",
            certainty="hint",
            title=f"{why}: Winograd and most tuned kernels do not serve it ({rate})",
            evidence=(sizes.text,),
        )


def _unusual(sizes: Convolution) -> str:
    if max(sizes.dilations) > 1:
        return f"dilation {max(sizes.dilations)}, taps that share no input rows"
    if sizes.transposed:
        return f"a transposed convolution with stride {max(sizes.strides)}"
    if len(set(sizes.taps)) > 1:
        return f"filters of {' x '.join(map(str, sizes.taps))}"
    return ""
