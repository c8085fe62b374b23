"""What the traced compute units of a thread trace counted, and the files of its folder that fill no table.

The readings come from one compute unit per shader engine, on the shader clock, so they are `metrics`
of the trace, neither `counters` of the dispatch nor `samples` in time."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable

import msgspec
import polars as pl

from rocm_perf.errors import EmptyCaptureError, InputError, RocmPerfError
from rocm_perf.ingest.att.waves import FileNames, dispatch_of, number
from rocm_perf.ingest.io import json
from rocm_perf.ingest.io.source import Source, note_consulted
from rocm_perf.ingest.part import Adapter, Part, part
from rocm_perf.ingest.peek import Peek
from rocm_perf.model.run import Loss

_ENGINE = re.compile(r"(?:^|_)se(\d{1,4})_perfcounter")
_READINGS = re.compile(rb'\s*\{\s*"data"\s*:\s*\[\s*(\[\s*\d+\s*(,\s*\d+\s*){6}\]|\]\s*\})')
_WAVE_STATES = re.compile(rb'\s*\{\s*"name"\s*:\s*"wstates\d+\.json"')
_STATES = {1: "idle", 2: "executing", 3: "waiting", 4: "stalled"}
_BANK = 4  # counters per bank; a reading is [cycle, the four counters of a bank, cu, bank]
_MAX_BANK = 64
_NAMES_ARE_ELSEWHERE = (
    "the counters of the thread trace are numbered: filenames.json, which has their names, is missing"
)

Metric = tuple[str, str, int]  # name, where, value


class Readings(msgspec.Struct):
    """se<E>_perfcounter.json."""

    data: list[list[int]] = []


class WaveStates(msgspec.Struct):
    """wstates<N>.json: how many traced waves were in state N from each cycle on."""

    name: str = ""
    time: list[int] = []
    state: list[int] = []


def read_perfcounter(source: Source) -> Part:
    """Counters of one compute unit, summed over the trace."""
    document, damage = json.decode(source, Readings)
    losses = [Loss(source.name, damage)] if damage else []
    whole = [row for row in document.data if len(row) == _BANK + 3 and 0 <= row[-1] < _MAX_BANK]
    if len(whole) < len(document.data):
        losses.append(
            Loss(source.name, "counter readings in an unknown layout", len(document.data) - len(whole))
        )
    sums: dict[tuple[int, int], int] = defaultdict(int)
    for row in whole:
        for place, value in enumerate(row[1 : 1 + _BANK]):
            sums[row[-2], row[-1] * _BANK + place] += value
    engine = _ENGINE.search(source.file_name)
    where = f"shader engine {engine.group(1)}" if engine else "one shader engine"
    names = _counter_names(source)
    rows = [(_name(names, index), f"{where}, CU {cu}", value) for (cu, index), value in sums.items()]
    return _metrics(source, rows, None, losses, () if names else (_NAMES_ARE_ELSEWHERE,))


def read_wave_states(source: Source) -> Part:
    """The cycles that the traced waves together spent in one state."""
    document, damage = json.decode(source, WaveStates)
    losses = [Loss(source.name, damage)] if damage else []
    if not document.time or not document.state:
        return _metrics(source, [], "cycles", losses)
    spans = zip(document.time, document.time[1:], document.state, strict=False)
    cycles = sum(waves * max(0, until - since) for since, until, waves in spans)
    which = number(re.sub(r"\D", "", document.name)) or 0
    state = _STATES.get(which, f"in state {which}")
    return _metrics(source, [(f"wave cycles {state}", "traced waves", cycles)], "cycles", losses)


def _fills_no_table(what: str) -> Callable[[Source], Part]:
    def read(source: Source) -> Part:
        return part("rocprofv3", {}, notices=(f"{source.file_name} holds {what}; it fills no table",))

    return read


def _name(names: list[str], index: int) -> str:
    return names[index] if index < len(names) else f"thread trace counter {index}"


def _counter_names(source: Source) -> list[str]:
    """The names in the filenames.json of the same folder."""
    if source.member:
        folder, slash, _ = source.member.rpartition("/")
        beside = Source(source.path, f"{folder}{slash}filenames.json")
    else:
        beside = Source(source.path.parent / "filenames.json")
        note_consulted(beside.path)
    try:
        return json.decode(beside, FileNames)[0].counter_names
    except (RocmPerfError, OSError, KeyError):
        return []


def _metrics(
    source: Source, rows: list[Metric], unit: str | None, losses: list[Loss], notices: tuple[str, ...] = ()
) -> Part:
    if not rows and losses:
        raise InputError(f"{source.name} holds no reading that can be used", losses[0].what)
    if not rows:
        raise EmptyCaptureError(f"{source.name} holds no readings", "the traced compute unit ran nothing")
    names, places, values = zip(*rows, strict=True)
    table = pl.DataFrame(
        {
            "metric": pl.Series(names, dtype=pl.String),
            "group": pl.Series(places, dtype=pl.String),
            "value": pl.Series(values, dtype=pl.Int64, strict=False).cast(pl.Float64),
        }
    ).with_columns(
        dispatch_id=pl.lit(dispatch_of(source), pl.Int64),
        statistic=pl.lit("sum"),
        unit=pl.lit(unit, pl.String),
    )
    return part("rocprofv3", {"metrics": table}, losses, notices=notices)


def _starts_as(pattern: re.Pattern[bytes]) -> Callable[[Peek], bool]:
    return lambda peek: bool(pattern.match(peek.head))


def _claims_realtime(peek: Peek) -> bool:
    engines = {key for key in peek.json_keys if re.fullmatch(r"SE\d+", key)}
    return bool(engines) and set(peek.json_keys) <= engines | {"metadata"}


def _claims_snapshots(peek: Peek) -> bool:
    return bool(peek.json_keys) and all(key.startswith("/") for key in peek.json_keys)


ADAPTERS = (
    Adapter(
        name="att-perfcounter-json",
        title="rocprofv3 --att se*_perfcounter.json",
        recognised_by="JSON rows of seven numbers under the key data",
        claims=_starts_as(_READINGS),
        read=read_perfcounter,
        fills=("metrics",),
    ),
    Adapter(
        name="att-wave-states-json",
        title="rocprofv3 --att wstates*.json",
        recognised_by="JSON that calls itself wstates<N>.json",
        claims=_starts_as(_WAVE_STATES),
        read=read_wave_states,
        fills=("metrics",),
    ),
    Adapter(
        name="att-realtime-json",
        title="rocprofv3 --att realtime.json",
        recognised_by="JSON with the keys SE0, SE1, ...",
        claims=_claims_realtime,
        read=_fills_no_table("the clock of each shader engine"),
    ),
    Adapter(
        name="att-snapshots-json",
        title="rocprofv3 --att snapshots.json",
        recognised_by="JSON tree of source paths",
        claims=_claims_snapshots,
        read=_fills_no_table("the paths of copied source files"),
    ),
)
