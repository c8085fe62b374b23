"""How each kernel was used: its launches by grid and by the arguments of the operator that made them, with their times.

The rules of rows.py, elementwise.py, experts.py and launches.py judge one use at a time; `weighed` says of a kernel
what holds for the uses that take most of its time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any

import msgspec
import polars as pl

from rocm_perf.analysis.basis.keys import telling
from rocm_perf.analysis.basis.names import short_name
from rocm_perf.analysis.basis.passes import timed_by_kernel
from rocm_perf.analysis.limits.catalogue import catalogue, remedy
from rocm_perf.analysis.limits.geometry import fitting, with_geometry
from rocm_perf.analysis.operators.routed import with_routed
from rocm_perf.analysis.operators.tree import has_operators, operator_tree
from rocm_perf.analysis.operators.work import operator_work
from rocm_perf.analysis.operators.work.call import Call
from rocm_perf.analysis.operators.work.registry import formulas_of
from rocm_perf.analysis.roofline.amounts import Key
from rocm_perf.analysis.roofline.devices import Device
from rocm_perf.analysis.time.kernel_family import family
from rocm_perf.arch import catalog
from rocm_perf.arch.occupancy import Occupancy
from rocm_perf.model.results.kernels import Family
from rocm_perf.model.results.limits import Cause, Certainty, Source
from rocm_perf.model.results.roofline import KernelRoofline, Roofline
from rocm_perf.model.torch_call import Argument, arguments
from rocm_perf.model.trace import Trace
from rocm_perf.model.vendor import is_nvidia
from rocm_perf.units import format_count, format_share

LEAST_SHARE = 0.1  # of a kernel's time: what explains less is not named
FLOOR_NS = 5_000  # the shortest dispatch is an empty one only if it is as short as this
NEAR_ROOF = 0.6  # of a roof: nothing in the shape of a launch can gain much there
_MOST_LENGTHS = 256
_MOST_USES = 12  # of a kernel, the longest: the others take little of its time
_DIMS = [f"{kind}_{axis}" for kind in ("grid", "workgroup") for axis in "xyz"]
_RESOURCES = ["vgprs", "agprs", "sgprs", "lds_bytes"]
_OPERATOR = ["name", "shapes", "dtypes", "inputs", "strides", "routed"]
_CERTAIN = {"proven": 1.0, "likely": 0.8, "hint": 0.5}


class Use(msgspec.Struct, frozen=True, dict=True):
    """Launches of one kernel with one grid and one set of arguments."""

    kernel: str
    device: Device
    calls: int
    total_ns: int
    median_ns: float
    quartile_ns: float  # a quarter of the calls take no longer
    least_ns: int
    most_ns: int
    second_ns: int  # the longest but one
    lengths: tuple[int, ...]  # of the first launches, in their order
    agents: int
    grid: tuple[int, int, int] | None  # in work-items
    workgroups: int | None
    workgroup_size: int | None
    resources: Mapping[str, Any]
    operator: str | None = None
    arguments: tuple[Argument, ...] = ()
    alone: bool = False  # the operator launched nothing else
    recorded: tuple[str | None, ...] = ()  # name, shapes, dtypes, inputs, strides and routed, as recorded

    @property
    def first_ns(self) -> int:
        """The time of the first launch."""
        return self.lengths[0]

    @property
    def mean_ns(self) -> float:
        """The mean time of a launch."""
        return self.total_ns / self.calls

    @property
    def units(self) -> int | None:
        """The compute units of the GPU."""
        return self.device.compute_units

    @cached_property
    def fits(self) -> Occupancy | None:
        """How many of its waves fit a compute unit, where registers were recorded."""
        row = {**self.resources, "workgroup_size": self.workgroup_size}
        return fitting(row, self.device) if row["vgprs"] else None

    @cached_property
    def bytes(self) -> float | None:
        """The bytes that the operator has to move, where this kernel is all that it launched."""
        if self.operator is None or not self.alone:
            return None
        name, shapes, dtypes, inputs, strides, routed = self.recorded
        moved = operator_work(name or "", shapes, dtypes, inputs, strides, self.kernel, None, routed).bytes
        return float(moved.value) if moved.value is not None else None

    @property
    def rate(self) -> float | None:
        """The bytes that it moves in a nanosecond (GB/s)."""
        return self.bytes / self.mean_ns if self.bytes else None


class KernelUses(msgspec.Struct, frozen=True, dict=True):
    """One kernel on GPUs of one model: its uses, the longest first, and what the whole recording says beside them."""

    kernel: str
    device: Device
    total_ns: int
    uses: tuple[Use, ...]
    point: KernelRoofline | None
    floor_ns: int | None  # the shortest dispatch of the recording, where it is that of an empty kernel
    best_rate: float | None = None  # GB/s: the fastest stream of the recording that no cache can have served

    @cached_property
    def family(self) -> Family:
        """The family of the kernel."""
        return family(self.kernel)

    @cached_property
    def name(self) -> str:
        """Its short name."""
        return short_name(self.kernel)

    @cached_property
    def roof(self) -> float | None:
        """The share of its time that its known work needs at the roofs of its GPU; None where either is not known."""
        percent = self.point.percent_of_roof.value if self.point else None
        return min(1.0, float(percent) / 100) if percent is not None else None


def kernel_uses(trace: Trace, known: tuple[Device, ...], points: Roofline) -> dict[Key, KernelUses]:
    """Return how each timed kernel was used."""
    placed, told = _launches(trace, known)
    if not placed.height:
        return {}
    shortest = placed["duration_ns"].min()
    floor = int(shortest) if isinstance(shortest, int | float) and shortest <= FLOOR_NS else None
    by_key = {(point.gpu, point.kernel): point for point in points.kernels}
    totals: dict[Key, int] = {
        (gpu, str(kernel)): int(total)
        for gpu, kernel, total in placed.group_by("gpu", "kernel")
        .agg(pl.col("duration_ns").sum())
        .iter_rows()
    }
    kept = _longest(placed).join(told, on="signature", how="left", maintain_order="left")
    uses: dict[Key, list[Use]] = {}
    for row in kept.iter_rows(named=True):
        uses.setdefault((row["gpu"], str(row["kernel"])), []).append(_use(row, known[row["gpu"]]))
    best = {place: _best_rate(place, device, uses) for place, device in enumerate(known)}
    return {
        key: KernelUses(
            kernel=key[1],
            device=known[key[0]],
            total_ns=totals[key],
            uses=tuple(of_kernel),
            point=by_key.get(key),
            floor_ns=floor,
            best_rate=best[key[0]],
        )
        for key, of_kernel in uses.items()
    }


def _launches(trace: Trace, known: tuple[Device, ...]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The timed dispatches with their geometry, the signature of the operator that launched each and what is known of
    experts; and what is recorded of each signature."""
    frame = timed_by_kernel(trace)
    schema = {"signature": pl.UInt32, "routed": pl.String, "dispatches": pl.Boolean}
    told = pl.DataFrame(schema={"signature": pl.UInt32, **dict.fromkeys(_OPERATOR[:-1], pl.String)})
    if frame.height and has_operators(trace):
        tree = operator_tree(trace)
        routed = with_routed(tree, tree.operators.select("signature", "row", "dispatches"))
        told = tree.operators.select("signature", *_OPERATOR[:-1]).unique("signature")
        owners = routed.select(pl.col("row").alias("owner"), "signature", "routed", pl.col("dispatches") == 1)
        frame = tree.kernels.join(owners, on="owner", how="left", maintain_order="left")
    else:
        frame = frame.with_columns(pl.lit(None, dtype).alias(name) for name, dtype in schema.items())
    return with_geometry(frame, known).drop_nulls("duration_ns"), told.cast(
        {"signature": frame["signature"].dtype}
    )


