"""Waits of the host that no call shows. JAX waits for a result in a thread that records nothing: the thread that
launches falls silent while the GPU works, and goes on as soon as it has finished."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.keys import over, telling

_FEWEST = 3  # of a thread; one or two may end with the work by chance
_LONG = 0.5  # of the longest: shorter silences are between launches
_SOON = 0.1  # of a silence, from the end of the work to the next call
_MOSTLY = 0.9  # of the long silences of a thread
_NONE = pl.DataFrame(schema={"cause": pl.Int64, "effect": pl.Int64})


def hidden_waits(calls: pl.DataFrame, items: pl.DataFrame, waited: pl.DataFrame) -> pl.DataFrame:
    """What the host waited for, and the call that came next (cause, effect): where a thread makes no call that waits,
    and its long silences, but for a few, begin while the GPU does what it launched, and end soon after that."""
    waiting = calls.filter(pl.col("scope").is_not_null() | pl.col("call").is_in(waited["call"].implode()))
    silent = calls.filter(pl.col("works") & ~pl.col("thread").is_in(waiting["thread"].implode()))
    if not silent.height or not items.height:
        return _NONE
    before = over(pl.col("end_ns").shift(1), telling(["thread"], silent))
    silences = (
        silent.select("thread", "call", "start_ns", effect="into", silence=pl.col("start_ns") - before)
        .sort("call")
        .join_asof(
            _ends(silent, items), on="call", by="thread", allow_exact_matches=False, check_sortedness=False
        )
        .with_columns(after=pl.col("start_ns") - pl.col("reach"))
        .filter(pl.col("silence") > pl.col("after"))  # the GPU was at work when it began
    )
    long = silences.filter(pl.col("silence") >= _LONG * pl.col("silence").max().over("thread"))
    soon = pl.col("after").is_between(0, _SOON * pl.col("silence"))
    is_usual = (soon.mean().over("thread") >= _MOSTLY) & (soon.sum().over("thread") >= _FEWEST)
    return long.filter(soon & is_usual).select(cause="holder", effect="effect")


def _ends(calls: pl.DataFrame, items: pl.DataFrame) -> pl.DataFrame:
    """By call that launches: until when the GPU works on what its thread has launched so far (`reach`), and the item
    that ends then (`holder`)."""
    threads = calls.select("call", "thread")
    launched = items.select("call", "end_ns", "out").drop_nulls("call").join(threads, on="call")
    last = launched.sort("call", "end_ns").unique("call", keep="last", maintain_order=True)
    ends = last.with_columns(reach=pl.col("end_ns").cum_max().over("thread"))
    holder = pl.when(pl.col("end_ns") == pl.col("reach")).then("out").forward_fill().over("thread")
    return ends.select("thread", "call", "reach", holder=holder)
