"""The pairs. What the first finding should be was decided from the programs, before any of them was recorded: where
kernels and the change are both defensible, both are listed; nothing in a trace tells why a kernel is slow. Two things
were learnt from the measurement: that `nothing-to-gain` is right where shapes show the roof, and that the training step
is bound by its host."""

from __future__ import annotations

from argparse import ArgumentTypeError

from tests.gpu.pairs.pair import Pair, Remedy
from tests.gpu.pairs.programs import copies, host, kernels

from rocm_perf.analysis.verdict.ranking import KERNEL_KINDS

_HOIST, _GRAPHS, _OVERLAP = Remedy("hoist-syncs"), Remedy("graphs"), Remedy("overlap-copies")

# Where a recording has shapes, it shows that these kernels are at their roof.
_AT_THE_ROOF = (*KERNEL_KINDS, "nothing-to-gain")

PAIRS = (
    Pair(
        name="product_half",
        title="matrix product and softmax, the product half as dear",
        make=kernels.product_and_softmax,
        steps=30,
        torch_steps=30,
        remedy=Remedy("faster", "nvjet|gemm|cutlass"),
        kinds=KERNEL_KINDS,
    ),
    Pair(
        name="pageable_copies",
        title="pageable copies -> pinned, on another stream",
        make=copies.pageable_batches,
        steps=15,
        torch_steps=15,
        remedy=_OVERLAP,
        kinds=("copies",),
    ),
    Pair(
        name="operators_graph",
        title="180 small operators a step -> one CUDA graph",
        make=host.small_operators,
        steps=40,
        torch_steps=5,
        remedy=_GRAPHS,
        kinds=("host-bound",),
    ),
    Pair(
        name="training_item",
        title="`.item()` after each training step -> none",
        make=host.training,
        steps=40,
        torch_steps=8,
        remedy=_HOIST,
        kinds=(
            "host-bound",
            "sync",
        ),  # which of them depends on the host: the H200's needs longer than the kernels
    ),
    Pair(
        name="products_sync",
        title="device-wide synchronisation between large products -> none",
        make=host.synchronised_products,
        steps=20,
        torch_steps=20,
        remedy=_HOIST,
        kinds=_AT_THE_ROOF,
    ),
    Pair(
        name="short_products_sync",
        title="device-wide synchronisation after each short product -> none",
        make=host.synchronised_short_products,
        steps=60,
        torch_steps=12,
        remedy=_HOIST,
        kinds=("sync",),
    ),
    Pair(
        name="counting_streams",
        title="atomics on one address, beside another stream -> on 8",
        make=kernels.counting_beside_a_stream,
        steps=15,
        torch_steps=15,
        remedy=Remedy("faster", "indexFunc"),
        kinds=KERNEL_KINDS,
    ),
    Pair(
        name="decode_graph",
        title="decoder with `.item()` after each token -> one CUDA graph a token",
        make=host.decoding,
        steps=40,
        torch_steps=6,
        remedy=_GRAPHS,
        kinds=("host-bound",),
    ),
    Pair(
        name="sines_alone",
        title="a kernel alone on a stream, four times less work",
        make=kernels.sines_alone,
        steps=40,
        torch_steps=30,
        remedy=Remedy("faster", "sin_kernel"),
        kinds=_AT_THE_ROOF,
    ),
    Pair(
        name="sines_hidden",
        title="a kernel hidden behind the host, four times less work",
        make=kernels.sines_behind_the_host,
        steps=30,
        torch_steps=30,
        remedy=Remedy("faster", "sin_kernel"),
        kinds=("host-bound",),
    ),
    Pair(
        name="read_back",
        title="results read back each step -> to pinned memory, on another stream",
        make=copies.read_back,
        steps=40,
        torch_steps=30,
        remedy=_OVERLAP,
        kinds=("copies", *KERNEL_KINDS),
    ),
    Pair(
        name="scan_events",
        title="two streams with events, the longer side four times less work",
        make=kernels.scan_between_events,
        steps=30,
        torch_steps=30,
        remedy=Remedy("faster", "scan"),
        kinds=KERNEL_KINDS,
    ),
    Pair(
        name="softmax_events",
        title="two streams with events, which leave each other room, the longer side four times less work",
        make=kernels.scan_beside_softmax,
        steps=40,
        torch_steps=30,
        remedy=Remedy("faster", "scan"),
        kinds=KERNEL_KINDS,
    ),
    Pair(
        name="gelu_fused",
        title="nine elementwise operators -> one",
        make=kernels.gelu,
        steps=30,
        torch_steps=30,
        remedy=Remedy("fuse", "elementwise"),
        kinds=("kernel-memory",),
    ),
    Pair(
        name="products_batched",
        title="64 small products a step -> one batch",
        make=host.small_products,
        steps=60,
        torch_steps=12,
        remedy=Remedy("fuse", "^(?!.*elementwise)"),
        kinds=("host-bound",),
    ),
    Pair(
        name="idle_sync",
        title="a synchronisation with an idle stream -> none",
        make=host.idle_stream_synchronised,
        steps=30,
        torch_steps=30,
        remedy=_HOIST,
        kinds=_AT_THE_ROOF,
    ),
    Pair(
        name="pinned_copies",
        title="pinned copies before their products -> on another stream",
        make=copies.pinned_batches,
        steps=20,
        torch_steps=20,
        remedy=_OVERLAP,
        kinds=("copies",),
    ),
)


def pair_named(name: str) -> Pair:
    """The pair of that name, for a command line; raises ArgumentTypeError with the names there are."""
    pairs = {pair.name: pair for pair in PAIRS}
    if name not in pairs:
        raise ArgumentTypeError(f"no pair is named {name!r}; there are {', '.join(pairs)}")
    return pairs[name]
