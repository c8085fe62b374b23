"""The causes that follow from shapes and names, for products, convolutions and attention.

The launches of a kernel are grouped by the call of their operator and by grid; each group is judged, and a cause of the
kernel is what holds for the groups with most of its time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec
import polars as pl
from msgspec.structs import replace

from rocm_perf.analysis.basis.passes import timed_dispatches
from rocm_perf.analysis.basis.whole import whole_of
from rocm_perf.analysis.limits.attention import attention_losses, cache_losses, reference
from rocm_perf.analysis.limits.convolutions import convolution, convolution_losses
from rocm_perf.analysis.limits.losses import (
    LEAST_SHARE,
    SHORTEST_NS,
    Launch,
    Loss,
    Rates,
    Times,
    impossible,
    named,
    rates_of,
    strongest_first,
    times_of,
)
from rocm_perf.analysis.limits.products import (
    Sibling,
    by_name,
    efficiency,
    product_losses,
    size_of,
    slower_than,
)
from rocm_perf.analysis.limits.tiles import adds_up_parts, attention_tile, tile
from rocm_perf.analysis.operators.tree import has_operators, operator_tree
from rocm_perf.analysis.operators.work.routed import CHOSEN
from rocm_perf.analysis.roofline.amounts import Key
from rocm_perf.analysis.roofline.devices import Device
from rocm_perf.analysis.roofline.shapes import CallWork, shaped_calls
from rocm_perf.analysis.roofline.times import ID, times
from rocm_perf.analysis.time.attention_by_hand import attention_by_hand
from rocm_perf.analysis.time.conversions import is_conversion
from rocm_perf.analysis.time.kernel_family import families, family
from rocm_perf.model.results.limits import Cause
from rocm_perf.model.results.roofline import Roofline
from rocm_perf.model.torch_call import arguments
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_ns, format_share

_FAMILIES = ("gemm", "convolution", "attention")
_GROUPS = 12  # of a kernel that are judged: those with most of its time
_MOST_OF_IT = 0.9
_LONG_NS = 100_000  # of products that are compared with each other


class _Judged(msgspec.Struct, frozen=True):
    launch: Launch
    causes: list[Cause]


def shape_causes(trace: Trace, known: tuple[Device, ...], points: Roofline) -> dict[Key, list[Cause]]:
    """Return the causes of each kernel that follow from shapes and names, those that explain most of its time first."""
    if not trace.has("dispatches"):
        return {}
    rates = tuple(
        rates_of(device, points.gpus[place] if place < len(points.gpus) else None)
        for place, device in enumerate(known)
    )
    launches, together = _launches(trace, known)
    best = _best_products(launches, rates)
    found: dict[Key, list[Cause]] = {}
    for key, groups in launches.items():
        total = sum(launch.total_ns for launch in groups)
        judged = [
            _Judged(launch, _causes(launch, rates[key[0]], best)) for launch in _telling(groups)[:_GROUPS]
        ]
        causes = _of_kernel(judged)
        helping = _of_helper(key[1], total, together.get(key, 0.0))
        if helping is not None:
            causes = named([helping], Times(1.0, 1.0, 0.0), key[1])
        if causes:
            found[key] = causes
    for key, cause in _unfused(trace, launches, rates):
        found[key] = [
            cause,
            *(one for one in found.get(key, []) if one.id not in ("streams-weights", "thin-product")),
        ]
    return found


def launches_of(trace: Trace, known: tuple[Device, ...]) -> dict[Key, list[Launch]]:
    """Return the launches of each kernel of a product, convolution or attention by call and grid, the longest first."""
    return _launches(trace, known)[0] if trace.has("dispatches") else {}


def _launches(trace: Trace, known: tuple[Device, ...]) -> tuple[dict[Key, list[Launch]], dict[Key, float]]:
    """Return the launches of each kernel of a product, convolution or attention, grouped, those with most time first;
    and the time of all kernels that the same calls launched."""
    clock = times(trace, known)
    timed = clock.timed
    names = timed["kernel"].unique().drop_nulls()
    wanted = [name for name in names if _is_wanted(name)]
    shaped = None
    if has_operators(whole_of(trace)):
        shaped = shaped_calls(trace, operator_tree(trace), clock)
    if shaped is None:
        slots = pl.DataFrame(schema={"call": pl.UInt32, "slot": pl.UInt32})
    else:
        slots = shaped.rows.select("call", "slot").explode("slot")
    placed = (
        timed.filter(pl.col("kernel").is_in(wanted))
        .join(_grids(trace), on=ID, how="left", nulls_equal=True, maintain_order="left")
        .join(slots, on="slot", how="left", maintain_order="left")
    )
    groups = placed.group_by("gpu", "kernel", "call", "workgroups", "workgroup", maintain_order=True).agg(
        pl.len(), pl.col("duration_ns").median().alias("ns"), pl.col("duration_ns").sum().alias("total")
    )
    shortest = min(timed.select(pl.col("duration_ns").min()).item() or SHORTEST_NS, SHORTEST_NS)
    arguments_of = (
        {row["call"]: row for row in shaped.rows.drop("slot").iter_rows(named=True)}
        if shaped is not None
        else {}
    )
    launches: dict[Key, list[Launch]] = defaultdict(list)
    for row in groups.sort("total", descending=True, maintain_order=True).iter_rows(named=True):
        call = row["call"]
        work = shaped.works[call] if shaped is not None and call is not None else None
        launches[row["gpu"], row["kernel"]].append(
            _launch(row, arguments_of.get(call), work, float(shortest))
        )
    return dict(launches), _together(placed, arguments_of)


def _is_wanted(kernel: str) -> bool:
    return family(kernel).name in _FAMILIES or is_conversion(kernel) or adds_up_parts(kernel) is not None


def _grids(trace: Trace) -> pl.DataFrame:
    """Return the workgroups of each dispatch and their size, where both were recorded."""
    sizes = [pl.col(f"workgroup_{axis}") for axis in "xyz"]
    size = sizes[0] * sizes[1] * sizes[2]
    counts = [(pl.col(f"grid_{axis}") / pl.col(f"workgroup_{axis}")).ceil() for axis in "xyz"]
    count = counts[0] * counts[1] * counts[2]
    usable = (size > 0) & count.is_finite() & (count > 0)
    return (
        trace.table("dispatches")
        .select(
            *ID,
            pl.when(usable).then(count).cast(pl.Int64).alias("workgroups"),
            pl.when(usable).then(size).cast(pl.Int64).alias("workgroup"),
        )
        .drop_nulls("dispatch_id")
        .unique(ID, keep="none")
    )


def _launch(
    row: Mapping[str, object], call: Mapping[str, str] | None, work: CallWork | None, shortest: float
) -> Launch:
    whole = work.whole if work is not None else None
    known = (
        arguments(call["shapes"], call["dtypes"], call["strides"], call["inputs"])
        if call is not None
        else None
    )
    fields = msgspec.convert(row, _Row)
    return Launch(
        gpu=fields.gpu,
        kernel=fields.kernel,
        operator=call["name"] if call is not None and whole is not None else "",
        arguments=known or (),
        sizes=whole.sizes if whole is not None else None,
        flops=float(work.flops.value) if work is not None and work.flops.value else None,
        moved=_least_bytes(work),
        ceiling=work.ceiling if work is not None else None,
        workgroups=fields.workgroups,
        workgroup=fields.workgroup,
        calls=fields.len,
        ns=fields.ns,
        total_ns=fields.total,
        shortest_ns=shortest,
    )


class _Row(msgspec.Struct):
    gpu: int
    kernel: str
    workgroups: int | None
    workgroup: int | None
    len: int
    ns: float
    total: float


def _least_bytes(work: CallWork | None) -> float | None:
    """Return the bytes that a launch moves at least: of a mixture of experts only the most are known."""
    if work is None or not work.bytes.value or work.bytes.doubt == CHOSEN:
        return None
    return float(work.bytes.value)


def _together(placed: pl.DataFrame, calls: Mapping[int, Mapping[str, object]]) -> dict[Key, float]:
    """Return for each kernel that adds up parts the time of the kernels that its operators launched."""
    by_set: dict[object, float] = defaultdict(float)
    sets_of: dict[Key, set[object]] = defaultdict(set)
    spent = placed.drop_nulls("call").group_by("gpu", "kernel", "call").agg(pl.col("duration_ns").sum())
    for gpu, kernel, call, total in spent.iter_rows():
        number = (gpu, calls[call]["launched"], calls[call]["signature"])
        by_set[number] += total
        if adds_up_parts(kernel) is not None:
            sets_of[gpu, kernel].add(number)
    return {key: sum(by_set[number] for number in numbers) for key, numbers in sets_of.items()}


def _causes(launch: Launch, rates: Rates | None, best: Mapping[tuple[object, ...], Sibling]) -> list[Cause]:
    """Return the causes of one group of launches."""
    if adds_up_parts(launch.kernel) is not None or is_conversion(launch.kernel):
        return []
    kind = family(launch.kernel).name
    attention = kind == "attention" or (launch.sizes is not None and len(launch.sizes) == 6)
    if rates is None or not launch.operator:
        if attention:
            losses = cache_losses(launch, attention_tile(launch.kernel), rates) if rates else []
        else:
            known = tile(launch.kernel)
            skipped = kind == "convolution" or (known is not None and known.maker == "triton_kernels")
            losses = [] if skipped else by_name(launch, known, rates)
        return named(losses, Times(launch.ns, launch.ns, 0.0), launch.kernel)
    wrong = impossible(launch, rates)
    if wrong is not None:
        return named([wrong], Times(launch.ns, launch.ns, 0.0), launch.kernel)
    spent = times_of(launch, rates)
    if attention:
        of_kernel = attention_tile(launch.kernel)
        losses = attention_losses(launch, of_kernel, rates, spent)
        return named(losses, reference(launch, of_kernel, rates, spent), launch.kernel)
    if launch.sizes is None and convolution(launch) is not None:
        return named(convolution_losses(launch, tile(launch.kernel), rates, spent), spent, launch.kernel)
    return named(_of_product(launch, rates, spent, best), spent, launch.kernel)


def _of_product(
    launch: Launch, rates: Rates, spent: Times, best: Mapping[tuple[object, ...], Sibling]
) -> list[Loss]:
    of_kernel = tile(launch.kernel)
    losses = product_losses(launch, of_kernel, rates, spent)
    if of_kernel is None or any(loss.id == "small-product" for loss in losses):
        return losses
    model = efficiency(launch, of_kernel, rates)
    beside = best.get((launch.gpu, of_kernel.maker, launch.ceiling))
    if model is not None and beside is not None and launch.ns >= _LONG_NS:
        slower = slower_than(launch, model, beside)
        losses += [slower] if slower else []
    return losses


def _best_products(
    launches: Mapping[Key, Sequence[Launch]], rates: Sequence[Rates | None]
) -> dict[tuple[object, ...], Sibling]:
    """Return the fastest long product of each library and type on each GPU."""
    best: dict[tuple[object, ...], Sibling] = {}
    for launch in (one for groups in launches.values() for one in groups):
        of_kernel, of_gpu = tile(launch.kernel), rates[launch.gpu]
        if of_kernel is None or of_gpu is None or launch.ns < _LONG_NS or not launch.operator:
            continue
        model = efficiency(launch, of_kernel, of_gpu)
        key = (launch.gpu, of_kernel.maker, launch.ceiling)
        if model is not None and (key not in best or launch.tflops > best[key].tflops):
            best[key] = Sibling(size_of(launch), launch.tflops, model)
    return best


def _telling(groups: Sequence[Launch]) -> Sequence[Launch]:
    """Return the groups whose call is known, where they hold half of the kernel's time: the others are taken to be like
    them. Recorders lose the call of some launches."""
    known = [launch for launch in groups if launch.operator]
    whole = sum(launch.total_ns for launch in groups)
    return known if 2 * sum(launch.total_ns for launch in known) >= whole else groups


def _of_kernel(judged: Sequence[_Judged]) -> list[Cause]:
    """Return the causes of the groups as causes of the kernel, each with the share of its time that it explains."""
    total = sum(group.launch.total_ns for group in judged)
    by_id: dict[str, list[tuple[float, Cause]]] = defaultdict(list)
    for group in judged:
        weight = group.launch.total_ns / total if total else 0.0
        for cause in group.causes:
            by_id[cause.id].append((weight, cause))
    causes = strongest_first(_combined(parts) for parts in by_id.values())
    return [cause for cause in causes if cause.share >= LEAST_SHARE / 4]


def _combined(parts: Sequence[tuple[float, Cause]]) -> Cause:
    weight, heaviest = max(parts, key=lambda part: part[0] * part[1].share)
    whole = sum(part[0] for part in parts)
    unbounded = any(cause.saves is None for _, cause in parts)
    evidence = heaviest.evidence
    if whole < _MOST_OF_IT or weight < _MOST_OF_IT * whole:
        same = f"; this call has {format_share(weight)}" if len(parts) > 1 else ""
        evidence = (*evidence, f"so it is in calls with {format_share(whole)} of the kernel's time{same}")
    return replace(
        heaviest,
        share=min(1.0, sum(part * cause.share for part, cause in parts)),
        saves=None if unbounded else min(1.0, sum(part * (cause.saves or 0.0) for part, cause in parts)),
        evidence=evidence,
    )


def _of_helper(kernel: str, total: float, together: float) -> Loss | None:
    """Return what a kernel that only prepares or finishes a product or a convolution is there for."""
    parts = adds_up_parts(kernel)
    if parts is not None:
        share = f": {format_share(total / together)} of the time of these products" if together else ""
        count = f"the {parts} parts" if parts else "the parts"
        return Loss(
            id="split-k-reduction",
            title=f"it adds up {count} of split sums{share}",
            evidence=("its time belongs to the product whose sum was split among workgroups",),
            share=1.0,
            saves=1.0,
        )
    if is_conversion(kernel):
        return Loss(
            id="layout-conversions",
            title="it turns tensors into the layout or type that the kernels of convolutions take",
            evidence=("the library launches it before or after its own kernels",),
            share=1.0,
            saves=1.0,
        )
    return None


def _unfused(
    trace: Trace, launches: Mapping[Key, Sequence[Launch]], rates: Sequence[Rates | None]
) -> Iterable[tuple[Key, Cause]]:
    """Yield that the scores of attention go through memory, for the softmax and for products that memory limits."""
    dispatches = timed_dispatches(trace)
    by_hand = attention_by_hand(dispatches, families(dispatches["kernel"]))
    if by_hand is None:
        return
    between = [name for name in by_hand.kernels if family(name).name == "softmax"]
    between_ns = format_ns(by_hand.between_ns)
    why = f"{by_hand.calls:,} runs of product, softmax, product; what lies between takes {between_ns}"
    for gpu in range(len(rates)):
        for name in between:
            loss = Loss(
                id="unfused-attention",
                certainty="likely",
                title="it is the softmax of attention that is not fused: scores go to memory and back",
                evidence=(why,),
                share=1.0,
                saves=1.0,
            )
            yield (gpu, name), named([loss], Times(1.0, 1.0, 0.0), name)[0]
    own = {product.kernel for product in by_hand.products}
    for (gpu, name), groups in launches.items():
        of_gpu = rates[gpu]
        if name in own and of_gpu is not None:
            cause = _of_scores(groups, of_gpu, why)
            if cause is not None:
                yield (gpu, name), cause


def _of_scores(groups: Sequence[Launch], rates: Rates, why: str) -> Cause | None:
    """Return that most bytes of a product are scores of attention, where memory limits it."""
    total = sum(launch.total_ns for launch in groups)
    scored = computing = 0.0
    for launch in groups:
        if launch.sizes is None or len(launch.sizes) != 4 or not launch.moved:
            continue
        batch, rows, columns, terms = launch.sizes
        width = {"f64": 8, "f32": 4}.get(launch.dtype.removeprefix("x"), 2)
        scores = batch * rows * max(columns, terms) * width
        if launch.moved / rates.best_bandwidth >= times_of(launch, rates).reference / 2:
            scored += launch.total_ns * min(1.0, scores / launch.moved)
            best = rates.best.get(launch.ceiling or "")
            computing += launch.total_ns * min(
                1.0, launch.flops / best / launch.ns if launch.flops and best else 0.0
            )
    if scored < LEAST_SHARE * total:
        return None
    loss = Loss(
        id="unfused-attention",
        certainty="likely",
        title=f"{format_share(scored / total)} of its bytes are scores of attention that is not fused",
        evidence=(why,),
        share=scored / total,
        saves=min(scored, total - computing) / total,
    )
    return named([loss], Times(1.0, 1.0, 0.0), groups[0].kernel)[0]
