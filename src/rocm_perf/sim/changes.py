"""What-if changes to a workload. The true effect of a change is the wall time of the changed workload, run again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from rocm_perf.errors import UsageError
from rocm_perf.sim.engine import simulate
from rocm_perf.sim.gpu import SimGpu
from rocm_perf.sim.steps import DEFAULT_STREAM, WIDE_SYNCS, Kernel, Step, Workload, written

Steps = tuple[Step, ...]


class Change(Protocol):
    """Something that turns one workload into another."""

    def apply(self, workload: Workload, gpu: SimGpu) -> Workload: ...


def wall_if(workload: Workload, gpu: SimGpu, *changes: Change) -> int:
    """The wall time in nanoseconds after the changes, applied in order; without any, that of the workload as it is."""
    for change in changes:
        workload = change.apply(workload, gpu)
    return simulate(workload, gpu).wall_ns


@dataclass(frozen=True)
class FasterKernel:
    """A kernel, given by its key in the workload, does the same work `factor` times faster."""

    kernel: str
    factor: float

    def apply(self, workload: Workload, _gpu: SimGpu) -> Workload:
        known = _kernel(workload, self.kernel)
        faster = replace(known, speedup=known.speedup * self.factor)
        return replace(workload, kernels={**workload.kernels, self.kernel: faster})


@dataclass(frozen=True)
class SyncsHoisted:
    """Stream and device syncs are removed; the last of each kind and stream stays, after the loops it was in."""

    def apply(self, workload: Workload, _gpu: SimGpu) -> Workload:
        return _each_thread(workload, _hoisted)


@dataclass(frozen=True)
class StreamSyncs:
    """Device syncs wait only for the stream that their thread used last."""

    def apply(self, workload: Workload, _gpu: SimGpu) -> Workload:
        return _each_thread(workload, lambda steps: _narrowed(steps, DEFAULT_STREAM)[0])


@dataclass(frozen=True)
class Fused:
    """Consecutive launches of these kernels become one launch.

    It computes what they compute and moves what they move, minus the `kept_bytes` that no longer go through memory.
    """

    kernels: tuple[str, ...]
    kept_bytes: float = 0.0

    def apply(self, workload: Workload, gpu: SimGpu) -> Workload:
        key = "fused " + " ".join(self.kernels)
        fused = _fused([_kernel(workload, name) for name in self.kernels], self.kept_bytes, gpu)
        changed = _each_list(workload, lambda steps: _with_fused(steps, self.kernels, key))
        return replace(changed, kernels={**workload.kernels, key: fused})


@dataclass(frozen=True)
class Captured:
    """In loops, consecutive launches and asynchronous copies on a stream become one graph launch."""

    def apply(self, workload: Workload, _gpu: SimGpu) -> Workload:
        graphs = dict(workload.graphs)
        changed = _each_thread(workload, lambda steps: _with_graphs(steps, graphs, in_loop=False))
        return replace(changed, graphs=graphs)


@dataclass(frozen=True)
class AsyncCopies:
    """Copies use pinned memory and do not block."""

    def apply(self, workload: Workload, _gpu: SimGpu) -> Workload:
        return _each_list(workload, lambda steps: tuple(_asynchronous(step) for step in steps))


@dataclass(frozen=True)
class ScaledCpu:
    """The host work of one rank takes `factor` times as long."""

    rank: int
    factor: float

    def apply(self, workload: Workload, _gpu: SimGpu) -> Workload:
        threads = tuple(
            replace(thread, steps=_mapped(thread.steps, self._scaled)) if thread.rank == self.rank else thread
            for thread in workload.threads
        )
        return replace(workload, threads=threads)

    def _scaled(self, steps: Steps) -> Steps:
        return tuple(
            replace(step, duration_us=step.duration_us * self.factor) if step.verb == "cpu" else step
            for step in steps
        )


@dataclass(frozen=True)
class ScaledRankKernels:
    """The kernels of one rank take `factor` times as long."""

    rank: int
    factor: float

    def apply(self, workload: Workload, _gpu: SimGpu) -> Workload:
        own = {
            self._key(key): replace(kernel, speedup=kernel.speedup / self.factor)
            for key, kernel in workload.kernels.items()
        }
        threads = tuple(
            replace(thread, steps=_mapped(thread.steps, self._renamed))
            if thread.rank == self.rank
            else thread
            for thread in workload.threads
        )
        return replace(workload, kernels={**workload.kernels, **own}, threads=threads)

    def _renamed(self, steps: Steps) -> Steps:
        return tuple(
            replace(step, what=self._key(step.what)) if step.verb == "launch" else step for step in steps
        )

    def _key(self, kernel: str) -> str:
        return f"{kernel} of rank {self.rank}"


@dataclass(frozen=True)
class FasterLink:
    """Collectives transfer their bytes `factor` times faster: as long as a `factor` of them would take."""

    factor: float

    def apply(self, workload: Workload, _gpu: SimGpu) -> Workload:
        return _each_list(workload, lambda steps: tuple(self._faster(step) for step in steps))

    def _faster(self, step: Step) -> Step:
        fewer = round(step.size_bytes / self.factor)
        return replace(step, size_bytes=fewer) if step.verb == "collective" else step


def _kernel(workload: Workload, key: str) -> Kernel:
    if key not in workload.kernels:
        raise UsageError(f"there is no kernel {key!r}", next_step=f"Known: {', '.join(workload.kernels)}.")
    return workload.kernels[key]


def _each_thread(workload: Workload, change: Callable[[Steps], Steps]) -> Workload:
    threads = tuple(replace(thread, steps=change(thread.steps)) for thread in workload.threads)
    return replace(workload, threads=threads)


def _each_list(workload: Workload, change: Callable[[Steps], Steps]) -> Workload:
    """The workload with every list of steps changed: those of threads, of the loops in them, and of graphs."""
    graphs = {key: change(steps) for key, steps in workload.graphs.items()}
    return replace(_each_thread(workload, lambda steps: _mapped(steps, change)), graphs=graphs)


def _mapped(steps: Steps, change: Callable[[Steps], Steps]) -> Steps:
    inner = (
        replace(step, steps=_mapped(step.steps, change)) if step.verb == "repeat" else step for step in steps
    )
    return change(tuple(inner))


def _is_wide(step: Step) -> bool:
    return step.verb == "sync" and step.what in WIDE_SYNCS


def _target(sync: Step) -> str:
    return "" if sync.what == "device" else sync.stream


def _hoisted(steps: Steps) -> Steps:
    last: dict[str, tuple[int, Step]] = {}
    for place, step in enumerate(steps):
        last |= {_target(sync): (place, sync) for sync in written((step,)) if _is_wide(sync)}
    kept: list[Step] = []
    for place, step in enumerate(steps):
        kept += _without_syncs((step,))
        kept += [sync for where, sync in last.values() if where == place]
    return tuple(kept)


def _without_syncs(steps: Steps) -> Steps:
    kept: list[Step] = []
    for step in steps:
        inner = _without_syncs(step.steps) if step.verb == "repeat" else ()
        if step.verb == "repeat":
            kept += [replace(step, steps=inner)] if inner else []
        elif not _is_wide(step):
            kept.append(step)
    return tuple(kept)


def _narrowed(steps: Steps, stream: str) -> tuple[Steps, str]:
    narrowed: list[Step] = []
    for step in steps:
        if step.verb in ("launch", "copy", "graph", "collective"):
            stream = step.stream
        if step.verb == "repeat":
            inner, stream = _narrowed(step.steps, stream)
            narrowed.append(replace(step, steps=inner))
        elif step.verb == "sync" and step.what == "device":
            narrowed.append(replace(step, what="stream", stream=stream))
        else:
            narrowed.append(step)
    return tuple(narrowed), stream


def _fused(kernels: list[Kernel], kept_bytes: float, gpu: SimGpu) -> Kernel:
    largest = max(kernels, key=lambda kernel: kernel.workgroups)
    moved = _sums([kernel.bytes for kernel in kernels])
    moved["hbm"] = max(0.0, moved.get("hbm", 0.0) - kept_bytes)
    timed = any(kernel.duration_us is not None or kernel.speedup != 1 for kernel in kernels)
    return replace(
        largest,
        name="fused_" + "_".join(kernel.name for kernel in kernels),
        flops=_sums([kernel.flops for kernel in kernels]),
        bytes=moved,
        matrix=any(kernel.matrix for kernel in kernels),
        duration_us=sum(gpu.kernel_ns(kernel) for kernel in kernels) / 1000 if timed else None,
        vgprs=max(kernel.vgprs for kernel in kernels),
        agprs=max(kernel.agprs for kernel in kernels),
        sgprs=max(kernel.sgprs for kernel in kernels),
        lds_bytes=max(kernel.lds_bytes for kernel in kernels),
        scratch_bytes=max(kernel.scratch_bytes for kernel in kernels),
        speedup=1.0,
    )


def _sums(amounts: list[Mapping[str, float]]) -> dict[str, float]:
    totals: dict[str, float] = {}
    for amount in amounts:
        for name, value in amount.items():
            totals[name] = totals.get(name, 0.0) + value
    return totals


def _with_fused(steps: Steps, names: tuple[str, ...], key: str) -> Steps:
    kept: list[Step] = []
    for step in steps:
        kept.append(step)
        tail = kept[-len(names) :]
        launches = [(launch.verb, launch.what, launch.stream) for launch in tail]
        if launches == [("launch", name, step.stream) for name in names]:
            kept[-len(names) :] = [replace(step, what=key)]
    return tuple(kept)


def _with_graphs(steps: Steps, graphs: dict[str, Steps], in_loop: bool) -> Steps:
    kept: list[Step] = []
    body: list[Step] = []

    def close() -> None:
        if len(body) > 1:
            kept.append(Step("graph", _graph_key(tuple(body), graphs), body[0].stream, line=body[0].line))
        else:
            kept.extend(body)
        body.clear()

    for step in steps:
        if in_loop and _capturable(step):
            if body and body[0].stream != step.stream:
                close()
            body.append(step)
            continue
        close()
        inner = step.steps and _with_graphs(step.steps, graphs, in_loop=True)
        kept.append(replace(step, steps=inner))
    close()
    return tuple(kept)


def _capturable(step: Step) -> bool:
    return step.verb == "launch" or (step.verb == "copy" and step.pinned and not step.blocking)


def _graph_key(body: Steps, graphs: dict[str, Steps]) -> str:
    for key, steps in graphs.items():
        if steps == body:
            return key
    key = f"captured {len(graphs)}"
    graphs[key] = body
    return key


def _asynchronous(step: Step) -> Step:
    return replace(step, pinned=True, blocking=False) if step.verb == "copy" else step
