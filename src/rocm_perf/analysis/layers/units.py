"""What layers are looked for in: the kernels of one step, or of one replay of a graph, in their order. Steps that run
the same kernels are one unit with several times."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rocm_perf.analysis.basis.annotated_steps import annotated_steps
from rocm_perf.analysis.basis.carried import carried_over
from rocm_perf.analysis.basis.keys import numbers, ordered, telling
from rocm_perf.analysis.basis.launched import launched_work
from rocm_perf.analysis.basis.open_spans import open_at
from rocm_perf.analysis.basis.work_in_steps import work_in_steps
from rocm_perf.analysis.layers.alikeness import Content
from rocm_perf.analysis.operators.tree import operator_tree
from rocm_perf.analysis.program.replays import replayed_kernels
from rocm_perf.analysis.time.steps import steps
from rocm_perf.model.step_kinds import STEP_KINDS, step_of_kind
from rocm_perf.model.trace import Trace

LONGEST = 20_000  # kernels of a step in which layers are looked for
_GPU = ["node", "pid", "agent_id"]
_STREAM = [*_GPU, "queue_id", "stream_id"]
_KERNEL = [*_STREAM, "kernel", "start_ns", "gpu_ns", "owner", "within"]
_OCCURRENCE = "occurrence"


@dataclass(frozen=True)
class Unit:
    """Steps of one kind that run the same kernels. `times`: the duration of each kernel (columns) in each of them
    (rows). Of the first of them, `owners`: the rows of the operators that own the kernels, null where none does;
    `spans`: the rows of the innermost spans that they are launched in."""

    name: str
    steps: int  # of that kind, alike or not
    kernels: tuple[str, ...]
    times: NDArray[np.int64]
    owners: pl.Series
    spans: pl.Series
    beside_ns: float  # on other streams than most of the work, in one step

    @cached_property
    def codes(self) -> Content:
        """A number for each kernel, the same for those of one name."""
        numbers = {name: number for number, name in enumerate(dict.fromkeys(self.kernels))}
        return tuple(numbers[name] for name in self.kernels)

    @cached_property
    def mean_ns(self) -> NDArray[np.float64]:
        """The mean duration of each kernel: means add up, medians do not."""
        mean: NDArray[np.float64] = self.times.mean(axis=0)
        return mean

    @cached_property
    def median_ns(self) -> NDArray[np.float64]:
        """The usual duration of each kernel."""
        median: NDArray[np.float64] = np.median(self.times, axis=0)
        return median


def step_units(trace: Trace) -> list[Unit]:
    """Of each kind of step that marks or repetition show, the steps that take most time; those with most first."""
    kernels = operator_tree(trace).kernels
    annotated = annotated_steps(trace)
    if annotated.height:
        own = work_in_steps(trace)["step"].head(kernels.height)
        kinds = {kind: step_of_kind(kind) for kind in STEP_KINDS}
        told = pl.col("kind").cast(pl.String).replace_strict(kinds, return_dtype=pl.String)
        names = annotated.select(told).to_series().gather(own)
        placed = kernels.select(_KERNEL).with_columns(own.alias(_OCCURRENCE), name=names, group=names)
    else:
        placed = _with_windows(
            kernels.filter(~carried_over(launched_work(trace)).head(kernels.height)), trace
        )
    return _units(placed.drop_nulls(_OCCURRENCE))


def graph_units(trace: Trace) -> list[Unit]:
    """The graphs that are replayed, those with most time first."""
    has_replays = trace.lazy("dispatches").select(pl.col("graph_id").is_not_null().any()).collect().item()
    if not has_replays:
        return []
    kernels = replayed_kernels(trace).select(*_KERNEL, pl.col("replay").alias(_OCCURRENCE), group="graph")
    return _units(kernels.with_columns(name=pl.lit("graph replay")))


def _with_windows(kernels: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    """The kernels with the step that each belongs to: the one in which it was launched, where steps are known by the
    host's times."""
    found = steps(trace)
    spans = [(step.start_ns, step.end_ns) for step in found.steps]
    windows = pl.DataFrame(spans, {"start_ns": pl.Int64, "end_ns": pl.Int64}, orient="row").with_row_index(
        "step"
    )
    moment = pl.coalesce("launch_ns", "start_ns") if found.host_times else pl.col("start_ns")
    own = open_at(kernels, windows, kernels.select(moment).to_series(), [], "step")
    step = pl.lit("step")
    return kernels.select(_KERNEL).with_columns(own.alias(_OCCURRENCE), name=step, group=step)


def _units(kernels: pl.DataFrame) -> list[Unit]:
    units = [_unit(_by_gpu(group)) for group in kernels.partition_by("group", maintain_order=True)]
    return sorted(units, key=lambda unit: -int(unit.times.sum()))


def _by_gpu(kernels: pl.DataFrame) -> pl.DataFrame:
    """The kernels, what several processes or GPUs run at once as steps of their own: ranks of one model are alike."""
    keys = telling(_GPU, kernels)
    own = numbers([_OCCURRENCE, *keys], kernels) if keys else kernels[_OCCURRENCE]
    return kernels.with_columns(own.alias(_OCCURRENCE))


def _unit(kernels: pl.DataFrame) -> Unit:
    """Of the steps of one kind, those that run the same kernels and take most time of all such."""
    main = _of_busiest_stream(kernels).with_columns(pl.col("kernel").to_physical().alias("number"))
    each = main.group_by(_OCCURRENCE, maintain_order=True).agg("number", "gpu_ns")
    names, times = ([row.to_numpy() for row in each[name]] for name in ("number", "gpu_ns"))
    alike = _alike(names, times)
    own = main.filter(pl.col(_OCCURRENCE) == each[_OCCURRENCE][alike[0]])
    together = each[_OCCURRENCE].gather(alike)
    all_ns = int(kernels.filter(pl.col(_OCCURRENCE).is_in(together.implode()))["gpu_ns"].sum())
    of_alike = np.vstack([times[place] for place in alike])
    return Unit(
        name=kernels["name"][0],
        steps=each.height,
        kernels=tuple(own["kernel"].cast(pl.String)),
        times=of_alike,
        owners=own["owner"],
        spans=own.select(pl.coalesce("owner", "within")).to_series(),
        beside_ns=(all_ns - int(of_alike.sum())) / len(alike),
    )


def _of_busiest_stream(kernels: pl.DataFrame) -> pl.DataFrame:
    """The kernels of each step on the stream that works most in it, in their order: streams run side by side, so only
    the order within one is that of the model."""
    keys = [_OCCURRENCE, *telling(_STREAM, kernels)]
    if len(keys) == 1:
        return ordered(kernels, ["start_ns"])
    spent = kernels.group_by(keys, maintain_order=True).agg(pl.col("gpu_ns").sum())
    most = spent.sort("gpu_ns", descending=True, maintain_order=True).unique(_OCCURRENCE, keep="first")
    own = kernels.join(most.select(keys), on=keys, how="semi", nulls_equal=True, maintain_order="left")
    return ordered(own, ["start_ns"])


def _alike(names: Sequence[NDArray[np.uint32]], times: Sequence[NDArray[np.int64]]) -> list[int]:
    """Which steps run the same kernels, and take most time together."""
    groups: dict[bytes, list[int]] = defaultdict(list)
    for place, row in enumerate(names):
        groups[row.tobytes()].append(place)
    return max(groups.values(), key=lambda places: sum(int(times[place].sum()) for place in places))
