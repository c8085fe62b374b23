"""What the ranks of a run left: one row for each, from their own records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from rocm_perf.collect.run.layout import read_record
from rocm_perf.model.collection import FILE_NAME, CollectionRecord, joined, launched_at
from rocm_perf.units import NS_PER_S, format_count


class RankRow(msgspec.Struct, frozen=True, kw_only=True):
    """One rank, in all launches of the job; or a process without a rank."""

    rank: int | None
    host: str
    pid: int
    folder: str  # relative to the run's
    later_folders: tuple[str, ...] = ()  # of further launches, which recorded further passes
    state: str  # running: it was killed before it could write its end
    profiled: bool  # False: only timed
    recorded: bool  # a profiler wrote something that was read
    started_at: str = ""
    wall_s: float | None = None  # of all runs of the program
    exit_code: int | None = None
    could_not: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


def rank_rows(folder: Path) -> tuple[RankRow, ...]:
    """The rows of a run's folder, by rank."""
    return tuple(sorted(_rows(folder), key=lambda row: (row.rank is None, row.rank, row.host, row.pid)))


def missing_ranks(rows: Sequence[RankRow], ranks: int) -> tuple[int, ...]:
    """The ranks, of so many, that left nothing."""
    return tuple(sorted(set(range(ranks)) - {row.rank for row in rows}))


def rank_lines(rows: Sequence[RankRow], missing: Sequence[int]) -> Iterator[str]:
    """What there is to say about the ranks: one line where all is well, and one for each that is not."""
    recorded = sum(row.recorded for row in rows)
    timed = sum(not row.profiled for row in rows)
    hosts = format_count(len({row.host for row in rows}), "host")
    more = f", {timed} only timed" if timed else ""
    yield f"{format_count(recorded, 'rank')} recorded on {hosts}{more}" if rows else "nothing was recorded"
    yield from (f"{_name(row)}: {_trouble(row)}" for row in rows if _trouble(row))
    if missing:
        yield f"nothing came from {_ranks(missing)}: what the ranks printed may say why"


def _rows(folder: Path) -> Iterator[RankRow]:
    found: dict[str | int, list[tuple[CollectionRecord, str]]] = {}
    for file in folder.glob(f"*/rank*-*/{FILE_NAME}"):
        if (record := read_record(file.parent)) is not None:
            place = str(file.parent.relative_to(folder))
            found.setdefault(place if record.rank is None else record.rank, []).append((record, place))
    for launches in found.values():
        launches.sort(key=lambda each: launched_at(each[0]))
        record = joined([each for each, _ in launches])
        yield _row(record, tuple(place for _, place in launches))


def _row(record: CollectionRecord, folders: tuple[str, ...]) -> RankRow:
    walls = [each.wall_ns for each in record.passes if each.wall_ns is not None]
    return RankRow(
        rank=record.rank,
        host=record.host,
        pid=record.pid,
        folder=folders[0],
        later_folders=folders[1:],
        state=record.state,
        profiled=bool(record.profiled),
        recorded=any(each.profiled and each.outcome in ("recorded", "partly") for each in record.passes),
        started_at=record.started_at,
        wall_s=sum(walls) / NS_PER_S if walls else None,
        exit_code=record.exit_code,
        could_not=record.could_not,
        notices=record.notices,
    )


def _name(row: RankRow) -> str:
    return f"rank {row.rank} on {row.host}" if row.rank is not None else f"process {row.pid} on {row.host}"


def _trouble(row: RankRow) -> str:
    """What is wrong with a rank; empty if nothing is."""
    nothing = "it recorded nothing" if row.profiled else "it was only timed"
    kept = "what it had recorded is kept" if row.recorded else nothing
    if row.state == "running":
        return "; ".join(("was killed before it could write its end", *row.notices))
    if row.state == "failed":
        return f"failed with exit code {row.exit_code}; {kept}"
    if row.state in ("interrupted", "timed out"):
        return f"{row.state}; {kept}"
    return "; ".join(row.could_not) if row.profiled and not row.recorded else ""


def _ranks(numbers: Sequence[int]) -> str:
    """Ranks as a text: rank 3, ranks 1, 4-7."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    text = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)
    return f"{'rank' if len(numbers) == 1 else 'ranks'} {text}"
