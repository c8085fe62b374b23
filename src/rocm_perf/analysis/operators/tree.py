"""Operators and modules nested as they ran, and the GPU work that each operator owns."""

from __future__ import annotations

import msgspec
import polars as pl

from rocm_perf.analysis.basis.callers import with_callers
from rocm_perf.analysis.basis.forest import is_outermost, itself_or_around, nearest, subtree_sums, sums_at
from rocm_perf.analysis.basis.keys import named, numbers
from rocm_perf.analysis.basis.nested import THREAD, enclosing, nested_ops, with_launch
from rocm_perf.analysis.basis.passes import timed_by_kernel, timed_copies
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.operators.replayed import with_replays, with_sites
from rocm_perf.model.trace import Trace

BY_LAUNCH = "the launching call lies inside the operator, on its thread"
BY_ID = "the recorded id of the operator"
UNOWNED = "none: launched outside of any recorded operator, or the launch is not recorded"

ENGINE = "autograd::engine::evaluate_function: "  # around each step of a backward pass
BACKWARD = r"^\w+Backward\d*$"

_ID = ["node", "pass_id", "rank", "op_id"]
_ARGUMENTS = ["shapes", "dtypes", "strides", "inputs"]
SHAPE = ["name", "shapes", "dtypes"]
_LENGTH = pl.col("end_ns") - pl.col("start_ns")


class OperatorTree(msgspec.Struct, frozen=True):
    """`spans`: operators and modules as they nest (and the Python frames that `is_looked_at` names), each with
    operator (the nearest operator around it), site (the innermost of the user's functions around it) and its times.
    `operators`: the operators among them, with their arguments, own times and whether they are the outermost of their
    name; those of one `signature` have the same name and arguments, those of one `shape_id` the same name, shapes and
    types. `kernels` and `copies`: GPU work with owner (a row of spans), `known` (how that is known) and `within`, the
    innermost of the spans in which it was launched. Names are categories. GPU times are those of kernels, copies and
    fills. `recording`: what they are rows of; a part of a recording has its earlier callers in it."""

    recording: Trace
    spans: pl.DataFrame
    operators: pl.DataFrame
    kernels: pl.DataFrame
    copies: pl.DataFrame


def has_operators(trace: Trace) -> bool:
    """Whether operators were recorded, in the run or in the capture of its graphs."""
    return trace.has("ops") or trace.has("captured_ops")


@once_per_trace
def operator_tree(trace: Trace) -> OperatorTree:
    """Every operator of the timed pass, with what it did itself and what was done below it; of a part of a recording
    also those that launched its work before it began."""
    trace = with_callers(trace)
    nested = with_sites(nested_ops(trace))
    innermost = itself_or_around(nested["parent"], nested["category"] == "operator")
    kernels, copies = _owned(trace, nested, innermost, [timed_by_kernel(trace), timed_copies(trace)])
    spans, (kernels, copies) = with_replays(trace, nested, kernels, copies)
    operator = nearest(spans["parent"], spans["category"] == "operator").alias("operator")
    timed = _with_times(spans.with_columns(operator), kernels, copies)
    operators = _operators(trace, timed)
    return OperatorTree(trace, spans=timed, operators=operators, kernels=kernels, copies=copies)


def _owned(
    trace: Trace, spans: pl.DataFrame, innermost: pl.Series, tables: list[pl.DataFrame]
) -> list[pl.DataFrame]:
    """GPU work with its operator: the `innermost` one open where and when it was launched, else the recorded id."""
    launched = [with_launch(trace, work) for work in tables]
    points = pl.concat(
        work.select(*THREAD[:-1], pl.col("launch_tid").alias("tid"), pl.col("launch_ns").alias("time_ns"))
        for work in launched
    )
    within = enclosing(spans, points)
    starts = [0, launched[0].height]
    return [
        _with_owner(work.with_columns(within.slice(start, work.height).alias("within")), spans, innermost)
        for work, start in zip(launched, starts, strict=True)
    ]


