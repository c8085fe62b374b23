"""How many times longer than it had to a launch took, and how much of that each known loss explains.

The time of a launch is held against a reference: what its work takes at the rates that the best kernels reach. A loss
of known size, three times for instance, explains ln 3 of the logarithm of the whole; what no loss of known size
explains is put down to the likeliest trait of the shape that costs time, or stays open.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources

import msgspec

from rocm_perf.analysis.limits.catalogue import catalogue, remedy
from rocm_perf.analysis.roofline.devices import Device
from rocm_perf.arch import catalog
from rocm_perf.arch.gpu import Gpu
from rocm_perf.arch.toml import read_toml
from rocm_perf.model.machine_ceilings import MATRIX, VECTOR
from rocm_perf.model.results.limits import Cause, Certainty
from rocm_perf.model.results.roofline import RooflineGpu
from rocm_perf.model.torch_call import Argument
from rocm_perf.once import once
from rocm_perf.units import format_bytes, format_ns

LEAST_LOSS = (
    1.25  # the best kernels of recordings lie within it of the model, so smaller losses drown in its error
)
LEAST_SHARE = 0.4
SHORTEST_NS = 5_000.0  # of a useful product; seen on an MI300X: 4.7 us
_ABOVE_PEAK = 1.05
_SURER: tuple[Certainty, ...] = ("proven", "likely", "hint")


class Reachable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was measured to be reached on one GPU."""

    source: str
    matrix_tflops: Mapping[str, float] = {}
    memory_share: float = 1.0
    attention_tflops: Mapping[str, float] = {}


@once
def reachable() -> Mapping[str, Reachable]:
    """Return what is known to be reached, by the name of the GPU."""
    file = resources.files("rocm_perf.analysis.limits") / "reachable.toml"
    return msgspec.convert(read_toml(file.read_bytes(), file.name), dict[str, Reachable])


class Rates(msgspec.Struct, frozen=True):
    """What a GPU does in a nanosecond: FLOPs by kind of unit ("bf16 matrix") and bytes, at the peak and at best.

    Where the recording tells the chip and not the product, `is_product` is false: the peaks are then the highest of its
    products, and `fewest` the compute units of the smallest one.
    """

    name: str
    gpu: Gpu
    units: int
    fewest: int
    peaks: Mapping[str, float]
    best: Mapping[str, float]
    bandwidth: float
    best_bandwidth: float
    attention: Mapping[str, float]
    is_product: bool = True

    @property
    def simds(self) -> int:
        """Return the SIMDs of the whole GPU."""
        return self.units * self.gpu.simds_per_cu

    @property
    def cache(self) -> int:
        """Return the bytes of the last cache before the memory."""
        return self.gpu.last_level_bytes or self.gpu.l2_bytes or 0

    def fastest(self, ceiling: str | None) -> float | None:
        """Return the peak of the fastest unit that can do such work: f32 products may run in a reduced precision."""
        if ceiling is None:
            return None
        dtype = ceiling.removesuffix(MATRIX).removesuffix(VECTOR)
        names = [
            f"{kind}{unit}"
            for kind in {dtype, "xf32" if "f32" in dtype else dtype}
            for unit in (MATRIX, VECTOR)
        ]
        return max((self.peaks[name] for name in names if name in self.peaks), default=None)

    def floor_ns(self, flops: float, ceiling: str | None, moved: float) -> float:
        """Return the least time that this work takes at the peaks."""
        rate = self.peaks.get(ceiling or "")
        return max(flops / rate if rate else 0.0, moved / self.bandwidth)

    def best_ns(self, flops: float, ceiling: str | None, moved: float) -> float:
        """Return the time that this work takes at the rates that the best kernels reach."""
        rate = self.best.get(ceiling or "")
        return max(flops / rate if rate else 0.0, moved / self.best_bandwidth)


