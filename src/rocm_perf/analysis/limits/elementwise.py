"""Causes in kernels that pass data on: streams below what memory gives, strided and converting kernels, gathers and
scatters, sorts hidden in a backward pass, and chains that one kernel could replace."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod
from typing import Any

import msgspec
import polars as pl
from msgspec.structs import replace

from rocm_perf.analysis.basis.keys import ordered, telling
from rocm_perf.analysis.basis.names import short_name
from rocm_perf.analysis.basis.passes import timed_by_kernel
from rocm_perf.analysis.limits.geometry import with_geometry
from rocm_perf.analysis.limits.launches import QUEUE, is_brief
from rocm_perf.analysis.limits.uses import (
    NEAR_ROOF,
    KernelUses,
    Rule,
    Use,
    cache_bytes,
    cause,
    peak_rate,
    times_as_fast,
    weighed,
)
from rocm_perf.analysis.roofline.devices import Device
from rocm_perf.analysis.time.families import is_fusible
from rocm_perf.analysis.time.kernel_family import family
from rocm_perf.model.results.limits import Cause, GroupCause
from rocm_perf.model.torch_call import Argument
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_bytes, format_count, format_list, format_ns, format_share

_STREAMS = ("elementwise", "copy", "quantisation", "optimiser")
_BEHIND = 1.25  # times as slow as the best stream of the recording
_GENERAL = re.compile(r"^elementwise_kernel(_manual_unroll)?\b")  # torch: an offset computed for each element
_UNROLLED = re.compile(
    r"^unrolled_elementwise_kernel\b"
)  # torch: types that differ, or addresses that are not aligned
_CASTS = re.compile(r"(bfloat16|float16|float8\w*|half|float)_copy_kernel|^cupy_(copy|astype)__(\w+?)_(\w+)$")
_TO_COPY = re.compile(r"^aten::(copy_|_to_copy|to)$")
_INDEXED = re.compile(r"scatter_add|index_add|scatter_reduce|embedding_dense_backward|histc|bincount")
_SORTING = re.compile(r"index_put|embedding\w*_backward|_unique2|index_backward")
_CONTENDED = 1_000  # elements for each destination
_LINE = 64  # bytes that memory reads at least
_CHAIN = 3  # kernels in a row
_CHAIN_GAP_NS = 50_000
_LONGEST = 64  # kernels of a chain that recurs
_CHAIN_SHARE = 0.02  # of the kernel time of the GPU
_NAMED = 4
_ADAM_PASSES = 7 / 3  # reads and writes of one fused step, in passes of two reads and a write
_FOREACH = re.compile(r"^multi_tensor_apply_kernel")
_FUSED_OPTIMISER = re.compile(r"Fused(Adam|Sgd|Adagrad|Lamb)|FusedOptimizer", re.IGNORECASE)
_PASSES = 4


def elementwise_causes(of_kernel: KernelUses) -> list[Cause]:
    """Return what the shapes, types and strides of a kernel that passes data on say of it."""
    rules: list[Rule] = []
    if of_kernel.family.name in _STREAMS:
        rules = [casts, strided, below_memory]
    elif of_kernel.family.name == "embedding":
        rules = [index_atomics, narrow_gather]
    elif of_kernel.family.name == "sort":
        rules = [hidden_sort]
    return [one for rule in rules for one in weighed(of_kernel, rule)]


def casts(use: Use, of_kernel: KernelUses) -> Cause | None:
    """Say that a kernel only converts values to another type."""
    types = _converted(use, of_kernel.name)
    if types is None or is_brief(use, of_kernel):
        return None
    before, after = types
    return cause(
        "casts",
        use.kernel,
        share=1.0,
        saves=None,
        certainty="proven",
        title=f"it converts {before} to {after} and computes nothing",
        evidence=(
            *_moved(use),
            "all of its time is saved where the values stay in one type",
        ),
        source="shapes" if use.arguments else "launch geometry",
    )


def _converted(use: Use, name: str) -> tuple[str, str] | None:
    """The type before and after, where a use is a conversion and nothing else."""
    tensors = _tensors(use)
    if use.operator and _TO_COPY.match(use.operator) and len(tensors) == 2:
        after, before = tensors[0].dtype, tensors[1].dtype
        return (before, after) if before and after and before != after else None
    found = _CASTS.search(name)
    if found is None or found[3] is None or found[3] == found[4]:
        return None
    return found[3], found[4]


def strided(use: Use, of_kernel: KernelUses) -> Cause | None:
    """Say that a kernel computes the place of each element, because its tensors do not lie alike."""
    general, unrolled = _GENERAL.search(of_kernel.name), _UNROLLED.search(of_kernel.name)
    best = of_kernel.best_rate
    if not (general or unrolled) or best is None or not _streams_from_memory(use):
        return None
    if use.rate is None or use.rate * _BEHIND > best or is_brief(use, of_kernel):
        return None
    why = _layout(use, unrolled=bool(unrolled))
    if not why:
        return None
    saves = 1 - use.rate / best
    return cause(
        "strided-elementwise",
        use.kernel,
        share=saves,
        saves=saves,
        certainty="likely",
        title=f"{why}: {use.rate / 1e3:.2f} TB/s, where another kernel here streams {best / 1e3:.2f} TB/s",
        evidence=(
            *_operator(use),
            *_moved(use),
            f"at the fastest rate of this recording it is {times_as_fast(saves)}",
        ),
        source="shapes",
    )


def _layout(use: Use, *, unrolled: bool) -> str:
    """Why torch takes another kernel than the vectorised one; empty where the arguments show no reason."""
    tensors = [one for one in _tensors(use) if one.elements > 1]
    shapes = {one.shape for one in tensors}
    if len({one.dtype for one in tensors}) > 1:
        return "its tensors have different types, so that it reads and writes single elements"
    if unrolled or not tensors:
        return ""
    if len(shapes) > 1:
        return "one operand is broadcast, so that it computes an offset for each element"
    strides = {one.strides for one in tensors}
    if len(strides) > 1 and all(one.strides for one in tensors):
        return "its operands lie differently in memory, so that it computes an offset for each element"
    if any(not _is_dense(one) for one in tensors):
        return "it works on a view with gaps, so that it computes an offset for each element"
    return ""


def _is_dense(tensor: Argument) -> bool:
    """Whether the elements lie side by side, in whatever order; true where strides were not recorded."""
    if not tensor.strides or 0 in tensor.shape:
        return True
    steps = sorted(
        (step, size) for size, step in zip(tensor.shape, tensor.strides[0], strict=True) if size > 1
    )
    expected = 1
    for step, size in steps:
        if step != expected:
            return False
        expected *= size
    return True


def below_memory(use: Use, of_kernel: KernelUses) -> Cause | None:
    """Say how far a stream is from what memory gives, where nothing in its arguments says why."""
    peak = peak_rate(use.device)
    if peak is None or use.rate is None or not _streams_from_memory(use) or is_brief(use, of_kernel):
        return None
    reached = use.rate / peak
    if reached >= NEAR_ROOF or strided(use, of_kernel) is not None:
        return None
    best = of_kernel.best_rate
    saves = 1 - reached
    beside = (
        f"the fastest stream of this recording moves {best / 1e3:.2f} TB/s"
        if best and best > _BEHIND * use.rate
        else "no kernel of this recording streams faster, so how much of that can be had is not known"
    )
    dense = all(_is_dense(one) for one in _tensors(use)) and any(one.strides for one in _tensors(use))
    plain = ("its tensors are dense: strides are not the reason",) if dense else ()
    return cause(
        "below-memory",
        use.kernel,
        share=saves,
        saves=saves,
        certainty="hint",
        title=f"it only streams, at {format_share(reached)} of what the memory of {use.device.name} moves",
        evidence=(*_operator(use), *_moved(use), beside, *plain),
        source="shapes",
    )


def index_atomics(use: Use, of_kernel: KernelUses) -> Cause | None:
    """Say that many elements are added up in few places, one atomic each."""
    if use.operator is None or not _INDEXED.search(use.operator) or is_brief(use, of_kernel):
        return None
    tensors = _tensors(use)
    if len(tensors) < 2:
        return None
    source = max(tensors, key=lambda one: one.elements)
    integers = [one for one in tensors if (one.dtype or "").startswith("int")]
    target = tensors[0] if "backward" not in use.operator else None
    if not integers or target is None or not target.elements or target is source:
        return None
    each = source.elements / target.elements
    if each < _CONTENDED or (of_kernel.roof or 0) >= NEAR_ROOF:
        return None
    return cause(
        "atomics-by-index",
        use.kernel,
        share=0.5,
        saves=None,
        certainty="likely",
        title=f"additions to few places wait for each other: {source.elements:,} elements in {target.elements:,} "
        f"places, {each:,.0f} for each",
        evidence=(*_operator(use), *_moved(use)),
        source="shapes",
    )


def narrow_gather(use: Use, of_kernel: KernelUses) -> Cause | None:
    """Say that each row that is gathered is narrower than what memory reads at once."""
    if use.operator not in ("aten::embedding", "aten::index_select", "aten::gather", "aten::index"):
        return None
    table = next((one for one in _tensors(use) if len(one.shape) >= 1 and not _is_index(one)), None)
    if table is None or table.element_bytes is None or is_brief(use, of_kernel):
        return None
    rows = {"aten::embedding": 1, "aten::index_select": 1}.get(use.operator)
    width = (
        prod(table.shape[rows:]) * table.element_bytes
        if rows and len(table.shape) > 1
        else table.element_bytes
    )
    if width >= _LINE or use.rate is None or (of_kernel.roof or 0) >= NEAR_ROOF:
        return None
    if table.elements * table.element_bytes <= cache_bytes(use.device):
        return None
    share = 1 - width / _LINE
    return cause(
        "narrow-gather",
        use.kernel,
        share=share,
        saves=share,
        certainty="hint",
        title=f"it gathers {width} B at a time, and memory reads at least {_LINE} B",
        evidence=(
            *_operator(use),
            *_moved(use),
            "indices in rising order, or wider rows, use more of each line",
        ),
        source="shapes",
    )


def hidden_sort(use: Use, _: KernelUses) -> Cause | None:
    """Say that a sort belongs to an operator that is not one."""
    if use.operator is None or not _SORTING.search(use.operator):
        return None
    return cause(
        "hidden-sort",
        use.kernel,
        share=1.0,
        saves=1.0,
        certainty="proven",
        title=f"{use.operator} sorts its indices before it adds anything up",
        evidence=(
            *_operator(use),
            f"{format_count(use.calls, 'launch', 'launches')} of {format_ns(use.mean_ns)} are that sort",
        ),
        source="shapes",
    )


def _tensors(use: Use) -> list[Argument]:
    return [one for one in use.arguments if one.kind == "tensor"]


def _is_index(tensor: Argument) -> bool:
    return (tensor.dtype or "").startswith(("int", "uint", "bool"))


def _streams_from_memory(use: Use) -> bool:
    """Whether it moves more than caches hold."""
    return use.bytes is not None and use.bytes > cache_bytes(use.device)


def _operator(use: Use) -> tuple[str, ...]:
    tensors = _tensors(use)
    if use.operator is None or not tensors:
        return ()
    shapes = ", ".join(f"{list(one.shape)} {one.dtype}" for one in tensors[:_NAMED])
    return (f"{use.operator} on {shapes}",)


def _moved(use: Use) -> tuple[str, ...]:
    if use.bytes is None or use.rate is None:
        return ()
    return (f"it moves {format_bytes(use.bytes)} in {format_ns(use.mean_ns)}: {use.rate / 1e3:.2f} TB/s",)


# --- several kernels at once ---

_FUSE = {
    "CuPy": "Decorate the expression with @cupy.fuse(), or write it as one cupy.ElementwiseKernel; write into arrays "
    "that are there already (out=).",
    "XLA": "Put the whole expression into one jax.jit function: what lies in one is fused.",
    "TensorFlow": "Compile the function with tf.function(jit_compile=True).",
    "Julia": "Write the expression as one broadcast: put @. before it, without intermediate arrays.",
    "PyTorch": "torch.compile makes one kernel of them.",
    "inductor": "Look for graph breaks (TORCH_LOGS=graph_breaks) between them: inductor fuses within one graph.",
}


def chains(trace: Trace, known: tuple[Device, ...]) -> list[GroupCause]:
    """Return runs of kernels that pass one array on, for each library: one kernel could replace each run."""
    frame = with_geometry(timed_by_kernel(trace), known).drop_nulls("duration_ns")
    fusible = [name for name in frame["kernel"].cast(pl.String).unique() if is_fusible(name)]
    if not fusible:
        return []
    totals = dict(frame.group_by("gpu").agg(pl.col("duration_ns").sum()).iter_rows())
    found: dict[tuple[int, str], list[_Chain]] = {}
    for row in _runs(frame, {name: family(name).library for name in fusible}).iter_rows(named=True):
        chain = _chain(row)
        if chain is not None:
            found.setdefault((row["gpu"], row["library"]), []).append(chain)
    told = [
        _told(gpu, library, of_library)
        for (gpu, library), of_library in found.items()
        if sum(one.total_ns for one in of_library) >= _CHAIN_SHARE * totals[gpu]
    ]
    return sorted(told, key=lambda one: -one.total_ns)


class _Chain(msgspec.Struct, frozen=True):
    """Kernels that pass an array on, in the order in which they run, each time that they do."""

    kernels: tuple[str, ...]
    times: int
    total_ns: int
    saved_ns: int
    items: int


def _runs(frame: pl.DataFrame, library: dict[str, str]) -> pl.DataFrame:
    """Unbroken runs of fusible kernels of one library over as many work-items, on one queue: those alike together."""
    rows = ordered(frame, [*telling(QUEUE, frame), "start_ns"]).with_columns(
        pl.col("kernel")
        .cast(pl.String)
        .replace_strict(library, default=None, return_dtype=pl.String)
        .alias("library"),
        (pl.col("workgroups") * pl.col("workgroup_size")).alias("items"),
    )
    same = [*telling([*QUEUE, "gpu"], frame), "library", "items"]
    apart = pl.any_horizontal(pl.col(name).ne_missing(pl.col(name).shift(1)) for name in same)
    late = (pl.col("start_ns") - pl.col("end_ns").shift(1)) > _CHAIN_GAP_NS
    length = pl.col("duration_ns")
    runs = (
        rows.with_columns((apart | late.fill_null(True)).cum_sum().alias("run"))
        .drop_nulls(["library", "items"])
        .group_by("run", maintain_order=True)
        .agg(
            pl.col("gpu", "library", "items").first(),
            pl.col("kernel").cast(pl.String),
            length.alias("lengths"),
            length.sum().alias("total"),
            length.max().alias("longest"),
        )
        .filter(pl.col("kernel").list.len() >= _CHAIN)
    )
    return runs.group_by("gpu", "library", "items", "kernel", maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("times"), pl.col("total", "longest").sum(), pl.col("lengths").first()
    )


def _chain(row: dict[str, Any]) -> _Chain | None:
    """The chain that a run consists of, once or several times in a row; None where it is one kernel over and over, as a
    benchmark runs it."""
    kernels, total = tuple(row["kernel"]), int(row["total"])
    period = _period(kernels)
    if period < _CHAIN:
        return None
    saved = total - int(row["longest"])
    if period < len(kernels):
        places = [sum(row["lengths"][place::period]) for place in range(period)]
        saved = round(total * (1 - max(places) / sum(places)))
    times = row["times"] * round(len(kernels) / period)
    return _Chain(kernels[:period], times, total, saved, int(row["items"]))


def _period(kernels: tuple[str, ...]) -> int:
    """After how many kernels a run begins again; all of them where it does not."""
    for period in range(1, min(_LONGEST, len(kernels) // 2) + 1):
        if kernels[period:] == kernels[:-period]:
            return period
    return len(kernels) if len(set(kernels)) > 1 else 1


def _told(gpu: int, library: str, chains_of: list[_Chain]) -> GroupCause:
    total, saved = sum(one.total_ns for one in chains_of), sum(one.saved_ns for one in chains_of)
    first = max(chains_of, key=lambda one: one.total_ns)
    order = tuple(dict.fromkeys(name for one in chains_of for name in one.kernels))
    of = f"{library} kernels" if library else "kernels"
    names = format_list(list(dict.fromkeys(map(short_name, first.kernels))), _NAMED)
    times = sum(one.times for one in chains_of)
    others = "" if len(chains_of) == 1 else f", the longest of {len(chains_of)} such chains"
    told = cause(
        "elementwise-chain",
        order[0],
        share=saved / total,
        saves=saved / total,
        certainty="likely",
        title=f"{len(first.kernels)} unfused {of} in a row work on the same array{others}: {names}",
        evidence=(
            f"{format_count(times, 'run')} of such kernels, all of a run with the same number of work-items "
            f"({first.items:,}), {'take' if times > 1 else 'takes'} {format_ns(total)}",
            "each reads its arrays from memory and writes one back: one kernel instead of each run, as long as the "
            f"longest of it, is about {times_as_fast(saved / total)}",
        ),
        source="launch geometry",
    )
    return GroupCause(
        kernels=order,
        gpu=gpu,
        total_ns=total,
        calls=sum(one.times * len(one.kernels) for one in chains_of),
        cause=replace(told, remedy=_FUSE.get(library, told.remedy)),
    )


def optimiser_passes(trace: Trace, known: tuple[Device, ...]) -> Iterator[GroupCause]:
    """Return optimiser steps that go over the parameters several times, one foreach kernel after another."""
    frame = with_geometry(timed_by_kernel(trace), known).drop_nulls("duration_ns")
    spent = frame.group_by("gpu", "kernel", maintain_order=True).agg(pl.col("duration_ns").sum(), pl.len())
    by_gpu: dict[int, list[tuple[str, int, int]]] = {}
    for gpu, kernel, total, calls in spent.iter_rows():
        name = str(kernel)
        foreach = _FOREACH.search(short_name(name)) and family(name).name == "optimiser"
        if foreach and not _FUSED_OPTIMISER.search(name):
            by_gpu.setdefault(gpu, []).append((name, int(total), calls))
    for gpu, passes in by_gpu.items():
        if len(passes) < _PASSES:
            continue
        total_ns = sum(total for _, total, _ in passes)
        saves = max(0.0, 1 - _ADAM_PASSES / len(passes))
        yield GroupCause(
            kernels=tuple(name for name, _, _ in passes),
            gpu=gpu,
            total_ns=total_ns,
            calls=sum(calls for _, _, calls in passes),
            cause=cause(
                "optimiser-passes",
                passes[0][0],
                share=saves,
                saves=saves,
                certainty="likely",
                title=f"the optimiser goes over the parameters in {len(passes)} passes, one for each operation",
                evidence=(
                    f"{len(passes)} foreach kernels take {format_ns(total_ns)}",
                    f"a fused step reads and writes everything once: at most {times_as_fast(saves)}",
                ),
                source="launch geometry",
            ),
        )
