"""What `rocm-perf count --json` wrote: the work of one launch of a kernel, executed without a GPU."""

from __future__ import annotations

import msgspec
import polars as pl

from rocm_perf.errors import EmptyCaptureError, InputError
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Adapter, Part, part
from rocm_perf.model.machine_ceilings import MATRIX
from rocm_perf.model.results.count import SCHEMA_VERSION, Executed, Tally

_KEYS = frozenset(("schema_version", "kernel", "gfx", "grid", "workgroup", "executed"))
Three = tuple[int, int, int]


class _Amount(msgspec.Struct, frozen=True):
    value: float | None
    unit: str


class _Part(msgspec.Struct, frozen=True):
    ceiling: str
    amount: _Amount


class _Point(msgspec.Struct, frozen=True):
    work: tuple[_Part, ...]


class _Roofline(msgspec.Struct, frozen=True):
    point: _Point


class _Counting(msgspec.Struct, frozen=True):
    """What is taken of model/results/count.py's Counting."""

    schema_version: int
    kernel: str
    name: str
    gfx: str
    grid: Three
    workgroup: Three
    executed: Executed
    roofline: _Roofline
    tallies: tuple[Tally, ...] = ()


def read(source: Source) -> Part:
    try:
        counting = msgspec.json.decode(source.read().data, type=_Counting)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(
            f"cannot read {source.name}",
            f"it is not a complete answer of `rocm-perf count --json` ({error})",
            "Write it again.",
        ) from error
    if counting.schema_version > SCHEMA_VERSION:
        raise InputError(
            f"{source.name} is of version {counting.schema_version}",
            f"this rocm-perf reads up to version {SCHEMA_VERSION}",
            "Update rocm-perf.",
        )
    rows = [_row(counting, one) for one in counting.roofline.point.work if one.amount.value is not None]
    if not rows:
        raise EmptyCaptureError(f"{source.name} holds no work", "the kernel computes and moves nothing")
    tables = {"emulated": pl.DataFrame(rows)}
    if counting.tallies:
        tables["emulated_tallies"] = pl.DataFrame(
            [
                *(_tally_row(counting, one.name, one.amount, one.most_at) for one in counting.tallies),
                *(
                    _tally_row(counting, one.ceiling, one.amount.value)
                    for one in counting.roofline.point.work
                    if one.amount.value is not None and one.ceiling.endswith(MATRIX)
                ),
            ]
        )
    return part("rocm-perf", tables)


def _launch(counting: _Counting) -> dict[str, object]:
    return {
        "kernel": counting.kernel,
        "name": counting.name,
        "gfx": counting.gfx,
        **{f"grid_{axis}": size for axis, size in zip("xyz", counting.grid, strict=True)},
        **{f"workgroup_{axis}": size for axis, size in zip("xyz", counting.workgroup, strict=True)},
    }


def _tally_row(counting: _Counting, name: str, amount: float, most_at: str = "") -> dict[str, object]:
    return {
        **_launch(counting),
        "wave_size": counting.executed.wave_size,
        "of_workgroups": counting.executed.of_workgroups,
        "tally": name,
        "amount": float(amount),
        "most_at": most_at,
    }


def _row(counting: _Counting, one: _Part) -> dict[str, object]:
    return {
        **_launch(counting),
        "ceiling": one.ceiling,
        "amount": one.amount.value,
        "unit": one.amount.unit,
        "workgroups": counting.executed.workgroups,
        "of_workgroups": counting.executed.of_workgroups,
    }


ADAPTERS = (
    Adapter(
        name="rocm-perf-count",
        title="work of a kernel that rocm-perf count --json counted without a GPU",
        recognised_by=f"JSON keys {', '.join(sorted(_KEYS))}",
        claims=lambda peek: set(peek.json_keys) >= _KEYS,
        read=read,
        fills=("emulated", "emulated_tallies"),
    ),
)
