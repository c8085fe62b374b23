"""The layers of a model as its kernels show them: what repeats within a step or a replay, with equal layers as one."""

from __future__ import annotations

from collections import defaultdict
from typing import Literal

import msgspec

KnownBy = Literal["modules", "repetition", "both"]


class LayerKernel(msgspec.Struct, frozen=True):
    """A kernel at one place in a layer."""

    kernel: str
    short_name: str
    operator: str | None  # that owns it; None where that is not known
    shapes: str | None  # of the arguments of that operator
    layers: int  # that run it at this place
    each_ns: float  # median over those layers
    total_ns: float  # in all layers of one step, the mean over steps
    share: float  # of the time of the layers


class LayerKind(msgspec.Struct, frozen=True):
    """Layers that run the same kernels in the same order."""

    numbers: tuple[int, ...]  # which layers, from 0 as models count them
    kernels: int
    median_ns: float
    own: tuple[str, ...]  # short names of kernels that they run and most layers do not
    lacks: tuple[str, ...]  # of kernels that most layers run, and these do not


class LayerStack(msgspec.Struct, frozen=True):
    """Layers that follow one another. The time of a layer is the sum of the durations of its kernels; where several
    steps are alike the median over them, that of all layers together the mean."""

    layers: int
    modules: (
        str | None
    )  # the class of the recorded modules that they are; None: they are known by repetition alone
    times: int  # that the stack comes in a step: a model that is called several times
    kernels: int  # of a layer, as most have
    first: int  # place of its first kernel in the step, from 1
    median_ns: float
    least_ns: float
    most_ns: float
    longest: int  # the number of the layer that took most, from 0
    total_ns: float
    share: float  # of the kernel time of the step
    kinds: tuple[LayerKind, ...]  # the most frequent first
    order: tuple[LayerKernel, ...]  # the kernels of all kinds in their order

    def owners(self) -> dict[str, float]:
        """The share of each operator in the time of the layers; of kernels where those are not known."""
        shares: dict[str, float] = defaultdict(float)
        for kernel in self.order:
            shares[kernel.operator or kernel.short_name] += kernel.share
        return dict(shares)


class OutsideKernel(msgspec.Struct, frozen=True):
    """A kernel that is in no layer: embedding, head, sampling."""

    kernel: str
    short_name: str
    operator: str | None
    calls: int
    total_ns: float


class LayeredWork(msgspec.Struct, frozen=True):
    """A kind of step, or a graph, and its layers. total_ns = those of the stacks + outside_ns + beside_ns."""

    name: str  # `decode step`, `step`, `graph replay`
    steps: int  # of that kind
    alike: int  # of them, that run the same kernels: times are of these
    kernels: int  # of one such step
    total_ns: float  # their durations
    share: float  # of the time of all kernels: of the steps that are alike
    in_modules: float  # share of that time in calls of recorded modules
    stacks: tuple[LayerStack, ...]
    outside: tuple[OutsideKernel, ...]  # longest first
    outside_ns: float
    beside_ns: float  # on other streams than most of the work


class EqualModules(msgspec.Struct, frozen=True):
    """Modules of one class that were recorded, each of which is a layer."""

    name: str  # of their class
    modules: int
    alike: int  # of them: a first or last one may differ a little


class Layers(msgspec.Struct, frozen=True):
    """How layers are known, and those of steps that repetition shows: none where modules were recorded for them. Both:
    some steps run in modules, and others, such as replays of a graph without its capture, do not."""

    known_by: KnownBy | None
    rows: tuple[LayeredWork, ...]  # most time first
    modules: tuple[EqualModules, ...] = ()  # that are the layers
    unavailable: str | None = None


class LargestLayers(msgspec.Struct, frozen=True):
    """Of the layers in what is judged, those with most time."""

    layers: int
    alike: int  # of them, that are equal as modules; by repetition, all
    times: int  # that they come in a step: a model that is called several times
    modules: str | None  # their class; None: they are known by repetition alone
    median_ns: float  # of those that are alike
    total_ns: float  # of all layers, in all steps that are alike
    share: float
    share_of: str  # `a decode step`, `the GPU time`
    owners: dict[str, float]  # the share of each operator in their time; of kernels where those are not known
