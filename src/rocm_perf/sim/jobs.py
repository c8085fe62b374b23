"""A simulated training job of many ranks, with one planted cause of slowness and clocks that do not agree: what each
rank recorded, and the truth.

A step of a rank loads data, runs forward and backward, all-reduces its gradients in buckets on a stream of their own
while backward still runs, then their norm and other single numbers, and lets the optimizer work. Every duration is
noisy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random

from rocm_perf.model.trace import Trace
from rocm_perf.sim.engine import simulate
from rocm_perf.sim.gpu import find_gpu
from rocm_perf.sim.job_recordings import JobClock, recordings_of, true_trace
from rocm_perf.sim.steps import Kernel, Step, Thread, Workload

__all__ = ["CAUSES", "Job", "JobClock", "Planted", "simulate_job"]

CAUSES = ("compute", "link", "data_loader", "host", "none")

_DEVICE = "sim:MI300X"
_LAYERS = 8
_LAYERS_PER_BUCKET = 2
_BUCKET_BYTES = 25_000_000  # that of DistributedDataParallel
_SCALARS = 3  # all-reduced in each step
_LOAD_US, _HOST_US = 300.0, 60.0
_NOISE = 0.02
_END_SPREAD_US = 1.0  # assumed: real ranks end within microseconds of one another
_KERNELS = {
    "forward": Kernel("Cijk_Ailk_Bljk_BBS_BH_forward", duration_us=110.0, grid=(262144, 1, 1)),
    "norm": Kernel("layer_norm_kernel", duration_us=20.0, grid=(65536, 1, 1)),
    "backward": Kernel("Cijk_Alik_Bljk_BBS_BH_backward", duration_us=220.0, grid=(262144, 1, 1)),
    "norm_backward": Kernel("layer_norm_backward_kernel", duration_us=35.0, grid=(65536, 1, 1)),
    "optimizer": Kernel("multi_tensor_apply_kernel", duration_us=180.0, grid=(65536, 1, 1)),
}
_SLOW = "slow "  # before the keys of the kernels of a rank that computes slowly
# How strong a planted cause is: how many times slower, or how many microseconds longer.
_STRENGTHS = {
    "compute": (1.1, 1.6),
    "link": (1.5, 6.0),
    "data_loader": (500.0, 5000.0),
    "host": (500.0, 5000.0),
}
_STEPS_STRUCK = 0.7  # share of the steps in which a late loader is late, or a host stalls


@dataclass(frozen=True)
class Planted:
    """What is wrong with a job. `strength`: how many times slower the kernels of `rank` or the link into it are, or
    how many microseconds its loader or host loses in some steps. Nothing is wrong with cause `none`."""

    cause: str
    rank: int | None = None
    strength: float = 0.0


@dataclass(frozen=True)
class Job:
    """`trace`: all ranks on the true clock. `clocks`: the clock of each rank, which shows other times."""

    trace: Trace
    planted: Planted
    clocks: tuple[JobClock, ...]

    @cached_property
    def recordings(self) -> tuple[Trace, ...]:
        """What each rank recorded, on its own clock."""
        return recordings_of(self.trace, self.clocks)


def simulate_job(
    ranks: int = 8,
    steps: int = 30,
    *,
    seed: int = 0,
    cause: str | None = None,
    ranks_per_node: int = 1,
) -> Job:
    """A job and its truth, drawn by `seed`. Without a `cause`, one of CAUSES is drawn as well. Ranks of one node share
    its clock."""
    draw = Random(f"job/{seed}")
    planted = _planted(draw, cause or draw.choice(CAUSES), ranks)
    clocks = _clocks(draw, ranks, ranks_per_node)
    run = simulate(_workload(draw, planted, ranks, steps, seed), find_gpu(_DEVICE))
    return Job(trace=true_trace(run, ranks_per_node), planted=planted, clocks=clocks)


def _planted(draw: Random, cause: str, ranks: int) -> Planted:
    rank = draw.randrange(ranks)
    if cause == "none":
        return Planted(cause)
    return Planted(cause, rank, draw.uniform(*_STRENGTHS[cause]))


def _clocks(draw: Random, ranks: int, ranks_per_node: int) -> tuple[JobClock, ...]:
    nodes = [JobClock.drawn(draw) for _ in range(-(-ranks // ranks_per_node))]
    return tuple(nodes[rank // ranks_per_node] for rank in range(ranks))


def _workload(draw: Random, planted: Planted, ranks: int, steps: int, seed: int) -> Workload:
    wrong = [planted if draw.random() < _STEPS_STRUCK else _lasting(planted) for _ in range(steps)]
    usual = _program([Planted("none")] * steps)
    ill = _program(wrong)
    return Workload(
        name="training job",
        command="python train.py",
        kernels={**_KERNELS, **_slow_kernels(planted)},
        graphs={},
        threads=tuple(Thread("main", rank, ill if rank == planted.rank else usual) for rank in range(ranks)),
        seed=seed,
        noise=_NOISE,
        slow_links=_slow_links(planted),
        end_spread_us=_END_SPREAD_US,
    )


def _lasting(planted: Planted) -> Planted:
    """What is wrong in the steps that are not struck: slow kernels are always slow."""
    return planted if planted.cause == "compute" else Planted("none")


def _slow_links(planted: Planted) -> dict[int, float]:
    if planted.cause != "link" or planted.rank is None:
        return {}
    return {planted.rank: planted.strength}


def _slow_kernels(planted: Planted) -> dict[str, Kernel]:
    if planted.cause != "compute":
        return {}
    return {_SLOW + key: _slower(kernel, planted.strength) for key, kernel in _KERNELS.items()}


def _slower(kernel: Kernel, factor: float) -> Kernel:
    return Kernel(kernel.name, duration_us=factor * (kernel.duration_us or 0.0), grid=kernel.grid)


def _program(wrong: Sequence[Planted]) -> tuple[Step, ...]:
    """The steps of a rank, with what is wrong in each training step."""
    return tuple(step for number, ill in enumerate(wrong) for step in _training_step(number, ill))


def _training_step(number: int, wrong: Planted) -> Iterator[Step]:
    """One step of a rank, with what is wrong in it."""
    prefix = _SLOW if wrong.cause == "compute" else ""
    yield Step("push", f"ProfilerStep#{number}")
    yield from _load(wrong.strength if wrong.cause == "data_loader" else 0.0)
    yield from _forward(prefix, wrong.strength if wrong.cause == "host" else 0.0)
    yield from _backward(prefix)
    yield from _update(prefix)
    yield Step("pop")


def _load(extra_us: float) -> Iterator[Step]:
    yield Step("push", "data_loader")
    yield Step("cpu", "DataLoader.__next__", duration_us=_LOAD_US + extra_us)
    yield Step("copy", "H2D", size_bytes=1_000_000)
    yield Step("pop")


def _forward(prefix: str, stall_us: float) -> Iterator[Step]:
    yield Step("push", "forward")
    yield Step("cpu", "python", duration_us=_HOST_US + stall_us)
    for _ in range(_LAYERS):
        yield Step("launch", f"{prefix}forward")
        yield Step("launch", f"{prefix}norm")
    yield Step("pop")


def _backward(prefix: str) -> Iterator[Step]:
    yield Step("push", "backward")
    for layer in range(_LAYERS):
        yield Step("launch", f"{prefix}backward")
        yield Step("launch", f"{prefix}norm_backward")
        if (layer + 1) % _LAYERS_PER_BUCKET == 0:
            bucket = f"bucket {layer // _LAYERS_PER_BUCKET}"
            yield Step("record", bucket)
            yield Step("wait", bucket, stream="communication")
            yield Step("collective", "all_reduce", stream="communication", size_bytes=_BUCKET_BYTES)
    yield Step("pop")


def _update(prefix: str) -> Iterator[Step]:
    """Loss, norm of the gradients and whether they overflowed are summed over all ranks, the optimizer works, and the
    host waits, as `loss.item()` does."""
    yield Step("push", "optimizer")
    for _ in range(_SCALARS):
        yield Step("collective", "all_reduce", stream="communication", size_bytes=4)
    yield Step("record", "gradients", stream="communication")
    yield Step("wait", "gradients")
    yield Step("launch", f"{prefix}optimizer")
    yield Step("pop")
    yield Step("sync", "device")
