"""The table of the kinds of step: how long they take, what a token costs, what they run, what holds them back."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
from msgspec.structs import replace

from rocm_perf.analysis.basis.annotated_steps import annotated_steps
from rocm_perf.analysis.basis.intervals import overlap_ns, total_union_ns
from rocm_perf.analysis.basis.launched import launched_work
from rocm_perf.analysis.basis.work_in_steps import PROCESS, work_in_steps
from rocm_perf.analysis.roofline.build import Machines
from rocm_perf.analysis.serving.limits import NO_LIMIT, Limit, limit_of
from rocm_perf.analysis.serving.steps import FORMULAS as STEP_FORMULAS
from rocm_perf.analysis.serving.steps import timed_steps
from rocm_perf.analysis.serving.workers import workers
from rocm_perf.analysis.time.kernel_family import families
from rocm_perf.model.quantity import Quantity, ratio, unavailable
from rocm_perf.model.results.serving import (
    BetweenSteps,
    FamilyShare,
    Serving,
    StepTotals,
)
from rocm_perf.model.step_kinds import STEP_KINDS, StepKind
from rocm_perf.model.trace import Trace
from rocm_perf.units import NS_PER_S, format_ns

FORMULAS = {
    **STEP_FORMULAS,
    "serving.busy": "time of the steps in which a kernel or copy of their process ran / time of the steps",
    "serving.tokens_per_s": "tokens of the steps / time of the steps",
    "serving.ns_per_token": "time of the steps / tokens of the steps",
    "serving.tokens": "as the annotations say; where they say none for a decode step, one for each request, in "
    "doubt where prompts that are read in chunks may be among them",
    "serving.held_back_by": "the cause of most idle time of the steps, put end to end, where it takes more than a "
    "third of the time that the GPU works in them; else its kernels. What lies before the first and after the last "
    "GPU work is the host's",
}

_LATE = 0.1  # of the time of all steps: a first step that begins so much later than its range is worth a note
_ONE_EACH = (
    "the annotations state requests, which have one token each, and more where a prompt is read in chunks"
)
_BY_LAUNCH = "the step in whose range the host launched it"
_BY_TIME = "the step in whose range it started: its launch was not recorded"
_BY_SHADOW = "the step whose annotation on the GPU it ran in: the host's was not recorded"
_NONE = (
    "no range says what kind of step it is: vLLM, SGLang, ATOM and TensorRT-LLM annotate their steps while they are "
    "profiled, and ranges named prefill and decode around your own do the same (docs/serving.md)"
)
_DURATION = pl.col("done_ns") - pl.col("begin_ns")


def serving(trace: Trace, machines: Machines = ()) -> Serving:
    """The kinds of step of the process whose steps launched most, or why there are none."""
    if not annotated_steps(trace).height:
        return _nothing(_NONE)
    steps = of_busiest(timed_steps(trace))
    process = steps.select(PROCESS).row(0)
    begin, end = steps["begin_ns"].min(), steps["done_ns"].max()
    placed_by = _placed_by(trace, steps)
    wall_ns = int(end) - int(begin)  # type: ignore[arg-type]
    return Serving(
        rows=tuple(_rows(trace, steps, machines)),
        told_by=" and ".join(steps["told_by"].unique(maintain_order=True)),
        placed_by=placed_by,
        wall_ns=wall_ns,
        tokens_per_s=_tokens_per_s(tokens_of(steps), wall_ns),
        between=_between(trace, steps),
        workers=workers(trace, process),
        notes=tuple(_notes(steps, placed_by)),
    )


def _nothing(why: str) -> Serving:
    return Serving(
        rows=(),
        told_by="",
        placed_by="",
        wall_ns=0,
        tokens_per_s=unavailable("tokens/s", FORMULAS["serving.tokens_per_s"], why),
        between=BetweenSteps(total_ns=0, gpu_ns=0, kernels=0),
        workers=(),
        unavailable=why,
    )


def of_busiest(steps: pl.DataFrame) -> pl.DataFrame:
    """The steps of the process whose steps launched most kernels: the ranks of a model do the same at once."""
    totals = steps.group_by(PROCESS).agg(pl.col("kernels").sum(), pl.len().alias("steps"))
    busiest = totals.sort("kernels", "steps", *PROCESS, descending=[True, True, False, False]).head(1)
    return steps.join(busiest, on=PROCESS, how="semi", nulls_equal=True, maintain_order="left")


def _rows(trace: Trace, steps: pl.DataFrame, machines: Machines) -> Iterator[StepTotals]:
    """Each kind, and below it its batch sizes where these differ."""
    for kind in STEP_KINDS:
        own = steps.filter(pl.col("kind") == kind)
        if not own.height:
            continue
        yield _totals(kind, None, own, limit_of(trace, kind, own, machines), _families(trace, own))
        sizes = own["requests"].drop_nulls().unique().sort()
        for size in sizes if kind == "decode" and len(sizes) > 1 else ():
            yield _totals(kind, size, own.filter(pl.col("requests") == size))


def _totals(
    kind: StepKind,
    batch: int | None,
    steps: pl.DataFrame,
    limit: Limit = NO_LIMIT,
    shares: tuple[FamilyShare, ...] = (),
) -> StepTotals:
    lengths = steps.select(_DURATION).to_series()
    total, tokens = int(lengths.sum()), tokens_of(steps)
    return StepTotals(
        kind=kind,
        batch=batch,
        steps=steps.height,
        requests=steps["requests"].median(),  # type: ignore[arg-type]
        tokens=tokens,
        total_ns=total,
        median_ns=lengths.median(),  # type: ignore[arg-type]
        p10_ns=lengths.quantile(0.1, "linear"),  # type: ignore[arg-type]
        p90_ns=lengths.quantile(0.9, "linear"),  # type: ignore[arg-type]
        host_ns=(steps["end_ns"] - steps["start_ns"]).median(),
        kernels=steps["kernels"].median(),  # type: ignore[arg-type]
        busy=_busy(steps, total),
        tokens_per_s=_tokens_per_s(tokens, total, _least_tokens(kind, steps)),
        ns_per_token=_ns_per_token(tokens, total, _least_tokens(kind, steps)),
        families=shares,
        held_back_by=limit.kind,
        because=limit.because,
    )


def _busy(steps: pl.DataFrame, total_ns: int) -> Quantity:
    formula = FORMULAS["serving.busy"]
    if not steps["gpu_start"].count():
        return unavailable("", formula, "the steps launched no work on a GPU")
    return ratio(int(steps["busy_ns"].sum()), total_ns, formula, "busy_ns", "total_ns")


def tokens_of(steps: pl.DataFrame) -> int | None:
    """The tokens of all steps; None where one of them does not say."""
    return None if steps["tokens"].null_count() else int(steps["tokens"].sum())


def _least_tokens(kind: StepKind, steps: pl.DataFrame) -> int | None:
    """The tokens of decode steps where the annotations state only requests: each has one at least."""
    least = steps.select(pl.coalesce("tokens", "requests")).to_series()
    return None if kind != "decode" or least.null_count() else int(least.sum())


def _tokens_per_s(tokens: int | None, spent_ns: int, least: int | None = None) -> Quantity:
    formula = FORMULAS["serving.tokens_per_s"]
    if tokens is None and least:
        return replace(_tokens_per_s(least, spent_ns), doubt=f"at least: {_ONE_EACH}")
    if tokens is None:
        return unavailable("tokens/s", formula, "the annotations do not say how many tokens every step has")
    if not spent_ns:
        return unavailable("tokens/s", formula, "the steps have no length")
    inputs = {"tokens": tokens, "total_ns": spent_ns}
    return Quantity(tokens * NS_PER_S / spent_ns, "tokens/s", formula, inputs)


def _ns_per_token(tokens: int | None, spent_ns: int, least: int | None = None) -> Quantity:
    formula = FORMULAS["serving.ns_per_token"]
    if tokens is None and least:
        return replace(_ns_per_token(least, spent_ns), doubt=f"at most: {_ONE_EACH}")
    if not tokens:
        why = (
            "the annotations do not say how many tokens every step has"
            if tokens is None
            else "they had no tokens"
        )
        return unavailable("ns", formula, why)
    return Quantity(spent_ns / tokens, "ns", formula, {"total_ns": spent_ns, "tokens": tokens})


def _families(trace: Trace, steps: pl.DataFrame) -> tuple[FamilyShare, ...]:
    """The families of the steps' kernels by their time, largest first."""
    own = work_in_steps(trace).filter(pl.col("kind") == "kernel").join(steps, on="step", how="semi")
    by_family = (
        own.select(families(own["name"]).alias("family"), length=pl.col("end_ns") - pl.col("start_ns"))
        .group_by("family")
        .agg(pl.col("length").sum())
        .sort("length", "family", descending=[True, False])
    )
    total = int(by_family["length"].sum()) or 1
    return tuple(FamilyShare(name, length / total) for name, length in by_family.iter_rows())


