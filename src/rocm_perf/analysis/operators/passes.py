"""Which pass of training a span belongs to. What runs inside a step of the backward pass is backward, unless the
forward pass runs there again, because its activations were not kept (checkpointing)."""

from __future__ import annotations

import msgspec
import polars as pl

from rocm_perf.analysis.basis.forest import itself_or_around, nearest
from rocm_perf.analysis.basis.keys import named
from rocm_perf.analysis.basis.module_spans import is_nn_module
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.operators.frames import repeats_forward
from rocm_perf.analysis.operators.tree import BACKWARD, ENGINE, OperatorTree, backward_links, operator_tree
from rocm_perf.model.trace import Trace

PASSES = ("forward", "recomputed", "backward")
_PASS = pl.Enum(PASSES)


class Passes(msgspec.Struct, frozen=True):
    """For each span: its pass, `turn` (the row around it, or itself, that decides it; null where it is forward) and
    `source`, the forward operator that the backward step around it belongs to."""

    kind: pl.Series
    turn: pl.Series
    source: pl.Series


@once_per_trace
def passes(trace: Trace) -> Passes:
    """The pass of every span of the operator tree, from links between operators and what lies in what."""
    tree = operator_tree(trace)
    links, _ = backward_links(tree)
    spans = tree.spans
    is_operator = spans["category"] == "operator"
    name = pl.col("name").str
    is_step = is_operator & named(spans["name"], name.starts_with(ENGINE) | name.contains(BACKWARD))
    if not is_step.any():
        return _all_forward(spans.height)
    again = _runs_again(spans, is_step, links)
    turn = itself_or_around(spans["parent"], is_step | again)
    kind = pl.select(
        pl.when(again.gather(turn)).then(1).when(is_step.gather(turn)).then(2).otherwise(0)
    ).to_series()
    names = pl.Series(PASSES, dtype=_PASS)
    source = _sources(spans, links).gather(turn)
    # A backward pass that was differentiated is the source of another one: what it came from is meant.
    first = pl.select(pl.coalesce(source.gather(source), source)).to_series()
    return Passes(kind=names.gather(kind), turn=turn, source=first)


def _all_forward(spans: int) -> Passes:
    """The passes of a program that only runs forward."""
    none = pl.repeat(None, spans, dtype=pl.UInt32, eager=True)
    return Passes(kind=pl.repeat(PASSES[0], spans, dtype=_PASS, eager=True), turn=none, source=none)


def backward_ns(tree: OperatorTree, passes: Passes) -> pl.Series:
    """GPU time of the backward pass at the row of each forward operator, without what was recomputed in it."""
    own = tree.spans["gpu_self_ns"]
    spent = pl.DataFrame([passes.source.alias("forward"), own.alias("ns")]).filter(passes.kind == "backward")
    sums = spent.drop_nulls("forward").group_by("forward").agg(pl.col("ns").sum())
    return pl.zeros(own.len(), pl.Int64, eager=True).scatter(sums["forward"], sums["ns"])


def _runs_again(spans: pl.DataFrame, is_step: pl.Series, links: pl.DataFrame) -> pl.Series:
    """Whether a forward pass begins anew at each span: modules, the frame that repeats a checkpointed function, and
    operators that autograd takes note of, inside a backward step.

    Autograd also notes the operators of a backward pass that is itself differentiated; what comes after such a pass is
    linked to them, whereas nothing outside of a step is linked to what was recomputed in it.
    """
    inside = nearest(spans["parent"], is_step).is_not_null() & ~is_step
    module = is_nn_module(spans)
    frame = repeats_forward(spans)
    noted = (spans["category"] == "operator") & (spans["sequence"] >= 0).fill_null(False)
    noted = noted & ~_differentiated(spans, is_step, links)
    again = inside & (module | frame | noted)
    # What lies in what runs again does not begin anew.
    return again & is_step.gather(nearest(spans["parent"], is_step | again)).fill_null(False)


def _differentiated(spans: pl.DataFrame, is_step: pl.Series, links: pl.DataFrame) -> pl.Series:
    """Whether a span lies in an outermost backward step to which another one is linked."""
    outermost = itself_or_around(spans["parent"], is_step & nearest(spans["parent"], is_step).is_null())
    around = outermost.gather(links["forward"])
    outside = (links["backward"] < around) | (links["backward"] >= spans["behind"].gather(around))
    return outermost.is_in(around.filter(outside.fill_null(False)).unique().implode()).fill_null(False)


def _sources(spans: pl.DataFrame, links: pl.DataFrame) -> pl.Series:
    """The forward operator of each backward step: the linked one, for the engine's span around it too."""
    source = pl.Series("source", [None] * spans.height, dtype=pl.UInt32).scatter(
        links["backward"], links["forward"].cast(pl.UInt32)
    )
    around = spans["operator"].gather(links["backward"])
    engine = spans["name"].gather(around).cat.starts_with(ENGINE).fill_null(False)
    return source.scatter(around.filter(engine), links["forward"].filter(engine).cast(pl.UInt32))
