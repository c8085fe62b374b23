"""Who took part in collectives, and in which order: the sequences that matching and fitting work on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from rocm_perf.ingest.ranks.fitting import Floats

# All ranks end these together: none has all of its result before every other has given its part.
_TOGETHER = r"^(all_?reduce|_?all_?gather|_?reduce_?scatter|all_?to_?all|barrier)"
_PAIRWISE = r"send|recv|receive"
# Ranks may give unequal parts to these.
_UNEVEN = r"all_?to_?all|gather|scatter"

MEMBER = ["node", "rank", "pid", "agent_id"]
ClockKinds = Mapping[int, str]  # of each node: boot, epoch, relative or unknown
_GROUP = ["group", "group_size"]


@dataclass(frozen=True)
class Member:
    """The collectives of one group in one rank, in order. `node` has the clock they were recorded on, `rows` where they
    stand in the table that they come from, `tokens` what must be equal on all ranks."""

    node: int
    group_size: int | None
    rows: npt.NDArray[np.int64]
    tokens: npt.NDArray[np.int64]
    start_ns: npt.NDArray[np.int64]
    end_ns: npt.NDArray[np.int64]

    @cached_property
    def ends(self) -> Floats:
        """The ends from the first one on."""
        return np.asarray(self.end_ns - self.end_ns[0], dtype=np.float64)

    @property
    def count(self) -> int:
        return len(self.rows)


def with_tokens(collectives: pl.DataFrame) -> pl.DataFrame:
    """The collectives that can be matched by their order, with a `token` and whether all ranks end them
    `together`."""
    name = pl.col("name").str.to_lowercase()
    size = pl.when(~name.str.contains(_UNEVEN)).then("size_bytes")
    numbered = collectives.with_columns(
        name.str.contains(_TOGETHER).alias("together"),
        pl.struct(name.alias("name"), size.alias("size"), "dtype").rank("dense").alias("token"),
    )
    timed = pl.col("end_ns") >= pl.col("start_ns")
    return numbered.filter(timed & ~name.str.contains(_PAIRWISE) & (pl.col("group_size").fill_null(2) > 1))


def groups_of(tokens: pl.DataFrame) -> list[list[Member]]:
    """The members of each process group, those of most collectives first, equal ones by rank."""
    ordered = tokens.sort("start_ns", "row", maintain_order=True)
    groups = ordered.partition_by(_GROUP, maintain_order=True)
    return [_members(group) for group in sorted(groups, key=_group_order)]


def _group_order(group: pl.DataFrame) -> tuple[str, int]:
    return str(group["group"][0] or ""), int(group["group_size"][0] or 0)


def _members(group: pl.DataFrame) -> list[Member]:
    ordered = sorted(
        group.partition_by(MEMBER, as_dict=True).items(), key=lambda entry: _member_order(*entry)
    )
    return [_member(frame) for _, frame in ordered]


def _member_order(key: tuple[object, ...], frame: pl.DataFrame) -> tuple[object, ...]:
    node, *names = key
    return (-frame.height, *((-1 if value is None else value) for value in names), node)


def _member(frame: pl.DataFrame) -> Member:
    return Member(
        node=int(frame["node"][0]),
        group_size=frame["group_size"][0],
        rows=frame["row"].to_numpy(),
        tokens=frame["token"].cast(pl.Int64).to_numpy(),
        start_ns=frame["start_ns"].to_numpy(),
        end_ns=frame["end_ns"].to_numpy(),
    )
