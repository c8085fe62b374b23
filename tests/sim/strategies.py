"""Random workloads that always end: small, varied, and valid by construction."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from rocm_perf.sim.workload import Kernel, Step, Thread, Workload

KERNEL_NAMES = (
    "gemm",
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int, float)",
    "Cijk_Ailk_Bljk_HHS_BH_MT128x128x32.kd",
    "softmax_warp_forward<float, float, float, 10, false>(float*, float const*, int)",
)
RANGE_NAMES = ("step", "decode, layer 0", 'attention "flash"', "réduction")
SIZES = st.integers(1, 1 << 24)
MICROSECONDS = st.integers(1, 400).map(lambda tenths: tenths / 10)


@st.composite
def kernels(draw: st.DrawFn) -> dict[str, Kernel]:
    """One to four kernels, some timed and some given by their work."""
    names = draw(st.lists(st.sampled_from(KERNEL_NAMES), min_size=1, max_size=4, unique=True))
    return {f"k{number}": draw(_kernel(name)) for number, name in enumerate(names)}


@st.composite
def _kernel(draw: st.DrawFn, name: str) -> Kernel:
    workgroup = draw(st.sampled_from([(64, 1, 1), (256, 1, 1), (16, 16, 1)]))
    groups = draw(st.tuples(st.integers(1, 900), st.integers(1, 2), st.integers(1, 2)))
    shape = Kernel(
        name,
        grid=(groups[0] * workgroup[0], groups[1] * workgroup[1], groups[2] * workgroup[2]),
        workgroup=workgroup,
        vgprs=draw(st.sampled_from([8, 32, 128])),
        agprs=draw(st.sampled_from([0, 64])),
        sgprs=draw(st.sampled_from([16, 96])),
        lds_bytes=draw(st.sampled_from([0, 1024, 65536])),
        scratch_bytes=draw(st.sampled_from([0, 256])),
    )
    if draw(st.booleans()):
        return replace(shape, duration_us=draw(MICROSECONDS))
    matrix = draw(st.booleans())
    flops = {draw(st.sampled_from(["f32", "f16"])): float(draw(st.integers(1, 10**10)))}
    return replace(shape, matrix=matrix, flops=flops, bytes={"hbm": float(draw(SIZES))})


class _Names:
    """What the steps of one thread may name."""

    def __init__(self, number: int, kernel: list[str], graph: list[str], streams: list[str]) -> None:
        self.prefix = f"event {number}."
        self.kernels = st.sampled_from(kernel)
        self.graphs = graph
        self.streams = st.sampled_from(streams)


@st.composite
def _work(draw: st.DrawFn, names: _Names) -> Step:
    """One step that needs no partner."""
    stream = draw(names.streams)
    verbs = ["launch", "launch", "launch", "copy", "sync", "cpu", "alloc"]
    verb = draw(st.sampled_from(verbs + (["graph"] if names.graphs else [])))
    if verb == "launch":
        return Step("launch", draw(names.kernels), stream)
    if verb == "graph":
        return Step("graph", draw(st.sampled_from(names.graphs)), stream)
    if verb == "copy":
        return draw(copies(stream))
    if verb == "sync":
        return Step("sync", draw(st.sampled_from(["stream", "device"])), stream)
    if verb == "cpu":
        return Step("cpu", draw(st.sampled_from(["tokenize", "sample"])), duration_us=draw(MICROSECONDS))
    return Step(verb, "buffer", size_bytes=draw(SIZES))


@st.composite
def copies(draw: st.DrawFn, stream: str) -> Step:
    """A copy in any direction, pinned or not, blocking or not."""
    kind = draw(st.sampled_from(["H2D", "D2H", "D2D"]))
    return Step(
        "copy", kind, stream, size_bytes=draw(SIZES), pinned=draw(st.booleans()), blocking=draw(st.booleans())
    )


@st.composite
def _block(draw: st.DrawFn, names: _Names, depth: int = 0) -> tuple[Step, ...]:
    """Steps that belong together: an event and its wait, a range, a buffer, a loop."""
    inner = tuple(draw(st.lists(_work(names), min_size=1, max_size=3)))
    kind = draw(st.sampled_from(["plain", "event", "event", "range", "loop", "buffer"]))
    if kind == "event":
        event = names.prefix + draw(st.sampled_from("ab"))
        after = draw(st.sampled_from(["wait", "sync"]))
        source, ending = draw(names.streams), Step(after, event, draw(names.streams))
        awaited = (Step("launch", draw(names.kernels), source), Step("record", event, source))
        return (*awaited, ending, *inner) if draw(st.booleans()) else (*awaited, *inner, ending)
    if kind == "buffer":
        size = draw(SIZES)
        return (Step("alloc", "buffer", size_bytes=size), *inner, Step("free", "buffer", size_bytes=size))
    nested = inner if depth > 1 else inner + draw(_block(names, depth + 1))
    if kind == "range":
        return (Step("push", draw(st.sampled_from(RANGE_NAMES))), *nested, Step("pop", "range"))
    if kind == "loop":
        return (Step("repeat", times=draw(st.integers(1, 3)), steps=nested),)
    return inner


@st.composite
def _graphs(draw: st.DrawFn, kernel: list[str]) -> dict[str, tuple[Step, ...]]:
    launches = st.sampled_from(kernel).map(lambda key: Step("launch", key))
    steps = st.lists(st.one_of(launches, launches, copies("default")), min_size=1, max_size=4).map(tuple)
    return draw(st.dictionaries(st.sampled_from(["decode", "prefill"]), steps, max_size=2))


@st.composite
def workloads(draw: st.DrawFn, max_ranks: int = 3, max_streams: int = 3, max_threads: int = 2) -> Workload:
    """A workload of 1-3 streams, 1-2 threads a rank, and sometimes several ranks that meet in collectives."""
    known = draw(kernels())
    graphs = draw(_graphs(list(known)))
    streams = ["default", "side", "third"][: draw(st.integers(1, max_streams))]
    ranks = draw(st.sampled_from([1, 1, 1, 2, 3])) if max_ranks > 1 else 1
    ranks = min(ranks, max_ranks)
    meetings = (
        draw(st.lists(st.sampled_from(["all_reduce", "all_gather"]), min_size=1, max_size=3))
        if ranks > 1
        else []
    )
    threads: list[Thread] = []
    for rank in range(ranks):
        for number in range(draw(st.integers(1, max_threads))):
            names = _Names(len(threads), list(known), list(graphs), streams)
            steps = draw(_thread_steps(names, meetings if number == 0 else [], streams[-1]))
            threads.append(Thread(f"thread {len(threads)}", rank, steps))
    return Workload(
        "random",
        known,
        graphs,
        tuple(threads),
        seed=draw(st.integers(0, 1000)),
        noise=draw(st.sampled_from([0.0, 0.0, 0.05])),
    )


@st.composite
def _thread_steps(draw: st.DrawFn, names: _Names, meetings: list[str], stream: str) -> tuple[Step, ...]:
    """Blocks with the collectives between them: one order and one stream on every rank, so that they match."""
    steps: tuple[Step, ...] = draw(_block(names))
    for meeting in meetings:
        # The size is that of the name, as every rank must give the same.
        steps += (
            Step("collective", meeting, stream, size_bytes=len(meeting) * 100_000),
            *draw(_block(names)),
        )
    if not meetings and draw(st.booleans()):
        steps += draw(_block(names))
    return steps