def _longest(placed: pl.DataFrame) -> pl.DataFrame:
    """One row for each kernel, grid and set of arguments: of each kernel those that take longest."""
    same = ["signature", "routed", "dispatches", *_DIMS, *_RESOURCES]
    by = ["gpu", "kernel", *telling(same, placed)]
    length = pl.col("duration_ns")
    sums = placed.group_by(by).agg(pl.len().cast(pl.Int64).alias("calls"), length.sum().alias("total"))
    ordered = sums.sort("total", "calls", descending=True, maintain_order=True)
    longest = ordered.group_by("gpu", "kernel", maintain_order=True).head(_MOST_USES).with_row_index("use")
    parts = placed.join(longest.select("use", *by), on=by, nulls_equal=True, maintain_order="left")
    told = parts.group_by("use").agg(
        length.median().alias("median"),
        length.quantile(0.25, "lower").alias("quartile"),
        length.min().alias("least"),
        length.max().alias("most"),
        length.top_k(2).min().alias("second"),
        length.sort_by("start_ns").head(_MOST_LENGTHS).alias("lengths"),
        pl.struct("node", "agent_id").n_unique().alias("agents"),
        pl.col("workgroups", "workgroup_size").first(),
        pl.col([name for name in same if name not in by]).first(),
    )
    return longest.join(told, on="use", maintain_order="left")


def _use(row: Mapping[str, Any], device: Device) -> Use:
    groups = row["workgroups"]
    recorded = tuple(row[name] for name in _OPERATOR)
    name, shapes, dtypes, inputs, strides, _ = recorded
    grid = tuple(row[f"grid_{axis}"] for axis in "xyz")
    counted = groups is not None and 0 < groups < float("inf")
    return Use(
        kernel=str(row["kernel"]),
        device=device,
        calls=row["calls"],
        total_ns=row["total"],
        median_ns=row["median"],
        quartile_ns=row["quartile"],
        least_ns=row["least"],
        most_ns=row["most"],
        second_ns=row["second"],
        lengths=tuple(row["lengths"]),
        agents=row["agents"],
        grid=grid if all(grid) else None,
        workgroups=int(groups) if counted else None,
        workgroup_size=row["workgroup_size"] or None,
        resources={name: row[name] for name in _RESOURCES},
        operator=str(name) if name is not None else None,
        arguments=arguments(shapes, dtypes, strides, inputs) or (),
        alone=bool(row["dispatches"]),
        recorded=(str(name) if name is not None else None, *recorded[1:]),
    )


