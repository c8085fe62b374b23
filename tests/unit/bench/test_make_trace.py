"""The trace maker of the benches: tiles are exact in time, unique in their ids and linked as recorded."""

from __future__ import annotations

import gzip
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from bench import make_trace

RECORDED = """{
  "schemaVersion": 1,
  "note": "50% \\"quoted\\"",
  "traceEvents": [
  {"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": 1, "tid": 1, "ts": 3743411230047.485,
   "dur": 6.619, "args": {"External id": 5, "correlation": 9, "kernel": "f<100%d>(\\"a\\")"}},
  {"ph": "s", "id": 9, "pid": 1, "tid": 1, "ts": 3743411230047.485, "cat": "ac2g", "name": "ac2g"},
  {"ph": "f", "id": 9, "pid": 2, "tid": 0, "ts": 3743411230060.001, "cat": "ac2g", "name": "ac2g", "bp": "e"},
  {"ph": "X", "cat": "kernel", "name": "f<100%d>", "pid": 2, "tid": 0, "ts": 3743411230060.001,
   "dur": 40.120, "args": {"External id": 5, "correlation": 9, "stream": 0}},
  {"ph": "X", "cat": "kernel", "name": "early", "pid": 2, "tid": 0, "ts": 3743411230001.000,
   "dur": 1.5, "args": {"correlation": 0, "stream": 0}},
  {"ph": "X", "cat": "python_function", "name": "g", "pid": 1, "tid": 1, "ts": 3743411230040.999, "dur": 1,
   "args": {"Python id": 2, "Python parent id": null, "Python module id": 0, "Ev Idx": 0}},
  {"ph": "X", "cat": "cpu_op", "name": "ProfilerStep#15", "pid": 1, "tid": 1, "ts": 3743411230041,
   "dur": 2.000, "args": {"Sequence number": 3, "Record function id": 0, "Ev Idx": 1}},
  {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "ts": 3743411230001.000,
   "args": {"name": "python3"}},
  {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "x",
   "ts": 3743411230001.000, "dur": 99.121, "args": {"Op count": 0}},
  {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 3743411230100.121}
  ],
  "displayTimeUnit": "ms"
}"""
TILED, SPAN_US = 7, 100  # from ...001.000 to ...100.121 is 99.121 us


def _events(recording: make_trace.Recording, events: int) -> list[dict[str, Any]]:
    text = "".join(make_trace.text_of(recording, events))
    document: dict[str, Any] = json.loads(text, parse_float=Decimal)
    return list(document["traceEvents"])


@pytest.fixture
def tiles() -> list[list[dict[str, Any]]]:
    events = _events(make_trace.parse(RECORDED.encode()), 3 * TILED + 3)
    assert len(events) == 3 * TILED + 3
    return [events[start : start + TILED] for start in range(0, 3 * TILED, TILED)]


def _args(tiles: list[list[dict[str, Any]]], index: int, key: str) -> list[object]:
    return [tile[index]["args"][key] for tile in tiles]


def test_the_first_tile_and_the_header_are_what_was_recorded() -> None:
    text = "".join(make_trace.text_of(make_trace.parse(RECORDED.encode()), 1))
    assert json.loads(text, parse_float=str) == json.loads(RECORDED, parse_float=str)


def test_times_are_exact_to_the_nanosecond(tiles: list[list[dict[str, Any]]]) -> None:
    assert [tile[0]["ts"] for tile in tiles] == [
        Decimal("3743411230047.485"),
        Decimal("3743411230147.485"),
        Decimal("3743411230247.485"),
    ]
    assert [str(tile[3]["dur"]) for tile in tiles] == ["40.120"] * 3


def test_ids_are_unique_to_their_tile(tiles: list[list[dict[str, Any]]]) -> None:
    assert _args(tiles, 0, "correlation") == [9, 19, 29]
    assert _args(tiles, 0, "External id") == [5, 15, 25]
    assert _args(tiles, 5, "Python id") == [2, 5, 8]
    assert _args(tiles, 5, "Python module id") == [0, 1, 2]
    assert _args(tiles, 6, "Sequence number") == [3, 7, 11]
    assert [event["args"]["Ev Idx"] for tile in tiles for event in tile[5:]] == [0, 1, 2, 3, 4, 5]
    assert [tile[6]["name"] for tile in tiles] == ["ProfilerStep#15", "ProfilerStep#16", "ProfilerStep#17"]


def test_what_is_no_id_stays(tiles: list[list[dict[str, Any]]]) -> None:
    assert _args(tiles, 4, "correlation") == [0, 0, 0]
    assert _args(tiles, 5, "Python parent id") == [None, None, None]
    assert _args(tiles, 6, "Record function id") == [0, 0, 0]
    assert _args(tiles, 0, "kernel") == ['f<100%d>("a")'] * 3


def test_flows_still_lead_from_launch_to_kernel(tiles: list[list[dict[str, Any]]]) -> None:
    for launch, start, finish, kernel, *_ in tiles:
        assert launch["args"]["correlation"] == start["id"] == finish["id"] == kernel["args"]["correlation"]
        assert (start["ts"], finish["ts"]) == (launch["ts"], kernel["ts"])


def test_metadata_comes_once_and_the_frame_grows() -> None:
    metadata, span, end = _events(make_trace.parse(RECORDED.encode()), 24)[-3:]
    assert metadata["ts"] == Decimal("3743411230001.000")
    assert span["dur"] == Decimal("99.121") + 2 * SPAN_US
    assert end["ts"] == Decimal("3743411230100.121") + 2 * SPAN_US


def test_made_up_events_fill_a_trace_of_about_the_size_asked_for() -> None:
    events = _events(make_trace.synthetic(300), 5_000)
    assert abs(len(events) - 5_000) < 250
    launches = [event["args"]["correlation"] for event in events if event.get("cat") == "cuda_runtime"]
    kernels = [event["args"]["correlation"] for event in events if event.get("cat") == "kernel"]
    assert len(set(launches)) == len(launches)
    assert launches == kernels == [event["id"] for event in events if event["ph"] == "s"]
    steps = [event["name"] for event in events if event["name"].startswith("ProfilerStep#")]
    assert steps == [f"ProfilerStep#{number}" for number in range(3, 3 + len(steps))]
    assert 10 < len(steps) < 25


def test_the_same_request_gives_the_same_bytes(tmp_path: Path) -> None:
    one, two = tmp_path / "one.json.gz", tmp_path / "two.json.gz"
    for out in (one, two):
        make_trace.write(make_trace.synthetic(300), out, 1_000)
    assert one.read_bytes() == two.read_bytes()
    assert len(json.loads(gzip.decompress(one.read_bytes()))["traceEvents"]) == len(
        _events(make_trace.read(two), 1)
    )


def test_a_timestamp_that_cannot_be_shifted_exactly_is_refused() -> None:
    with pytest.raises(ValueError, match="1e9"):
        list(
            make_trace.text_of(
                make_trace.parse(b'{"traceEvents": [{"ph": "X", "name": "k", "ts": 1e9}]}'), 10
            )
        )
