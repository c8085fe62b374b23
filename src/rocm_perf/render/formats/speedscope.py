"""A Trace for speedscope (.speedscope.json): one evented profile for each host thread, with its ranges, operators and
calls as nested frames, and one for each queue and stream of a GPU. The format is that of file-format-spec.ts in
speedscope's source: times never decrease, and what is opened last is closed first."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import IO

import msgspec
import polars as pl

from rocm_perf.files import write_whole
from rocm_perf.model.trace import Trace
from rocm_perf.render.formats.slices import slices_of
from rocm_perf.text import compact_json
from rocm_perf.version import __version__

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"


class _Header(msgspec.Struct):
    """The fields of a file before its profiles."""

    schema: str = msgspec.field(name="$schema", default=_SCHEMA)
    exporter: str = f"rocm-perf {__version__}"
    name: str = ""
    shared: dict[str, list[dict[str, str]]] = {}


def write(trace: Trace, path: Path, *, overwrite: bool = False) -> None:
    """Write the first pass of every process. Times count from the first start, because a double holds no more."""
    slices = slices_of(trace)
    first: int = slices.rows["start_ns"].min() or 0  # type: ignore[assignment]
    titles = _titles(trace, slices.tracks)
    names = slices.rows["name"].unique(maintain_order=True)
    frames = pl.int_range(names.len(), eager=True)
    rows = slices.rows.select(
        "track",
        "lane",
        pl.col("name").replace_strict(names, frames, return_dtype=pl.Int64).alias("frame"),
        pl.col("start_ns") - first,
        pl.col("end_ns") - first,
    )
    header = _Header(name=path.name, shared={"frames": [{"name": name} for name in names]})

    def write_draft(draft: Path) -> None:
        with open(draft, "wb") as out:
            out.write(compact_json(header).removesuffix(b"}") + b',"profiles":[')
            _write_profiles(out, rows, titles)
            out.write(b"]}\n")

    write_whole(path, write_draft, overwrite=overwrite)


def _titles(trace: Trace, tracks: pl.DataFrame) -> list[str]:
    """The name of each track, with its process where there are several."""
    several = tracks["pid"].n_unique() > 1
    gpus = dict(trace.table("agents").select("agent_id", "name").iter_rows())
    titles = []
    for pid, agent, name in tracks.select("pid", "agent_id", "name").iter_rows():
        parts = [f"process {pid}" if several and pid is not None else "", gpus.get(agent) or "", name]
        titles.append(" ".join(filter(None, parts)))
    return titles


def _write_profiles(out: IO[bytes], rows: pl.DataFrame, titles: list[str]) -> None:
    """Write a profile for each lane of each track: frames of one profile lie inside one another."""
    end = rows["end_ns"].max() or 0
    for number, profile in zip(count(), rows.partition_by("track", "lane", maintain_order=True)):
        track, lane = profile.select("track", "lane").row(0)
        title = titles[track] + (f" (overlapping, {lane})" if lane else "")
        fields = {"type": "evented", "name": title, "unit": "nanoseconds", "startValue": 0, "endValue": end}
        out.write((b"," if number else b"") + compact_json(fields).removesuffix(b"}") + b',"events":[')
        out.write(",".join(_events(profile)).encode() + b"]}")


def _events(profile: pl.DataFrame) -> Iterator[str]:
    """Frames opened and closed, in the order of time."""
    opened: list[tuple[int, int]] = []
    for frame, start, end in profile.select("frame", "start_ns", "end_ns").iter_rows():
        while opened and opened[-1][1] <= start:
            yield _event("C", *opened.pop())
        yield _event("O", frame, start)
        opened.append((frame, end))
    while opened:
        yield _event("C", *opened.pop())


def _event(kind: str, frame: int, at: int) -> str:
    return f'{{"type":"{kind}","frame":{frame},"at":{at}}}'