def _best_rate(place: int, device: Device, uses: Mapping[Key, list[Use]]) -> float | None:
    """The fastest that a kernel of the recording streams more than the caches hold, in GB/s."""
    rates = [
        one.rate
        for (gpu, kernel), of_kernel in uses.items()
        if gpu == place and family(kernel).name in ("elementwise", "copy", "normalisation", "softmax")
        for one in of_kernel
        if one.rate and one.bytes and one.bytes > cache_bytes(device)
    ]
    peak = device.gpu.memory_gbps if device.gpu else max(gpu.memory_gbps for gpu in catalog.gpus())
    return max((rate for rate in rates if rate <= peak), default=None)


def cache_bytes(device: Device) -> int:
    """Return how much the last cache before the memory holds; of an unknown GPU as much as any has."""
    every = (device.gpu,) if device.gpu else catalog.gpus()
    return max(gpu.last_level_bytes or gpu.l2_bytes or 0 for gpu in every)


def peak_rate(device: Device) -> float | None:
    """Return the bandwidth of the memory in GB/s, where the GPU is known."""
    return device.gpu.memory_gbps if device.gpu else None


def units_of(device: Device, count: int | None = None) -> str:
    """Return `304 compute units`, or `132 SMs`."""
    number = device.compute_units if count is None else count
    return format_count(number or 0, "SM" if is_nvidia(device.gfx) else "compute unit")


def call_of(use: Use, *parameters: str) -> Call | None:
    """Return the arguments of a use by name, by the first formula of its operator that has all of these tensors."""
    if use.operator is None or not use.arguments:
        return None
    for formula in formulas_of(use.operator):
        call = Call(formula.named(use.arguments))
        if all(call.given(name) is not None for name in parameters):
            return call
    return None


def cause(  # noqa: PLR0913  (what a Cause consists of)
    name: str,
    kernel: str,
    *,
    share: float,
    saves: float | None,
    certainty: Certainty,
    title: str,
    evidence: Iterable[str],
    source: Source,
) -> Cause:
    """Return a cause with the texts of the catalogue."""
    return Cause(
        id=name,
        share=share,
        saves=saves,
        certainty=certainty,
        title=title,
        evidence=tuple(evidence),
        remedy=remedy(name, kernel),
        source=source,
        is_not=catalogue()[name].is_not,
    )


Rule = Callable[[Use, KernelUses], Cause | None]


def weighed(of_kernel: KernelUses, judge: Rule) -> list[Cause]:
    """Return what a rule says of the uses of a kernel: each cause once, its share and gain those of all its time."""
    found: dict[str, list[tuple[Use, Cause]]] = {}
    for use in of_kernel.uses:
        judged = judge(use, of_kernel)
        if judged is not None:
            found.setdefault(judged.id, []).append((use, judged))
    causes = []
    for pairs in found.values():
        parts = [(use.total_ns / of_kernel.total_ns, one) for use, one in pairs]
        share = sum(part * one.share for part, one in parts)
        if share < LEAST_SHARE:
            continue
        first, covered = pairs[0][1], sum(part for part, _ in parts)
        bounds = [part * one.saves for part, one in parts if one.saves is not None]
        saves = sum(bounds) if len(bounds) == len(parts) else None
        beyond = (
            f"this holds for {format_share(covered)} of its time"
            if covered < 0.95 and len(of_kernel.uses) > 1
            else ""
        )
        evidence = (*first.evidence, *([beyond] if beyond else ()))
        causes.append(msgspec.structs.replace(first, share=share, saves=saves, evidence=evidence))
    return causes


def strongest_first(causes: Iterable[Cause]) -> list[Cause]:
    """Return causes by what they explain, what is certain before what is likely; each once."""
    best: dict[str, Cause] = {}
    for one in causes:
        if one.id not in best or _weight(one) > _weight(best[one.id]):
            best[one.id] = one
    return sorted(best.values(), key=lambda one: -_weight(one))


def _weight(one: Cause) -> float:
    return (10.0 if one.id == "impossible-time" else 1.0) * one.share * _CERTAIN[one.certainty]


def bounded(factor: float, roof: float | None) -> float:
    """Return the share of the time that removing a loss factor saves: no more than leads to the roof."""
    return max(0.0, 1 - max(1 / factor, roof or 0.0))


def times_as_fast(saves: float) -> str:
    """Return `4.8 times as fast` for what saves 79 % of the time."""
    times = 1 / max(1e-3, 1 - saves)
    return f"{times:,.0f} times as fast" if times >= 10 else f"{times:.2g} times as fast"
