"""What is said of a kernel, in words that need no knowledge of profilers: the cause, and what to do about it."""

from __future__ import annotations

from typing import NamedTuple

from rocm_perf.model.finding import Kind
from rocm_perf.model.results.bottleneck import Label

KINDS: dict[Label, Kind] = {
    "compute": "kernel-compute",
    "memory bandwidth": "kernel-memory",
    "memory latency": "kernel-latency-or-occupancy",
    "LDS": "lds-or-cache",
    "scratch": "kernel-memory",
    "occupancy": "kernel-latency-or-occupancy",
    "launch/latency": "kernel-latency-or-occupancy",
    "divergence": "kernel-latency-or-occupancy",
    "waiting": "kernel-latency-or-occupancy",
}


class Cause(NamedTuple):
    """What holds back one kernel, and the same as it is said of several."""

    one: str
    several: str

    def of(self, others: int) -> str:
        """As it is said of a kernel with so many others."""
        return self.several if others else self.one


CAUSES: dict[Label, Cause] = {
    "compute": Cause("arithmetic sets its pace", "arithmetic sets their pace"),
    "memory bandwidth": Cause("memory bandwidth sets its pace", "memory bandwidth sets their pace"),
    "memory latency": Cause("it waits for memory", "they wait for memory"),
    "LDS": Cause(
        "LDS, the memory inside a compute unit, slows it down",
        "LDS, the memory inside a compute unit, slows them down",
    ),
    "scratch": Cause("it works in scratch memory", "they work in scratch memory"),
    "occupancy": Cause(
        "too few waves run at once to hide its waits", "too few waves run at once to hide their waits"
    ),
    "launch/latency": Cause("it does not fill the GPU", "they do not fill the GPU"),
    "divergence": Cause("its waves diverge", "their waves diverge"),
    "waiting": Cause("its waves stall at barriers", "their waves stall at barriers"),
}
ROOFS: dict[Kind, Label] = {"kernel-compute": "compute", "kernel-memory": "memory bandwidth"}
# What limits waves, where it is not what each of them needs.
WAVES_FIT, WAVES_UNKNOWN = "waves_fit", "waves_unknown"
# Where one measurement says more than the label.
CLOSER = {
    "lds_conflicts": Cause("bank conflicts in LDS slow it down", "bank conflicts in LDS slow them down"),
    "lds_wait": Cause("its waves wait for LDS", "their waves wait for LDS"),
    "few_l2_hits": Cause("few of its L2 requests hit", "few of their L2 requests hit"),
    "vmem_per_valu": Cause(
        "it issues many memory instructions for little arithmetic",
        "they issue many memory instructions for little arithmetic",
    ),
    "empty_units": Cause("too few workgroups for the GPU", "too few workgroups for the GPU"),
    "short": Cause("too short to fill the GPU", "too short to fill the GPU"),
    "brief": Cause("too short to fill the GPU", "too short to fill the GPU"),
    WAVES_FIT: Cause(
        "too few of its waves run at once, though more would fit",
        "too few of their waves run at once, though more would fit",
    ),
}