def rates_of(device: Device, point: RooflineGpu | None) -> Rates | None:
    """Return the rates of a device; None where not even its chip is known."""
    products = (device.gpu,) if device.gpu else catalog.gpus_of(device.gfx or "")
    if not products:
        return None
    if device.gpu is not None and point is not None and point.ceilings:
        peaks = {one.name: 1000 * one.rate.value for one in point.ceilings if one.rate.value}
        measured = {one.name for one in point.ceilings if one.measured}
    else:
        peaks, measured = _highest(products), set()
    first = products[0]
    known = reachable().get(first.name, Reachable(""))
    scale = (device.compute_units or first.compute_units) / _whole(first.name, first.compute_units)
    best = dict(peaks)
    for dtype, tflops in known.matrix_tflops.items():
        if dtype + MATRIX in peaks and dtype + MATRIX not in measured:
            best[dtype + MATRIX] = 1000 * tflops * scale
    bandwidth = peaks.get(device.memory, 0.0) or max(gpu.memory_gbps for gpu in products)
    return Rates(
        name=device.gpu.name if device.gpu else f"a GPU with the chip {device.gfx}",
        gpu=first,
        units=device.compute_units or first.compute_units,
        fewest=min(gpu.compute_units for gpu in products),
        peaks=peaks,
        best=best,
        bandwidth=bandwidth,
        best_bandwidth=bandwidth * (1.0 if device.memory in measured else known.memory_share),
        attention={maker: 1000 * tflops * scale for maker, tflops in known.attention_tflops.items()},
        is_product=device.gpu is not None,
    )


def _highest(products: Iterable[Gpu]) -> dict[str, float]:
    peaks: dict[str, float] = {}
    for gpu in products:
        for unit, rates in ((MATRIX, gpu.matrix_tflops), (VECTOR, gpu.vector_tflops)):
            for dtype, rate in rates.items():
                peaks[dtype + unit] = max(peaks.get(dtype + unit, 0.0), 1000 * rate)
    return peaks


def _whole(name: str, units: int) -> int:
    """Return the compute units of the whole product, of which a partition is a part."""
    return next((gpu.compute_units for gpu in catalog.packaged_gpus() if gpu.name == name), units)


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """The launches of one kernel for one call of an operator with one grid; without an operator, of one grid."""

    gpu: int
    kernel: str
    operator: str = ""
    arguments: tuple[Argument, ...] = ()
    inputs: str = ""  # the scalar arguments as recorded
    sizes: tuple[int, ...] | None = None  # of a product or of attention
    flops: float | None = None
    moved: float | None = None
    ceiling: str | None = None  # of its FLOPs: "bf16 matrix"
    workgroups: int | None = None
    workgroup: int | None = None  # work-items
    calls: int = 1
    ns: float = 0.0  # the median
    total_ns: float = 0.0
    shortest_ns: float = SHORTEST_NS  # dispatch of the recording, or what one takes at least

    @property
    def dtype(self) -> str:
        """Return the type that it computes in, as the catalogue of GPUs names it; empty where it is not known."""
        return (self.ceiling or "").removesuffix(MATRIX).removesuffix(VECTOR)

    @property
    def tflops(self) -> float:
        """Return the rate that it reaches."""
        return (self.flops or 0.0) / self.ns / 1000 if self.ns else 0.0

    @property
    def tbytes(self) -> float:
        """Return the TB/s that it reaches at least."""
        return (self.moved or 0.0) / self.ns / 1000 if self.ns else 0.0

    @property
    def intensity(self) -> float | None:
        """Return the FLOPs for each byte."""
        return self.flops / self.moved if self.flops is not None and self.moved else None


class Loss(msgspec.Struct, frozen=True, kw_only=True):
    """One reason for a longer time. `times`: how many times longer it makes it; None where that is not known.

    `share` and `saves` are given where they do not follow from that: of a limit that is reached, not lost.
    """

    id: str
    times: float | None = None
    certainty: Certainty = "proven"
    title: str
    evidence: tuple[str, ...] = ()
    share: float | None = None
    saves: float | None = None  # with a share of its own and None, nothing bounds it


class Times(msgspec.Struct, frozen=True):
    """What a launch took, what its work takes at the rates of the best kernels, and at the peaks."""

    spent: float
    reference: float
    floor: float

    @property
    def loss(self) -> float:
        """Return how many times longer than the reference it took."""
        return max(self.spent / self.reference, 1.0) if self.reference > 0 else 1.0

    @property
    def most_saved(self) -> float:
        """Return the share of its time that nothing could save more of."""
        return max(0.0, 1 - self.floor / self.spent) if self.spent else 0.0


def times_of(launch: Launch, rates: Rates) -> Times:
    """Return the time of a launch beside what its work takes."""
    flops, moved = launch.flops or 0.0, launch.moved or 0.0
    return Times(
        launch.ns,
        max(rates.best_ns(flops, launch.ceiling, moved), launch.shortest_ns),
        rates.floor_ns(flops, launch.ceiling, moved),
    )