def _with_owner(work: pl.DataFrame, spans: pl.DataFrame, innermost: pl.Series) -> pl.DataFrame:
    """The work with owner and `known`; the recorded id counts where the launch was not seen inside an operator."""
    seen = innermost.gather(work["within"])
    return work.with_columns(
        _LENGTH.alias("gpu_ns"), seen.alias("seen"), _by_recorded_id(work, seen, spans).alias("noted")
    ).with_columns(
        owner=pl.coalesce("seen", "noted"),
        known=pl.when(pl.col("seen").is_not_null())
        .then(pl.lit(BY_LAUNCH))
        .when(pl.col("noted").is_not_null())
        .then(pl.lit(BY_ID))
        .otherwise(pl.lit(UNOWNED)),
    )


def _by_recorded_id(work: pl.DataFrame, seen: pl.Series, spans: pl.DataFrame) -> pl.Series:
    """The operator whose id is recorded with work that was not `seen`. Old traces repeat the correlation id in its
    place; such ids say nothing."""
    ids = work["op_id"]
    asked = ids.filter(seen.is_null()).drop_nulls().unique()
    same = (ids == work["correlation_id"]).drop_nulls()
    if asked.is_empty() or (len(same) and bool(same.all())):
        return pl.Series("noted", [None] * work.height, dtype=pl.UInt32)
    is_asked = (pl.col("category") == "operator") & pl.col("op_id").is_in(asked.implode())
    unique = spans.filter(is_asked).select(*_ID, "row").unique(_ID, keep="none")
    return work.join(unique, on=_ID, how="left", nulls_equal=True, maintain_order="left")["row"]


def _with_times(spans: pl.DataFrame, kernels: pl.DataFrame, copies: pl.DataFrame) -> pl.DataFrame:
    """The spans with their length, and the GPU work that they own, themselves and with everything inside them."""
    count = spans.height
    copying = sums_at(copies["owner"], copies["gpu_ns"], count)
    own = sums_at(kernels["owner"], kernels["gpu_ns"], count) + copying
    dispatches = sums_at(kernels["owner"], pl.ones(kernels.height, pl.Int64, eager=True), count)
    return spans.with_columns(
        _LENGTH.fill_null(0).alias("host_ns"),
        own.alias("gpu_self_ns"),
        dispatches.alias("dispatches"),
        copying.alias("copy_ns"),
        subtree_sums(spans["behind"], own).alias("gpu_total_ns"),
        subtree_sums(spans["behind"], dispatches).alias("dispatches_below"),
    )


def _operators(trace: Trace, spans: pl.DataFrame) -> pl.DataFrame:
    """The operators with their arguments, the time that none of the operators directly inside them took, and whether
    they lie in no other call of their name."""
    timed = spans.filter(pl.col("category") == "operator")
    inside = sums_at(timed["operator"], timed["host_ns"], spans.height).gather(timed["row"])
    return timed.with_columns(
        *_arguments(trace, timed["place"]),
        is_outermost("name").alias("outermost"),
        (pl.col("host_ns") - inside).clip(lower_bound=0).alias("host_self_ns"),
    )


def _arguments(trace: Trace, places: pl.Series) -> pl.DataFrame:
    """Arguments, signature and shape_id of the operators at these places. A captured one has many calls, so each place
    is looked at once."""
    distinct = places.unique().sort()
    first_captured = trace.rows("ops")
    captured = distinct >= first_captured
    known = pl.concat(
        trace.table(name).select("name", *_ARGUMENTS)[rows]
        for name, rows in (
            ("ops", distinct.filter(~captured)),
            ("captured_ops", distinct.filter(captured) - first_captured),
        )
    )
    known = known.with_columns(
        numbers(["name", *_ARGUMENTS], known).alias("signature"), numbers(SHAPE, known).alias("shape_id")
    )
    rows = pl.zeros(first_captured + trace.rows("captured_ops"), pl.UInt32, eager=True).scatter(
        distinct, pl.int_range(distinct.len(), dtype=pl.UInt32, eager=True)
    )
    arguments: pl.DataFrame = known.drop("name")[rows.gather(places)]
    return arguments


