"""The tables that ranks contribute, and how they are added up: in any order and grouping, with the same result.

Everything that is added up is a whole number, so that no order of additions rounds differently. What depends on all
dispatches at once, such as a median, has no place here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import polars as pl

from rocm_perf.model import schema

Tables = Mapping[str, pl.DataFrame]
_TEXT, _NUMBER = pl.String, pl.Int64


class Rule(msgspec.Struct, frozen=True):
    """The columns of a table, and how rows with one key become one. All but those of the key are whole numbers."""

    key: Mapping[str, Any]  # column -> type
    sums: tuple[str, ...] = ()  # of what is known; null where no row knows the number
    lows: tuple[str, ...] = ()
    highs: tuple[str, ...] = ()
    longest: int | None = None  # keep only as many rows, by `length_ns`

    @property
    def columns(self) -> dict[str, Any]:
        """Every column with its type."""
        return {**self.key, **dict.fromkeys((*self.sums, *self.lows, *self.highs), _NUMBER)}


# `node` is the number of a machine in one rank's recording, made unique by `machine_number`.
_QUEUE = {"node": _NUMBER, "agent_id": _NUMBER, "queue_id": _NUMBER, "stream_id": _NUMBER}
_SIZED = ("total_ns", "size_bytes", "sized_ns")
_SPENT = ("dispatches", "copies", "window_ns", "busy_ns", "kernel_ns", "copy_ns", "idle_ns")
LEDGER_TEXTS = ("kind", "cause", "place", "certainty", "family")
RULES: dict[str, Rule] = {
    "kernels": Rule({"kernel": _TEXT}, sums=("calls", "total_ns"), lows=("min_ns",), highs=("max_ns",)),
    "calls": Rule({"domain": _TEXT, "name": _TEXT}, sums=("calls", "total_ns")),
    "domains": Rule({"domain": _TEXT}, sums=("union_ns",)),
    "copies": Rule({"kind": _TEXT}, sums=("copies", *_SIZED)),
    "gpus": Rule({**_QUEUE, "level": _TEXT, "name": _TEXT, "rank": _NUMBER}, sums=_SPENT),
    "causes": Rule({"cause": _TEXT}, sums=("total_ns", "gaps")),
    "idle_calls": Rule({"first_use": pl.Boolean, "cause": _TEXT, "call": _TEXT}, sums=("total_ns",)),
    "idle_places": Rule({**_QUEUE, "level": _TEXT, "causes": _TEXT}, sums=("gaps", "idle_ns")),
    "gap_lengths": Rule({"from_ns": _NUMBER, "to_ns": _NUMBER}, sums=("gaps", "total_ns")),
    "worst_gaps": Rule(
        {"gap": pl.Binary, "node": _NUMBER, "length_ns": _NUMBER, "start_ns": _NUMBER}, longest=20
    ),
    "ledger": Rule(
        {"node": _NUMBER, "agent_id": _NUMBER, **dict.fromkeys(LEDGER_TEXTS, _TEXT)},
        sums=("total_ns", "count"),
    ),
    "waits": Rule({"by": _TEXT, "name": _TEXT}, sums=("calls", "total_ns", "useful_ns", "lost_ns")),
    "counts": Rule({"name": _TEXT}, sums=("value",)),
    "facts": Rule({"fact": _TEXT, "value": _TEXT}, sums=("ranks",), lows=("place",)),
    "machines": Rule({"node": _NUMBER, "host": _TEXT}, lows=("first_ns",), highs=("last_ns",)),
    "doubts": Rule({"about": _TEXT, "finding": pl.Binary, "place": _NUMBER}),
    "runs": Rule({"place": _NUMBER, "label": _TEXT, "run": pl.Binary}),
    "failures": Rule({"place": _NUMBER, "label": _TEXT, "reason": _TEXT, "is_loss": pl.Boolean}),
}
GATHERED = (
    "collectives",
    "clocks",
    "agents",
    "processes",
    "nodes",
)  # tables of the model: all rows of all ranks
# What each rank did, likewise all rows of all ranks (stretches.py). Whose they are is said by numbers, for names of
# machines and GPUs are known when all ranks are.
OWNER = {"node": _NUMBER, "rank": pl.Int32, "agent_id": _NUMBER, "pid": _NUMBER}
PARTS = (
    "computing",
    "copying",
    "communicating",
    "loading",
)  # of a stretch, in nanoseconds; the rest of it is idle
_DONE = ("kernels", "kernel_ns", "clock_mhz", "host_rows")
OF_RANKS: dict[str, Mapping[Any, Any]] = {
    "stretches": {**OWNER, **dict.fromkeys(("start_ns", "end_ns", *PARTS), _NUMBER)},
    "rank_sums": {**OWNER, **dict.fromkeys(_DONE, _NUMBER)},
    "rank_names": {**OWNER, "kind": _TEXT, "name": _TEXT, "calls": _NUMBER, "total_ns": _NUMBER},
}
_MACHINES = 1 << 10  # of one rank


def machine_number(place: int, node: pl.Expr) -> pl.Expr:
    """The number of a machine, unique among those of all ranks; ranks of one machine have different ones."""
    return node.cast(pl.Int64) + place * _MACHINES


def place_of(machine: pl.Expr) -> pl.Expr:
    """The place of the rank that has a machine of this number."""
    return machine // _MACHINES


def frame(name: str, rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """A contributed table of these rows, from which other keys are left out."""
    return pl.DataFrame(list(rows), schema=RULES[name].columns)


def nothing() -> dict[str, pl.DataFrame]:
    """What adds nothing to anything."""
    return {
        **{name: frame(name, ()) for name in RULES},
        **{name: _gathered(name) for name in GATHERED},
        **{name: pl.DataFrame(schema=columns) for name, columns in OF_RANKS.items()},
    }


def added(parts: Sequence[Tables]) -> dict[str, pl.DataFrame]:
    """The tables of several parts as those of one."""
    whole = [nothing(), *parts]
    return {
        **{name: _reduced(rule, pl.concat([part[name] for part in whole])) for name, rule in RULES.items()},
        **{name: pl.concat([part[name] for part in whole], rechunk=True) for name in (*GATHERED, *OF_RANKS)},
    }


def _gathered(name: str) -> pl.DataFrame:
    return schema.empty(name).with_columns(pl.col("node").cast(_NUMBER))


def _reduced(rule: Rule, rows: pl.DataFrame) -> pl.DataFrame:
    reduced = rows.group_by(list(rule.key), maintain_order=True).agg(
        *(_known_sum(name) for name in rule.sums),
        *(pl.col(name).min() for name in rule.lows),
        *(pl.col(name).max() for name in rule.highs),
    )
    if rule.longest is None:
        return reduced
    return reduced.sort("length_ns", "start_ns", "node", descending=[True, False, False]).head(rule.longest)


def _known_sum(name: str) -> pl.Expr:
    return pl.when(pl.col(name).count() > 0).then(pl.col(name).sum()).alias(name)