def named(losses: Sequence[Loss], times: Times, kernel: str) -> list[Cause]:
    """Return the losses that explain a good part of the time, as causes with the largest part first.

    Those that explain little are listed behind, but only beside one that explains much.
    """
    shares = _shares(losses, times)
    known = [
        (share, _saved(loss, share, times), loss)
        for loss, share in zip(losses, shares, strict=True)
        if share > 0 and (loss.times is None or loss.times >= LEAST_LOSS or loss.share is not None)
    ]
    if not any(share >= LEAST_SHARE for share, _, _ in known):
        return []
    return strongest_first(_cause(loss, share, saves, kernel) for share, saves, loss in known)


def strongest_first(causes: Iterable[Cause]) -> list[Cause]:
    """Return the causes in order: those that explain a good part before others, a hint behind what is surer, and then
    by the part that they explain."""

    def rank(cause: Cause) -> tuple[bool, bool, float, int]:
        is_hint = cause.certainty == "hint"
        return cause.share < LEAST_SHARE, is_hint, -round(cause.share, 2), _SURER.index(cause.certainty)

    return sorted(causes, key=rank)


def _shares(losses: Sequence[Loss], times: Times) -> list[float]:
    if times.loss < LEAST_LOSS:
        return [loss.share or 0.0 for loss in losses]
    whole = math.log(times.loss)
    shares = [
        loss.share
        if loss.share is not None
        else min(1.0, math.log(loss.times) / whole)
        if loss.times
        else 0.0
        for loss in losses
    ]
    sized = sum(
        share for share, loss in zip(shares, losses, strict=True) if loss.times and loss.share is None
    )
    rest = max(0.0, 1 - sized)
    unsized = [place for place, loss in enumerate(losses) if loss.times is None and loss.share is None]
    if unsized and math.exp(rest * whole) >= LEAST_LOSS:
        likeliest = min(unsized, key=lambda place: _SURER.index(losses[place].certainty))
        shares[likeliest] = rest
    return shares


def _saved(loss: Loss, share: float, times: Times) -> float | None:
    """Return the share of the time that being rid of a loss saves at most. One of unknown size takes what its share of
    the whole comes to, and leaves what separates the reference from the peaks."""
    if loss.saves is not None or loss.share is not None:
        return None if loss.saves is None else min(loss.saves, 1.0)
    if loss.times:
        return min(1 - 1 / loss.times, times.most_saved)
    below = min(1.0, times.floor / times.reference) if times.reference and loss.certainty != "hint" else 1.0
    return min(1 - below / math.pow(times.loss, share), times.most_saved)


def _cause(loss: Loss, share: float, saves: float | None, kernel: str) -> Cause:
    return Cause(
        id=loss.id,
        share=share,
        saves=saves,
        certainty=loss.certainty,
        title=loss.title,
        evidence=loss.evidence,
        remedy=remedy(loss.id, kernel),
        source="shapes",
        is_not=catalogue()[loss.id].is_not,
    )


def impossible(launch: Launch, rates: Rates) -> Loss | None:
    """Return that the recorded time cannot be that of the recorded work; None where it can."""
    peak = rates.fastest(launch.ceiling)
    if launch.flops and peak and launch.flops / launch.ns > _ABOVE_PEAK * peak:
        return _impossible(
            f"{launch.tflops:,.0f} TFLOP/s, where {rates.name} does {peak / 1000:,.0f} at most",
            f"{launch.flops / 1e9:,.3g} GFLOP take {format_ns(launch.flops / peak)} at its peak, and the recording "
            f"says {format_ns(launch.ns)}",
        )
    if (
        launch.moved
        and launch.moved > rates.cache
        and launch.moved / launch.ns > _ABOVE_PEAK * rates.bandwidth
    ):
        return _impossible(
            f"{launch.tbytes:,.3g} TB/s, where the memory of {rates.name} gives {rates.bandwidth / 1000:.3g}",
            f"{format_bytes(launch.moved)} take {format_ns(launch.moved / rates.bandwidth)} at its peak, and the "
            f"recording says {format_ns(launch.ns)}",
        )
    return None


def _impossible(rate: str, why: str) -> Loss:
    return Loss(
        id="impossible-time",
        title=f"its time cannot be that of its work: that would be {rate}",
        evidence=(why, "one of the time, the shapes, the type and the GPU is not what the recording says"),
        share=1.0,
        saves=0.0,
    )