def backward_links(tree: OperatorTree) -> tuple[pl.DataFrame, str | None]:
    """Pairs of rows (forward, backward), and how they are known.

    The recorded links where there are any. Else operators of one sequence number, which threads count for themselves,
    and of several forward ones the last to begin before the backward one: operators inside it bear earlier numbers or
    the same.
    """
    trace, operators = tree.recording, tree.operators
    links = trace.table("links").filter(pl.col("kind") == "forward_backward")
    if links.height:
        pairs = _by_links(links, operators)
        if pairs.height:
            return pairs, "recorded links"
    pairs = _by_sequence(trace, operators)
    return pairs, "the same sequence number" if pairs.height else None


def _by_links(links: pl.DataFrame, operators: pl.DataFrame) -> pl.DataFrame:
    def at(side: str, name: str) -> pl.DataFrame:
        """Several operators may begin at the link's instant: the innermost is meant."""
        starts = operators.filter(pl.col("start_ns").is_in(links[f"{side}_ns"].implode())).select(
            "node",
            "pid",
            pl.col("tid").alias(f"{side}_track"),
            pl.col("start_ns").alias(f"{side}_ns"),
            row="row",
        )
        return starts.unique(
            ["node", "pid", f"{side}_track", f"{side}_ns"], keep="last", maintain_order=True
        ).rename({"row": name})

    placed = links.join(
        at("cause", "forward"), on=["node", "pid", "cause_track", "cause_ns"], nulls_equal=True
    )
    placed = placed.join(
        at("effect", "backward"), on=["node", "pid", "effect_track", "effect_ns"], nulls_equal=True
    )
    return placed.select("forward", "backward").unique("backward", keep="last", maintain_order=True)


def _by_sequence(trace: Trace, operators: pl.DataFrame) -> pl.DataFrame:
    numbered = operators.drop_nulls("sequence").filter(pl.col("sequence") >= 0)
    numbered = numbered.with_columns(trace.table("ops")["forward_thread"].gather(numbered["place"]))
    is_backward = pl.lit(named(numbered["name"], pl.col("name").str.contains(BACKWARD)))
    process = ["node", "pass_id", "rank", "pid"]
    key = [*process, "sequence"]
    backward = numbered.filter(is_backward).select(
        *key, "forward_thread", pl.col("row").alias("backward"), "start_ns"
    )
    forward = numbered.filter(~is_backward & ~pl.col("name").cat.starts_with(ENGINE)).select(
        *key, "tid", pl.col("row").alias("forward"), "start_ns"
    )
    pairs = backward.join(forward, on=key, nulls_equal=True, suffix="_forward")
    earlier = pairs.filter(pl.col("start_ns_forward") < pl.col("start_ns")).sort("start_ns_forward")
    same_thread = earlier.join(
        _forward_threads(earlier, process),
        on=[*process, "forward_thread", "tid"],
        how="semi",
        nulls_equal=True,
    )
    return same_thread.unique("backward", keep="last", maintain_order=True).select("forward", "backward")


def _forward_threads(pairs: pl.DataFrame, process: list[str]) -> pl.DataFrame:
    """The thread that each number of a forward thread stands for: the one with most of its sequence numbers; any thread
    where none is recorded."""
    numbers = [*process, "forward_thread"]
    counts = pairs.group_by(*numbers, "tid").agg(pl.col("sequence").n_unique().alias("count"))
    most = pl.col("count") == pl.col("count").max().over(numbers)
    return counts.filter(most | pl.col("forward_thread").is_null())
