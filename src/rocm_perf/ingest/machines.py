"""Which machine each process of a run was on. Machines become nodes, each with a clock of its own."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import polars as pl

from rocm_perf.ingest.processes import Group
from rocm_perf.model import schema

_Key = tuple[str, object]


class Machines(msgspec.Struct, frozen=True):
    """The node of each group (by id), the table `nodes`, and the nodes of ranks that do not say where they ran:
    presumably one machine, but perhaps not one clock."""

    numbers: dict[int, int]
    nodes: pl.DataFrame
    presumed: frozenset[int] = frozenset()

    @property
    def clocks(self) -> dict[int, str]:
        """The kind of clock of each node."""
        return dict(zip(self.nodes["node"], self.nodes["clock"], strict=True))


def machines_of(groups: list[Group]) -> Machines:
    """The machines of a run: one per host, those that a file lists itself, and one per rank that names no host."""
    listing = [group for group in groups if _listed(group) is not None]
    plain = [group for group in groups if _listed(group) is None]
    keys = _keys(plain)
    order = list(dict.fromkeys(keys.values()))
    numbers = {number: order.index(key) for number, key in keys.items()}
    frames = [
        _machine(number, [group for group in plain if numbers[id(group)] == number])
        for number in range(len(order))
    ]
    free = len(order)
    for group in listing:
        listed = _listed(group)
        assert listed is not None
        numbers[id(group)] = free
        frames.append(listed.with_columns(pl.col("node") + free))
        free += 1 + int(listed["node"].max() or 0)  # type: ignore[arg-type]
    presumed = frozenset(number for number, key in enumerate(order) if key[0] == "rank")
    return Machines(numbers, pl.concat(frames), presumed)


def _keys(groups: list[Group]) -> dict[int, _Key]:
    """What tells the machines of groups apart. One without host or rank is where the first of the others is."""
    hosts: list[_Key] = [("host", group.host) for group in groups if group.host]
    homeless = {group.rank for group in groups if not group.host and group.rank is not None}
    several = len(homeless) > 1
    first = hosts[0] if hosts else ("rank", min(homeless)) if several else ("host", None)
    return {id(group): _key(group, group.rank if several else None, first) for group in groups}


def _key(group: Group, rank: int | None, first: _Key) -> _Key:
    if group.host:
        return "host", group.host
    return first if rank is None else ("rank", rank)


def _listed(group: Group) -> pl.DataFrame | None:
    return next((p.part.tables["nodes"] for p in group.pieces if "nodes" in p.part.tables), None)


def _machine(number: int, groups: list[Group]) -> pl.DataFrame:
    parts = [piece.part for group in groups for piece in group.pieces]
    row = {
        "node": number,
        "host": next((group.host for group in groups if group.host), None),
        "os": next((part.os for part in parts if part.os), None),
        "clock": next((part.clock for part in parts if part.clock != "unknown"), "unknown"),
    }
    return schema.conform("nodes", pl.DataFrame([row], schema_overrides={"host": pl.String, "os": pl.String}))


def folded(tables: Mapping[str, pl.DataFrame], presumed: frozenset[int]) -> dict[int, int]:
    """New numbers of nodes: ranks that name no host become one, unless two of them used a GPU of the same number,
    which one machine has only once. None are given where nothing changes."""
    work = (
        tables.get("dispatches", schema.empty("dispatches")).select("node", "agent_id").unique().drop_nulls()
    )
    used = work.filter(pl.col("node").is_in(list(presumed)))
    if len(presumed) < 2 or used["agent_id"].is_duplicated().any():
        return {}
    home = min(presumed)
    kept = [node for node in tables["nodes"]["node"] if node == home or node not in presumed]
    return {node: kept.index(home if node in presumed else node) for node in tables["nodes"]["node"]}


def renumbered(frame: pl.DataFrame, numbers: Mapping[int, int]) -> pl.DataFrame:
    """The table with new numbers of nodes."""
    if "node" not in frame.columns:
        return frame
    return frame.with_columns(pl.col("node").replace_strict(numbers, return_dtype=pl.Int32))