def _between(trace: Trace, steps: pl.DataFrame) -> BetweenSteps:
    """What the process did from its first to its last step outside of all of them."""
    spans = steps.select(*PROCESS, start_ns="begin_ns", end_ns="done_ns")
    whole = spans.select(pl.col(PROCESS).first(), pl.col("start_ns").min(), pl.col("end_ns").max())
    work = launched_work(trace)
    gpu_ns = int(overlap_ns(whole, work, PROCESS).sum()) - int(steps["busy_ns"].sum())
    length = int((whole["end_ns"] - whole["start_ns"]).sum())
    outside = work_in_steps(trace).filter(
        (pl.col("kind") == "kernel")
        & pl.col("step").is_null()
        & pl.col("start_ns").is_between(whole["start_ns"].item(), whole["end_ns"].item())
    )
    outside = outside.join(whole, on=PROCESS, how="semi", nulls_equal=True)
    return BetweenSteps(
        total_ns=length - total_union_ns(spans), gpu_ns=max(gpu_ns, 0), kernels=outside.height
    )


def _placed_by(trace: Trace, steps: pl.DataFrame) -> str:
    if steps["on_gpu"].any():
        return _BY_SHADOW
    return _BY_LAUNCH if launched_work(trace)["launch_start"].count() else _BY_TIME


