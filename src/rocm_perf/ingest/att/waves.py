"""The waves of a thread trace (rocprofv3 --att): which ran where and when. These are JSON files of a
ui_output_agent_<agent>_dispatch_<n> folder; occupancy.json lists all waves of the traced shader engines,
the other files those of the traced compute unit."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import polars as pl

from rocm_perf.ingest.io import json
from rocm_perf.ingest.io.csv import drop_incomplete
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Adapter, Part, part
from rocm_perf.ingest.peek import Peek
from rocm_perf.model.run import Loss

Row = dict[str, Any]

_WHERE = re.compile(r"ui_output_agent_\d+_dispatch_(\d{1,18})(?!\d)")
_OCCUPANCY = re.compile(
    rb'\s*\{\s*"\d+"\s*:\s*\[\s*\[\s*\d+\s*,\s*\d+\s*,\s*\d+\s*,\s*\d+\s*,\s*[01]\s*,\s*\d+'
)
_NAMELESS = re.compile(r"\d+ / 0x[0-9a-f]+")  # code object / address: the decoder had no symbol
_COLUMNS = (
    "shader_engine",
    "cu",
    "simd",
    "slot",
    "wave",
    "start_cycle",
    "end_cycle",
    "instructions",
    "stall_cycles",
)


class WaveTimes(msgspec.Struct):
    """Where and when a wave ran; an instruction is [cycle, category, stall, duration, line of code.json]."""

    cu: int | None = None
    simd: int | None = None
    slot: int | None = None
    id: int | None = None
    begin: int | None = None
    end: int | None = None
    instructions: list[list[int]] = []


class WaveFile(msgspec.Struct):
    """se<E>_sm<S>_sl<L>_wv<W>.json."""

    name: str = ""
    num_insts: int | None = None
    wave: WaveTimes = msgspec.field(default_factory=WaveTimes)


class FileNames(msgspec.Struct):
    """filenames.json: waves by shader engine, SIMD, slot and number, each [file, begin, end]."""

    gfxip: int | None = None
    counter_names: list[str] = []
    wave_filenames: dict[str, dict[str, dict[str, dict[str, list[Any]]]]] | None = None


def dispatch_of(source: Source) -> int | None:
    """The traced dispatch, from the name of the folder. The agent beside it is a handle that changes with
    every run, not an agent_id."""
    match = _WHERE.search(source.file_name) or _WHERE.search(source.folder.name)
    return int(match.group(1)) if match else None


def number(text: str) -> int | None:
    """The number that a key spells; None if it is not one."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None


def read_wave(source: Source) -> Part:
    """One wave, with its instructions and its stalls."""
    document, damage = json.decode(source, WaveFile)
    wave = document.wave
    row = {
        "shader_engine": number(document.name.removeprefix("SE")),
        "cu": wave.cu,
        "simd": wave.simd,
        "slot": wave.slot,
        "wave": wave.id,
        "start_cycle": wave.begin,
        "end_cycle": wave.end,
        "instructions": document.num_insts,
        "stall_cycles": None if damage else sum(entry[2] for entry in wave.instructions if len(entry) > 2),
    }
    return _waves(source, [row], damage)


def read_filenames(source: Source) -> Part:
    """The waves that were decoded: only where and when they ran."""
    document, damage = json.decode(source, FileNames)
    rows = [
        _listed(engine, simd, slot, wave, entry)
        for engine, simds in (document.wave_filenames or {}).items()
        for simd, slots in simds.items()
        for slot, waves in slots.items()
        for wave, entry in waves.items()
    ]
    notices = (f"the instructions were decoded as gfx{document.gfxip}",) if document.gfxip else ()
    return _waves(source, rows, damage, notices=notices)


