"""The calls of one step of a side, from its recordings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import polars as pl

from rocm_perf.analysis.basis.carried import carried_over
from rocm_perf.analysis.basis.launched import launched_work
from rocm_perf.analysis.basis.passes import timed_copies, timed_dispatches
from rocm_perf.analysis.compare.models.calls import COPY, GpuCall, GpuWork
from rocm_perf.analysis.compare.models.places import Surroundings, module_paths, surroundings
from rocm_perf.analysis.compare.runs import JudgedRun
from rocm_perf.analysis.compare.wall import GpuWall
from rocm_perf.analysis.operators.tree import OperatorTree, operator_tree

LONGEST = 20_000  # calls of a step that are aligned
_STEP = ["run", "step"]
_WORK = ["node", "agent_id", "start_ns", "launch_ns", "owner", "gpu_ns"]
_NOWHERE = Surroundings(around=(), root=-1, root_shapes=None)


class StepWork(msgspec.Struct, frozen=True):
    """What a side runs in one step (or run) on one GPU."""

    calls: tuple[GpuCall, ...]
    alike: int  # steps that run these calls
    steps: int
    total_ns: float  # all GPU work of a step
    carried_ns: float  # of that, launched before the recording began


def step_work(runs: Sequence[JudgedRun], gpus: Sequence[GpuWall]) -> StepWork:
    """The calls that most steps of these runs make, with their mean times over those steps."""
    tables = [_work(run, gpu) for run, gpu in zip(runs, gpus, strict=True)]
    calls = pl.concat(
        _calls(run, table.filter(~pl.col("carried")), number)
        for number, (run, table) in enumerate(zip(runs, tables, strict=True))
    )
    calls = calls.with_columns(pl.col("signature").rank("dense"))
    alike = _alike(calls)
    return StepWork(
        calls=tuple(_gpu_calls(runs, calls, alike)),
        alike=alike.height,
        steps=sum(run.units for run in runs),
        total_ns=_mean([_total_ns(run, gpu) / run.units for run, gpu in zip(runs, gpus, strict=True)]),
        carried_ns=_mean([_carried_ns(run, table) for run, table in zip(runs, tables, strict=True)]),
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _of_gpu(gpu: GpuWall) -> pl.Expr:
    return (pl.col("node") == gpu.node) & pl.col("agent_id").eq_missing(pl.lit(gpu.agent_id, pl.Int64))


def _total_ns(run: JudgedRun, gpu: GpuWall) -> int:
    """All GPU work of the part that is compared."""
    length = (pl.col("end_ns") - pl.col("start_ns")).sum()
    tables = (timed_dispatches(run.trace), timed_copies(run.trace))
    return sum(table.filter(_of_gpu(gpu)).select(length).item() for table in tables)


def _carried_ns(run: JudgedRun, table: pl.DataFrame) -> int:
    """What was launched before the recording, where all of that is compared."""
    return 0 if run.steps else int(table.filter("carried")["gpu_ns"].sum())


def _work(run: JudgedRun, gpu: GpuWall) -> pl.DataFrame:
    """All GPU work of that GPU in the order in which it ran, with its step; null for what belongs to none."""
    tree = operator_tree(run.recording)
    kernels = tree.kernels.select(pl.col("kernel").cast(pl.String).alias("name"), *_WORK)
    copies = tree.copies.select((COPY + pl.col("kind")).alias("name"), *_WORK)
    carried = carried_over(launched_work(run.recording)).alias("carried")
    work = pl.concat([kernels, copies]).with_columns(carried).filter(_of_gpu(gpu))
    return _with_step(run, work).sort("start_ns", maintain_order=True)


def _with_step(run: JudgedRun, work: pl.DataFrame) -> pl.DataFrame:
    if not run.windows:
        return work.with_columns(step=pl.lit(0, pl.UInt32))
    begun = pl.coalesce("launch_ns", "start_ns") if run.on_host else pl.col("start_ns")
    moment = pl.when(~pl.col("carried")).then(begun)
    windows = pl.DataFrame(
        {
            "moment": [window.start_ns for window in run.windows],
            "until": [window.end_ns for window in run.windows],
        }
    ).with_row_index("step")
    placed = work.with_columns(moment=moment).sort("moment").join_asof(windows, on="moment")
    inside = pl.col("moment") < pl.col("until")
    return placed.with_columns(pl.when(inside).then("step").alias("step"))


def _calls(run: JudgedRun, work: pl.DataFrame, number: int) -> pl.DataFrame:
    """The GPU work of each call of an operator in each step, in order; what no operator owns by itself."""
    tree = operator_tree(run.recording)
    apart = pl.int_range(pl.len(), dtype=pl.Int64) + tree.spans.height
    calls = (
        work.drop_nulls("step")
        .with_columns(pl.lit(number).alias("run"), pl.coalesce("owner", apart).alias("call"))
        .group_by(*_STEP, "call", maintain_order=True)
        .agg(pl.col("owner").first(), pl.col("name").alias("names"), "gpu_ns")
    )
    named = calls.join(_owners(run, tree), on="owner", how="left", maintain_order="left")
    parts = [pl.col(part).fill_null("") for part in ("operator", "module", "shapes", "dtypes")]
    signature = pl.concat_str([*parts, pl.col("names").list.join("\x1f")], separator="\x1e")
    return named.with_columns(signature.alias("signature"))


def _owners(run: JudgedRun, tree: OperatorTree) -> pl.DataFrame:
    """What is known of each operator, by its row."""
    modules = module_paths(run.recording)
    return tree.operators.select(
        pl.col("row").alias("owner"),
        pl.col("name").cast(pl.String).alias("operator"),
        modules.gather(tree.operators["row"]).alias("module"),
        "shapes",
        "dtypes",
    )


def _alike(calls: pl.DataFrame) -> pl.DataFrame:
    """The steps that make the same calls as most do; of several such kinds, those of the usual GPU time."""
    each = (
        calls.sort("signature")
        .group_by(*_STEP, maintain_order=True)
        .agg(
            pl.col("signature").cast(pl.String).str.join(" ").alias("kind"),
            pl.col("gpu_ns").list.sum().sum().alias("gpu_ns"),
        )
    )
    usual_ns = each["gpu_ns"].median() or 0
    kinds = each.group_by("kind").agg(pl.len().alias("steps"), (pl.col("gpu_ns").mean() - usual_ns).abs())
    best = kinds.sort("steps", "gpu_ns", "kind", descending=[True, False, False]).head(1)
    return each.join(best, on="kind", how="semi").select(_STEP).sort(_STEP)


def _gpu_calls(runs: Sequence[JudgedRun], calls: pl.DataFrame, alike: pl.DataFrame) -> Iterator[GpuCall]:
    """The calls of the first of the steps that are alike, in order, with the mean times over all of them."""
    if not alike.height:
        return
    like = ["signature", "occurrence"]
    shared = calls.join(alike, on=_STEP, how="semi", maintain_order="left").with_columns(
        pl.int_range(pl.len()).over(*_STEP, "signature").alias("occurrence")
    )
    first = shared.join(alike.head(1), on=_STEP, how="semi", maintain_order="left").head(LONGEST)
    mean_ns = (
        shared.with_columns(pl.int_ranges(pl.col("gpu_ns").list.len()).alias("place"))
        .explode("gpu_ns", "place")
        .group_by(*like, "place")
        .agg(pl.col("gpu_ns").mean().round().cast(pl.Int64))
        .sort("place")
        .group_by(like, maintain_order=True)
        .agg(pl.col("gpu_ns").alias("mean_ns"))
    )
    timed = first.join(mean_ns, on=like, how="left", maintain_order="left")
    around = surroundings(
        operator_tree(runs[alike["run"][0]].recording), first["owner"].drop_nulls().unique()
    )
    for row in timed.iter_rows(named=True):
        place = around.get(row["owner"], _NOWHERE)
        yield GpuCall(
            work=tuple(map(GpuWork, row["names"], row["mean_ns"])),
            operator=row["operator"],
            shapes=row["shapes"],
            dtypes=row["dtypes"],
            module=row["module"],
            around=place.around,
            root=None if row["owner"] is None else place.root,
            root_shapes=place.root_shapes,
        )