def _notes(steps: pl.DataFrame, placed_by: str) -> Iterator[str]:
    """What one should know of the numbers."""
    if not steps["gpu_start"].count():
        yield "the steps launched no work on a GPU"
        return
    yield f"a kernel belongs to {placed_by}"
    ahead = steps.filter(pl.col("gpu_end") > pl.col("end_ns"))
    if 2 * ahead.height > steps.height:
        yield (
            "the host runs ahead: most steps end on the GPU after their range on the host, and last until then"
        )
    yield from _late(steps)
    yield from _unsaid(steps.filter(pl.col("tokens").is_null()))
    silent = steps.filter(pl.col("kernels") == 0).height
    if silent:
        yield f"{silent:,} of {steps.height:,} steps launched no kernel"


def _unsaid(steps: pl.DataFrame) -> Iterator[str]:
    """What is not known of the cost of a token, of steps that do not say how many they have."""
    counted = (pl.col("kind") == "decode") & pl.col("requests").is_not_null()
    unknown = steps.filter(~counted)
    if unknown.height:
        kinds = " and ".join(kind for kind in STEP_KINDS if (unknown["kind"] == kind).any())
        yield f"what a token costs in {kinds} steps is not known: not every annotation says how many there are"
    if unknown.height < steps.height:
        yield f"? what a token costs in decode steps is the most that it can be: {_ONE_EACH}"


def _late(steps: pl.DataFrame) -> Iterator[str]:
    """That the first step lasts from well behind the beginning of its range, which the host's times do not show."""
    first = steps.filter("is_first").head(1)
    late_ns = int((first["begin_ns"] - first["start_ns"]).sum())
    if late_ns > _LATE * int(steps.select(_DURATION).to_series().sum()):
        yield (
            f"the first step is counted from {format_ns(late_ns)} after its range on the host began, when the GPU came "
            "to it: what the GPU did before was launched earlier, or is not in the recording"
        )