def read_occupancy(source: Source) -> Part:
    """All waves of the traced shader engines: a start and the next end on the same slot are one wave."""
    document, damage = json.decode(source, dict[str, Any])
    dispatches = document.get("dispatches")
    kernels = {key: _kernel(name) for key, name in dispatches.items()} if isinstance(dispatches, dict) else {}
    rows: list[Row] = []
    alone = 0
    for engine, events in document.items():
        if number(engine) is not None and isinstance(events, list):
            paired, left = _paired(events, kernels)
            rows += [{"shader_engine": number(engine)} | row for row in paired]
            alone += left
    lost = [Loss(source.name, "starts or ends of waves without their counterpart", alone)] if alone else []
    return _waves(source, rows, damage, lost)


def _listed(engine: str, simd: str, slot: str, wave: str, entry: list[Any]) -> Row:
    begin, end = entry[1:3] if len(entry) > 2 else (None, None)
    return {
        "shader_engine": number(engine),
        "simd": number(simd),
        "slot": number(slot),
        "wave": number(wave),
        "start_cycle": begin if type(begin) is int else None,
        "end_cycle": end if type(end) is int else None,
    }


def _paired(events: list[Any], kernels: dict[str, str | None]) -> tuple[list[Row], int]:
    """The waves of one shader engine, and how many events have no counterpart."""
    rows: list[Row] = []
    running: dict[tuple[int, int, int], tuple[int, int]] = {}
    alone = 0
    for event in events:
        if not (
            isinstance(event, list) and len(event) >= 6 and all(type(value) is int for value in event[:6])
        ):
            alone += 1
            continue
        cycle, cu, simd, slot, starts, kernel = event[:6]
        place = (cu, simd, slot)
        earlier = running.pop(place, None)
        if starts:
            alone += earlier is not None
            running[place] = (cycle, kernel)
        elif earlier is None:
            alone += 1
        else:
            where = {"cu": cu, "simd": simd, "slot": slot}
            when = {"start_cycle": earlier[0], "end_cycle": cycle}
            rows.append({"kernel": kernels.get(str(earlier[1])), **where, **when})
    return rows, alone + len(running)


def _kernel(name: object) -> str | None:
    return None if not isinstance(name, str) or _NAMELESS.fullmatch(name) else name.removesuffix(".kd")


def _waves(
    source: Source,
    rows: list[Row],
    damage: str | None,
    losses: list[Loss] | None = None,
    notices: tuple[str, ...] = (),
) -> Part:
    table = pl.DataFrame(
        {"kernel": pl.Series([row.get("kernel") for row in rows], dtype=pl.String)}
        | {
            column: pl.Series([row.get(column) for row in rows], dtype=pl.Int64, strict=False)
            for column in _COLUMNS
        }
    ).with_columns(dispatch_id=pl.lit(dispatch_of(source), pl.Int64))
    table, incomplete = drop_incomplete(table, ("start_cycle", "end_cycle"), source.name)
    broken = [Loss(source.name, damage)] if damage else []
    return part("rocprofv3", {"waves": table}, [*broken, *(losses or []), *incomplete], notices=notices)


def _claims_wave(peek: Peek) -> bool:
    return {"num_insts", "wave"} <= set(peek.json_keys)


def _claims_filenames(peek: Peek) -> bool:
    return {"gfxip", "wave_filenames"} <= set(peek.json_keys)


def _claims_occupancy(peek: Peek) -> bool:
    return bool(_OCCUPANCY.match(peek.head)) or set(peek.json_keys) == {"dispatches", "version"}


ADAPTERS = (
    Adapter(
        name="att-wave-json",
        title="rocprofv3 --att se*_sm*_sl*_wv*.json",
        recognised_by="JSON with the keys num_insts, wave",
        claims=_claims_wave,
        read=read_wave,
        fills=("waves",),
    ),
    Adapter(
        name="att-filenames-json",
        title="rocprofv3 --att filenames.json",
        recognised_by="JSON with the keys gfxip, wave_filenames",
        claims=_claims_filenames,
        read=read_filenames,
        fills=("waves",),
    ),
    Adapter(
        name="att-occupancy-json",
        title="rocprofv3 --att occupancy.json",
        recognised_by="JSON lists of [cycle, cu, simd, slot, start, kernel] by shader engine",
        claims=_claims_occupancy,
        read=read_occupancy,
        fills=("waves",),
    ),
)
