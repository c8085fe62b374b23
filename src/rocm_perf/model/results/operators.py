"""Framework operators: what they cost on the host and on the GPU, and which kernels they caused."""

from __future__ import annotations

from typing import Literal

import msgspec

from rocm_perf.model.quantity import Quantity

SUM_OF = "sum over calls of "  # what the formula of their work begins with, before that of one call


class OperatorKernel(msgspec.Struct, frozen=True):
    """One kernel that calls of one operator launched themselves."""

    kernel: str
    short_name: str
    dispatches: int
    gpu_ns: int


class OperatorShape(msgspec.Struct, frozen=True):
    """All calls of an operator with the same argument shapes and types.

    Work is summed over the `counted_calls`: an operator that calls itself with the same arguments does its work once.
    Rates divide the work of those that ran on the GPU by gpu_total_ns.
    Calls with other scalars or strides may have other work: there are `variants` of it, and rates are means over them.
    """

    shapes: str | None
    dtypes: str | None
    op_id: int | None  # of the call with the longest GPU time: what `repro --op` takes
    calls: int
    host_self_ns: int
    gpu_self_ns: int
    gpu_total_ns: int
    flops: Quantity
    bytes: Quantity
    tflops: Quantity
    tbytes: Quantity
    kernels: tuple[OperatorKernel, ...]
    counted_calls: int  # those inside no other of them, which work is summed over
    variants: int = 1  # how many different amounts of work the calls have


class KernelSequence(msgspec.Struct, frozen=True):
    """Kernels that one call launched, in order of their start, and how many calls launched exactly these."""

    kernels: tuple[str, ...]  # short names, at most 20
    more: int  # kernels of the sequence beyond those
    calls: int
    gpu_ns: int


class Operator(msgspec.Struct, frozen=True):
    """All calls of one operator. `self` leaves out what operators inside it did; `total` counts a call inside another
    call of the same operator once. GPU times are those of kernels, copies and fills."""

    name: str
    category: str
    calls: int
    host_self_ns: int
    host_total_ns: int
    gpu_self_ns: int
    gpu_total_ns: int
    copy_ns: int  # copies and fills among gpu_self_ns
    dispatches: int
    flops: Quantity  # of all its calls, those inside one another once
    bytes: Quantity
    backward: tuple[str, ...]  # the operators of the backward pass that belong to it
    backward_gpu_ns: int | None  # None if no backward operator is linked
    shapes: tuple[OperatorShape, ...]  # longest GPU time first
    more_shapes: int  # not listed; they count in the totals
    sequences: tuple[KernelSequence, ...]


class OperatorCategory(msgspec.Struct, frozen=True):
    """Operators of one kind. Self times of all categories add up to everything that operators own."""

    name: str
    calls: int
    host_self_ns: int
    gpu_self_ns: int
    operators: tuple[Operator, ...]


class Place(msgspec.Struct, frozen=True):
    """A module or a line of Python, with everything that ran below it. Nested places share their time."""

    name: str
    calls: int
    host_ns: int
    gpu_ns: int  # of the forward pass, or of everything where no backward pass is linked
    backward_gpu_ns: int | None
    dispatches: int


class KernelWork(msgspec.Struct, frozen=True):
    """Analytical work of one kernel, from the calls that launched it and nothing else."""

    kernel: str
    dispatches: int  # with known work
    gpu_ns: int  # of those dispatches
    flops: int
    bytes: int
    operators: tuple[str, ...]
    left_out: int  # dispatches whose operator has no formula, or launched several kernels


class QueueLength(msgspec.Struct, frozen=True):
    """Kernels, copies and fills launched and not yet started on one stream, over time."""

    node: int
    agent_id: int | None
    stream_id: int | None
    dispatches: int
    copies: int  # and fills
    unpaired: int  # of both, without a recorded launch: not counted
    window_ns: int
    longest: int
    mean: float
    empty: Quantity  # share of the window in which nothing waits to start
    starved: Quantity  # share in which nothing waits and nothing runs: the GPU waits for the host
    start_ns: int
    step_ns: float
    series: tuple[int, ...]  # longest queue in each step


class FlameNode(msgspec.Struct, frozen=True):
    """All calls of one name with the same names around them. Times are with everything inside it."""

    name: str
    kind: Literal["module", "operator", "kernel", "copy"]
    parent: int | None  # place in the list, always an earlier one
    calls: int
    gpu_ns: int  # of kernels, copies and fills
    host_ns: int  # 0 for kernels and copies


class Operators(msgspec.Struct, frozen=True):
    """Operators of a run. owned_ns + unowned_ns = total_ns, the summed time of kernels, copies and fills."""

    categories: tuple[OperatorCategory, ...]
    modules: tuple[Place, ...]
    call_sites: tuple[Place, ...]
    kernel_work: tuple[KernelWork, ...]
    total_ns: int
    owned_ns: int
    unowned_ns: int
    owned_by: dict[str, int]  # dispatches, by how their operator is known
    backward_by: str | None  # how backward operators are linked to forward ones
    flame: tuple[
        FlameNode, ...
    ] = ()  # modules, operators, kernels and copies as they nest; the 1,000 largest
    modules_unavailable: str | None = None
    call_sites_unavailable: str | None = None
    unavailable: str | None = None
