"""Bundles of single ranks, as pieces of the job that they belong to."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Adapter, Part
from rocm_perf.ingest.place import place_of
from rocm_perf.ingest.processes import Piece
from rocm_perf.model.trace import Trace


def rank_piece(folder: str, trace: Trace) -> Piece | None:
    """The piece of a bundle that holds one rank on one machine; None for any other bundle."""
    ranks = trace.table("processes")["rank"].drop_nulls().unique()
    return bundle_piece(folder, trace) if len(ranks) == 1 and trace.rows("nodes") <= 1 else None


def bundle_piece(folder: str, trace: Trace) -> Piece:
    """A bundle as one file of a run."""
    source = Source(Path(folder))
    run = trace.run
    adapter = Adapter(
        name=" + ".join(run.formats) or "bundle",
        title="bundle",
        recognised_by="",
        claims=lambda _peek: False,
        read=lambda _source: _part(trace),
    )
    return Piece(source=source, adapter=adapter, part=_part(trace), place=place_of(source))


def _part(trace: Trace) -> Part:
    run, processes, nodes = trace.run, trace.table("processes"), trace.table("nodes")
    alone = nodes.height <= 1
    tables = {
        name: trace.table(name) for name in trace if name != "clocks" and not (alone and name == "nodes")
    }
    return Part(
        tables=tables,
        tool=run.tool,
        tool_version=run.tool_version,
        host=next(iter(run.hosts), None) if alone else None,
        os=nodes["os"][0] if nodes.height == 1 else None,
        pid=_only(processes["pid"]),
        rank=_only(processes["rank"]),
        command=run.command,
        clock=run.clock,
        asked=run.asked,
        losses=run.losses,
        notices=run.notices,
        recorded_at=run.recorded_at,
        collection=run.collection,
    )


def _only(numbers: pl.Series) -> int | None:
    known = numbers.drop_nulls().unique()
    return int(known[0]) if len(known) == 1 else None
