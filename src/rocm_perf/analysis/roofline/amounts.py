"""What every source of work (counters, emulation, operator shapes) gives: amounts per dispatch, and how they are
known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec
import polars as pl

COUNTERS = "counters"
SHAPES = "analytical from shapes"
EMULATED = "emulated"
AT_LEAST = (SHAPES, EMULATED)  # a kernel may move more than they say

MEMORY = ("HBM", "DRAM")  # what the device memory is called
ON_CHIP = ("L2", "LDS")
LEVELS = (*MEMORY, *ON_CHIP)
COMPUTE = "compute"

Key = tuple[int, str]  # place of the GPU, kernel

SCHEMA = {
    "gpu": pl.Int32,
    "kernel": pl.Categorical,  # names are long, and there are as many as dispatches
    "ceiling": pl.Categorical,
    "amount": pl.Float64,
    "slot": pl.UInt32,
}


class Known(msgspec.Struct, frozen=True):
    """How one kind of work of one kernel is known. `complete`: all of that work was counted."""

    basis: str
    unit: str
    formula: str
    inputs: Mapping[str, float] = msgspec.field(default_factory=dict)
    doubt: str | None = None
    complete: bool = True
    pass_id: int | None = None  # in which it was counted


class Work(msgspec.Struct, frozen=True):
    """`amounts`: one row per ceiling and dispatch whose work of that kind is known, be it none; `known` by kernel and
    ceiling; `all_flops`: kernels whose operations are all of known kinds; `reasons`: why the work of a kernel is not;
    `notes`: assumptions."""

    amounts: pl.DataFrame
    known: Mapping[tuple[Key, str], Known] = msgspec.field(default_factory=dict)
    all_flops: frozenset[Key] = frozenset()
    reasons: Mapping[Key, str] = msgspec.field(default_factory=dict)
    notes: Mapping[Key, tuple[str, ...]] = msgspec.field(default_factory=dict)


def amounts_of(rows: pl.DataFrame) -> pl.DataFrame:
    """The columns of amounts among those of the rows."""
    return rows.select(pl.col(name).cast(dtype) for name, dtype in SCHEMA.items())


NOTHING = Work(pl.DataFrame(schema=SCHEMA))


def with_zeros(rows: pl.DataFrame, one: str, computing: pl.DataFrame) -> pl.DataFrame:
    """With a row of 0 for every kind of operations that a kernel computes elsewhere, but not here: here is each `one`
    (and gpu and kernel) of `computing`, all of whose operations are known."""
    place = [one, "gpu", "kernel"]
    kinds = rows.filter(~pl.col("ceiling").cast(pl.String).is_in(LEVELS))
    each = computing.join(kinds.select("gpu", "kernel", "ceiling").unique(), on=["gpu", "kernel"])
    none = each.join(kinds, on=[*place, "ceiling"], how="anti").with_columns(amount=pl.lit(0.0))
    return pl.concat([rows, none.select(rows.columns)]) if none.height else rows


def merged(works: Iterable[Work]) -> Work:
    """The work of different GPUs put together; nothing overlaps."""
    parts = list(works)
    return Work(
        amounts=pl.concat([pl.DataFrame(schema=SCHEMA), *(part.amounts for part in parts)]),
        known={key: value for part in parts for key, value in part.known.items()},
        all_flops=frozenset().union(*(part.all_flops for part in parts)),
        reasons={key: value for part in parts for key, value in part.reasons.items()},
        notes={key: value for part in parts for key, value in part.notes.items()},
    )


def filled(first: Work, second: Work) -> Work:
    """The first, and of kernels for which it has no operations, or no bytes of a level, the second's."""
    have = {(key, _kind(name)) for key, name in first.known}
    fresh = {
        (key, name): value for (key, name), value in second.known.items() if (key, _kind(name)) not in have
    }
    keys = pl.DataFrame(
        [(gpu, kernel, name) for (gpu, kernel), name in fresh],
        {name: SCHEMA[name] for name in ("gpu", "kernel", "ceiling")},
        orient="row",
    )
    every = len(fresh) == len(second.known)
    added = (
        second.amounts if every else second.amounts.join(keys, on=keys.columns, how="semi", nulls_equal=True)
    )
    taken = {key for key, _ in fresh}
    return Work(
        amounts=pl.concat([first.amounts, added]),
        known={**first.known, **fresh},
        all_flops=first.all_flops | {key for key in second.all_flops if (key, COMPUTE) not in have},
        reasons={**second.reasons, **first.reasons},
        notes={**{key: note for key, note in second.notes.items() if key in taken}, **first.notes},
    )


def _kind(ceiling: str) -> str:
    return ceiling if ceiling in LEVELS else COMPUTE