REMEDIES: dict[Label, str] = {
    "compute": "Use a faster algorithm; check that the matrix units do the products.",
    "memory bandwidth": "Move fewer bytes: fuse it with its neighbours, reuse what is in cache, read neighbouring "
    "addresses.",
    "memory latency": "Keep more loads in flight: unroll, load wider, prefetch, run more waves at once.",
    "LDS": "Keep less in LDS, or read it wider.",
    "scratch": "Get each work-item's data back into registers: fewer items per work-item, smaller tiles, arrays "
    "indexed by constants, fully unrolled loops, a higher register limit (__launch_bounds__).",
    "occupancy": "Use fewer registers or less LDS per work-item (rocm-perf kernels FILE names the step that gains a "
    "wave).",
    "launch/latency": "Give each launch more work: a larger problem, smaller tiles, a split along the summed "
    "dimension (split-K), or one launch for several problems.",
    "divergence": "Sort or group the work so that the lanes of a wave do the same, or move the branch out of the "
    "kernel.",
    "waiting": "Wait less often: fewer barriers, more work between them, several stages in flight.",
}
# Below a share of what memory gives, more of it can be asked for at once.
FAR_FROM_MEMORY_REMEDY = (
    "Keep more loads in flight: wider loads (16 B each), several per work-item before the first is used, a larger "
    "launch. Then move fewer bytes: fuse it with its neighbours, reuse what is in cache."
)
# Said after the remedies of a roof, and of libraries, of what does not compute in 8 bits or fewer already.
NARROWER = " Or use a narrower data type."
CLOSER_REMEDIES = {
    WAVES_FIT: "Give each wave and each launch more work: several elements per work-item, a loop over the grid, a "
    "larger problem. Its waves end about as fast as they start; registers and LDS leave room for more.",
    WAVES_UNKNOWN: "Find out what keeps waves few: registers and LDS per work-item (rocm-perf kernels FILE names the "
    "step that gains a wave), or too few and too short waves, which a larger launch and more work for each wave mend.",
    "lds_wait": "Read LDS less often and wider (16 bytes a lane), keep what is used again in registers, and look for "
    "bank conflicts: rows of a tile padded by one element, or a swizzled layout, hit different banks.",
    "few_l2_hits": "Read what is in cache again before other data replaces it: smaller tiles, an order of workgroups "
    "in which neighbours share what they read, no strides that use a part of each line.",
    "vmem_per_valu": "Load more with each instruction (16 bytes a lane, neighbouring addresses), and use each value "
    "more often: larger tiles in registers or LDS, several results for each work-item.",
    "lds_conflicts": "Pad the rows of the tile by one element, or swizzle its layout, so that the lanes of a wave hit "
    "different banks.",
}
RUNTIME_CAUSE = Cause(
    "it copies and fills buffers for the program", "they copy and fill buffers for the program"
)
MOVER_CAUSE = Cause("it only moves or clears data", "they only move or clear data")
MOVER_REMEDY = (
    "Leave it out: keep the memory layout and the type that the next operator needs (transposes, .contiguous(), casts "
    "and torch.cat make copies), write results where they are needed, and clear only what is read before it is written."
)
CONVERSION_CAUSE = Cause(
    "it only converts tensors for convolutions", "they only convert tensors for convolutions"
)
ADDS_BY_INDEX = (
    "it adds to places that an index names, by atomics: additions to one place wait for each other, and few places "
    "make that slow"
)
NEAR_ROOF = Cause("it is near its roof", "they are near their roofs")
NEAR_IN_DOUBLE = Cause(
    "it is near its roof in double precision", "they are near their roofs in double precision"
)
BESIDE_THE_PATH = Cause(
    "a faster one would save next to nothing: the program seldom waits for it",
    "faster ones would save next to nothing: the program seldom waits for them",
)
IN_DOUBLE = (
    "it multiplies in double precision, several times slower than narrower types: needed, or numpy's default?"
)
RIVAL_REMEDY = (
    "Use {}, or compare the two: which elements neighbouring work-items take (consecutive ones are read together), "
    "registers and scratch memory. What it moves and where its waves wait would tell why."
)
COUNT_IT = "count what its units do and where its waves wait (rocm-perf profile --deep)."
UNCAPTURED_REMEDY = (
    "Add a torch.profiler trace of the time when its graph was captured (--capture FILE): it has the operators and "
    "their shapes."
)


def nothing_to_gain(*, computes: bool, others: int, narrow: bool) -> str:
    """What is said at a roof, that of arithmetic or that of memory, of a kernel with so many others."""
    they, kernels = ("they are", "the kernels themselves") if others else ("it is", "the kernel itself")
    if computes:
        less = "less arithmetic" if narrow else "a narrower data type or less arithmetic"
        return f"{they} near what these units reach: nothing to gain in {kernels}, only with {less}"
    fewer = "fusion" if narrow else "fusion, a narrower data type"
    return (
        f"{they} near what memory gives: nothing to gain in {kernels}, only by moving fewer bytes ({fewer})"
    )


TOO_SHORT = (
    "a dispatch lasts only {}: starting and ending weigh as much as the work; judge it on a larger problem"
)

# Measurements that speak for a cause.
SUPPORT: dict[Label, tuple[str, ...]] = {
    "compute": ("compute_share", "matrix_busy", "vector_busy"),
    "memory bandwidth": (
        "memory_share",
        "l2_share",
        "grid_bytes",
        "little_work",
        "streams",
    ),
    "memory latency": ("memory_wait", "wait_share", "vmem_per_valu", "few_l2_hits"),
    "LDS": ("lds_conflicts", "lds_busy", "lds_wait", "lds_share"),
    "scratch": ("scratch", "l1_share", "wait_share"),
    "occupancy": ("occupancy", "occupancy_limit"),
    "launch/latency": ("empty_units", "short", "brief"),
    "divergence": ("lanes",),
    "waiting": ("barrier_wait",),
}
ONE_COUNTER = ("lds_wait", "few_l2_hits", "vmem_per_valu")  # they name a cause only where nothing else does
UNMEASURED = (
    "streams",
    "grid_bytes",
    "wait_share",
    "brief",
    *ONE_COUNTER,
)  # signs that make a cause likely, no more
# What has to be measured before a cause can be named.
COUNTED = {
    "bytes": ("memory_share", "little_work"),
    "arithmetic": ("compute_share", "matrix_busy", "vector_busy", "little_work"),
    "waits": ("wait_share", "memory_wait", "barrier_wait"),
}
