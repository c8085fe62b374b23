"""Readings of rocm-perf's own sampler (model/sample_file.py). A file whose last row is truncated lost its writer; the
rows before it are complete."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Annotated

import msgspec
import polars as pl

from rocm_perf.errors import EmptyCaptureError, InputError
from rocm_perf.ingest.io.csv import drop_incomplete, integer, parse_csv, real
from rocm_perf.ingest.io.csv import header as csv_header
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Adapter, Part, Sensing, part
from rocm_perf.ingest.system.smi_csv import METRICS, unit_of
from rocm_perf.model.run import Loss
from rocm_perf.model.sample_file import (
    COMMENT,
    END,
    GPU,
    READINGS,
    START,
    TIME,
    TITLE,
    highest_of,
    lowest_of,
)

Index = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
Count = Annotated[int, msgspec.Meta(ge=0, le=2**62)]


class SampledGpu(msgspec.Struct, frozen=True):
    """One GPU, as the file describes it."""

    gpu: Index
    node: Index | None = None
    ordinal: Index | None = None
    gfx: str = ""
    name: str = ""
    uuid: str = ""
    memory_bytes: Count | None = None


class Beginning(msgspec.Struct, frozen=True):
    """The line of JSON before the table."""

    boot_ns: Count
    realtime_ns: Count
    host: str = ""
    vendor: str = ""
    source: str = ""
    gpus: tuple[SampledGpu, ...] = ()
    notices: tuple[str, ...] = ()


def read(source: Source) -> Part:
    content = source.read()
    losses = [Loss(source.name, content.damage)] if content.damage else []
    lines = content.data.decode("utf-8", "replace").replace("\x00", "").split("\n")
    if lines.pop():  # a complete row ends with a newline
        losses.append(Loss(source.name, "the last row breaks off", 1))
    begins, tables = [], []
    for block in _blocks(lines):
        begins.append(_beginning(block, source.name))
        table, lost = _table(block[2:], source.name)
        tables.append(table)
        losses += lost
    samples = pl.concat(tables, how="diagonal") if tables else pl.DataFrame()
    if not samples.height:
        raise EmptyCaptureError(f"{source.name} holds no reading", "the sampler ended before its first one")
    return _part(begins, samples, losses)


def _blocks(lines: list[str]) -> Iterator[list[str]]:
    """The header and rows of each sampler that wrote to the file."""
    starts = [number for number, line in enumerate(lines) if line.strip() == TITLE]
    for start, end in pairwise([*starts, len(lines)]):
        yield lines[start:end]


def _beginning(block: list[str], name: str) -> Beginning:
    text = block[1] if len(block) > 1 else ""
    try:
        return msgspec.json.decode(text.removeprefix(COMMENT), type=Beginning)
    except msgspec.DecodeError as error:
        raise InputError(f"{name} does not say which clock its times are on", str(error)) from error


def _table(lines: list[str], name: str) -> tuple[pl.DataFrame, list[Loss]]:
    rows = [line for line in lines if not line.startswith(COMMENT)]
    columns = csv_header(rows[0]) if rows else ()
    if not {TIME, GPU} <= set(columns) or len(rows) < 2:
        return pl.DataFrame(), []
    frame, lost = drop_incomplete(
        parse_csv("\n".join(rows).encode() + b"\n", name).with_columns(integer(TIME), integer(GPU)),
        (TIME, GPU),
        name,
    )
    metrics = [column for column in dict.fromkeys(columns) if column in METRICS]
    pieces = [_readings(frame, metric) for metric in metrics]
    return pl.concat(pieces) if pieces else pl.DataFrame(), lost


def _readings(frame: pl.DataFrame, metric: str) -> pl.DataFrame:
    """The rows of one metric."""
    rows = frame.select(
        pl.col(TIME).alias("time_ns"),
        pl.col(GPU).alias("agent_id"),
        pl.lit(metric).alias("metric"),
        real(metric).alias("value"),
        *_interval(set(frame.columns), metric),
    )
    return rows.drop_nulls("value")


def _interval(columns: set[str], metric: str) -> list[pl.Expr]:
    """What a thinned row says beside the mean; nothing where the file was never thinned."""
    lowest, highest = lowest_of(metric), highest_of(metric)
    if not {START, END, READINGS, lowest, highest} <= columns:
        return []
    is_thinned = (integer(START) < integer(END)) & (integer(READINGS) > 0)
    cells = {
        "start_ns": integer(START),
        "end_ns": integer(END),
        "lowest": real(lowest),
        "highest": real(highest),
        "readings": integer(READINGS),
    }
    return [pl.when(is_thinned).then(cell).alias(name) for name, cell in cells.items()]


def _part(begins: list[Beginning], samples: pl.DataFrame, losses: list[Loss]) -> Part:
    first = begins[0]
    gpus = list({gpu.gpu: gpu for begin in begins for gpu in begin.gpus}.values())
    units = {metric: unit_of(metric) for metric in METRICS}
    tables = {
        "samples": samples.with_columns(unit=pl.col("metric").replace_strict(units)).sort(
            "time_ns", maintain_order=True
        ),
        "agents": pl.DataFrame([_agent(gpu, first.vendor) for gpu in gpus], infer_schema_length=None),
    }
    sensing = Sensing(
        first.realtime_ns - first.boot_ns,
        {gpu.gpu: gpu.node for gpu in gpus if gpu.node is not None},
        {gpu.gpu: gpu.ordinal for gpu in gpus if gpu.ordinal is not None},
    )
    notices = tuple(dict.fromkeys(notice for begin in begins for notice in begin.notices))
    return part(
        "rocm-perf", tables, losses, clock="boot", host=first.host or None, notices=notices, sensing=sensing
    )


def _agent(gpu: SampledGpu, vendor: str) -> dict[str, object]:
    return {
        "agent_id": gpu.gpu,
        "kind": "GPU",
        "gfx": gpu.gfx or None,
        "name": gpu.name or None,
        "vendor": vendor or None,
        "logical_index": gpu.gpu,
        "uuid": gpu.uuid or None,
        "memory_bytes": gpu.memory_bytes,
    }


ADAPTERS = (
    Adapter(
        name="rocm-perf-samples",
        title="rocm-perf samples.csv (power, clocks, temperature, load, memory)",
        recognised_by="the first line `# rocm-perf samples 1`",
        claims=lambda peek: peek.text.startswith(TITLE),
        read=read,
        fills=("samples", "agents"),
    ),
)
