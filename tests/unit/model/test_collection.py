"""Records of our own runs, also those written before a record said whether the program was profiled."""

from __future__ import annotations

import json

import msgspec
import pytest

from rocm_perf.model.collection import CollectionRecord

PASS = {"number": 1, "purpose": "trace", "argv": ["./app"]}
OLD = {
    "run_id": "r", "host": "h", "pid": 1, "command": ["./app"], "folder": ".", "started_at": "",
}  # fmt: skip


@pytest.mark.parametrize(("profiler", "profiled"), [("rocprofv3", True), ("timing", False), ("new", True)])
def test_older_records_say_it_by_the_profilers_name(profiler: str, profiled: bool) -> None:
    data = {**OLD, "profiler": profiler, "passes": [{**PASS, "profiler": profiler}]}
    record = msgspec.json.decode(json.dumps(data), type=CollectionRecord)
    assert (record.profiled, record.passes[0].profiled) == (profiled, profiled)
    assert msgspec.json.decode(msgspec.json.encode(record))["profiled"] is profiled


def test_newer_records_say_it_themselves() -> None:
    data = {**OLD, "profiler": "stopwatch", "profiled": False, "passes": []}
    assert msgspec.json.decode(json.dumps(data), type=CollectionRecord).profiled is False
