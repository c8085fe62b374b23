"""The cases. Every verdict was written from the program, before it was first recorded."""

from __future__ import annotations

from argparse import ArgumentTypeError

from tests.gpu.verdicts.case import Case
from tests.gpu.verdicts.programs import copies, host, kernels

from rocm_perf.analysis.verdict.ranking import KERNEL_KINDS

_AT_THE_ROOF = (*KERNEL_KINDS, "nothing-to-gain")

CASES = (
    Case(
        name="loader",
        verdict="The GPU waits for samples, which the host prepares one by one: prepare them in worker processes.",
        make=host.loader,
        kinds=("host-bound",),
        steps=12,
        torch_steps=6,
        never="(?i)captur",
    ),
    Case(
        name="experts",
        verdict="nonzero() makes the host wait eight times a step, and the kernels between are short.",
        make=host.experts,
        kinds=("sync", "host-bound"),
        steps=30,
        torch_steps=6,
    ),
    Case(
        name="graph_and_numpy",
        verdict="The GPU idles while the host sorts what it computed.",
        make=host.graph_and_numpy,
        kinds=("host-bound", "sync"),
        steps=25,
        torch_steps=12,
        never="(?i)captur",
    ),
    Case(
        name="sampling",
        verdict="Launching the small kernels of a token takes far longer than they do.",
        make=host.sampling,
        kinds=("host-bound", "sync"),
        steps=40,
        torch_steps=6,
    ),
    Case(
        name="four_streams",
        verdict="One thread cannot launch as fast as the GPU runs these kernels, on however many streams.",
        make=host.four_streams,
        kinds=("host-bound",),
        steps=40,
        torch_steps=6,
    ),
    Case(
        name="recurrent",
        verdict="Hundreds of tiny kernels a step: the host launches too slowly.",
        make=host.recurrent,
        kinds=("host-bound",),
        steps=10,
        torch_steps=3,
    ),
    Case(
        name="sorted_on_the_host",
        verdict="The GPU idles while the host sorts: sort on the GPU.",
        make=host.sorted_on_the_host,
        kinds=("host-bound", "sync", "copies"),
        steps=20,
        torch_steps=10,
        never="(?i)captur",
    ),
    Case(
        name="emptied_cache",
        verdict="empty_cache() gives memory back in every step, and waits for the GPU each time.",
        make=host.emptied_cache,
        kinds=("host-bound", "sync", "memory"),
        steps=30,
        torch_steps=12,
        says="(?i)alloc|free|cache",
    ),
    Case(
        name="small_images",
        verdict="The kernels of one small image are shorter than their launches.",
        make=host.small_images,
        kinds=("host-bound",),
        steps=40,
        torch_steps=6,
    ),
    Case(
        name="offloaded",
        verdict="Each product waits for the weights that are copied in front of it: copy ahead, on another stream.",
        make=copies.offloaded,
        kinds=("copies",),
        steps=15,
        torch_steps=10,
    ),
    Case(
        name="offloaded_ahead",
        verdict="Large products fill the time; the copies are hidden behind them.",
        make=copies.offloaded_ahead,
        kinds=_AT_THE_ROOF,
        steps=6,
        torch_steps=5,
        never=r"(?i)copies.*(hold|wait)",
    ),
    Case(
        name="cleared",
        verdict="Clearing 4 GiB takes most of every step.",
        make=copies.cleared,
        kinds=("copies", "kernel-memory", "kernel"),
        steps=30,
        torch_steps=20,
        says="(?i)fill|memset|clear",
    ),
    Case(
        name="attention_by_hand",
        verdict="Unfused attention: elementwise passes over the scores take most of the time; use a fused kernel.",
        make=kernels.attention_by_hand,
        kinds=("kernel-memory",),
        steps=15,
        torch_steps=10,
        says="(?i)fuse",
    ),
    Case(
        name="few_rows",
        verdict="index_add_ on sixteen rows: its atomics collide, and it takes nearly all of the time.",
        make=kernels.few_rows,
        kinds=KERNEL_KINDS,
        steps=20,
        torch_steps=15,
        says="(?i)index",
    ),
    Case(
        name="large_products",
        verdict="Products of large matrices near their roof fill the time.",
        make=kernels.large_products,
        kinds=_AT_THE_ROOF,
        steps=30,
        torch_steps=30,
    ),
    Case(
        name="transposed",
        verdict="Copying the transposed matrix takes most of the time: keep it transposed, or let the product do it.",
        make=kernels.transposed,
        kinds=("kernel-memory", "kernel"),
        steps=20,
        torch_steps=15,
        says="(?i)copy|elementwise|contiguous",
    ),
    Case(
        name="double_precision",
        verdict="Products in float64 fill the time: use a narrower type.",
        make=kernels.double_precision,
        kinds=_AT_THE_ROOF,
        steps=20,
        torch_steps=15,
        says="(?i)f64|fp64|float64|double|dgemm|d884",
    ),
    Case(
        name="training_that_prints",
        verdict="Large products fill the time; reading the loss back costs next to nothing.",
        make=kernels.training_that_prints,
        kinds=_AT_THE_ROOF,
        steps=8,
        torch_steps=6,
    ),
    Case(
        name="one_by_one",
        verdict="Twelve passes over the parameters where a fused optimiser needs one.",
        make=kernels.one_by_one,
        kinds=("kernel-memory",),
        steps=15,
        torch_steps=12,
        says="(?i)fuse",
    ),
)


def case_named(name: str) -> Case:
    """The case of that name, for a command line; raises ArgumentTypeError with the names there are."""
    cases = {case.name: case for case in CASES}
    if name not in cases:
        raise ArgumentTypeError(f"no case is named {name!r}; there are {', '.join(cases)}")
    return cases[name]
