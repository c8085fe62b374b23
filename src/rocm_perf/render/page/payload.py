"""What the page's script reads: the document and the timeline as one text.

Base64 of a zlib stream of three parts: the length of the header in 4 bytes, the header in JSON, and the bytes of the
columns. A column is written as planes: first the lowest byte of every value, then the next one, as many as the largest
value needs. What varies little from value to value so becomes runs of equal bytes, which compress well. Times and
indices that rise are written as differences. web/src/payload.ts reads it.
"""

from __future__ import annotations

import base64
import zlib
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from rocm_perf.model.results.timeline import Timeline
from rocm_perf.text import compact_json

_LEVEL = 6  # of zlib: 9 takes several times as long for a few percent
_RISING = 0.9  # share of values not below the one before: from here on their differences compress better
Array = npt.NDArray[Any]


def payload(document: object, timeline: Timeline | None) -> str:
    """The text that `readPayload` of the page's script turns back into the document, which is anything that `--json`
    prints, and the timeline."""
    columns = _Columns()
    described = None if timeline is None else _described(timeline, columns)
    header = compact_json({"document": document, "timeline": described, "columns": columns.kinds})
    packer = zlib.compressobj(_LEVEL)
    parts = [packer.compress(part) for part in (len(header).to_bytes(4, "little"), header, *columns.planes)]
    return base64.b64encode(b"".join([*parts, packer.flush()])).decode()


class _Columns:
    """The columns of a payload, numbered as they are added."""

    def __init__(self) -> None:
        self.kinds: list[dict[str, Any]] = []
        self.planes: list[bytes] = []

    def whole(self, values: pl.Series, *, differences: bool = False, optional: bool = False) -> int:
        """Add whole numbers, or their differences; an optional column holds value + 1, and 0 for null."""
        numbers = (values.cast(pl.Int64).fill_null(-1) + 1 if optional else values).cast(pl.Int64).to_numpy()
        if differences and len(numbers):
            numbers = np.diff(numbers, prepend=0)
        signed = bool(len(numbers)) and int(numbers.min()) < 0
        # Zigzag: small numbers of either sign have small codes.
        codes = ((numbers << 1) ^ (numbers >> 63)) if signed else numbers
        coding = {"signed": signed, "differences": differences, "optional": optional}
        return self._add(_planes(codes.astype("<u8")), len(numbers), coding)

    def real(self, values: pl.Series) -> int:
        """Add numbers of any kind; NaN for null."""
        numbers = values.cast(pl.Float64).fill_null(float("nan")).to_numpy().astype("<f8")
        return self._add(_bytes_of(numbers), len(numbers), {"real": True})

    def _add(self, planes: Array, count: int, coding: dict[str, bool]) -> int:
        self.planes.append(planes.tobytes())
        kind = {"count": count, "planes": len(planes), **{key: True for key, on in coding.items() if on}}
        self.kinds.append(kind)
        return len(self.kinds) - 1


def _planes(codes: Array) -> Array:
    """The bytes of the codes, plane by plane, without planes that are zero throughout from some byte on."""
    largest = int(codes.max()) if len(codes) else 0
    return _bytes_of(codes)[: (largest.bit_length() + 7) // 8]


def _bytes_of(numbers: Array) -> Array:
    return np.ascontiguousarray(numbers.view(np.uint8).reshape(len(numbers), 8).T)


def _described(timeline: Timeline, columns: _Columns) -> dict[str, Any]:
    """The timeline as JSON, with the numbers of its columns in the place of its columns."""
    slices, readings, flows = timeline.slices, timeline.readings, timeline.flows
    lengths = slices["end_ns"] - slices["start_ns"]
    return {
        "beginNs": str(timeline.begin_ns),
        "lengthNs": timeline.length_ns,
        "names": timeline.names,
        "labels": [None if label == name else label for name, label in _pairs(timeline)],
        "tracks": [_track(track) for track in msgspec.to_builtins(timeline.tracks)],
        "slices": {
            "start": columns.whole(slices["start_ns"], differences=True),
            "length": columns.whole(lengths),
            "name": columns.whole(slices["name"]),
            "depth": columns.whole(slices["depth"]),
            "more": columns.whole(slices["count"].cast(pl.Int64) - 1),
            "idle": columns.whole(lengths - slices["busy_ns"]),
            "onPath": columns.whole(slices["on_path"]),
        },
        "details": [
            {
                "label": detail.label,
                "unit": detail.unit,
                "isText": detail.is_text,
                "first": detail.first,
                "values": _detail_column(detail.values, columns),
            }
            for detail in timeline.details
        ],
        "at": columns.whole(readings["at_ns"], differences=True),
        "value": columns.real(readings["value"]),
        "cause": columns.whole(flows["cause"], differences=True),
        "effect": columns.whole(flows["effect"], differences=True),
        "steps": columns.whole(timeline.steps, differences=True),
        "judged": timeline.judged,
        "thinned": timeline.thinned,
        "notes": timeline.notes,
    }


def _pairs(timeline: Timeline) -> zip[tuple[str, str]]:
    return zip(timeline.names, timeline.labels, strict=True)


def _track(track: dict[str, Any]) -> dict[str, Any]:
    return {key: track[key] for key in ("kind", "group", "title", "unit", "first", "length")}


def _detail_column(values: pl.Series, columns: _Columns) -> int:
    """Add what is known of slices: ids mostly rise from each to the next, other numbers do not."""
    if not values.dtype.is_integer() or int(values.min() or 0) < 0:  # type: ignore[arg-type]
        return columns.real(values)
    rises = int((values.diff() >= 0).sum()) > _RISING * values.len()
    return columns.whole(values, differences=rises, optional=True)
